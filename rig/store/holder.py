"""Which process is writing a run: a claim that outlives neither the process nor a restart of the machine."""

import json
import os
import platform
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

ELSEWHERE = timedelta(minutes=15)
"""A writer on another machine cannot be looked at: it counts as gone after so long without storing a turn."""


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
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            pass
        return _started(self.pid) == self.started


def _started(pid: int) -> str:
    """The boot and the tick at which a process started; empty where the system does not say (macOS).

    A process that was killed but not yet waited for by its parent is said to be a zombie.
    """
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        # The name, in parentheses, may contain anything; behind it come the state and, as field 22, the time.
        state, *fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    return "zombie" if state in "ZX" else f"{boot}:{fields[18]}"
