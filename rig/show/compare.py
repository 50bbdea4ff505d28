"""Comparisons as text: the rows that terminals and reports share, and what a terminal prints of them."""

from collections.abc import Iterable, Sequence
from functools import partial
from math import isnan

from rig.compare.findings import ArmPair, ArmResult, Comparison, Flip
from rig.compare.trends import Trend
from rig.compare.verdict import VerdictKind
from rig.core.errors import counted
from rig.core.events import EvidenceMoved
from rig.core.metrics import UNCLEAR, Metric, if_right
from rig.show import summary
from rig.show.signs import LEVELS
from rig.show.summary import note_lines
from rig.show.table import Row, fitted, one_line
from rig.show.texts import UNKNOWN, percent
from rig.show.texts import estimate as estimate
from rig.show.texts import with_interval as with_interval

_MOST_NAMED = 3
"""If more arms than this differ from the baseline in the same thing, they are counted, not named."""


def heading(comparison: Comparison) -> list[str]:
    """Return what is compared, line by line."""
    level = f"{100 * (1 - comparison.alpha):g}%"
    against = f"baseline {comparison.baseline.label}; " if comparison.pairs else ""
    return [
        f"{counted(len(comparison.baseline.conversations), 'conversation')}, graded by {comparison.grader}",
        f"{against}in brackets {level} intervals over conversations",
    ]


def notes(comparison: Comparison, *, origins: bool = True) -> list[str]:
    """Return what a reader must know about the arms and how they were compared, line by line.

    `origins` includes what their files were made from.
    """
    lines: list[str] = []
    differing = [arm for arm in comparison.arms if len(arm.factors) == 1]
    names = {arm.factors[0].name for arm in differing}
    if len(differing) > _MOST_NAMED and len(names) == 1:
        lines.append(f"{len(differing)} arms differ from the baseline in {names.pop()}")
    else:
        lines += [f"{arm.label} differs in {arm.factors[0]}" for arm in differing]
    lines += [f"{arm.label}: {arm.made_from}" for arm in comparison.arms if origins and arm.made_from]
    lines += note_lines((arm.label, arm.notes) for arm in comparison.arms)
    lines += [f"{label} is left out: {why}" for label, why in comparison.left_out.items()]
    lines += comparison.notes
    lines += summary.limit_notes({arm.label: arm.limits for arm in comparison.arms})
    for arm in comparison.arms:
        lines += summary.repeat_notes(arm.label, arm, arm.fingerprint)
    if any(arm.counts.get(UNCLEAR) for arm in comparison.arms):
        lines.append("texts that are unclear count as wrong for every arm (the pessimistic choice)")
    if comparison.declaration.caution:
        lines.append(comparison.declaration.caution)
    lines += summary.contention_notes((arm.label, arm.speed, arm.fingerprint) for arm in comparison.arms)
    if noise := comparison.noise:
        lines.append(
            f"noise: between two runs of the same arm ({noise.runs[0]}/{noise.arms[0]})"
            f" {noise.conversations.differ} of {noise.conversations.of} conversations flip,"
            f" {estimate(noise.conversations.share)}, and {noise.turns.differ} of {noise.turns.of} turns"
        )
    return lines


def quality_rows(comparison: Comparison) -> list[Row]:
    """Return rates with their intervals, counts, and what went wrong by kind."""
    arms = comparison.arms
    rows = [
        Row(metric.noun, [estimate(arm.rates[metric.name], metric) for arm in arms])
        for metric in comparison.metrics
    ]
    rows += summary.limit_rows([arm.limits for arm in arms])
    rows += summary.repeat_rows(arms)
    if any(arm.counts.get(UNCLEAR) for arm in arms):
        rows.append(summary.count_row("texts unclear", arms, UNCLEAR))
        for metric in comparison.metrics:
            cells = [_if_right(metric, arm) for arm in arms]
            if set(cells) != {UNKNOWN}:
                rows.append(Row(f"{metric.noun}, if they are right", cells, detail=True))
    return rows + summary.wrong_rows(comparison.declaration, arms)


def _if_right(metric: Metric, arm: ArmResult) -> str:
    """Return the rate if everything unclear were right, or `-` if nothing is unclear."""
    value = metric.rate(if_right(arm.rated)) if metric.bounds(arm.rated) else None
    return UNKNOWN if value is None else metric.amount(value) + metric.unit


def difference_rows(comparison: Comparison) -> list[Row]:
    """Return the differences from the baseline in points, their tests, and how much flipped."""
    pairs = comparison.pairs
    judge = comparison.metric
    noun = judge.noun
    judged = [pair.differences[judge.name] for pair in pairs]
    tests = ", ".join(sorted({test.test for test in judged}))
    corrected = ", corrected" if len(pairs) > 1 else ""
    noise = comparison.noise
    flipped = f"conversations flipped, noise {percent(noise.conversations.share.value)}" if noise else ""
    turns = [(sum(flip.outcome == "won" for flip in pair.turn_flips), pair.turn_flips) for pair in pairs]
    rows = []
    for metric in comparison.metrics:
        in_points = partial(signed, metric)
        cells = [with_interval(in_points, pair.differences[metric.name]) for pair in pairs]
        rows.append(Row(metric.noun, cells))
    least = [UNKNOWN if test.detectable is None else judge.amount(test.detectable) for test in judged]
    return [
        *rows,
        Row(f"p of {noun} ({tests}{corrected})", [_p(test.p_holm) for test in judged]),
        Row(f"detectable in {noun}", least),
        Row(
            f"agreement by conversation: ICC3 of {noun}",
            [_agreeing(pair, "icc3") for pair in pairs],
        ),
        Row(f"R of {noun}", [_agreeing(pair, "r") for pair in pairs], detail=True),
        Row(
            "conversations won, lost",
            [UNKNOWN if pair.won is None else f"{pair.won}, {pair.lost}" for pair in pairs],
        ),
        *([Row(flipped, [percent(pair.flip_rate) for pair in pairs])] if noise else []),
        Row(
            "turns won, lost",
            [
                UNKNOWN if pair.won is None else f"{won}, {len(flips) - won}"
                for pair, (won, flips) in zip(pairs, turns, strict=True)
            ],
        ),
    ]


def flips_with_turns(pair: ArmPair) -> list[tuple[Flip, tuple[Flip, ...]]]:
    """Return the conversations that flipped, each with its turns that did.

    Flipped turns of other conversations follow, by conversation, each group under its first turn.
    """
    turns: dict[str, list[Flip]] = {}
    for turn in pair.turn_flips:
        turns.setdefault(turn.conversation, []).append(turn)
    flips = [(flip, tuple(turns.pop(flip.conversation, ()))) for flip in pair.flips]
    return [*flips, *((of_it[0], tuple(of_it)) for of_it in turns.values())]


def how_often(flip: Flip) -> str:
    """Return how many repeats each arm got right; empty if both played the conversation only once."""
    if flip.baseline_repeats == flip.arm_repeats == 1:
        return ""
    return (
        f" (right {flip.arm_right} of {flip.arm_repeats} times,"
        f" baseline {flip.baseline_right} of {flip.baseline_repeats})"
    )


def signed(metric: Metric, difference: float) -> str:
    """Return a difference with its sign, or without one if it rounds to zero."""
    text = metric.amount(difference, "+")
    return text if float(text) else text.lstrip("+-")


def _agreeing(pair: ArmPair, measure: str) -> str:
    interval = pair.alike.get(measure)
    if interval is None:
        return UNKNOWN
    if isnan(interval.value):
        return "undefined"
    # A bound that rounds to zero has no sign.
    return with_interval(lambda bound: f"{round(bound, 2) + 0.0:.2f}", interval)


def _p(p: float | None) -> str:
    if p is None:
        return "-"
    return "<0.001" if p < 0.001 else f"{p:.3f}"


_MOST_FLIPS = 20
"""The most flipped conversations shown of an arm, and as many with flipped turns only; `--json` has all."""
_OF_NO_USE = {VerdictKind.NOTHING_TO_LOSE, VerdictKind.CANNOT_TELL}


def statistics_text(comparison: Comparison, width: int | None = None) -> str:
    """Return what the verdicts rest on: rates, costs, differences with their tests, and flips.

    Arms that do not fit into `width` cells get narrower columns, or follow below.
    """
    arms, pairs = comparison.arms, comparison.pairs
    told = [*quality_rows(comparison), *summary.cost_rows(arms)]
    parts = [
        "\n".join(heading(comparison)),
        table("", [arm.label for arm in arms], told, width),
        table("points more or less", [pair.arm for pair in pairs], difference_rows(comparison), width),
        *(_flips(pair) for pair in pairs if pair.flips or pair.turn_flips),
    ]
    return "\n\n".join(parts)


def _flips(pair: ArmPair) -> str:
    """Return the conversations that flipped, each with its turns, and flipped turns in those that did not."""
    flips = flips_with_turns(pair)
    flipped, alike = flips[: len(pair.flips)], flips[len(pair.flips) :]
    lines = [f"{pair.arm} against {pair.baseline}"]
    for of_kind in (flipped, alike):
        lines += ["  turns of conversations that ended alike"] if of_kind is alike and alike else []
        for number, (flip, turns) in enumerate(of_kind[:_MOST_FLIPS]):
            told = f"  {flip.outcome}  {flip.conversation}{how_often(flip)}"
            lines.append((told if of_kind is flipped else f"    {flip.conversation}") + _turns(turns))
            # The command is similar for all of them, so the first is enough.
            lines += [f"        {command}" for command in flip.commands] if not number else []
        left = len(of_kind) - _MOST_FLIPS
        lines += [f"    … {left} more; --json has all flips"] if left > 0 else []
    return "\n".join(lines)


def _turns(flips: Iterable[Flip]) -> str:
    numbers: dict[str, list[str]] = {}
    for flip in flips:
        numbers.setdefault(flip.outcome, []).append(str(flip.turn))
    return "".join(f", {outcome} turn {', '.join(turns)}" for outcome, turns in numbers.items())


def hint(comparison: Comparison) -> list[str]:
    """Return what to do if the verdicts are of no use: decide unclear texts, or compare by a finer metric."""
    kinds = {pair.verdict.kind for pair in comparison.pairs}
    open_ = [pair for pair in comparison.pairs if pair.verdict.unclear]
    if any(pair.verdict.kind is VerdictKind.CANNOT_TELL for pair in open_):
        runs = dict.fromkeys(arm.run for arm in comparison.arms if arm.counts.get(UNCLEAR))
        asked, scored = (
            " and ".join(f"rig {verb} {run}" for run in runs) for verb in ("adjudicate", "score")
        )
        return [f"to decide them: {asked}, then {scored}"]
    declaration = comparison.declaration
    finer = None if any(pair.won is None for pair in comparison.pairs) else declaration.progress
    if finer is None or not declaration.is_of_success(comparison.metric) or kinds.isdisjoint(_OF_NO_USE):
        return []
    noun = next(part.short or part.noun for part in declaration.outcome if part.name == finer.numerator)
    return [f"to ask for lost {noun} instead of lost conversations: --metric {finer.name}"]


def table(corner: str, header: Sequence[str], rows: Sequence[Row], width: int | None = None) -> str:
    """Return a table with a column of numbers under each heading, narrowed if it exceeds `width` cells."""
    return "\n".join(fitted([Row(corner, header), *rows], width))


def sparkline(rates: Sequence[float | None]) -> str:
    """Return a character for each level, as high as its rate; a space for a level that was not played."""
    levels = str(LEVELS)
    return "".join(" " if rate is None else levels[round((len(levels) - 1) * rate)] for rate in rates)


def evidence_line(event: EvidenceMoved) -> str:
    """Return what changed in the evidence as one line, with its picture if it is a curve."""
    rates = event.evidence.get("curve")
    return f"{sparkline(rates)}  {event.text}" if rates else event.text


def curve_line(curve: Trend) -> str:
    """Return a curve as one line: its picture, which option was varied, and what it shows."""
    return f"{sparkline([point['success'] for point in curve.points])}  {titled(curve)}: {curve.text}"


def titled(curve: Trend) -> str:
    """Return the title of a curve: what was measured over which option."""
    return one_line(f"{curve.name} over {curve.option.replace('_', '-')}")
