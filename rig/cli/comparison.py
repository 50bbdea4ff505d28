"""A comparison as text: the arms, their differences, what can be said of them, and what flipped."""

from collections.abc import Iterable, Sequence

from rig.compare import Comparison, Flip, Pair
from rig.displays.columns import columns
from rig.report.rows import Row, cost_rows, difference_rows, heading, how_often, quality_rows

_MOST_FLIPS = 20
"""Lines of flips shown for an arm; `--json` has all."""


def comparison_text(comparison: Comparison) -> str:
    """Everything but the transcripts, in the order in which it is to be read."""
    arms = comparison.arms
    parts = [
        "\n".join(heading(comparison)),
        table("", [arm.label for arm in arms], [*quality_rows(arms), *cost_rows(arms)]),
        table(
            "points more or less",
            [pair.arm for pair in comparison.pairs],
            difference_rows(comparison),
        ),
        "\n".join(f"{pair.arm}: {pair.verdict.text}" for pair in comparison.pairs),
        *(_flips(pair) for pair in comparison.pairs if pair.flips or pair.turn_flips),
    ]
    return "\n\n".join(parts)


def _flips(pair: Pair) -> str:
    """The conversations that flipped, each with its turns; then turns in conversations that did not."""
    lines = [f"{pair.arm} against {pair.baseline}"]
    by_conversation: dict[str, list[Flip]] = {}
    for turn in pair.turn_flips:
        by_conversation.setdefault(turn.conversation, []).append(turn)
    for flip in pair.flips:
        turns = by_conversation.pop(flip.conversation, [])
        lines.append(f"  {flip.outcome}  {flip.conversation}{how_often(flip)}{_turns(turns)}")
        lines += [f"        {command}" for command in flip.commands]
    for conversation, turns in by_conversation.items():
        lines.append(f"  alike {conversation}{_turns(turns)}")
        lines += [f"        {command}" for command in turns[0].commands]
    shown, left = lines[: 3 * _MOST_FLIPS], len(lines) - 3 * _MOST_FLIPS
    return "\n".join([*shown, *([f"  … {left} more lines; --json has all flips"] if left > 0 else [])])


def _turns(flips: Iterable[Flip]) -> str:
    numbers: dict[str, list[str]] = {}
    for flip in flips:
        numbers.setdefault(flip.outcome, []).append(str(flip.turn))
    return "".join(f", {outcome} turn {', '.join(found)}" for outcome, found in numbers.items())


def table(corner: str, header: Sequence[str], rows: Sequence[Row]) -> str:
    """Labels, and a column of numbers under each heading."""
    labelled = [(f"  {row.label}" if row.detail else row.label, row.cells) for row in rows]
    return "\n".join(columns([(corner, tuple(header)), *labelled]))
