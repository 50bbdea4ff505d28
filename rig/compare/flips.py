"""What only one of two arms gets right: conversations and turns, with the commands that show both."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from pathlib import Path
from typing import Literal

from rig.calls import JsonObject
from rig.compare.arms import ChosenArm, Key, Scored
from rig.paths import runs_file
from rig.store import ScoredCell, ScoredTurn

Outcome = Literal["won", "lost"]


@dataclass(frozen=True, slots=True)
class Flip:
    """A conversation, or with `turn` (from 1) one of its assistant turns, that only one arm gets right.

    `won` is what the arm gets right and the baseline does not. With repeats it is what the arm gets right
    more often: `baseline_right` and `arm_right` are how many of how many times. The `commands`, for a shell,
    print what the baseline and the arm did there.
    """

    conversation: str
    suite: str
    outcome: Outcome
    baseline_right: int
    baseline_repeats: int
    arm_right: int
    arm_repeats: int
    commands: tuple[str, ...]
    turn: int | None = None

    def as_json(self) -> JsonObject:
        """All of it by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)} | {
            "commands": list(self.commands)
        }


def flips(baseline: Scored, arm: Scored, keys: Sequence[Key], store: Path) -> tuple[Flip, ...]:
    """The conversations that flipped, lost ones first, else in the order of `keys`."""
    found = []
    for key in keys:
        before, after = (side.successes(key) for side in (baseline, arm))
        if before != after:
            found.append(
                _flip(key.name, _suite(arm, key), None, before, after, baseline.chosen, arm.chosen, store)
            )
    return _lost_first(found)


def turn_flips(baseline: Scored, arm: Scored, keys: Sequence[Key], store: Path) -> tuple[Flip, ...]:
    """The turns that flipped, lost ones first. A turn is right as `ScoredTurn.right` has it."""
    found = []
    for key in keys:
        # Turns that are alike are one object, so that this is little work.
        if _played(baseline.cells[key]) == _played(arm.cells[key]):
            continue
        before, after = (_turns(side.cells[key]) for side in (baseline, arm))
        for turn in sorted(before.keys() & after.keys()):
            sides = (before[turn], after[turn], baseline.chosen, arm.chosen)
            if before[turn] != after[turn]:
                found.append(_flip(key.name, _suite(arm, key), turn, *sides, store))
    return _lost_first(found)


def show_commands(baseline: ChosenArm, arm: ChosenArm, conversation: str, store: Path) -> tuple[str, ...]:
    """The commands that print what both did in a conversation: one where both are of one run."""
    elsewhere = [] if store == runs_file() else ["--runs", str(store)]
    arms: dict[str, list[ChosenArm]] = {}
    for each in (baseline, arm):
        arms.setdefault(each.run.id, []).append(each)
    return tuple(
        shlex.join(
            ["rig", "show", run, conversation]
            + [word for each in group for word in ("--arm", each.arm.name)]
            + elsewhere
        )
        for run, group in arms.items()
    )


def _flip(
    conversation: str,
    suite: str,
    turn: int | None,
    before: Sequence[bool],
    after: Sequence[bool],
    baseline: ChosenArm,
    arm: ChosenArm,
    store: Path,
) -> Flip | None:
    # Fractions, for the arms may have repeated it a different number of times.
    shares = [Fraction(sum(rights), len(rights)) for rights in (before, after)]
    if shares[0] == shares[1]:
        return None
    return Flip(
        conversation,
        suite,
        "won" if shares[1] > shares[0] else "lost",
        sum(before),
        len(before),
        sum(after),
        len(after),
        show_commands(baseline, arm, conversation, store),
        turn,
    )


def _played(cells: Mapping[int, ScoredCell]) -> list[tuple[ScoredTurn, ...]]:
    return [cell.turns for cell in cells.values()]


def _turns(cells: Mapping[int, ScoredCell]) -> dict[int, list[bool]]:
    found: dict[int, list[bool]] = {}
    for cell in cells.values():
        for turn, right in cell.rights.items():
            found.setdefault(turn, []).append(right)
    return found


def _suite(scored: Scored, key: Key) -> str:
    return next(iter(scored.cells[key].values())).suite


def _lost_first(found: Sequence[Flip | None]) -> tuple[Flip, ...]:
    return tuple(sorted(filter(None, found), key=lambda flip: flip.outcome))
