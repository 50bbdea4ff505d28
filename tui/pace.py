"""How often to look."""

from collections.abc import Mapping

_SHARE = 0.02
"""The most of one processor that watching may take."""
_SLOWEST = 0.5


class Pace:
    """Seconds until the next repaint: 0.1 (0.25 over ssh), longer when painting turns out expensive."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.fastest = 0.25 if environment.get("SSH_CONNECTION") else 0.1

    def next_s(self, cost_s: float) -> float:
        """The pause after a repaint that cost `cost_s` seconds of processor time."""
        return min(max(self.fastest, cost_s / _SHARE), max(_SLOWEST, self.fastest))
