"""How often to look."""

import os
import time
from collections.abc import Mapping

from rig.meters import available_cores

_SHARE = 0.01
"""The most of one processor that watching may take while all of them are busy."""
_SPARE_SHARE = 0.1
"""The same while one of them has little else to do."""
_SPARE = 0.75
"""Processors that have to be free for that."""
_SLOWEST = 1.0


class Pace:
    """Seconds until the next repaint: 0.1 (0.25 over ssh), longer when painting turns out expensive.

    llama.cpp's threads wait for one another: where each has a processor, what the view takes from one of
    them is lost to all.
    """

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.fastest = 0.25 if environment.get("SSH_CONNECTION") else 0.1

    def next_s(self, cost_s: float, free: float) -> float:
        """The pause after a repaint that took `cost_s` seconds of a processor, with `free` of them idle."""
        share = _SPARE_SHARE if free >= _SPARE else _SHARE
        return min(max(self.fastest, cost_s / share), max(_SLOWEST, self.fastest))


class Spending:
    """What the thread that asks spent, and how many processors had nothing to do, since it asked before."""

    def __init__(self) -> None:
        self._before = _clocks()

    def since(self) -> tuple[float, float]:
        """Seconds of processor time, and idle processors: this process knows its own threads at once, and all
        others by the load average of the last minute.
        """
        now = _clocks()
        passed_s, spent_s, busy_s = (after - before for after, before in zip(now, self._before, strict=True))
        self._before = now
        busy = max(busy_s / passed_s if passed_s else 0.0, os.getloadavg()[0])
        return spent_s, available_cores() - busy


def _clocks() -> tuple[float, float, float]:
    return time.monotonic(), time.thread_time(), time.process_time()
