"""A comparison as text: the arms, their differences, what can be said of them, and what flipped."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from rig.compare import METRICS, ArmResult, Comparison, Difference, Estimate, Flip, Pair
from rig.displays.numbers import UNKNOWN, clock_time, kilojoules, mebibytes, percent, rate, seconds

_MOST_FLIPS = 20
"""Lines of flips shown for an arm; `--json` has all."""

_MEASURES: tuple[tuple[str, Callable[[ArmResult], str]], ...] = (
    ("calls predicted", lambda arm: str(arm.metrics.predictions)),
    ("calls wanted", lambda arm: str(arm.metrics.ground_truths)),
)
_SPEED: tuple[tuple[str, Callable[[ArmResult], str]], ...] = (
    ("prompt tokens", lambda arm: f"{arm.speed.prompt_tokens:,}"),
    ("prompt from cache", lambda arm: percent(arm.speed.cached_share)),
    ("completion tokens", lambda arm: f"{arm.speed.completion_tokens:,}"),
    ("prefill tok/s", lambda arm: rate(arm.speed.prefill_rate)),
    ("decode tok/s", lambda arm: rate(arm.speed.decode_rate)),
    ("first token after", lambda arm: seconds(arm.speed.first_token)),
    ("time per turn", lambda arm: seconds(arm.turn_times.mean_s)),
    ("  median", lambda arm: seconds(arm.turn_times.median_s)),
    ("  95th percentile", lambda arm: seconds(arm.turn_times.p95_s)),
    ("time", lambda arm: clock_time(arm.speed.wall_s)),
    ("peak memory", lambda arm: mebibytes(arm.speed.peak_memory)),
    ("peak GPU memory", lambda arm: mebibytes(arm.speed.peak_device_memory)),
    ("energy", lambda arm: kilojoules(arm.speed.energy_j)),
)


def comparison_text(comparison: Comparison) -> str:
    """Everything but the transcripts, in the order in which it is to be read."""
    arms = comparison.arms
    parts = [
        _heading(comparison),
        table("", [arm.label for arm in arms], _arm_rows(arms)),
        table(
            "points more or less",
            [pair.arm for pair in comparison.pairs],
            _difference_rows(comparison),
        ),
        "\n".join(f"{pair.arm}: {pair.verdict.text}" for pair in comparison.pairs),
        *(_flips(pair) for pair in comparison.pairs if pair.flips or pair.turn_flips),
    ]
    return "\n\n".join(parts)


def _heading(comparison: Comparison) -> str:
    level = f"{100 * (1 - comparison.alpha):g}%"
    lines = [
        f"{len(comparison.conversations)} conversations, graded by {comparison.grader}",
        f"baseline {comparison.baseline.label}; in brackets {level} intervals over conversations",
    ]
    lines += [
        f"{arm.label} differs in {', '.join(map(str, arm.factors))}"
        for arm in comparison.arms
        if len(arm.factors) == 1
    ]
    lines += [f"{arm.label}: {arm.made_from}" for arm in comparison.arms if arm.made_from]
    lines += [f"{label} is left out: {why}" for label, why in comparison.left_out.items()]
    lines += comparison.notes
    noise = comparison.noise
    if noise:
        lines.append(
            f"noise: between two runs of the same arm ({noise.runs[0]}/{noise.arms[0]})"
            f" {noise.conversations.differ} of {noise.conversations.of} conversations flip,"
            f" {estimate(noise.conversations.share)}, and {noise.turns.differ} of {noise.turns.of} turns"
        )
    return "\n".join(lines)


def _arm_rows(arms: Sequence[ArmResult]) -> list[tuple[str, list[str]]]:
    rows = [(metric.noun, [estimate(arm.rates[name]) for arm in arms]) for name, metric in METRICS.items()]
    rows += [(label, [cell(arm) for arm in arms]) for label, cell in _MEASURES]
    rows += _by_kind("failed steps", [arm.errors for arm in arms])
    rows += _by_kind("errors, ToolTalk's types", [arm.error_types for arm in arms])
    rows += _by_kind("faults", [arm.faults for arm in arms])
    speed = [(label, [cell(arm) for arm in arms]) for label, cell in _SPEED]
    return rows + [(label, cells) for label, cells in speed if set(cells) != {UNKNOWN}]


def _difference_rows(comparison: Comparison) -> list[tuple[str, list[str]]]:
    pairs = comparison.pairs
    judged = [pair.differences[comparison.metric] for pair in pairs]
    tests = ", ".join(sorted({each.test for each in judged}))
    noun = METRICS[comparison.metric].noun
    corrected = ", corrected" if len(pairs) > 1 else ""
    noise = comparison.noise
    flipped = f"conversations flipped, noise {percent(noise.conversations.share.value)}" if noise else ""
    return [
        *(
            (metric.noun, [_difference(pair.differences[name]) for pair in pairs])
            for name, metric in METRICS.items()
        ),
        (f"p of {noun} ({tests}{corrected})", [_p(each.p_holm) for each in judged]),
        (f"detectable in {noun}", [_points(each.detectable) for each in judged]),
        ("conversations won, lost", [f"{pair.won}, {pair.lost}" for pair in pairs]),
        *([(flipped, [percent(pair.flip_rate) for pair in pairs])] if noise else []),
        ("turns won, lost", [_won_lost(pair.turn_flips) for pair in pairs]),
    ]


def _flips(pair: Pair) -> str:
    """The conversations that flipped, each with its turns; then turns in conversations that did not."""
    lines = [f"{pair.arm} against {pair.baseline}"]
    by_conversation: dict[str, list[Flip]] = {}
    for turn in pair.turn_flips:
        by_conversation.setdefault(turn.conversation, []).append(turn)
    for flip in pair.flips:
        turns = by_conversation.pop(flip.conversation, [])
        lines.append(f"  {flip.outcome}  {flip.conversation}{_often(flip)}{_turns(turns)}")
        lines += [f"        {command}" for command in flip.commands]
    for conversation, turns in by_conversation.items():
        lines.append(f"  alike {conversation}{_turns(turns)}")
        lines += [f"        {command}" for command in turns[0].commands]
    shown, left = lines[: 3 * _MOST_FLIPS], len(lines) - 3 * _MOST_FLIPS
    return "\n".join([*shown, *([f"  … {left} more lines; --json has all flips"] if left > 0 else [])])


def _often(flip: Flip) -> str:
    if flip.baseline_repeats == flip.arm_repeats == 1:
        return ""
    return (
        f" (right {flip.arm_right} of {flip.arm_repeats} times,"
        f" baseline {flip.baseline_right} of {flip.baseline_repeats})"
    )


def _turns(flips: Iterable[Flip]) -> str:
    numbers: dict[str, list[str]] = {}
    for flip in flips:
        numbers.setdefault(flip.outcome, []).append(str(flip.turn))
    return "".join(f", {outcome} turn {', '.join(found)}" for outcome, found in numbers.items())


def _won_lost(flips: Sequence[Flip]) -> str:
    won = sum(flip.outcome == "won" for flip in flips)
    return f"{won}, {len(flips) - won}"


def table(corner: str, header: Sequence[str], rows: Sequence[tuple[str, Sequence[str]]]) -> str:
    """Labels, and a column of numbers under each heading."""
    every = [(corner, list(header)), *rows]
    width = max(len(label) for label, _ in every)
    widths = [max(len(cells[column]) for _, cells in every) for column in range(len(header))]
    return "\n".join(
        "  ".join([label.ljust(width), *(cell.rjust(w) for cell, w in zip(cells, widths, strict=True))])
        for label, cells in every
    )


def _by_kind(label: str, counts: Sequence[Mapping[str, int]]) -> list[tuple[str, list[str]]]:
    kinds = sorted({kind for each in counts for kind in each})
    total = (label, [str(sum(each.values())) for each in counts])
    return [total, *((f"  {kind}", [str(each.get(kind, 0)) for each in counts]) for kind in kinds)]


def estimate(found: Estimate) -> str:
    """A rate with its interval, in percent."""
    if found.value is None or found.low is None or found.high is None:
        return percent(found.value)
    return f"{percent(found.value)} ({100 * found.low:.1f} to {100 * found.high:.1f})"


def _difference(difference: Difference) -> str:
    if difference.value is None:
        return "-"
    if difference.low is None or difference.high is None:
        return _signed(difference.value)
    return f"{_signed(difference.value)} ({_signed(difference.low)} to {_signed(difference.high)})"


def _signed(fraction: float) -> str:
    """In points. A difference that rounds to nothing has no sign."""
    text = f"{100 * fraction:+.1f}"
    return text if text.strip("+-") != "0.0" else "0.0"


def _points(fraction: float | None) -> str:
    return "-" if fraction is None else f"{100 * fraction:.1f}"


def _p(p: float | None) -> str:
    if p is None:
        return "-"
    return "<0.001" if p < 0.001 else f"{p:.3f}"
