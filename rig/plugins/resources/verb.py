"""`rig compare --at-least --memory`: which file to ship, by quality, speed and memory."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from rig.cli.compare import ComparisonQuestion, DecisionOptions
from rig.cli.output import paint, print_json, say, terminal_width
from rig.compare.arms import choose
from rig.compare.compare import compare_chosen
from rig.core.errors import RigError
from rig.core.intervals import with_interval
from rig.plugins.resources.decision import ArmDemands, Demands, ResourceDecision, as_json, decide
from rig.plugins.resources.measured import resources_in
from rig.plugins.resources.text import resource_notes, resource_rows
from rig.show import signs
from rig.show.compare import signed
from rig.show.table import Row, fitted, one_line, short_names
from rig.show.texts import UNKNOWN, file_size
from rig.store import Runs

if TYPE_CHECKING:
    from rig.compare.findings import Comparison

_WIDTH = 100
"""The cells of a line where no terminal says how many there are."""


def of_arms(
    *,
    question: ComparisonQuestion,
    deciding: DecisionOptions,
    as_json: bool,
    at_least: str | None,
    memory: str | None,
    **others: Any,
) -> None:
    """Print which file to ship among those that are fast and small enough."""
    del others
    if deciding.limit(question.loss) is not None:
        raise RigError("--at-least and --memory decide by --loss; leave out --fail-if-…, or use `rig gate`")
    demands = Demands.of(at_least, memory, question.loss / 100)
    with Runs.open(question.runs, question.graded_by) as stored:
        arms = choose(stored, question.addresses)
        comparison = compare_chosen(stored, arms, replace(question.options, one_will_do=True))
        resources = resources_in(stored, comparison.arms)
    labels = [arm.label for arm in comparison.arms]
    names = dict(zip(labels, short_names([one_line(label) for label in labels], ""), strict=True))
    decision = decide(comparison, resources, demands, names)
    if as_json:
        _print_json(comparison, decision, demands)
        return
    sign = signs.SUCCESS if decision.arm else signs.FAILED
    glyph, tint = str(sign.glyph), sign.tint
    if decision.text.startswith("Cannot tell"):
        glyph, tint = "?", "error"
    lines = wrap(one_line(decision.text), max((terminal_width() or _WIDTH) - 2, 20), break_on_hyphens=False)
    paint([((f"{' ' if number else glyph} ", tint), (line, tint)) for number, line in enumerate(lines)])
    say(f"\n{_table(comparison, decision)}")
    say("\n".join(resource_notes({names[arm.arm]: arm.resources for arm in decision.arms})))


def _print_json(comparison: Comparison, decision: ResourceDecision, demands: Demands) -> None:
    told = as_json(decision)
    print_json({"baseline": comparison.baseline.label, "demands": demands._asdict(), "decision": told})


def _table(comparison: Comparison, decision: ResourceDecision) -> str:
    metric = comparison.metric
    pairs = {pair.arm: pair for pair in comparison.pairs}
    rates = [with_interval(metric.amount, arm.rates[metric.name], metric.unit) for arm in comparison.arms]
    differences = [
        with_interval(partial(signed, metric), pairs[arm.label].differences[metric.name])
        if arm.label in pairs
        else UNKNOWN
        for arm in comparison.arms
    ]
    resources = [arm.resources for arm in decision.arms]
    rows = [
        Row("size of the file", [file_size(of.file_bytes) for of in resources]),
        Row(metric.noun, rates),
        *([Row("points more or less", differences)] if pairs else []),
        *resource_rows(resources),
        Row("meets all", [str(arm.met) for arm in decision.arms]),
    ]
    names = short_names([one_line(arm.arm) for arm in decision.arms])
    if any(arm.dominated_by for arm in decision.arms):
        by_label = dict(zip((arm.arm for arm in decision.arms), names, strict=True))
        rows.append(Row("dominated by", [_dominated(arm, by_label) for arm in decision.arms]))
    return "\n".join(fitted([Row("", names), *rows], terminal_width()))


def _dominated(arm: ArmDemands, names: dict[str, str]) -> str:
    return ", ".join(names[other] for other in arm.dominated_by[:2]) or UNKNOWN
