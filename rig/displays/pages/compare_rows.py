"""The tables of a comparison as texts: the content of each row, the same in a terminal and in a report."""

from collections.abc import Callable, Sequence
from math import isnan

from rig.compare import ArmPair, ArmResult, Comparison, Estimate, Flip, RateDifference
from rig.displays import contention
from rig.displays.numbers import UNKNOWN, clock_time, kilojoules, mebibytes, percent, rate, seconds
from rig.displays.pages.summary import count_row, wrong_rows
from rig.displays.table import Row
from rig.errors import counted
from rig.metrics import UNCLEAR, Metric, if_right
from rig.rates.agreement import Interval

_SPEED: tuple[tuple[str, bool, Callable[[ArmResult], str]], ...] = (
    ("prompt tokens", False, lambda arm: f"{arm.speed.prompt_tokens:,}"),
    ("prompt from cache", False, lambda arm: percent(arm.speed.cached_share)),
    ("completion tokens", False, lambda arm: f"{arm.speed.completion_tokens:,}"),
    ("prefill tok/s", False, lambda arm: rate(arm.speed.prefill_rate)),
    ("decode tok/s", False, lambda arm: rate(arm.speed.decode_rate)),
    ("CPU time its threads got", False, lambda arm: contention.shown(arm.speed, arm.fingerprint)),
    ("first token after", False, lambda arm: seconds(arm.speed.first_token)),
    ("time per turn", False, lambda arm: seconds(arm.turn_times.mean_s)),
    ("median", True, lambda arm: seconds(arm.turn_times.median_s)),
    ("95th percentile", True, lambda arm: seconds(arm.turn_times.p95_s)),
    ("time", False, lambda arm: clock_time(arm.speed.wall_s)),
    ("peak memory", False, lambda arm: mebibytes(arm.speed.peak_memory)),
    ("peak GPU memory", False, lambda arm: mebibytes(arm.speed.peak_device_memory)),
    ("energy", False, lambda arm: kilojoules(arm.speed.energy_j)),
)


_MOST_NAMED = 3
"""Arms that differ from the baseline in the same thing, and are named one by one."""


def heading(comparison: Comparison) -> list[str]:
    """What is compared, line by line."""
    level = f"{100 * (1 - comparison.alpha):g}%"
    against = f"baseline {comparison.baseline.label}; " if comparison.pairs else ""
    return [
        f"{counted(len(comparison.baseline.conversations), 'conversation')}, graded by {comparison.grader}",
        f"{against}in brackets {level} intervals over conversations",
    ]


def notes(comparison: Comparison) -> list[str]:
    """What a reader must know of the arms and of how they were compared, line by line."""
    lines: list[str] = []
    differing = [arm for arm in comparison.arms if len(arm.factors) == 1]
    names = {arm.factors[0].name for arm in differing}
    if len(differing) > _MOST_NAMED and len(names) == 1:
        lines.append(f"{len(differing)} arms differ from it in {names.pop()}")
    else:
        lines += [f"{arm.label} differs in {arm.factors[0]}" for arm in differing]
    lines += [f"{arm.label}: {arm.made_from}" for arm in comparison.arms if arm.made_from]
    lines += [f"{label} is left out: {why}" for label, why in comparison.left_out.items()]
    lines += comparison.notes
    if any(arm.counts.get(UNCLEAR) for arm in comparison.arms):
        lines.append("texts that are unclear count as wrong for every arm (the pessimistic choice)")
    if comparison.declaration.caution:
        lines.append(comparison.declaration.caution)
    lines += contention.note((arm.label, arm.speed, arm.fingerprint) for arm in comparison.arms)
    noise = comparison.noise
    if noise:
        lines.append(
            f"noise: between two runs of the same arm ({noise.runs[0]}/{noise.arms[0]})"
            f" {noise.conversations.differ} of {noise.conversations.of} conversations flip,"
            f" {estimate(noise.conversations.share)}, and {noise.turns.differ} of {noise.turns.of} turns"
        )
    return lines


def quality_rows(comparison: Comparison) -> list[Row]:
    """Rates with their intervals, counts, and what went wrong by kind."""
    arms = comparison.arms
    rows = [
        Row(metric.noun, tuple(estimate(arm.rates[metric.name], metric) for arm in arms))
        for metric in comparison.metrics
    ]
    if any(arm.counts.get(UNCLEAR) for arm in arms):
        rows.append(count_row("texts unclear", arms, UNCLEAR))
        rows += [
            Row(f"{metric.noun}, if they are right", cells, detail=True)
            for metric in comparison.metrics
            if set(cells := tuple(_if_right(metric, arm) for arm in arms)) != {UNKNOWN}
        ]
    return rows + wrong_rows(comparison.declaration, arms)


def _if_right(metric: Metric, arm: ArmResult) -> str:
    """The rate that it would be if everything unclear were right; only where that is another."""
    value = metric.rate(if_right(arm.counts)) if metric.bounds(arm.counts) else None
    return UNKNOWN if value is None else metric.amount(value) + metric.unit


def cost_rows(arms: Sequence[ArmResult]) -> list[Row]:
    """Tokens, speed, memory, energy; no row for what no arm has."""
    rows = [Row(label, tuple(cell(arm) for arm in arms), detail) for label, detail, cell in _SPEED]
    return [row for row in rows if set(row.cells) != {UNKNOWN}]


def difference_rows(comparison: Comparison) -> list[Row]:
    """Differences from the baseline in points, what they are worth, and how much flipped."""
    pairs = comparison.pairs
    judged = [pair.differences[comparison.metric.name] for pair in pairs]
    tests = ", ".join(sorted({test.test for test in judged}))
    judge = comparison.metric
    noun = judge.noun
    corrected = ", corrected" if len(pairs) > 1 else ""
    noise = comparison.noise
    flipped = f"conversations flipped, noise {percent(noise.conversations.share.value)}" if noise else ""
    turns = [(sum(flip.outcome == "won" for flip in pair.turn_flips), pair.turn_flips) for pair in pairs]
    return [
        *(
            Row(metric.noun, tuple(_difference(metric, pair.differences[metric.name]) for pair in pairs))
            for metric in comparison.metrics
        ),
        Row(f"p of {noun} ({tests}{corrected})", tuple(_p(judgement.p_holm) for judgement in judged)),
        Row(
            f"detectable in {noun}",
            tuple(UNKNOWN if test.detectable is None else judge.amount(test.detectable) for test in judged),
        ),
        *(
            Row(f"{title} of {noun}", tuple(_agreeing(pair.alike[name]) for pair in pairs), detail)
            for name, title, detail in (("icc3", "agreement by conversation: ICC3", False), ("r", "R", True))
        ),
        Row("conversations won, lost", tuple(f"{pair.won}, {pair.lost}" for pair in pairs)),
        *([Row(flipped, tuple(percent(pair.flip_rate) for pair in pairs))] if noise else []),
        Row("turns won, lost", tuple(f"{won}, {len(flips) - won}" for won, flips in turns)),
    ]


def flips_with_turns(pair: ArmPair) -> list[tuple[Flip, tuple[Flip, ...]]]:
    """The conversations that flipped, each with its turns; then turns of the others, under their first."""
    turns: dict[str, list[Flip]] = {}
    for turn in pair.turn_flips:
        turns.setdefault(turn.conversation, []).append(turn)
    flips = [(flip, tuple(turns.pop(flip.conversation, ()))) for flip in pair.flips]
    return [*flips, *((of_it[0], tuple(of_it)) for of_it in turns.values())]


def how_often(flip: Flip) -> str:
    """Of repeats, how many each arm got right; nothing if there are none."""
    if flip.baseline_repeats == flip.arm_repeats == 1:
        return ""
    return (
        f" (right {flip.arm_right} of {flip.arm_repeats} times,"
        f" baseline {flip.baseline_right} of {flip.baseline_repeats})"
    )


_SHARE = Metric("share", "share", "")


def estimate(measured: Estimate, metric: Metric = _SHARE) -> str:
    """A rate with its interval; in percent, unless it is a metric that is printed otherwise."""
    if measured.value is None:
        return UNKNOWN
    value = metric.amount(measured.value) + ("%" if metric.format == "percent" else "")
    if measured.low is None or measured.high is None:
        return value
    return f"{value} ({metric.amount(measured.low)} to {metric.amount(measured.high)})"


def _difference(metric: Metric, difference: RateDifference) -> str:
    if difference.value is None:
        return UNKNOWN
    if difference.low is None or difference.high is None:
        return signed(metric, difference.value)
    bounds = " to ".join(signed(metric, end) for end in (difference.low, difference.high))
    return f"{signed(metric, difference.value)} ({bounds})"


def signed(metric: Metric, difference: float) -> str:
    """A difference that rounds to nothing has no sign."""
    text = metric.amount(difference, "+")
    return text if float(text) else text.lstrip("+-")


def _agreeing(interval: Interval) -> str:
    # What rounds to nothing has no sign.
    value, low, high = (
        f"{round(bound, 2) + 0.0:.2f}" for bound in (interval.value, interval.low, interval.high)
    )
    return "undefined" if isnan(interval.value) else f"{value} ({low} to {high})"


def _p(p: float | None) -> str:
    if p is None:
        return "-"
    return "<0.001" if p < 0.001 else f"{p:.3f}"
