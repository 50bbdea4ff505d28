"""What only one of two arms gets right: conversations and turns, with the commands that show both."""

import shlex
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

from rig.calls import JsonObject
from rig.compare.arms import ChosenArm, ConversationKey, ScoredArm
from rig.metrics import Counts
from rig.paths import runs_file
from rig.store import ScoredCell, ScoredTurn

Outcome = Literal["won", "lost"]


class Flip(NamedTuple):
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
        return self._asdict() | {"commands": list(self.commands)}


Commands: TypeAlias = Callable[[str], tuple[str, ...]]
"""The commands that print what both arms did in the conversation of this name."""


def flips(
    baseline: ScoredArm, arm: ScoredArm, keys: Sequence[ConversationKey], store: Path
) -> tuple[tuple[Flip, ...], tuple[Flip, ...]]:
    """The conversations that flipped, and the turns: lost ones first, else in the order of `keys`.

    A turn is right as `ScoredTurn.right` has it.
    """
    commands = cache(show_commands(baseline.chosen, arm.chosen, store))
    # What is alike is one object, so that this is little work.
    differing = [key for key in keys if _played(baseline.cells[key]) != _played(arm.cells[key])]
    sides = baseline, arm
    return _of_conversations(sides, differing, commands), _of_turns(sides, differing, commands)


def _of_conversations(
    sides: tuple[ScoredArm, ScoredArm], keys: Sequence[ConversationKey], commands: Commands
) -> tuple[Flip, ...]:
    flipped = []
    for key in keys:
        before, after = (side.successes(key) for side in sides)
        if before != after:
            flipped.append(_flip(key.name, sides[1].suite(key), None, before, after, commands))
    return _lost_first(flipped)


def _of_turns(
    sides: tuple[ScoredArm, ScoredArm], keys: Sequence[ConversationKey], commands: Commands
) -> tuple[Flip, ...]:
    flipped = []
    for key in keys:
        before, after = (_turns(side.cells[key]) for side in sides)
        suite = sides[1].suite(key)
        for turn in sorted(before.keys() & after.keys()):
            if before[turn] != after[turn]:
                flipped.append(_flip(key.name, suite, turn, before[turn], after[turn], commands))
    return _lost_first(flipped)


def show_commands(baseline: ChosenArm, arm: ChosenArm, store: Path) -> Commands:
    """The commands for a conversation of two arms: one where both are of one run."""
    elsewhere = [] if store == runs_file() else ["--runs", str(store)]
    arms: dict[str, list[ChosenArm]] = {}
    for side in (baseline, arm):
        arms.setdefault(side.run.id, []).append(side)
    around = [
        (
            shlex.join(["rig", "show", run]),
            shlex.join([word for side in group for word in ("--arm", side.arm.name)] + elsewhere),
        )
        for run, group in arms.items()
    ]

    def commands(conversation: str) -> tuple[str, ...]:
        name = shlex.quote(conversation)
        return tuple(f"{before} {name} {after}" for before, after in around)

    return commands


def _flip(
    conversation: str,
    suite: str,
    turn: int | None,
    before: Sequence[bool],
    after: Sequence[bool],
    commands: Commands,
) -> Flip | None:
    # Multiplied, for the arms may have repeated it a different number of times.
    more = sum(after) * len(before) - sum(before) * len(after)
    if not more:
        return None
    return Flip(
        conversation,
        suite,
        "won" if more > 0 else "lost",
        sum(before),
        len(before),
        sum(after),
        len(after),
        commands(conversation),
        turn,
    )


def _played(cells: Mapping[int, ScoredCell]) -> list[tuple[Counts, tuple[ScoredTurn, ...]]]:
    return [(cell.counts, cell.turns) for cell in cells.values()]


def _turns(cells: Mapping[int, ScoredCell]) -> dict[int, list[bool]]:
    rights: dict[int, list[bool]] = {}
    for cell in cells.values():
        for turn, right in cell.rights.items():
            rights.setdefault(turn, []).append(right)
    return rights


def _lost_first(flipped: Sequence[Flip | None]) -> tuple[Flip, ...]:
    return tuple(sorted(filter(None, flipped), key=lambda flip: flip.outcome))
