"""A comparison as text: the arms, their differences, what flipped, and what can be said about them."""

from collections.abc import Iterable, Sequence

from rig.compare import ArmPair, Comparison, Flip, VerdictKind
from rig.displays.pages import compare_rows
from rig.displays.pages.compare_rows import flips_with_turns, how_often
from rig.displays.table import Row, fitted
from rig.metrics import UNCLEAR

_MOST_FLIPS = 20
"""Conversations shown of an arm that flipped, and of those in which only turns did; `--json` has all."""
_OF_NO_USE = {VerdictKind.NOTHING_TO_LOSE, VerdictKind.CANNOT_TELL}


def compare_text(comparison: Comparison, width: int | None = None) -> str:
    """Everything but the transcripts. The verdicts come last, where a reader of a terminal looks.

    Arms that do not fit into `width` cells take less room, or follow below.
    """
    arms, pairs = comparison.arms, comparison.pairs
    told = [*compare_rows.quality_rows(comparison), *compare_rows.cost_rows(arms)]
    differences = compare_rows.difference_rows(comparison)
    parts = [
        "\n".join([*compare_rows.heading(comparison), *compare_rows.notes(comparison)]),
        table("", [arm.label for arm in arms], told, width),
        table("points more or less", [pair.arm for pair in pairs], differences, width),
        *(_flips(pair) for pair in pairs if pair.flips or pair.turn_flips),
        "\n".join([*(f"{pair.arm}: {pair.verdict.text}" for pair in pairs), *_hint(comparison)]),
    ]
    return "\n\n".join(parts)


def _flips(pair: ArmPair) -> str:
    """The conversations that flipped, each with its turns; then, in short, turns in those that did not."""
    flips = flips_with_turns(pair)
    flipped, alike = flips[: len(pair.flips)], flips[len(pair.flips) :]
    lines = [f"{pair.arm} against {pair.baseline}"]
    for of_kind in (flipped, alike):
        lines += ["  turns of conversations that ended alike"] if of_kind is alike and alike else []
        for number, (flip, turns) in enumerate(of_kind[:_MOST_FLIPS]):
            told = f"  {flip.outcome}  {flip.conversation}{how_often(flip)}"
            lines.append((told if of_kind is flipped else f"    {flip.conversation}") + _turns(turns))
            # The command is alike for all of them.
            lines += [f"        {command}" for command in flip.commands] if not number else []
        left = len(of_kind) - _MOST_FLIPS
        lines += [f"    … {left} more; --json has all flips"] if left > 0 else []
    return "\n".join(lines)


def _turns(flips: Iterable[Flip]) -> str:
    numbers: dict[str, list[str]] = {}
    for flip in flips:
        numbers.setdefault(flip.outcome, []).append(str(flip.turn))
    return "".join(f", {outcome} turn {', '.join(turns)}" for outcome, turns in numbers.items())


def _hint(comparison: Comparison) -> list[str]:
    """What to ask instead, where the metric asked for cannot tell losses of calls from none."""
    kinds = {pair.verdict.kind for pair in comparison.pairs}
    open_ = [pair for pair in comparison.pairs if pair.verdict.unclear]
    if any(pair.verdict.kind is VerdictKind.CANNOT_TELL for pair in open_):
        runs = dict.fromkeys(arm.run for arm in comparison.arms if arm.counts.get(UNCLEAR))
        asked, scored = (
            " and ".join(f"rig {verb} {run}" for run in runs) for verb in ("adjudicate", "score")
        )
        return [f"to decide them: {asked}, then {scored}"]
    declaration = comparison.declaration
    finer = declaration.progress
    if finer is None or not declaration.is_of_success(comparison.metric) or kinds.isdisjoint(_OF_NO_USE):
        return []
    noun = next(part.short or part.noun for part in declaration.outcome if part.name == finer.numerator)
    return [f"to ask for lost {noun} instead of lost conversations: --metric {finer.name}"]


def table(corner: str, header: Sequence[str], rows: Sequence[Row], width: int | None = None) -> str:
    """Labels, and a column of numbers under each heading; in less room where `width` asks for that."""
    return "\n".join(fitted([Row(corner, header), *rows], width))
