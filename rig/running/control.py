"""How a person takes part in a run: pause, resume, stop, skip, and answer or play a role."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING

from rig.core.calls import Json
from rig.core.errors import RigError
from rig.core.models import Model

if TYPE_CHECKING:
    from rig.core.events import PersonAsked, Where
    from rig.core.models import OnPiece, Prediction, Request


class Stopped(Exception):
    """The run was asked to stop; the turn in progress is abandoned and not stored."""


class Control:
    """The controls of a run, checked between turns; `stop` is also checked between steps and pieces of text.

    A display through which a person can answer sets `takes_answers`. `is_paused`: the run waits, or will wait
    before its next turn. `question` is what a person is being asked.
    """

    STOPPING = "stopping after this step; Ctrl-C again to kill"
    """The message to a person who asked to stop."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._skipped: set[Where] = set()
        self._answer: str | None = None
        self.is_paused = self.is_stopped = self.takes_answers = False
        self.question: PersonAsked | None = None

    def pause(self) -> None:
        """Pause before the next turn, until resumed or stopped."""
        with self._changed:
            self.is_paused = True

    def resume(self) -> None:
        """Continue after a pause."""
        with self._changed:
            self.is_paused = False
            self._changed.notify_all()

    def stop(self) -> None:
        """Stop after the current step. The run can be resumed from what is stored."""
        with self._changed:
            self.is_stopped = True
            self._changed.notify_all()

    def skip(self, where: Where) -> None:
        """Leave a conversation unfinished: after its current turn, or before it begins."""
        with self._changed:
            self._skipped.add(where)

    def check(self) -> None:
        """Raise Stopped if the run was asked to stop."""
        if self.is_stopped:
            raise Stopped

    def wait(self) -> None:
        """Wait, between turns, until the run may go on. Raises Stopped if it was asked to stop."""
        with self._changed:
            self._changed.wait_for(lambda: self.is_stopped or not self.is_paused)
        self.check()

    def ask(self, question: PersonAsked) -> None:
        """Ask a person; `wait_for_answer` returns what they say."""
        with self._changed:
            self.question, self._answer = question, None

    def answer(self, text: str) -> None:
        """Answer the question that a person was asked. Ignored if there is none."""
        with self._changed:
            if self.question is not None:
                self.question, self._answer = None, text
                self._changed.notify_all()

    def wait_for_answer(self) -> str:
        """Return what the person who was asked says. Raises Stopped if the run was asked to stop instead."""
        with self._changed:
            self._changed.wait_for(lambda: self.is_stopped or self._answer is not None)
            answer, self.question, self._answer = self._answer, None, None
        self.check()
        assert answer is not None
        return answer

    def take_skip(self, where: Where) -> bool:
        """Return whether to skip this conversation now, and forget the request."""
        with self._changed:
            is_skipped = where in self._skipped
            self._skipped.discard(where)
        return is_skipped


HUMAN = "human"
"""The name of a person in place of a model's."""


class Person(Model):
    """The person at the display. They speak one turn after another, in one conversation at a time."""

    name = HUMAN

    def __init__(self) -> None:
        super().__init__()
        self._control: Control | None = None

    def join(self, control: Control) -> None:
        """Join a run. Raises RigError if its display takes no answers."""
        if not control.takes_answers:
            raise RigError("a person plays a role of this run; let them answer with --display tui or plain")
        self._control = control

    @property
    def fingerprint(self) -> Mapping[str, Json]:
        return {"engine": HUMAN}

    def predict(self, request: Request, on_piece: OnPiece) -> Prediction:
        """Return what the person says. Raises Stopped if they leave instead."""
        from rig.core.models import Piece
        from rig.methods.scripted import replied

        assert self._control is not None
        text = self._control.wait_for_answer()
        on_piece(Piece(text, tokens=0))
        return replied(text)
