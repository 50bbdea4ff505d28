"""A screen as text: a column for each model, the base first, then how well it predicts a run."""

from collections.abc import Callable, Sequence

from rig.displays.numbers import UNKNOWN, clock_time, percent
from rig.displays.table import Row, columns
from rig.screening import ArmScreen, Screen, Validity
from rig.screening.results import KINDS
from rig.screening.validity import OUTCOMES, SIGNAL

_KINDS = {"answer": "call or reply", "tool": "tool", "parameter": "parameters", "value": "values"}


def screen_text(screen: Screen, validity: Sequence[Validity] = (), width: int | None = None) -> str:
    """Everything that is known of the models, and what could not be assessed.

    Models that do not fit into `width` cells follow below.
    """
    rows = [Row("", [arm.name for arm in screen.arms])]
    rows += [Row(label, [cell(arm) for arm in screen.arms]) for label, cell in _rows(screen)]
    lines = [line.rstrip() for line in columns(rows, width)]
    count = len(screen.conversations)
    lines.append(
        f"\n{count} conversation{'s' * (count != 1)}; log-probabilities and divergences in nats;"
        f" against {screen.base.name}"
    )
    for arm in screen.arms:
        lines += [f"{arm.name}: {count} not assessed: {why}" for why, count in arm.faults.items()]
        lines += [f"{arm.name}: {remark}" for remark in (*arm.remarks, *filter(None, [arm.made_from]))]
        lines += [f"{arm.name} failed: {arm.failure}"] if arm.failure else []
    return "\n".join([*lines, *_validity(validity)])


def _rows(screen: Screen) -> list[tuple[str, Callable[[ArmScreen], str]]]:
    base = screen.base

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
        ("true token is the likeliest", lambda arm: percent(arm.top1)),
        ("mean reciprocal rank", lambda arm: _number(arm.mrr, 3)),
        ("log-probability of a token", lambda arm: _number(arm.logprob, 3)),
        ("KL divergence from the base", lambda arm: _number(arm.kl, 4)),
        ("same likeliest token as the base", lambda arm: percent(arm.same_top)),
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
    for group in validity:
        measures = f"AUC {percent(group.auc)}, p {_number(group.p, 3)}, Spearman {_number(group.spearman, 2)}"
        outcome = f"{group.outcome} {group.with_outcome} of {group.turns} turns"
        lines.append(f"  {group.arm}: {outcome}; {measures}")
    return [*lines, *(f"  {name}: {meaning}" for name, meaning in OUTCOMES.items())]


def _number(value: float | None, digits: int) -> str:
    return UNKNOWN if value is None else f"{value:.{digits}f}"
