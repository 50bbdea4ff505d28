"""Test whether an arm loses more than a given amount, with a valid answer after every conversation.

Two arms play the same conversations in a random order; a difference is the arm's outcome less the
reference's, from -1 to 1. Somebody bets against a null hypothesis on the mean difference, conversation by
conversation, and cannot win in the long run if it is true: the capital is a nonnegative supermartingale that
starts at 1, an e-process. It reaches 1 / alpha with a chance of at most alpha, whenever and however often one
looks (Ville, 1939).

Not every difference has to be known. The capital, now and at every later look, never falls when one of the
values rises. So if the least that a value can be stands in for it, the capital is never above what it would
be if all were known, and reaches 1 / alpha no more often, whatever was left out and why.

Source of the bets: Waudby-Smith and Ramdas, *Estimating means of bounded random variables by betting*, JRSS-B
86 (2024); section 5 for sampling without replacement, as in their *Confidence sequences for sampling without
replacement* (NeurIPS 2020). Here the capital is a mixture of bets of fixed shares of the highest stake.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rig.core.calls import JsonObject
from rig.core.errors import counted
from rig.stats.rates import OutcomeBounds, Vector

Finding: TypeAlias = Literal["shown", "excluded"]
"""What is found about a loss of some size: the arm loses at least that much, or it loses less."""

SHARES: Vector = np.array([1 / 16, 1 / 8, 1 / 4, 1 / 2, 3 / 4, 1.0])
WEIGHTS: Vector = np.array([0.02, 0.03, 0.05, 0.2, 0.5, 0.2])
"""The shares of the highest stake that are bet, and the part of the capital that starts with each.

High shares are best for dozens of conversations that rarely flip, low ones for thousands, or for many flips.
"""

_SOME = 4
"""With fewer lost conversations than this, the rate at which an arm loses is too uncertain."""

_SLACK = 1e-9
_GRID = 2_000
"""The number of parts into which the range of a mean is cut if the mean could be any number."""


def capital(values: Vector, mean: float, of: int | None = None) -> Vector:
    """Return the e-process against a mean of at most `mean`, after each of the values (0 to 1, last axis).

    With `of`, the values are drawn without replacement from a population of that size, otherwise from an
    infinite one. Infinite once the hypothesis is impossible.
    """
    with np.errstate(over="ignore"):
        return np.asarray(np.exp(_log_capital(values, np.array([mean]), of)[..., 0, :]), dtype=np.float64)


def _log_capital(values: Vector, means: Vector, of: int | None) -> Vector:
    """Return the logarithms of e-processes, shape (..., means, values)."""
    values = values[..., None, :]
    if of is None:
        left: Vector = np.broadcast_to(means[:, None], (len(means), values.shape[-1]))
        impossible: NDArray[np.bool_] = np.zeros_like(left, dtype=bool)
    else:
        drawn = np.cumsum(values, axis=-1)
        total = of * means[:, None]
        # What is left must have this mean if the hypothesis just about holds.
        left = (total - (drawn - values)) / (of - np.arange(values.shape[-1]))
        left = np.where(np.abs(left) < _SLACK, 0.0, np.minimum(left, 1.0))
        impossible = drawn > total + _SLACK
    with np.errstate(divide="ignore", invalid="ignore"):
        gain = np.where(left > 0, values / left, np.where(values > 0, np.inf, 1.0))
        factors = 1 - SHARES[:, None] + SHARES[:, None] * gain[..., None, :]
        grown = np.cumsum(np.log(np.maximum(factors, 0.0)), axis=-1)
        mixed = np.logaddexp.reduce(grown + np.log(WEIGHTS)[:, None], axis=-2)
    return np.asarray(np.where(impossible, np.inf, mixed), dtype=np.float64)


@dataclass(frozen=True, slots=True)
class DifferenceBounds:
    """The least and the most that the difference can be in each conversation, in the order drawn.

    They are the same where both arms have played the conversation and every text in it is clear. `texts`
    counts the unclear ones, and `unplayed` is the share of repeats that the arm has not played; without it,
    an open difference counts as unplayed.
    """

    least: Vector
    most: Vector
    texts: Vector | None = None
    unplayed: Vector | None = None

    def __len__(self) -> int:
        return len(self.least)

    @classmethod
    def of_outcomes(
        cls, outcomes: Iterable[tuple[Sequence[OutcomeBounds], Sequence[OutcomeBounds]]], repeats: int = 1
    ) -> "DifferenceBounds":
        """Build the bounds from the outcomes, by repeat, of the reference and the arm in each conversation.

        They end before the first conversation that has yet to be played. One in which the reference got
        nothing right, and cannot have, need not be played: an arm cannot lose there.
        """
        rows = []
        for first, arm in outcomes:
            missing = repeats - len(arm)
            if len(first) < repeats or (missing > 0 and any(outcome.most for outcome in first)):
                break
            least = sum(outcome.least for outcome in arm) - sum(outcome.most for outcome in first)
            most = sum(outcome.most for outcome in arm) - sum(outcome.least for outcome in first) + missing
            texts = sum(outcome.texts for outcome in (*first, *arm))
            rows.append((least / repeats, most / repeats, texts, missing / repeats))
        return cls.of_rows(rows)

    @classmethod
    def of_rows(cls, rows: Sequence[tuple[float, float, float, float]]) -> "DifferenceBounds":
        """Build the bounds from a row of the four values for each conversation."""
        return cls(*np.array(rows, dtype=np.float64).reshape(-1, 4).T)

    def waiting(self, after: int) -> int:
        """Return how many of the first `after` conversations the arm has not played."""
        unplayed = self.most - self.least if self.unplayed is None else self.unplayed
        return int(np.count_nonzero(unplayed[:after] > 0))

    @property
    def unclear(self) -> int:
        """The number of texts that nobody could judge and that could change a difference."""
        return 0 if self.texts is None else int(self.texts.sum())

    def ends(self) -> "Iterator[DifferenceBounds]":
        """Yield the differences if every unclear text is decided against the arm, and if for the arm."""
        assert self.unplayed is not None
        yield DifferenceBounds(self.least, self.least + self.unplayed)
        yield DifferenceBounds(self.most - self.unplayed, self.most)


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known about an arm's loss after `after` conversations, of `of` if the suite has an end.

    The arm has not played `waiting` of those that count: the reference got nothing right there. `size` is the
    loss asked about, a fraction; `shown` and `excluded` are the highest e-values so far against the arm
    losing less, and against it losing at least that much. Either has to reach `needed`. `low` and `high` are
    the ends of the confidence sequence of the loss; each is wrong, ever, with a chance of at most 1 / needed.
    `found` is what was decided first, after `decided` conversations, with the e-value `reached`. It holds
    however the `unclear` texts are decided. `is_for_texts` is true if nothing is found, but something would
    be if they were all decided one way.
    """

    size: float
    after: int
    of: int | None
    shown: float
    excluded: float
    needed: float
    low: float
    high: float
    waiting: int = 0
    found: Finding | None = None
    decided: int | None = None
    reached: float | None = None
    unclear: int = 0
    is_for_texts: bool = False

    @property
    def text(self) -> str:
        """The evidence in one line, as in `loss of 5 points excluded, e = 31, after 24 of 78 (9 played)`."""
        of = f" of {self.of}" if self.of else ""
        if self.waiting:
            of += f" ({(self.decided or self.after) - self.waiting} played)"
        loss = f"loss of {counted(100 * self.size, 'point')}{' in this suite' if self.of else ''}"
        if self.found and self.reached is not None:
            return f"{loss} {self.found}, e {_related(self.reached)}, after {self.decided}{of}"
        if self.is_for_texts:
            verb = "decides" if self.unclear == 1 else "decide"
            texts = f"{counted(self.unclear, 'unclear text')} {verb} it"
            return f"{loss}: cannot tell: {texts}, after {self.after}{of}"
        texts = f", {counted(self.unclear, 'text')} unclear" if self.unclear else ""
        return (
            f"{loss} open after {self.after}{of}{texts}: e {_related(self.shown)} for it,"
            f" e {_related(self.excluded)} against it, {self.needed:g} needed"
        )

    @property
    def bounds(self) -> str:
        """The bounds of the difference, as text: `between 3.1 points better and 0.4 points worse`."""
        low, high = (
            f"{abs(100 * end):.1f} points {'better' if end < 0 else 'worse'}" for end in (self.low, self.high)
        )
        return low if low == high else f"between {low} and {high}"

    def as_json(self) -> JsonObject:
        """Return the fields by name, with null for infinite e-values."""
        values = asdict(self)
        e_values = ("shown", "excluded", "reached")
        return values | {name: None for name in e_values if values[name] == math.inf}


def _related(e_value: float) -> str:
    """Return an e-value with its relation sign; it is infinite if the hypothesis has become impossible."""
    if e_value >= 1e6:
        return "> 1,000,000"
    # Rounded down, so that no e-value seems to reach what it does not.
    return f"= {math.floor(e_value):,}" if e_value >= 10 else f"= {math.floor(10 * e_value) / 10}"


@dataclass(frozen=True, slots=True)
class LossTest:
    """A test of whether an arm loses `size` (a fraction) or more, valid however often one looks.

    `of` is the number of conversations of the suite whose loss is meant, None for conversations like these.
    `alpha` is the chance of a wrong finding; over several arms it is shared evenly (`arms`). Of the two
    hypotheses about an arm exactly one is true, so that the two tests of one arm share nothing. Holm's
    correction would not hold here: a decision about one arm leaves that arm's true hypothesis where it was.
    `step` is what differences are multiples of, 0 if they could be any number.
    """

    size: float
    of: int | None = None
    alpha: float = 0.05
    arms: int = 1
    step: float = 0.0

    @property
    def needed(self) -> float:
        """The e-value that has to be reached for a finding."""
        return self.arms / self.alpha

    def evidence(self, differences: DifferenceBounds | Sequence[float] | Vector) -> Evidence:
        """Return what the differences so far, in the order drawn, show; numbers are known differences."""
        differences = _all_known(differences)
        processes = self.e_processes(differences)
        finding, decided = self._first(processes)
        is_for_texts = finding is None and differences.unclear > 0
        low, high = self.sequence(differences)
        if self._is_whole(differences):
            # The loss is known then, even where an unlikely order rejects it.
            low, high = (
                float(-ends.sum() / len(differences)) for ends in (differences.most, differences.least)
            )
        return Evidence(
            size=self.size,
            after=len(differences),
            of=self.of,
            **{name: float(np.max(process, initial=1.0)) for name, process in processes.items()},
            needed=self.needed,
            low=low,
            high=high,
            waiting=differences.waiting(decided or len(differences)),
            found=finding,
            decided=decided,
            reached=float(processes[finding][decided - 1]) if finding and decided else None,
            unclear=differences.unclear,
            is_for_texts=is_for_texts and any(self._finds(end) for end in differences.ends()),
        )

    def _finds(self, bounds: DifferenceBounds) -> bool:
        """Return whether these differences decide it; a suite that was played whole always does."""
        return self._is_whole(bounds) or self.finding(bounds) is not None

    def finding(self, differences: DifferenceBounds | Vector) -> Finding | None:
        """Return whether the differences first show or exclude the loss; None while it is open."""
        return self._first(self.e_processes(differences))[0]

    def _first(self, processes: Mapping[Finding, Vector]) -> tuple[Finding | None, int | None]:
        """Return what is decided first, and after how many conversations."""
        reached = {name: process >= self.needed for name, process in processes.items()}
        decided = {name: int(np.argmax(hits)) + 1 for name, hits in reached.items() if hits.any()}
        finding = min(decided, key=decided.__getitem__, default=None)
        return finding, decided[finding] if finding else None

    def _is_whole(self, bounds: DifferenceBounds) -> bool:
        """Return whether the whole suite was played."""
        return len(bounds) == self.of and not bounds.waiting(self.of)

    def e_processes(self, differences: DifferenceBounds | Vector) -> dict[Finding, Vector]:
        """Return the e-processes against a loss below the size and one of the size, along the last axis."""
        differences = _all_known(differences)
        below, least = self._edges()
        return {
            "shown": capital((1 - differences.most) / 2, (1 + below) / 2, self.of),
            "excluded": capital((1 + differences.least) / 2, (1 - least) / 2, self.of),
        }

    def soonest(self, tasks: int) -> int:
        """Return after how many of these something could be found, if all of them went one way."""
        ends = [self.evidence(np.full(tasks, difference)).decided for difference in (1.0, -1.0)]
        return min(end or tasks for end in ends)

    def wins_matter(self, differences: DifferenceBounds) -> NDArray[np.bool_]:
        """Return whether to play conversations that the reference got wrong, in which an arm can only win.

        There is a result for each suite along the axes before the last. An arm that lost so many that only
        wins can clear it has to play them; one that loses at half the rate asked about is decided sooner with
        them.
        """
        _, least = self._edges()
        lost = -differences.least.sum(axis=-1)
        must = lost >= least * (self.of or math.inf) - _SLACK
        soon = (lost >= _SOME) & (lost >= self.size / 2 * differences.least.shape[-1])
        return np.asarray(must | soon)

    def _edges(self) -> tuple[float, float]:
        """Return the highest loss that is below the size, and the lowest that is not."""
        if self.of is None or not self.step:
            return self.size, self.size
        steps = math.ceil(self.size * self.of / self.step - _SLACK)
        return ((steps - 1) * self.step / self.of, steps * self.step / self.of)

    def sequence(self, differences: DifferenceBounds | Vector) -> tuple[float, float]:
        """Return the ends of the confidence sequence: of the losses that neither side rejects at `needed`."""
        differences = _all_known(differences)
        return -self._end(-differences.most), self._end(differences.least)

    def _end(self, differences: Vector) -> float:
        """Return the highest loss that the differences do not reject. Capital falls as the mean rises."""
        if not len(differences):
            return 1.0
        values = (1 + differences) / 2
        exact = self.of is not None and self.step
        parts = round(2 * (self.of or 0) / self.step) if exact else _GRID
        means = np.linspace(0, 1, parts + 1)
        rejected, kept = -1, parts  # means[kept] is never rejected: no mean is higher
        while kept - rejected > 1:
            middle = (rejected + kept) // 2
            is_rejected = _log_capital(values, means[[middle]], self.of).max() >= math.log(self.needed)
            rejected, kept = (middle, kept) if is_rejected else (rejected, middle)
        mean = means[kept] if exact else means[max(rejected, 0)]
        return float(1 - 2 * mean)


def _all_known(differences: DifferenceBounds | Sequence[float] | Vector) -> DifferenceBounds:
    if isinstance(differences, DifferenceBounds):
        return differences
    values = np.asarray(differences, dtype=np.float64)
    return DifferenceBounds(values, values)
