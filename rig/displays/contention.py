"""Whether an arm had its threads to itself: its own CPU time beside the time that passed."""

from rig.calls import JsonObject
from rig.displays.numbers import UNKNOWN, percent
from rig.events import Speed

MUCH = 0.9
"""A share of the CPU time below which speeds say as much of others as of the arm."""


def cpu_share(speed: Speed, fingerprint: JsonObject | None) -> float | None:
    """The share of the CPU time that its threads could use; None if a GPU computes, or nobody knows."""
    known = fingerprint or {}
    threads = known.get("model.n_threads")
    if not isinstance(threads, int) or known.get("model.n_gpu_layers"):
        return None
    return speed.cpu_share(threads)


def shown(speed: Speed, fingerprint: JsonObject | None) -> str:
    """As a cell of a table."""
    share = cpu_share(speed, fingerprint)
    return UNKNOWN if share is None else percent(min(share, 1.0))


def note(name: str, speed: Speed, fingerprint: JsonObject | None) -> list[str]:
    """A line on an arm that did not have its threads to itself."""
    share = cpu_share(speed, fingerprint)
    if share is None or share >= MUCH:
        return []
    return [
        f"{name} got {percent(share)} of the CPU time that its threads could have used: other processes were"
        " at work, or the machine waited; its speeds and times cannot be compared"
    ]
