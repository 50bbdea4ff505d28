"""One sentence on an arm: what the numbers support, and no more."""

import math
from dataclasses import asdict, dataclass
from enum import StrEnum

from rig.calls import JsonObject
from rig.compare.estimates import Difference
from rig.metrics import Metric
from rig.people.words import counted
from rig.rates import Estimate


class VerdictKind(StrEnum):
    """What can be said about an arm beside its baseline."""

    LOSS = "loss found"
    """Worse, and by more than chance explains at the corrected level."""
    GAIN = "gain found"
    """Better, likewise."""
    SUSPECTED = "loss suspected"
    """Worse, and by more than chance explains by the interval or without the correction, but not with it."""
    NO_LOSS_FOUND = "no loss found"
    """Neither, though a loss of a size that is named would have been seen."""
    NOTHING_TO_LOSE = "nothing to lose"
    """The baseline is as bad as can be, so that no loss could have been seen."""
    CANNOT_TELL = "cannot tell"
    """Too few conversations, or too much noise, for even a total loss to be seen."""
    NO_RATE = "no rate"
    """One of the two has no such rate: there was nothing to divide by."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What can be said about an arm, and the sentence that says it.

    `seen_above` is the loss, as a fraction, above which one would have been seen: with a power of 0.8 at the
    corrected level, and outside the interval. Only of `no loss found`.
    """

    kind: VerdictKind
    text: str
    seen_above: float | None = None

    def as_json(self) -> JsonObject:
        """All of it by name."""
        return asdict(self)


def verdict(
    metric: Metric,
    baseline: Estimate,
    difference: Difference,
    conversations: int,
    flips: tuple[int, int],
    alpha: float,
    *,
    is_success: bool = False,
) -> Verdict:
    """The verdict on an arm by one metric; `flips` are the conversations won and lost. That it is
    about success (`is_success`) need not be said.

    A loss or a gain is found when the corrected p-value is at most `alpha`. Otherwise the absence of one is
    stated together with the loss that would have been seen: the larger of the detectable difference and of
    the loss that the interval still allows.
    """
    if difference.value is None or baseline.value is None:
        text = f"no verdict: there was nothing to divide by for the {metric.noun} of both arms"
        return Verdict(VerdictKind.NO_RATE, text)
    worse = metric.worsening(difference.value)
    if difference.p_holm is None or difference.low is None or difference.high is None:
        return Verdict(VerdictKind.CANNOT_TELL, "cannot tell: one conversation says nothing about others")
    if difference.p_holm <= alpha and worse:
        kind = VerdictKind.LOSS if worse > 0 else VerdictKind.GAIN
        won, lost = flips
        flipped = f"; {counted(won, 'conversation')} won, {lost} lost" if won or lost else ""
        return Verdict(kind, f"{kind}: {_measured(metric, difference)}{flipped}")
    excludes_zero = difference.low > 0 or difference.high < 0
    if worse > 0 and (excludes_zero or (difference.p is not None and difference.p <= alpha)):
        text = f"{VerdictKind.SUSPECTED}, not shown: {_measured(metric, difference)}; p {_p(difference)}"
        return Verdict(VerdictKind.SUSPECTED, text)
    to_lose = _to_lose(metric, baseline.value)
    if to_lose <= 0:
        value = (
            f"{100 * baseline.value:.0f}%" if metric.format == "percent" else metric.amount(baseline.value)
        )
        text = f"nothing to lose: the baseline's {metric.noun} is {value}; no gain found"
        return Verdict(VerdictKind.NOTHING_TO_LOSE, text)
    allowed = max(metric.worsening(difference.low), metric.worsening(difference.high))
    worst = (
        f"a loss of all the baseline's {metric.noun}" if metric.better == "higher" else f"{metric.noun} 100%"
    )
    if difference.detectable is None or difference.detectable >= to_lose:
        text = f"cannot tell: with {counted(conversations, 'conversation')} {worst} could have gone unseen"
        return Verdict(VerdictKind.CANNOT_TELL, text)
    if allowed >= to_lose:
        text = f"cannot tell: with {counted(conversations, 'conversation')} {worst} cannot be ruled out"
        return Verdict(VerdictKind.CANNOT_TELL, text)
    seen = max(difference.detectable, allowed)
    where = "" if is_success else f"in {metric.noun} "
    alike = ", no conversation ended differently" if flips == (0, 0) else ""
    return Verdict(
        VerdictKind.NO_LOSS_FOUND,
        f"no loss {where}found{alike}; a loss above {_whole(metric, seen)} would have been seen",
        seen,
    )


def _measured(metric: Metric, difference: Difference) -> str:
    """The difference in words, with its interval the same way round."""
    value, low, high = (end or 0.0 for end in (difference.value, difference.low, difference.high))
    direction, bounds = ("lower", (-high, -low)) if value < 0 else ("higher", (low, high))
    unit = " points" if metric.format == "percent" else ""
    between = " to ".join(map(metric.amount, bounds))
    return f"{metric.noun} is {metric.amount(abs(value))}{unit} {direction} ({between})"


def _to_lose(metric: Metric, value: float) -> float:
    """By how much a rate can become worse at most."""
    if metric.better == "higher":
        return value
    return 1 - value if metric.format == "percent" else math.inf


def _p(difference: Difference) -> str:
    if difference.p_holm == difference.p:
        return f"{difference.p_holm:.3f}"
    return f"{difference.p:.3f}, corrected for the number of arms {difference.p_holm:.3f}"


def _whole(metric: Metric, difference: float) -> str:
    """Rounded up: what is claimed to be seen must not be less than what is."""
    if metric.format == "number":
        return metric.amount(math.ceil(100 * difference - 1e-9) / 100)
    return counted(math.ceil(100 * difference - 1e-9), "point")
