"""The statistics of a comparison as rows of tables, which terminals and reports share."""

from functools import partial
from math import isnan

from rig.compare.findings import ArmPair, ArmResult, Comparison, Flip
from rig.core.errors import counted
from rig.core.intervals import with_interval
from rig.core.metrics import UNCLEAR, Metric, if_right
from rig.show import summary
from rig.show.compare import signed
from rig.show.table import Row
from rig.show.texts import UNKNOWN, estimate, percent


def heading(comparison: Comparison) -> list[str]:
    """Return what is compared, line by line."""
    level = f"{100 * (1 - comparison.alpha):g}%"
    against = f"baseline {comparison.baseline.label}; " if comparison.pairs else ""
    return [
        f"{counted(len(comparison.baseline.conversations), 'conversation')}, graded by {comparison.grader}",
        f"{against}in brackets {level} intervals over conversations",
    ]


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
