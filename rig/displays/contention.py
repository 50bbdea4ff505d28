"""Whether an arm had its threads to itself: its own CPU time beside the time that passed."""

from collections.abc import Iterable
from typing import TypeAlias

from rig.calls import JsonObject
from rig.displays.numbers import UNKNOWN, percent
from rig.events import Speed

Timed: TypeAlias = tuple[str, Speed, JsonObject | None]
"""An arm's name, speed and fingerprint."""

MUCH = 0.9
"""A share of the CPU time below which speeds say as much of others as of the arm."""

MOST_NAMED = 3
"""If more arms than this were short of CPU time, they are counted instead of named."""


def cpu_share(speed: Speed, fingerprint: JsonObject | None) -> float | None:
    """The share of the CPU time that its threads could use; None if a GPU computes, or nobody knows."""
    values = fingerprint or {}
    threads = values.get("model.n_threads")
    if not isinstance(threads, int) or values.get("model.n_gpu_layers"):
        return None
    return speed.cpu_share(threads)


def shown(speed: Speed, fingerprint: JsonObject | None) -> str:
    """As a cell of a table."""
    share = cpu_share(speed, fingerprint)
    return UNKNOWN if share is None else percent(min(share, 1.0))


def note(arms: Iterable[Timed]) -> list[str]:
    """One line about the arms that did not have their threads to themselves."""
    shares = {name: cpu_share(speed, fingerprint) for name, speed, fingerprint in arms}
    short = {name: percent(share) for name, share in shares.items() if share is not None and share < MUCH}
    if not short:
        return []
    if len(short) > MOST_NAMED:
        who = f"{len(short)} of {len(shares)} arms got less than {percent(MUCH)} of the CPU time"
    else:
        got = [f"{name} got {share}" for name, share in short.items()]
        who = f"{' and '.join(filter(None, (', '.join(got[:-1]), got[-1])))} of the CPU time"
    whose = "its" if len(short) == 1 else "their"
    return [
        f"{who} that {whose} threads could have used: other processes were at work, or the machine waited;"
        f" {whose} speeds and times cannot be compared"
    ]
