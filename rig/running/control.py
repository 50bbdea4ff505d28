"""How a person takes part in a run: pause, resume, stop, skip, and answer. Safe to use from any thread."""

import threading

from rig.events import PersonAsked, Where


class Stopped(Exception):
    """The run was asked to stop; the turn in progress is abandoned and not stored."""


class Control:
    """Asked by the runner between turns; `stop` is also heeded between steps and pieces of text.

    A display through which a person can answer sets `takes_answers`.
    """

    STOPPING = "stopping after this step; Ctrl-C again to kill"
    """The line for a person who asked to stop."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._paused = False
        self._stopped = False
        self._skipped: set[Where] = set()
        self._question: PersonAsked | None = None
        self._answer: str | None = None
        self.takes_answers = False

    @property
    def is_paused(self) -> bool:
        """Whether the run waits, or will wait before its next turn."""
        return self._paused

    @property
    def is_stopped(self) -> bool:
        """Whether the run was asked to stop."""
        return self._stopped

    def pause(self) -> None:
        """Wait before the next turn until resumed or stopped."""
        with self._changed:
            self._paused = True

    def resume(self) -> None:
        """Go on after a pause."""
        with self._changed:
            self._paused = False
            self._changed.notify_all()

    def stop(self) -> None:
        """Stop after the current step; what is stored can be resumed."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()

    def skip(self, where: Where) -> None:
        """Leave a conversation unfinished: after its turn if it is under way, else when it would begin."""
        with self._changed:
            self._skipped.add(where)

    def check(self) -> None:
        """Raise Stopped if the run was asked to stop."""
        if self._stopped:
            raise Stopped

    def wait(self) -> None:
        """Between turns: return when the run may go on. Raises Stopped if it was asked to stop."""
        with self._changed:
            self._changed.wait_for(lambda: self._stopped or not self._paused)
        self.check()

    @property
    def question(self) -> PersonAsked | None:
        """What a person is asked just now."""
        return self._question

    def ask(self, question: PersonAsked) -> None:
        """Ask a person; `wait_for_answer` has what they say."""
        with self._changed:
            self._question, self._answer = question, None

    def answer(self, text: str) -> None:
        """Say what a person was asked for. Ignored where nothing was asked."""
        with self._changed:
            if self._question is not None:
                self._question, self._answer = None, text
                self._changed.notify_all()

    def wait_for_answer(self) -> str:
        """What the person who was asked says. Raises Stopped if the run was asked to stop instead."""
        with self._changed:
            self._changed.wait_for(lambda: self._stopped or self._answer is not None)
            answer, self._question, self._answer = self._answer, None, None
        self.check()
        assert answer is not None
        return answer

    def take_skip(self, where: Where) -> bool:
        """Whether this conversation is to be skipped now; asking uses the wish up."""
        with self._changed:
            wished = where in self._skipped
            self._skipped.discard(where)
        return wished
