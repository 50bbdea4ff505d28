"""One sentence on an arm, and one on all of them: what the numbers support, and no more."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum, StrEnum
from typing import NamedTuple

from rig.core.calls import ByName, JsonObject
from rig.core.errors import counted
from rig.core.metrics import Metric
from rig.stats import Estimate
from rig.stats.paired import RateDifference


class VerdictKind(StrEnum):
    """The verdict on an arm beside its baseline."""

    LOSS = "loss found"
    """Worse by more than chance explains at the corrected level."""
    GAIN = "gain found"
    """Better by more than chance explains at the corrected level."""
    SUSPECTED = "loss suspected"
    """Worse by more than chance explains by the interval or without the correction, but not with it."""
    NO_LOSS_FOUND = "no loss found"
    """Neither worse nor better, although a loss of the stated size would have been seen."""
    NOTHING_TO_LOSE = "nothing to lose"
    """The baseline is as bad as can be, so that no loss could have been seen."""
    CANNOT_TELL = "cannot tell"
    """Too few conversations, or too much noise, for even a total loss to be seen."""
    NO_RATE = "no rate"
    """One of the two has no such rate: there was nothing to divide by."""


class Decision(IntEnum):
    """A decision about a loss of a given size: the exit codes of `rig compare` and of gates.

    Code 2 is reserved for mistakes on the command line, as everywhere in rig.
    """

    PASSES = 0
    """A larger loss would have been seen, and was not."""
    WORSE = 1
    """A larger loss is found."""
    CANNOT_TELL = 3
    """A larger loss may be there."""


@dataclass(frozen=True, slots=True)
class ArmVerdict(ByName):
    """The verdict on an arm, and the sentence that states it. All numbers are fractions.

    `seen_above` is the loss above which one would have been seen: with a power of 0.8 at the corrected level,
    and outside the interval. Only `no loss found` has it. `at_least` is the loss or gain that was measured,
    and `allowed` the largest loss that the interval allows. If there are `unclear` texts, both are the worst
    over all ways of deciding them, and so is the kind.
    """

    kind: VerdictKind
    text: str
    seen_above: float | None = None
    at_least: float | None = None
    allowed: float | None = None
    unclear: int = 0

    def decision(self, size: float) -> Decision:
        """Return whether a loss of more than `size` is found, could have gone unseen, or neither."""
        if self.kind is VerdictKind.LOSS and self.at_least is not None and self.at_least > size:
            return Decision.WORSE
        if self.kind is VerdictKind.NO_LOSS_FOUND:
            largest = self.seen_above
        elif self.kind in (VerdictKind.LOSS, VerdictKind.SUSPECTED, VerdictKind.GAIN):
            largest = self.allowed
        else:
            return Decision.CANNOT_TELL
        is_seen = largest is not None and largest <= size + 1e-9
        return Decision.PASSES if is_seen else Decision.CANNOT_TELL


class RecommendationKind(StrEnum):
    """The kinds of recommendation after a comparison of files."""

    SHIP = "ship"
    """A file smaller than the baseline loses no more than is allowed."""
    KEEP = "keep"
    """The baseline stays: no file is smaller, or every smaller one loses more."""
    CANNOT_TELL = "cannot tell"
    """Nothing that was measured decides it."""


class LargerSuite(NamedTuple):
    """A suite that would decide, by name, about how many seconds the arms in question take for it, and the
    command that plays it.
    """

    name: str
    conversations: int
    seconds: float
    command: str = ""

    def as_json(self) -> dict[str, str | int | float]:
        return self._asdict()


@dataclass(frozen=True, slots=True)
class Recommendation(ByName):
    """The file to ship, and what that rests on.

    `arm` is the label of the file to ship, None if the evidence does not decide. `loss` is the one that is
    allowed, a fraction. `undecided` are smaller files that may lose more, and `ruled_out`, while nothing is
    decided, those that do. `reason` says why a file is kept, or why the decision is open, and `among` where a
    file loses no more, if not in all conversations like these. A decision holds however the `unclear` texts
    are decided. `suite` would decide what is open; where rig has no such suite, about `needed` conversations
    would. `strict` says what a server that takes leaked calls for words would leave of the file's success.
    """

    kind: RecommendationKind
    loss: float
    arm: str | None = None
    undecided: tuple[str, ...] = ()
    reason: str = ""
    unclear: int = 0
    among: str = ""
    suite: LargerSuite | None = None
    needed: int | None = None
    ruled_out: tuple[str, ...] = ()
    strict: str = ""

    def text(self, names: Mapping[str, str] | None = None) -> str:
        """Return the decision in a sentence that calls arms by their `names`, or else by their labels."""
        called = names or {}
        shipped, *others = (called.get(label, label) for label in (self.arm or "", *self.undecided))
        if self.kind is RecommendationKind.CANNOT_TELL:
            doubt = "Cannot tell which file to ship"
            if self.ruled_out:
                lost = " and ".join(called.get(label, label) for label in self.ruled_out)
                doubt = f"Rule out {lost}; {' or '.join(others)}: cannot tell yet"
            return f"{doubt}: {self.reason}{self._remedy()}"
        text = f"Keep {shipped}: {self.reason}"
        if self.kind is RecommendationKind.SHIP:
            text = f"Ship {shipped}: smallest file without a loss above {points(self.loss)}{self.among}"
        if others:
            text += f"; whether {' or '.join(others)} would do is open{self._remedy()}"
        if self.unclear:
            text += f"; so however {counted(self.unclear, 'unclear text')} may be decided"
        return f"{text}; but {self.strict}" if self.strict else text

    def as_json(self) -> JsonObject:
        """Return all fields by name, and the sentence as `text`."""
        return ByName.as_json(self) | {"text": self.text()}

    def _remedy(self) -> str:
        if self.suite is not None:
            command = self.suite.command or f"--suite {self.suite.name}"
            takes = f", about {_duration(self.suite.seconds)}," if self.suite.seconds else ""
            return f"; {command}{takes} would tell ({counted(self.suite.conversations, 'conversation')})"
        return "" if self.needed is None else f"; about {counted(self.needed, 'conversation')} would tell"


def points(loss: float) -> str:
    """Format a loss, a fraction, in points."""
    return counted(round(100 * loss, 4), "point")


def _duration(seconds: float) -> str:
    if seconds < 90:
        return counted(max(round(seconds), 1), "second")
    minutes = seconds / 60
    return counted(round(minutes), "minute") if minutes < 90 else counted(round(minutes / 60, 1), "hour")


def settled(verdicts: Sequence[ArmVerdict], metric: Metric, unclear: int) -> ArmVerdict:
    """Return the verdict that holds however unclear texts are decided, from those at the ends of their range.

    The first counts them as wrong. If the ends disagree, the texts decide, and the verdict is `cannot tell`.
    """
    kinds = {verdict.kind for verdict in verdicts}
    if len(kinds) == 1:
        kind = verdicts[0].kind
    elif kinds == {VerdictKind.LOSS, VerdictKind.SUSPECTED}:
        kind = VerdictKind.SUSPECTED
    elif kinds == {VerdictKind.GAIN, VerdictKind.NO_LOSS_FOUND}:
        kind = VerdictKind.NO_LOSS_FOUND
    else:
        decide = f"{counted(unclear, 'unclear text')} {'decides' if unclear == 1 else 'decide'} it"
        return ArmVerdict(VerdictKind.CANNOT_TELL, f"cannot tell: {decide}", unclear=unclear)
    ends = [verdict for verdict in verdicts if verdict.kind is kind]
    weakest = max(ends, key=lambda verdict: verdict.seen_above or 0.0)
    sizes = [verdict.at_least for verdict in ends if verdict.at_least is not None]
    if sizes:
        texts = f"{counted(unclear, 'unclear text')} {'is' if unclear == 1 else 'are'} decided"
        text = f"{ends[0].text}; at least {metric.amount(min(sizes))} however {texts}"
        weakest = replace(ends[0], text=text, at_least=min(sizes))
    allowed = [verdict.allowed for verdict in verdicts if verdict.allowed is not None]
    return replace(weakest, allowed=max(allowed, default=None), unclear=unclear)


def verdict(
    metric: Metric,
    baseline: Estimate,
    difference: RateDifference,
    conversations: int,
    flips: tuple[int, int] | None,
    alpha: float,
    *,
    is_success: bool = False,
) -> ArmVerdict:
    """Return the verdict on an arm by one metric; `flips` are the conversations won and lost, None if there
    are only some for another decision on unclear texts. With `is_success`, the metric is not mentioned.

    A loss or a gain is found when the corrected p-value is at most `alpha`. Otherwise the absence of one is
    stated together with the loss that would have been seen: the larger of the detectable difference and of
    the loss that the interval still allows.
    """
    if difference.value is None or baseline.value is None:
        text = f"no verdict: there was nothing to divide by for the {metric.noun} of both arms"
        return ArmVerdict(VerdictKind.NO_RATE, text)
    worse = metric.worsening(difference.value)
    allowed = None
    if difference.low is not None and difference.high is not None:
        allowed = max(metric.worsening(difference.low), metric.worsening(difference.high))
    if difference.p_holm is None or allowed is None:
        return ArmVerdict(VerdictKind.CANNOT_TELL, "cannot tell: one conversation says nothing about others")
    if difference.p_holm <= alpha and worse:
        kind = VerdictKind.LOSS if worse > 0 else VerdictKind.GAIN
        won, lost = flips or (0, 0)
        flipped = f"; {counted(won, 'conversation')} won, {lost} lost" if won or lost else ""
        text = f"{kind}: {_measured(metric, difference)}{flipped}"
        return ArmVerdict(kind, text, None, abs(worse), allowed)
    excludes_zero = (difference.low or 0.0) > 0 or (difference.high or 0.0) < 0
    if worse > 0 and (excludes_zero or (difference.p is not None and difference.p <= alpha)):
        p = f"{difference.p_holm:.3f}"
        if difference.p_holm != difference.p:
            p = f"{difference.p:.3f}, corrected for the number of arms {p}"
        text = f"{VerdictKind.SUSPECTED}, not shown: {_measured(metric, difference)}; p {p}"
        return ArmVerdict(VerdictKind.SUSPECTED, text, None, abs(worse), allowed)
    # The most by which the rate can become worse.
    to_lose = baseline.value
    if metric.better != "higher":
        to_lose = 1 - baseline.value if metric.format == "percent" else math.inf
    if to_lose <= 0:
        is_percent = metric.format == "percent"
        value = f"{100 * baseline.value:.0f}%" if is_percent else metric.amount(baseline.value)
        text = f"nothing to lose: the baseline's {metric.noun} is {value}; no gain found"
        return ArmVerdict(VerdictKind.NOTHING_TO_LOSE, text)
    whole = f"a loss of all the baseline's {metric.noun}"
    worst = whole if metric.better == "higher" else f"{metric.noun} 100%"
    is_blind = difference.detectable is None or difference.detectable >= to_lose
    if is_blind or allowed >= to_lose:
        doubt = "could have gone unseen" if is_blind else "cannot be ruled out"
        text = f"cannot tell: with {counted(conversations, 'conversation')} {worst} {doubt}"
        return ArmVerdict(VerdictKind.CANNOT_TELL, text)
    seen = max(difference.detectable or 0.0, allowed)
    # Rounded up: the verdict must not claim that smaller losses are seen than really are.
    hundredths = math.ceil(100 * seen - 1e-9)
    above = metric.amount(hundredths / 100) if metric.format == "number" else counted(hundredths, "point")
    where = "" if is_success else f"in {metric.noun} "
    alike = ", no conversation ended differently" if flips == (0, 0) else ""
    return ArmVerdict(
        VerdictKind.NO_LOSS_FOUND,
        f"no loss {where}found{alike}; a loss above {above} would have been seen",
        seen,
        allowed=allowed,
    )


def _measured(metric: Metric, difference: RateDifference) -> str:
    """Return the difference in words, with its interval in the same direction."""
    value, low, high = (end or 0.0 for end in (difference.value, difference.low, difference.high))
    direction, bounds = ("lower", (-high, -low)) if value < 0 else ("higher", (low, high))
    unit = " points" if metric.format == "percent" else ""
    between = " to ".join(map(metric.amount, bounds))
    return f"{metric.noun} is {metric.amount(abs(value))}{unit} {direction} ({between})"
