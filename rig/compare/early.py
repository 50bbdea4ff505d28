"""Arms that stopped by their results: what may still be said of them beside a baseline.

Such an arm skipped what the first arm got wrong, so every rate over what it played is biased, and so is every
difference over what two arms share. What holds is what does not depend on which conversations were played:
the bounds of a rate, with everything unplayed as wrong or as right, and those of a loss, which the strategy
that stopped the arm knows.
"""

from typing import Protocol

from rig.compare.arms import ScoredArm
from rig.compare.verdict import ArmVerdict, VerdictKind
from rig.core import registry
from rig.core.errors import RigError
from rig.core.metrics import Counts, Declaration, Metric
from rig.stats import Estimate
from rig.stats.paired import RateDifference
from rig.stats.rates import OutcomeBounds


class LossBounds(Protocol):
    """The bounds of an arm's loss, which hold however a run chose what it played."""

    @property
    def low(self) -> float:
        """The least loss of success that is likely, a fraction; a gain is below 0."""
        ...

    @property
    def high(self) -> float:
        """The greatest loss of success that is likely."""
        ...

    @property
    def unclear(self) -> int:
        """How many texts nobody could judge that could change the bounds."""
        ...

    @property
    def bounds(self) -> str:
        """The bounds in words."""
        ...


class LossFinder(Protocol):
    """What a plugin registers under the name of a strategy that stops arms (`registry.evidence`)."""

    def __call__(
        self, baseline: ScoredArm, arm: ScoredArm, size: float, alpha: float, arms: int
    ) -> LossBounds:
        """Return the bounds on the loss of one of so many arms, which is asked to lose `size` at most."""
        ...


def is_bounded(baseline: ScoredArm, arm: ScoredArm) -> bool:
    """Return whether only bounds may be told of the difference of two arms."""
    return bool(baseline.unplayed or arm.unplayed)


def bounds_of(baseline: ScoredArm, arm: ScoredArm, size: float, alpha: float, arms: int) -> LossBounds:
    """Return the bounds of a loss by the strategy that stopped the arm or the baseline. Raises RigError."""
    stopped = baseline if baseline.unplayed else arm
    finders = registry.registered().evidence
    for name in finders:
        if stopped.chosen.run.settings.get(name):
            bounds: LossBounds = finders[name](baseline, arm, size, alpha, arms)
            return bounds
    raise RigError(f"{stopped.chosen.label} was stopped by its results, and nothing here says what they show")


def bounded_rates(counts: Counts, declaration: Declaration) -> dict[str, Estimate]:
    """Return the bounds of an arm's rates, without a rate."""
    bounds = {metric.name: metric.bounds(counts) for metric in declaration.shown("tables")}
    return {name: Estimate(None, *(ends or (None, None))) for name, ends in bounds.items()}


def bounded_difference(metric: Metric, declaration: Declaration, alike: LossBounds) -> RateDifference:
    """Return the bounds of a difference, without a difference; only success has any."""
    is_success = declaration.is_of_success(metric)
    low, high = (-alike.high, -alike.low) if is_success else (None, None)
    return RateDifference(None, low, high, p=None, detectable=None, test="sequential")


def bounded_verdict(
    metric: Metric, declaration: Declaration, alike: LossBounds, baseline: ScoredArm
) -> ArmVerdict:
    """Return the verdict that sequential evidence gives, whichever way the unclear texts are decided."""
    if not declaration.is_of_success(metric):
        text = "no verdict: arms played what their results chose, and nothing bounds this rate"
        return ArmVerdict(VerdictKind.NO_RATE, text)
    told = f"{alike.bounds} in conversations like these, however often one looks"
    played = [outcome for key in baseline.cells for outcome in baseline.outcomes(key)]
    kind, sizes = VerdictKind.CANNOT_TELL, dict[str, float]()
    if alike.low > 0:
        kind, sizes = VerdictKind.LOSS, {"at_least": alike.low, "allowed": alike.high}
    elif alike.high < 0:
        kind, sizes = VerdictKind.GAIN, {"at_least": -alike.high, "allowed": alike.high}
    elif alike.high < OutcomeBounds.mean(played).most:
        kind, sizes = VerdictKind.NO_LOSS_FOUND, {"seen_above": alike.high, "allowed": alike.high}
    return ArmVerdict(kind, f"{kind}: {told}", **sizes, unclear=alike.unclear)
