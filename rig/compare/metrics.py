"""What arms are compared by: the metrics that their runs declare, and the one that decides verdicts."""

from collections.abc import Sequence

from rig.compare.arms import ChosenArm
from rig.errors import RigError
from rig.metrics import Caution, Declaration, Metric
from rig.words import did_you_mean


def common_declaration(chosen: Sequence[ChosenArm]) -> Declaration:
    """What all these arms' runs count: the first's metrics, except those that another does not have or has
    differently.

    Remarks on any of the runs apply to all of them together.

    Raises RigError if they are of different methods.
    """
    first = chosen[0].run.declaration
    for each in chosen:
        if each.run.declaration.method != first.method:
            raise RigError(
                f"{each.label} was played by the method {each.run.declaration.method} and {chosen[0].label}"
                f" by {first.method}; only arms of one method can be compared"
            )
    others = [{_made(metric) for metric in each.run.declaration.metrics} for each in chosen]
    kept = (metric for metric in first.metrics if all(_made(metric) in made for made in others))
    declared = [each.run.declaration for each in chosen]
    said = "; ".join(dict.fromkeys(each.caution for each in declared if each.caution))
    caution = Caution(said, all(each.decides for each in declared))
    return first._replace(metrics=tuple(kept)).cautioned(caution)


def _made(metric: Metric) -> tuple[str, ...]:
    return metric.name, metric.numerator, metric.denominator


def metric_named(declaration: Declaration, name: str | None) -> Metric:
    """The metric of this name, or success if none is named. Raises RigError if it is not one."""
    metrics = declaration.shown("tables")
    if name is None and metrics:
        return declaration.success_metric or metrics[0]
    for metric in metrics:
        if metric.name == name:
            return metric
    names = [metric.name for metric in metrics]
    raise RigError(f"no metric {name!r}{did_you_mean(name or '', names)}; choose from: {', '.join(names)}")
