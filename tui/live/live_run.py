"""A run in view: what has happened so far, how long it takes, and how it can be steered."""

import time
from collections import deque
from collections.abc import Callable

from rig.calls import StepPlace
from rig.displays.progress import Progress, Remaining
from rig.events import Event, PersonAsked, Where
from rig.running.control import Control
from tui.live.feed import EventQueue
from tui.live.state import RunState, StoredBefore
from tui.live.transcript import Draft


class LiveRun:
    """Events of a run come in by `feed` and add up to `state`; `control` steers what sends them.

    `ours` is whether the run goes on in this process, so that leaving the view asks what is to become of it,
    and the view ends with it.
    """

    def __init__(
        self,
        feed: EventQueue,
        control: Control,
        *,
        ours: bool = True,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.feed = feed
        self.control = control
        self.ours = ours
        self.state = RunState()
        self.progress = Progress(lambda: clock() - self._held_s)
        self._now = clock
        self._looked = self._began = clock()
        self._held_s = 0.0
        self._ended: float | None = None
        self._rate = TokenRate()

    @property
    def over(self) -> bool:
        """Whether no event will follow those taken in."""
        return self._ended is not None

    @property
    def through(self) -> bool:
        """Whether all that is to be seen was seen."""
        return self.over

    @property
    def was_told(self) -> bool:
        """Whether anything of it happened before one's eyes, and was not over already."""
        return True

    @property
    def paused(self) -> bool:
        """Whether the run waits, or will wait before its next turn."""
        return not self.over and self.control.is_paused

    @property
    def can_be_steered(self) -> bool:
        """Whether pausing, stopping and skipping still mean something."""
        return not (self.over or self.control.is_stopped)

    @property
    def question(self) -> PersonAsked | None:
        """What a person is asked just now."""
        return None if self.control.is_stopped else self.control.question

    def answer(self, text: str) -> bool:
        """Say what a person was asked for; whether anybody was asked."""
        asked = self.question is not None
        if asked:
            self.control.answer(text)
        return asked

    @property
    def broke_off(self) -> bool:
        """Whether the run is over and something of it is left to be done."""
        return self.over and (self.control.is_stopped or not self.state.finished)

    @property
    def elapsed_s(self) -> float:
        """Seconds watched, up to the end of the run."""
        return (self._now() if self._ended is None else self._ended) - self._began

    @property
    def remaining(self) -> Remaining | None:
        """The time left, as far as that can be told."""
        return None if self.over else self.progress.remaining

    @property
    def condition(self) -> str:
        """What the run is doing, in a word or two; empty when it does the usual."""
        if self.over:
            return "interrupted" if self.state.interrupted or not self.state.finished else "finished"
        if self.control.is_stopped:
            return "stopping"
        if self.paused:
            return "pausing" if self.state.playing else "paused"
        return "loading the model" if any(arm.loading for arm in self.state.arms) else ""

    def pace_of(self, where: Where | None) -> float | None:
        """Tokens a second of what is being written in a conversation; None if nothing is."""
        conversation = self.state.conversations.get(where) if where else None
        entries = conversation.transcript.entries if conversation and conversation.transcript else []
        draft = entries[-1] if entries else None
        if isinstance(draft, Draft) and not self.over:
            self._rate.tell(where, StepPlace(draft.turn, draft.step), draft.tokens, self.elapsed_s)
        else:
            self._rate.tell(where, None, 0, self.elapsed_s)
        return self._rate.per_second

    def catch_up(self) -> list[Event | StoredBefore]:
        """Take in what happened since the last time; the events of it."""
        events = self.feed.drain()
        now = self._now()
        if self.paused and not events:
            # What a pause takes says nothing of how long turns take.
            self._held_s += now - self._looked
        self._looked = now
        for event in events:
            if not isinstance(event, StoredBefore):
                self.progress.tell(event)
        self.state.apply_all(events)
        if self.feed.over and self._ended is None:
            self._ended = self._now()
        return events


_SECONDS = 3.0
"""What is looked back on."""


class TokenRate:
    """Tokens per second over the last seconds of the step that is being written."""

    def __init__(self) -> None:
        self._step: object = None
        self._seen: deque[tuple[float, int]] = deque()

    def tell(self, conversation: object, step: StepPlace | None, tokens: int, now: float) -> None:
        """There are this many tokens of a step now; None if nothing is being written."""
        writing = None if step is None else (conversation, step)
        if writing is None or self._step != writing:
            self._step = writing
            self._seen.clear()
        if tokens and (not self._seen or self._seen[-1][1] != tokens):
            self._seen.append((now, tokens))
        while len(self._seen) > 2 and self._seen[0][0] < now - _SECONDS:
            self._seen.popleft()

    @property
    def per_second(self) -> float | None:
        """The rate; None until it can be told."""
        if len(self._seen) < 2 or self._seen[-1][0] == self._seen[0][0]:
            return None
        (began, before), (ended, after) = self._seen[0], self._seen[-1]
        return (after - before) / (ended - began)
