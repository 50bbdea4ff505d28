"""A screen as text: a column for each model, the base first, then how well it predicts a run."""

from collections.abc import Callable, Sequence

from rig.displays.numbers import UNKNOWN, clock_time, percent
from rig.displays.table import Row, columns
from rig.screening import ArmScreen, Screen, Validity
from rig.screening.results import KINDS
from rig.screening.validity import OUTCOMES, SIGNAL

_KINDS = {"answer": "call or reply", "tool": "tool", "parameter": "parameters", "value": "values"}


def screen_text(found: Screen, validity: Sequence[Validity] = (), width: int | None = None) -> str:
    """Everything that is known of the models, and what could not be assessed.

    Models that do not fit into `width` cells follow below.
    """
    rows = [Row("", [arm.name for arm in found.arms])]
    rows += [Row(label, [cell(arm) for arm in found.arms]) for label, cell in _rows(found)]
    lines = [line.rstrip() for line in columns(rows, width)]
    count = len(found.conversations)
    lines.append(
        f"\n{count} conversation{'s' * (count != 1)}; log-probabilities and divergences in nats;"
        f" against {found.base.name}"
    )
    for arm in found.arms:
        lines += [f"{arm.name}: {count} not assessed: {why}" for why, count in arm.faults.items()]
        lines += [f"{arm.name}: {remark}" for remark in (*arm.remarks, *filter(None, [arm.made_from]))]
        lines += [f"{arm.name} failed: {arm.failure}"] if arm.failure else []
    return "\n".join([*lines, *_validity(validity)])


def _rows(found: Screen) -> list[tuple[str, Callable[[ArmScreen], str]]]:
    base = found.base

    def difference(arm: ArmScreen) -> str:
        less = None if arm is base else arm.less_than(base)
        if less is None:
            return UNKNOWN
        if less.low is None or less.high is None:
            return f"{less.value:+.3f}"
        return f"{less.value:+.3f} ({less.low:+.3f} to {less.high:+.3f})"

    rows: list[tuple[str, Callable[[ArmScreen], str]]] = [
        ("true calls", lambda arm: str(len(arm.calls()))),
        ("true replies", lambda arm: str(len(arm.replies()))),
        ("not assessed", lambda arm: str(sum(arm.faults.values()))),
        ("log-probability of a call", lambda arm: _number(arm.call_logprob, 2)),
        ("  more than the base (95%)", difference),
        ("calls that greedy would make", lambda arm: percent(arm.greedy_calls)),
        ("would call where it should", lambda arm: percent(arm.decides_to_call)),
        ("would reply where it should", lambda arm: percent(arm.decides_to_reply)),
    ]
    for title, cell in (
        ("true token is the likeliest", lambda each: percent(each.top1)),
        ("mean reciprocal rank", lambda each: _number(each.mrr, 3)),
        ("log-probability of a token", lambda each: _number(each.logprob, 3)),
        ("KL divergence from the base", lambda each: _number(each.kl, 4)),
        ("same likeliest token as the base", lambda each: percent(each.same_top)),
    ):
        rows.append((title, lambda _arm: ""))
        rows += [
            (f"  {_KINDS[kind]}", lambda arm, kind=kind, cell=cell: cell(arm.kind(kind)))  # type: ignore[misc]
            for kind in KINDS
        ]
    rows.append(("time", lambda arm: clock_time(arm.seconds)))
    return rows


def _validity(validity: Sequence[Validity]) -> list[str]:
    if not validity:
        return []
    lines = [
        "",
        "how well that predicts the stored run, turn by turn (AUC: 50% is chance, 100% is perfect)",
        f"  by the {SIGNAL}",
    ]
    lines += [
        f"  {each.arm}: {each.outcome} {each.with_outcome} of {each.turns} turns;"
        f" AUC {percent(each.auc)}, p {_number(each.p, 3)}, Spearman {_number(each.spearman, 2)}"
        for each in validity
    ]
    return [*lines, *(f"  {name}: {meaning}" for name, meaning in OUTCOMES.items())]


def _number(value: float | None, digits: int) -> str:
    return UNKNOWN if value is None else f"{value:.{digits}f}"
