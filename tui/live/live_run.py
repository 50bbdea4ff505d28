"""A run in view: the queue of its events, its times, its controls, and how often to repaint."""

import math
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeAlias

from rig.core.calls import StepPlace
from rig.core.errors import RigError
from rig.core.events import Event, PersonAsked, PieceGenerated, RunStarted, Where
from rig.core.meters import available_cores
from rig.plugins.lines.pace import Remaining, TimedProgress
from rig.plugins.replay.player import Player
from rig.running.control import Control
from tui.live.layout import Draft
from tui.live.state import RunState, StoredBefore

Clock: TypeAlias = Callable[[], float]


class EventQueue:
    """A thread-safe queue of events. Pieces of one step are merged while they wait.

    Merging keeps the queue small however long a stopped terminal or a slow line delays painting; a run never
    waits for its view. The order within a conversation is kept, and the order of everything except pieces.
    """

    def __init__(self) -> None:
        self._lock = threading.Condition()
        self._waiting: list[Event | StoredBefore] = []
        self._pieces: dict[Where, int] = {}
        """The place of each conversation's last event, if it is a piece that text can be added to."""
        self._closed = False

    def emit(self, event: Event | StoredBefore) -> None:
        """Add an event, from any thread."""
        with self._lock:
            if isinstance(event, PieceGenerated):
                self._add_piece(event)
            else:
                where = getattr(event, "where", None)
                if isinstance(where, Where):
                    self._pieces.pop(where, None)
                else:
                    self._pieces.clear()
                self._waiting.append(event)
            self._lock.notify()

    def _add_piece(self, event: PieceGenerated) -> None:
        place = self._pieces.get(event.where)
        last = None if place is None else self._waiting[place]
        if (
            place is not None
            and isinstance(last, PieceGenerated)
            and (last.turn, last.step, last.thought) == (event.turn, event.step, event.thought)
        ):
            text, tokens = last.text + event.text, last.tokens + event.tokens
            forced = last.forced and event.forced
            self._waiting[place] = replace(event, text=text, tokens=tokens, forced=forced)
        else:
            self._pieces[event.where] = len(self._waiting)
            self._waiting.append(event)

    def close(self) -> None:
        """Close the queue: no event will follow."""
        with self._lock:
            self._closed = True
            self._lock.notify()

    def drain(self) -> list[Event | StoredBefore]:
        """Remove all waiting events from the queue and return them in order."""
        with self._lock:
            waiting, self._waiting = self._waiting, []
            self._pieces.clear()
        return waiting

    def wait(self, timeout_s: float) -> None:
        """Return when there is something to drain, when the queue is closed, or after `timeout_s`."""
        with self._lock:
            self._lock.wait_for(lambda: self._waiting or self._closed, timeout_s)

    @property
    def over(self) -> bool:
        """Whether the queue is closed and drained."""
        with self._lock:
            return self._closed and not self._waiting


class LiveRun:
    """A run in view: its events come from `feed` and make up `state`; `control` steers their sender.

    `ours` says whether the run is executed in this process: leaving the view then asks what to do with the
    run, and the view ends with it.
    """

    def __init__(
        self, feed: EventQueue, control: Control, *, ours: bool = True, clock: Clock = time.monotonic
    ) -> None:
        self.feed = feed
        self.control = control
        self.ours = ours
        self.state = RunState()
        self.progress = TimedProgress(lambda: clock() - self._held_s)
        self._now = clock
        self._looked = self._began = clock()
        self._held_s = 0.0
        self._ended: float | None = None
        self._rate = TokenRate()

    @property
    def over(self) -> bool:
        """Whether all events have been processed and no more will follow."""
        return self._ended is not None

    @property
    def through(self) -> bool:
        """Whether everything there is to see has been shown."""
        return self.over

    @property
    def was_told(self) -> bool:
        """Whether any of it happened while it was being watched."""
        return True

    @property
    def paused(self) -> bool:
        """Whether the run waits, or will wait before its next turn."""
        return not self.over and self.control.is_paused

    @property
    def question(self) -> PersonAsked | None:
        """The question that a person is being asked, None if there is none or the run is stopping."""
        return None if self.control.is_stopped else self.control.question

    def answer(self, text: str) -> bool:
        """Answer the open question, and return whether there was one."""
        asked = self.question is not None
        if asked:
            self.control.answer(text)
        return asked

    @property
    def elapsed_s(self) -> float:
        """Seconds watched, up to the end of the run."""
        return (self._now() if self._ended is None else self._ended) - self._began

    @property
    def remaining(self) -> Remaining | None:
        """The time left, None if it is unknown or the run is over."""
        return None if self.over else self.progress.remaining

    @property
    def condition(self) -> str:
        """What the run is doing, in a word or two; empty while it plays as usual."""
        if self.over:
            return "interrupted" if self.state.interrupted or not self.state.finished else "finished"
        if self.control.is_stopped:
            return "stopping"
        if self.paused:
            return "pausing" if self.state.playing else "paused"
        loading = next((arm for arm in self.state.arms if arm.loading), None)
        if loading is None:
            return ""
        read, prompt = loading.read
        return f"reading the prompt, {100 * read // prompt}%" if prompt else "loading the model"

    def pace_of(self, where: Where | None) -> float | None:
        """Return the tokens per second of the step being written in a conversation; None if there is none."""
        conversation = self.state.conversations.get(where) if where else None
        entries = conversation.transcript.entries if conversation and conversation.transcript else []
        draft = entries[-1] if entries else None
        if isinstance(draft, Draft) and not self.over:
            self._rate.tell(where, draft.place, draft.tokens, self.elapsed_s)
        else:
            self._rate.tell(where, None, 0, self.elapsed_s)
        return self._rate.per_second

    def catch_up(self) -> list[Event | StoredBefore]:
        """Apply the events since the last call, and return them."""
        events = self.feed.drain()
        now = self._now()
        if self.paused and not events:
            # The length of a pause says nothing about how long turns take.
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
"""The seconds over which the rate is measured."""


class TokenRate:
    """Tokens per second over the last seconds of the step that is being written."""

    def __init__(self) -> None:
        self._step: object = None
        self._seen: deque[tuple[float, int]] = deque()

    def tell(self, conversation: object, step: StepPlace | None, tokens: int, now: float) -> None:
        """Record how many tokens a step has now; `step` is None if nothing is being written."""
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
        """The rate, None until there are two measurements."""
        if len(self._seen) < 2 or self._seen[-1][0] == self._seen[0][0]:
            return None
        (began, before), (ended, after) = self._seen[0], self._seen[-1]
        return (after - before) / (ended - began)


class Replay(LiveRun):
    """A run that a player replays. Its times are those of the run at the player's position."""

    def __init__(self, player: Player, clock: Clock = time.monotonic) -> None:
        super().__init__(EventQueue(), player, ours=False, clock=clock)
        self.player = player
        self.failure: Exception | None = None
        """Why the replay broke off: the store cannot be read, or there is a bug."""
        # A daemon: nothing has to be cleaned up when the process ends.
        self._thread = threading.Thread(target=self._play, name="replay", daemon=True)

    def start(self) -> None:
        """Start playing."""
        self._thread.start()

    def stop(self) -> None:
        """Stop playing, and wait up to five seconds for it."""
        self.player.stop()
        if self._thread.is_alive():
            self._thread.join(timeout=5)

    @property
    def elapsed_s(self) -> float:
        return self.player.position_s

    @property
    def through(self) -> bool:
        return self.player.is_over and not self.player.is_stopped

    @property
    def was_told(self) -> bool:
        return self.player.has_played

    @property
    def remaining(self) -> Remaining | None:
        seconds = self.player.remaining_s
        return None if seconds is None else Remaining.exactly(seconds)

    @property
    def condition(self) -> str:
        player = self.player
        if self.failure is not None:
            return "cannot be read"
        if player.is_over:
            return "finished" if player.stored.state == "finished" else "interrupted"
        if player.is_paused:
            return "paused"
        if player.is_live and player.is_running:
            return "live"
        return f"replay {speed_text(player.speed)}"

    def _play(self) -> None:
        try:
            self.player.play(self._emit)
        except Exception as error:
            self.failure = error
        finally:
            self.feed.close()

    def _emit(self, event: Event) -> None:
        self.feed.emit(event)
        if isinstance(event, RunStarted) and self.player.earlier:
            self.feed.emit(StoredBefore(tuple(self.player.earlier), arms=self.player.stored.arms))

    @property
    def failure_text(self) -> str:
        """The failure in one line, empty if there is none."""
        if self.failure is None:
            return ""
        is_known = isinstance(self.failure, RigError)
        return str(self.failure) if is_known else f"{type(self.failure).__name__}: {self.failure}"


def speed_text(speed: float) -> str:
    """Return a speed in words: `4x`, `0.5x`, `max`."""
    return "max" if math.isinf(speed) else f"{speed:.3g}x"


_SHARE = 0.01
"""The most of one processor that the view may use while all of them are busy."""
_SPARE_SHARE = 0.1
"""The most that it may use while one of them has little else to do."""
_SPARE = 0.75
"""The processors that must be idle to allow `_SPARE_SHARE`."""
_SLOWEST = 1.0


class Pace:
    """The seconds until the next repaint: 0.1 (0.25 over ssh), or more if painting turns out expensive.

    llama.cpp's threads wait for one another: if each has a processor, time that the view uses on one of them
    is lost to all.
    """

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.fastest = 0.25 if environment.get("SSH_CONNECTION") else 0.1
        self._before = _clocks()

    def next_s(self, cost_s: float, free: float) -> float:
        """Return the pause after a repaint of `cost_s` processor seconds, with `free` processors idle."""
        share = _SPARE_SHARE if free >= _SPARE else _SHARE
        return min(max(self.fastest, cost_s / share), max(_SLOWEST, self.fastest))

    def spent(self) -> tuple[float, float]:
        """Return the processor time of this thread since the last call, in seconds, and the idle processors.

        The load of other processes is only known from the load average of the last minute.
        """
        now = _clocks()
        passed_s, spent_s, busy_s = (after - before for after, before in zip(now, self._before, strict=True))
        self._before = now
        busy = max(busy_s / passed_s if passed_s else 0.0, os.getloadavg()[0])
        return spent_s, available_cores() - busy


def _clocks() -> tuple[float, float, float]:
    return time.monotonic(), time.thread_time(), time.process_time()
