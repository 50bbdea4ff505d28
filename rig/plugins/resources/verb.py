"""`rig compare --at-least --memory`: which file to ship, by quality, speed and memory."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from rig import methods
from rig.cli.compare import ComparisonQuestion, DecisionOptions
from rig.cli.output import paint, print_json, say, terminal_width
from rig.compare.arms import choose
from rig.compare.compare import compare_chosen
from rig.core.errors import RigError
from rig.core.tasks import ASSISTANT
from rig.plugins.resources.decision import ArmDemands, Demands, ResourceDecision, as_json, decide
from rig.plugins.resources.measured import Resources, TurnSpread, resources_of
from rig.show import signs
from rig.show.compare import signed
from rig.show.table import Row, fitted, one_line, short_names
from rig.show.texts import UNKNOWN, file_size, mebibytes, rate, seconds, with_interval
from rig.store import Runs

if TYPE_CHECKING:
    from collections.abc import Callable

    from rig.compare.arms import ChosenArm
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
        by_label = {arm.label: arm for arm in arms}
        taken = {arm.label: _resources(stored, by_label[arm.label]) for arm in comparison.arms}
    labels = [arm.label for arm in comparison.arms]
    names = dict(zip(labels, short_names([one_line(label) for label in labels], ""), strict=True))
    decision = decide(comparison, taken, demands, names)
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
    say("\n".join(_notes(decision)))


def _print_json(comparison: Comparison, decision: ResourceDecision, demands: Demands) -> None:
    told = as_json(decision)
    print_json({"baseline": comparison.baseline.label, "demands": demands._asdict(), "decision": told})


def _resources(stored: Runs, chosen: ChosenArm) -> Resources:
    try:
        role = methods.get(chosen.run.declaration.method).roles[0]
    except RigError:  # its plugin is missing
        role = ASSISTANT
    run = stored.get(chosen.run.id)
    arm = run.arms[chosen.arm.position]
    begun = stored.transcripts(run, ("finished", "started"), arm.position)
    turns = [played for _, transcript in begun for played in transcript.turns.values()]
    return resources_of(turns, arm.speed, arm.fingerprint or {}, role)


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
    taken = [arm.resources for arm in decision.arms]
    rows = [
        Row("size of the file", [file_size(of.file_bytes) for of in taken]),
        Row(metric.noun, rates),
        *([Row("points more or less", differences)] if pairs else []),
        Row("tokens a second", [_spread(of.decode, rate) for of in taken]),
        Row("first token after", [_spread(of.first_token, seconds) for of in taken]),
        Row("memory", [mebibytes(of.whole_memory) for of in taken]),
        Row("quiet turns", [f"{of.quiet} of {of.turns}" for of in taken]),
        Row("meets all", [str(arm.met) for arm in decision.arms]),
    ]
    names = short_names([one_line(arm.arm) for arm in decision.arms])
    if any(arm.dominated_by for arm in decision.arms):
        by_label = dict(zip((arm.arm for arm in decision.arms), names, strict=True))
        rows.append(Row("dominated by", [_dominated(arm, by_label) for arm in decision.arms]))
    return "\n".join(fitted([Row("", names), *rows], terminal_width()))


def _dominated(arm: ArmDemands, names: dict[str, str]) -> str:
    return ", ".join(names[other] for other in arm.dominated_by[:2]) or UNKNOWN


def _spread(spread: TurnSpread | None, word: Callable[[float | None], str]) -> str:
    if spread is None:
        return UNKNOWN
    return f"{word(spread.median)} ({word(spread.lower)} to {word(spread.upper)})"


def _notes(decision: ResourceDecision) -> list[str]:
    lines = [
        "times are medians over quiet turns, half of which are in the brackets; memory is weights, KV cache"
        " and compute buffers"
    ]
    if not all(arm.resources.is_known for arm in decision.arms):
        lines.append("of some arms nobody knows which turns were quiet, so all of theirs count")
    return lines
