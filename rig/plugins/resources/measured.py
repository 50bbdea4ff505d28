"""What an arm takes here: its speed in quiet moments, with the spread, and its memory."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import groupby
from math import ceil, floor, sqrt
from operator import itemgetter
from statistics import quantiles
from typing import Any

from rig import methods
from rig.compare.findings import ArmResult
from rig.core.calls import ByName, JsonObject
from rig.core.events import Speed
from rig.core.models import Usage
from rig.show.summary import cpu_share
from rig.store import Runs, StoredRun

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

    @property
    def value(self) -> float:
        """The median: the number that the interval is of."""
        return self.median

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
class TurnSpeeds(ByName):
    """Speeds over turns, None if there are none: tokens generated and tokens read per second, the seconds
    from a user's words to the first token, and those of a whole turn.
    """

    decode: TurnSpread | None
    prefill: TurnSpread | None
    first_token: TurnSpread | None
    turn: TurnSpread | None


@dataclass(frozen=True, slots=True)
class Resources(TurnSpeeds):
    """What an arm takes. Its speeds are of the `quiet` ones among its `turns`; `is_known` says whether it is
    known which were quiet, and `at_worst` has the speeds of all turns. `memory` are the bytes of weights, KV
    cache and compute buffers.
    """

    turns: int
    quiet: int
    is_known: bool
    memory: int | None
    device_memory: int | None
    file_bytes: int | None
    at_worst: TurnSpeeds

    @property
    def whole_memory(self) -> int | None:
        """All memory, the GPU's included; None if it is not known."""
        parts = [size for size in (self.memory, self.device_memory) if size is not None]
        return sum(parts) if parts else None

    @property
    def is_timed(self) -> bool:
        """Whether it was timed at all, as a model is and an oracle is not."""
        return self.at_worst.decode is not None or self.at_worst.first_token is not None

    @property
    def is_busy(self) -> bool:
        """Whether it was timed, and in none of its turns without other processes at work."""
        return self.is_timed and not self.quiet

    def too_few(self, spread: TurnSpread | None) -> str:
        """Return why a speed is not known well enough; empty if it has an interval."""
        if spread is not None and spread.low is not None:
            return ""
        if not self.quiet:
            return f"none of its {self.turns} turns was quiet"
        return f"only {spread.count if spread else 0} of its {self.turns} turns tell it, {FEWEST} are needed"


@dataclass(frozen=True, slots=True)
class TimedTurn:
    """What a turn took: all of it, and the part of the role that is evaluated, with its first token."""

    whole: Speed
    own: Speed
    first_token_s: float


def resources_in(runs: Runs, arms: Iterable[ArmResult]) -> dict[str, Resources]:
    """Return what stored arms took in all turns that they played, by their labels."""
    stored: dict[str, tuple[StoredRun, str, Mapping[str, Sequence[TimedTurn]]]] = {}
    resources = {}
    for arm in arms:
        if arm.run not in stored:
            run = runs.get(arm.run)
            role = methods.evaluated_role(run.declaration.method)
            stored[arm.run] = run, role, _turns(runs, run, role)
        run, role, turns = stored[arm.run]
        of = run.arms[arm.position]
        resources[arm.label] = resources_of(turns.get(of.name, ()), of.speed, of.fingerprint or {})
    return resources


_TURN = itemgetter("arm", "conversation", "repeat", "position")


def _turns(runs: Runs, run: StoredRun, role: str) -> Mapping[str, Sequence[TimedTurn]]:
    """Return the turns of a run by arm, read from rows, as transcripts hold everything that was said."""
    took = {_TURN(row): row for row in runs.view("turn_results", run)}
    turns: dict[str, list[TimedTurn]] = {}
    for key, rows in groupby(runs.view("steps", run), _TURN):
        steps, of = list(rows), took[key]
        own = [step for step in steps if step["role"] == role]
        whole = _speed(steps, **{name: of[name] for name in ("tools_s", "scoring_s", "wall_s", "cpu_s")})
        first = own[0]["first_token_s"] if own else 0.0
        turns.setdefault(key[0], []).append(TimedTurn(whole, _speed(own), first))
    return turns


def _speed(steps: Sequence[Mapping[str, Any]], **of_turn: Any) -> Speed:
    sums = {part.name: sum(step[part.name] for step in steps) for part in fields(Usage)}
    return Speed(**sums, **of_turn, steps=len(steps))


def resources_of(turns: Sequence[TimedTurn], speed: Speed, fingerprint: JsonObject) -> Resources:
    """Return what an arm took in these turns. Its memory is that of the whole arm."""
    quiet = list(_quiet(turns, speed, fingerprint))
    size = fingerprint.get("model.file_bytes")
    best = _speeds(quiet)
    return Resources(
        best.decode,
        best.prefill,
        best.first_token,
        best.turn,
        len(turns),
        len(quiet),
        cpu_share(speed, fingerprint) is not None,
        speed.peak_memory,
        speed.peak_device_memory,
        size if isinstance(size, int) else None,
        _speeds(turns),
    )


def _speeds(turns: Sequence[TimedTurn]) -> TurnSpeeds:
    """Return the speeds of turns; their rates are of those with enough tokens."""
    written = (turn.own for turn in turns if turn.own.completion_tokens >= _TOKENS)
    read = (turn.own for turn in turns if turn.own.prompt_tokens - turn.own.cached_tokens >= _TOKENS)
    return TurnSpeeds(
        TurnSpread.of(rate for of in written if (rate := of.decode_rate)),
        TurnSpread.of(rate for of in read if (rate := of.prefill_rate)),
        TurnSpread.of(turn.first_token_s for turn in turns if turn.first_token_s),
        TurnSpread.of(turn.whole.wall_s for turn in turns if turn.whole.wall_s),
    )


def _quiet(turns: Sequence[TimedTurn], speed: Speed, fingerprint: JsonObject) -> Iterator[TimedTurn]:
    """Yield the turns in which nothing else kept the threads from working, and those of which nobody knows.

    Where several are played at once, no turn has CPU time of its own: then the arm's decides for all.
    """
    is_alone = fingerprint.get("model.n_seq", 1) == 1
    for turn in turns:
        share = cpu_share(turn.whole if is_alone else speed, fingerprint)
        if share is None or share >= QUIET:
            yield turn
