"""What arms are compared by: rates that are sums over calls or conversations, one divided by the other."""

from dataclasses import dataclass

from rig.errors import RigError


@dataclass(frozen=True, slots=True)
class Metric:
    """A rate: the sum of one count over the sum of another, both by the names that `Metrics` has.

    Without a `denominator` it is a mean over conversations. `noun` is what sentences call it.
    """

    name: str
    noun: str
    numerator: str
    denominator: str | None = None
    is_higher_better: bool = True

    def worsening(self, difference: float) -> float:
        """By how much an arm is worse whose rate differs by this much from the baseline's."""
        return -difference if self.is_higher_better else difference


METRICS = {
    metric.name: metric
    for metric in (
        Metric("success_rate", "success", "successes"),
        Metric("soft_success", "soft success", "soft_successes"),
        Metric("recall", "recall", "matches", "ground_truths"),
        Metric("precision", "precision", "matches", "predictions"),
        Metric(
            "incorrect_action_rate", "incorrect action rate", "bad_actions", "actions", is_higher_better=False
        ),
    )
}
"""By name, in the order of reports. Defined in docs/metrics.md; source: ToolTalk, section 3.4."""

COUNTS = ("successes", "soft_successes", "matches", "ground_truths", "predictions", "actions", "bad_actions")
"""The counts that the metrics are made of."""


def metric_named(name: str) -> Metric:
    """The metric of this name. Raises RigError for what is none."""
    if name not in METRICS:
        raise RigError(f"no metric {name!r}; there are: {', '.join(METRICS)}")
    return METRICS[name]
