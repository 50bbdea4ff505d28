"""Which process is writing a run: a claim that outlives neither the process nor a restart of the machine."""

import json
import os
import platform
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta

import psutil

ELSEWHERE = timedelta(minutes=15)
"""A writer on another machine cannot be looked at: it counts as gone after so long without storing a turn."""

CLOCK_SET = timedelta(minutes=1)
"""By so much a clock may be set without making a process look like another: starts are told in its time."""


@dataclass(frozen=True, slots=True)
class Holder:
    """A process, told apart from a later one with the same number by the time it started."""

    pid: int
    host: str
    started: str

    @classmethod
    def current(cls) -> "Holder":
        """The process that asks."""
        return cls(os.getpid(), platform.node(), _started(os.getpid()))

    @classmethod
    def from_text(cls, text: str) -> "Holder":
        """The inverse of `as_text`."""
        return cls(**json.loads(text))

    def as_text(self) -> str:
        """For the store."""
        return json.dumps(asdict(self))

    def is_alive(self, heartbeat: datetime) -> bool:
        """Whether it may still be writing. `heartbeat` is when it last stored something."""
        if self.host != platform.node():
            return datetime.now(UTC) - heartbeat < ELSEWHERE
        began, now = _seconds(self.started), _seconds(_started(self.pid))
        return began is not None and now is not None and abs(now - began) < CLOCK_SET.total_seconds()


def _started(pid: int) -> str:
    """When a process started, in seconds since 1970; empty for one that is gone or a zombie."""
    try:
        process = psutil.Process(pid)
        is_dead = process.status() in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)
        return "" if is_dead else str(process.create_time())
    except psutil.Error:
        return ""


def _seconds(started: str) -> float | None:
    """None also for what a rig before this one wrote: a boot and a tick."""
    try:
        return float(started)
    except ValueError:
        return None
