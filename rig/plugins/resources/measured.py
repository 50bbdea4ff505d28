"""What an arm takes here: its speed in quiet moments, with the spread, and its memory."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from math import ceil, floor, sqrt
from statistics import quantiles

from rig.core.calls import ByName, JsonObject
from rig.core.events import Speed
from rig.core.models import Usage
from rig.core.tasks import PlayedTurn
from rig.show.summary import cpu_share

QUIET = 0.9
"""The share of the CPU time that threads have to get in a turn for its times to count."""
FEWEST = 6
"""The fewest times from which an interval of their median follows."""
_TOKENS = 8
"""The fewest tokens of a turn whose rate says something of the model, and not of one token."""
_Z = 1.96


@dataclass(frozen=True, slots=True)
class TurnSpread(ByName):
    """The median of `count` times or rates, its 95% interval, and the quartiles: half of them are between.

    The interval is None for fewer than `FEWEST`.
    """

    count: int
    median: float
    lower: float
    upper: float
    low: float | None = None
    high: float | None = None

    @classmethod
    def of(cls, values: Iterable[float]) -> "TurnSpread | None":
        """Summarize values; None if there are none."""
        ordered = sorted(values)
        if not ordered:
            return None
        count = len(ordered)
        lower, median, upper = quantiles(ordered, n=4, method="inclusive") if count > 1 else ordered * 3
        if count < FEWEST:
            return cls(count, median, lower, upper)
        # Of the values in order, those between which the median is with 95%: by signs, whatever their law.
        half = _Z * sqrt(count) / 2
        first, last = floor(count / 2 - half), ceil(count / 2 + half)
        return cls(count, median, lower, upper, ordered[max(first, 0)], ordered[min(last, count - 1)])


@dataclass(frozen=True, slots=True)
class Resources(ByName):
    """What an arm takes. `decode` is in tokens per second, `first_token` in seconds from a user's words to
    the first token; both are of the `quiet` ones among its `turns`, None if there are none. `is_known` says
    whether anybody knows which were quiet; `at_worst` is the decode of all turns. `memory` are the bytes of
    weights, KV cache and compute buffers.
    """

    turns: int
    quiet: int
    is_known: bool
    decode: TurnSpread | None
    first_token: TurnSpread | None
    memory: int | None
    device_memory: int | None
    file_bytes: int | None
    at_worst: TurnSpread | None = None

    @property
    def whole_memory(self) -> int | None:
        """All memory, the GPU's included; None if it is not known."""
        parts = [size for size in (self.memory, self.device_memory) if size is not None]
        return sum(parts) if parts else None


def resources_of(turns: Sequence[PlayedTurn], speed: Speed, fingerprint: JsonObject, role: str) -> Resources:
    """Return what an arm took in these turns. Its memory is that of the whole arm."""
    quiet = list(_quiet(turns, fingerprint))
    size = fingerprint.get("model.file_bytes")
    return Resources(
        len(turns),
        len(quiet),
        cpu_share(speed, fingerprint) is not None,
        _decode(quiet, role),
        TurnSpread.of(seconds for turn in quiet if (seconds := _first_token(turn, role))),
        speed.peak_memory,
        speed.peak_device_memory,
        size if isinstance(size, int) else None,
        _decode(turns, role),
    )


def _decode(turns: Sequence[PlayedTurn], role: str) -> TurnSpread | None:
    """Return the tokens per second of the turns in which enough were generated."""
    speeds = (_speed(turn, role) for turn in turns)
    return TurnSpread.of(
        rate for of in speeds if of.completion_tokens >= _TOKENS and (rate := of.decode_rate)
    )


def _quiet(turns: Sequence[PlayedTurn], fingerprint: JsonObject) -> Iterator[PlayedTurn]:
    """Yield the turns in which nothing else kept the threads from working, and those of which nobody knows.

    Where several are played at once, their times are not their own: then all count.
    """
    is_alone = fingerprint.get("model.n_seq", 1) == 1
    for turn in turns:
        share = cpu_share(_speed(turn, None), fingerprint) if is_alone else None
        if share is None or share >= QUIET:
            yield turn


def _speed(turn: PlayedTurn, role: str | None) -> Speed:
    """Return the tokens and seconds of a turn, of all roles or of one."""
    used = [step.prediction.usage for step in turn.steps if role in (None, step.role)]
    return Speed(
        **{part.name: sum(getattr(of, part.name) for of in used) for part in fields(Usage)},
        tools_s=turn.tools_s,
        scoring_s=turn.scoring_s,
        wall_s=turn.wall_s,
        cpu_s=turn.cpu_s,
        steps=len(used),
    )


def _first_token(turn: PlayedTurn, role: str) -> float | None:
    first = next((step.prediction.usage.first_token_s for step in turn.steps if step.role == role), 0.0)
    return first or None
