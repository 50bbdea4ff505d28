"""What only one of two arms gets right: conversations and turns, with the commands that show both."""

import shlex
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

from rig.calls import JsonObject
from rig.compare.arms import ChosenArm, ConversationKey, ScoredArm
from rig.paths import runs_file
from rig.store import ScoredCell

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
    conversations: list[Flip] = []
    turns: list[Flip] = []
    for key in keys:
        cells = baseline.cells[key], arm.cells[key]
        played = [[(cell.counts, cell.turns) for cell in side.values()] for side in cells]
        if played[0] == played[1]:
            continue
        before, after = map(_rights, cells)
        rights = {turn: (before[turn], after[turn]) for turn in sorted(before.keys() & after.keys())}
        whole = baseline.successes(key), arm.successes(key)
        for turn, (was, now) in [(None, whole), *rights.items()]:
            # Multiplied, for the arms may have repeated it a different number of times.
            more = sum(now) * len(was) - sum(was) * len(now)
            if more:
                right = sum(was), len(was), sum(now), len(now)
                outcome: Outcome = "won" if more > 0 else "lost"
                flip = Flip(key.name, arm.suite(key), outcome, *right, commands(key.name), turn)
                (conversations if turn is None else turns).append(flip)
    first, second = (sorted(flipped, key=lambda flip: flip.outcome) for flipped in (conversations, turns))
    return tuple(first), tuple(second)


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


def _rights(cells: Mapping[int, ScoredCell]) -> dict[int, list[bool]]:
    """Whether each turn is right, repeat by repeat."""
    rights: dict[int, list[bool]] = {}
    for cell in cells.values():
        for turn, right in cell.rights.items():
            rights.setdefault(turn, []).append(right)
    return rights
