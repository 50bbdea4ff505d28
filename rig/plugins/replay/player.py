"""Replay a stored run under a viewer's control, and continue with what is stored meanwhile."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from threading import TIMEOUT_MAX
from time import monotonic
from typing import TYPE_CHECKING

from rig.core.errors import RigError, did_you_mean
from rig.running.control import Control

if TYPE_CHECKING:
    from rig.core.events import Emit, Where
    from rig.plugins.replay.follower import Follower, TurnEntry
    from rig.plugins.replay.moments import Moment, StoredEvents
    from rig.store import Cell, StoredRun

SPEEDS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, math.inf)
"""Multiples of the original speed. The last shows every turn whole, without the pieces of its text."""

SLOWEST = 0.001
"""The lowest speed; a lower one would be like standing still."""


class Sought(Exception):
    """A viewer wants to be elsewhere in the run, so it must be replayed from its beginning."""


POLL_S = 0.3
"""The seconds between two checks of a store in which nothing changed."""

PRESENCE_S = 1.0
"""The seconds between two checks whether the process that writes a run is still there."""


class Player(Control):
    """Emits the events of a stored run; each turn takes its original time, divided by the current speed.

    Controls may be called from any thread; waiting is for the one that plays. A pause holds immediately, not
    after the turn. Stopping ends the replay; the run is not affected.

    A run in progress is played one turn behind: a turn is played once it is stored. If several are waiting,
    only the newest takes its time. With `stay`, playing continues after the end of the run: one can still
    seek, and a run that is resumed is followed again, until `stop`.
    """

    STOPPING = "no longer watching; the run is not touched"

    def __init__(
        self, store: Path, run: str, *, speed: float = 1.0, at_end: bool = False, stay: bool = False
    ) -> None:
        """Play a run from its beginning or, with `at_end` or if it is in progress, from its end. The
        conversations before the end are in `earlier` then and not played.

        Raises RigError if there is no such run.
        """
        from rig.store import Runs

        super().__init__()
        self.speed = speed
        """A multiple of the original speed; infinite for as fast as possible."""
        self._stepping = False
        self._sought: Where | None = None
        self._is_sought = False
        self._is_end_sought = False
        self.slept_s = 0.0
        """The seconds of the current turn that have passed in `sleep`."""
        self.until: Where | None = None
        """The conversation to hurry to, without waiting."""
        self.hurry = False
        """Whether playing lags behind the run, so that it does not wait."""
        self.store = store
        with Runs.open(store) as runs:
            self.stored: StoredRun = runs.get(run)
            self.conversations = {task.name: task for task in runs.conversations(self.stored)}
        self.run = self.stored.id
        self.earlier: list[Cell] = []
        """The finished conversations that are not played."""
        self.is_running = self.stored.is_running
        """Whether somebody is writing the run."""
        self.is_live = False
        """Whether everything that is stored has been played."""
        self.is_over = False
        """Whether the end of the run has been played."""
        self.has_played = False
        """Whether any turn was played, rather than only reported as history."""
        self._done_s = 0.0
        self._at_end = at_end or self.is_running
        self._stay = stay
        self._turns = self._turns_s = 0.0
        self._ahead_s = 0.0

    def set_speed(self, speed: float) -> None:
        """Play at this speed from now on."""
        with self._changed:
            self.speed = speed
            self._changed.notify_all()

    def faster(self) -> None:
        """Play at the next higher speed."""
        self.set_speed(min((speed for speed in SPEEDS if speed > self.speed), default=SPEEDS[-1]))

    def slower(self) -> None:
        """Play at the next lower speed of `SPEEDS`, or go on at this one if there is none."""
        self.set_speed(max((speed for speed in SPEEDS if speed < self.speed), default=self.speed))

    def step(self) -> None:
        """Show the rest of the current turn, or the whole next one, and pause there."""
        with self._changed:
            self.is_paused = True
            self._stepping = True
            self._changed.notify_all()

    def seek(self, where: Where | None) -> None:
        """Continue from the beginning of this conversation, or of the run."""
        with self._changed:
            self._sought, self._is_sought = where, True
            self._changed.notify_all()

    def seek_end(self) -> None:
        """Continue from the end of what is stored, which for a finished run is its end."""
        with self._changed:
            self._is_end_sought = True
            self.seek(None)

    @property
    def is_paced(self) -> bool:
        """Whether time passes between events."""
        hurried = self.hurry or self._stepping or self.until is not None
        return not hurried and not math.isinf(self.speed)

    def sleep(self, seconds: float) -> None:
        """Let this many seconds of the run pass at the current speed. Raises Stopped and Sought."""
        with self._changed:
            self._heed()
            while seconds > 0:
                if self._stepping or self.until is not None:
                    return
                if self.is_paused:
                    self._changed.wait()
                elif not self.is_paced:
                    return
                else:
                    began, speed = monotonic(), self.speed
                    self._changed.wait(min(seconds / speed, TIMEOUT_MAX))
                    passed = (monotonic() - began) * speed
                    seconds -= passed
                    self.slept_s += passed
                self._heed()

    def idle(self, seconds: float) -> None:
        """Wait this many seconds, at any speed. Raises Stopped and Sought."""
        with self._changed:
            self._heed()
            self._changed.wait(seconds)
            self._heed()

    def _heed(self) -> None:
        self.check()
        if self._is_sought:
            raise Sought

    def start_at(self, where: Where) -> None:
        """Begin with this conversation instead. Must be called before playing."""
        self.until = where
        self._at_end = False

    def find(self, conversation: str, arm: int = 0, repeat: int = 0) -> Where:
        """Return the place of a conversation in the run. Raises RigError if there is none."""
        from rig.core.events import Where

        if (
            conversation not in self.conversations
            or arm not in range(len(self.stored.arms))
            or repeat not in range(self.stored.repeats)
        ):
            near = did_you_mean(conversation, self.conversations)
            raise RigError(
                f"run {self.run} has no conversation {conversation!r}{near}; `rig show {self.run}` lists them"
            )
        return Where(arm, conversation, repeat)

    @property
    def position_s(self) -> float:
        """The seconds of the run before the current position."""
        return self._done_s + self.slept_s

    @property
    def remaining_s(self) -> float | None:
        """The seconds until the end of the run, if turns yet to be made take as long as others."""
        if self.is_over or not self._turns:
            return None
        unmade = max(self.stored.turns - self._turns, 0) if self.is_running else 0
        return max(self._ahead_s - self.slept_s, 0.0) / self.speed + unmade * self._turns_s / self._turns

    def play(self, emit: Emit) -> StoredRun:
        """Play to the end, or until stopped; return the stored run. Raises RigError and StoreError."""
        from rig.plugins.replay.follower import Follower
        from rig.running.control import Stopped

        with Follower.follow(self.store, self.run) as follower:
            while True:
                try:
                    self._play(follower, emit)
                    if not self._stay:
                        return self.stored
                    done = self.stored.turns_done
                    # Until somebody writes the run again, or did.
                    while not follower.is_written() and (
                        not follower.changed() or follower.run().turns_done == done
                    ):
                        self.idle(PRESENCE_S)
                    self._at_end = True
                except Sought:
                    with self._changed:
                        self.until, self._sought, self._is_sought = self._sought, None, False
                        self._at_end, self._is_end_sought = self._is_end_sought, False
                except Stopped:
                    return follower.run()

    def _play(self, follower: Follower, emit: Emit) -> None:
        """Play from the beginning, or from what is known, to the end of the run."""
        from rig.core.events import Notice, Where
        from rig.plugins.replay.moments import StoredEvents

        self.is_over = self.is_live = self.hurry = False
        follower.changed()
        with follower.snapshot():
            self.stored = run = follower.run()
            entries = follower.entries()
            self.earlier = [cell for cell in follower.cells(run) if cell.counts] if self._at_end else []
        finished = {Where(cell.arm, cell.conversation, cell.repeat) for cell in self.earlier}
        events = StoredEvents(run, str(self.store), self.conversations, self.earlier, seeded=self._at_end)
        self.slept_s = 0.0
        self._done_s = sum(entry.wall_s for entry in entries if entry.where in finished)
        self._turns, self._turns_s = len(entries), sum(entry.wall_s for entry in entries)
        emit(events.start())
        if run.declaration.caution:
            emit(Notice(run.declaration.caution))
        left = deque(entry for entry in entries if entry.where not in finished)
        if self._at_end:
            for entry in left:
                self._turn(follower, events, entry, emit, is_history=True)
            left.clear()
        last = entries[-1].id if entries else 0
        self._ahead_s = sum(entry.wall_s for entry in left)
        while True:
            if not left:
                left.extend(self._next(follower, last))
            if not left:
                break
            last = max(last, left[-1].id)
            entry = left.popleft()
            self.hurry = self.is_live and bool(left)
            self._turn(follower, events, entry, emit)
            self._ahead_s = max(self._ahead_s - entry.wall_s, 0.0)
            left.extend(self._new(follower, last))
        self._end(follower, events, emit)

    def _new(self, follower: Follower, last: int) -> list[TurnEntry]:
        """Return the turns that were stored after the one with this id."""
        new = follower.entries(last) if follower.changed() else []
        seconds = sum(entry.wall_s for entry in new)
        self._turns += len(new)
        self._turns_s += seconds
        self._ahead_s += seconds
        return new

    def _next(self, follower: Follower, last: int) -> list[TurnEntry]:
        """Wait for such turns and return them; return none if nobody is there to make them."""
        self.hurry, self.until, self.is_live, self._ahead_s = False, None, True, 0.0
        looked = float("-inf")
        while True:
            if new := self._new(follower, last):
                return new
            if monotonic() - looked >= PRESENCE_S:
                looked = monotonic()
                self.is_running = follower.is_written()
                if not self.is_running:
                    # What it stored between the two looks.
                    return self._new(follower, last)
            self.idle(POLL_S)

    def _turn(
        self,
        follower: Follower,
        events: StoredEvents,
        entry: TurnEntry,
        emit: Emit,
        *,
        is_history: bool = False,
    ) -> None:
        if entry.where == self.until:
            self.until = None
        if entry.where.arm not in events.begun:
            events.run = follower.run()
        with follower.snapshot():
            score = follower.counts(entry.where) if follower.is_last(entry) else None
            played = follower.played(entry)
        self.has_played |= not is_history
        moments = events.turn(entry.where, played, score, is_counted=not is_history)
        self._show(moments, emit, is_history=is_history)
        self._done_s, self.slept_s = self._done_s + entry.wall_s, 0.0
        with self._changed:
            self._stepping = False

    def _show(self, moments: Iterator[Moment], emit: Emit, *, is_history: bool) -> None:
        from rig.core.events import PieceGenerated

        for moment in moments:
            self.sleep(0.0 if is_history else moment.after_s)
            if not isinstance(moment.event, PieceGenerated) or (self.is_paced and not is_history):
                emit(moment.event)

    def _end(self, follower: Follower, events: StoredEvents, emit: Emit) -> None:
        from rig.core.events import Notice

        watched, self.stored = self.stored, follower.run()
        if watched.is_running and self.stored.state == "interrupted":
            died = follower.is_abandoned()
            how = "broke off: the process that wrote it is gone" if died else "was stopped"
            note = f"run {self.run} {how}; {self.stored.turns_left} left, rig run --resume {self.run}"
            emit(Notice(note))
        self.is_over = True
        self._show(events.end(self.stored), emit, is_history=True)
