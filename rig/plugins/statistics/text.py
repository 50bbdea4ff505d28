"""The statistics of a comparison as text."""

from collections.abc import Iterable, Sequence

from rig.compare.findings import ArmPair, Comparison, Flip
from rig.plugins.statistics.rows import (
    difference_rows,
    flips_with_turns,
    heading,
    how_often,
    quality_rows,
)
from rig.show.summary import cost_rows
from rig.show.table import Row, fitted

_MOST_FLIPS = 20
"""The most flipped conversations shown of an arm, and as many with flipped turns only; `--json` has all."""


def statistics_text(comparison: Comparison, width: int | None = None) -> str:
    """Return what the verdicts rest on: rates, costs, differences with their tests, and flips.

    Arms that do not fit into `width` cells get narrower columns, or follow below.
    """
    arms, pairs = comparison.arms, comparison.pairs
    told = [*quality_rows(comparison), *cost_rows(arms)]
    parts = [
        "\n".join(heading(comparison)),
        _table("", [arm.label for arm in arms], told, width),
        _table("points more or less", [pair.arm for pair in pairs], difference_rows(comparison), width),
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


def _table(corner: str, header: Sequence[str], rows: Sequence[Row], width: int | None = None) -> str:
    """Return a table with a column of numbers under each heading, narrowed if it exceeds `width` cells."""
    return "\n".join(fitted([Row(corner, header), *rows], width))
