"""Steps of a turn as a tree, where a search went back to an earlier step and tried something else.

Most turns are a plain sequence. These functions return nothing for them, so they look as always.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from rig.displays import signs
from rig.displays.clip import Clip
from rig.displays.signs import Sign
from rig.tasks import Step

NOTHING = Clip("")


@dataclass(frozen=True, slots=True)
class Back:
    """The step that comes now does not follow the one before, but an earlier one; -1 for the beginning.

    `call` is the earlier one's, for those who do not see the steps numbered.
    """

    sign: ClassVar[Sign] = signs.BACK
    turn: int
    step: int
    parent: int
    call: Clip = NOTHING

    @property
    def text(self) -> str:
        """Where it goes back to."""
        if self.parent < 0:
            return "again from the beginning"
        return f"again from step {self.parent + 1}{f', {self.call}' if self.call.text else ''}"


def back(turn: int, number: int, step: Step) -> Back | None:
    """Where a search went back to before a step, if it did."""
    parent = parent_of(number, step)
    return None if parent == number - 1 else Back(turn, number, parent)


def parent_of(number: int, step: Step) -> int:
    """The number of the step that a step follows, -1 for none. If it is impossible, it is the step before.

    A damaged store can hold anything, even something that is not a number.
    """
    return step.parent if isinstance(step.parent, int) and -1 <= step.parent < number else number - 1


def branches(steps: Sequence[Step]) -> list[tuple[int, str]]:
    """The steps as an outline, each by its number with the lines that are drawn before it.

    Empty for steps that are a line. Steps are set in where one has several that follow it, and nowhere else.
    """
    below: dict[int, list[int]] = {}
    for number, step in enumerate(steps):
        below.setdefault(parent_of(number, step), []).append(number)
    if all(len(followers) == 1 for followers in below.values()):
        return []
    rows: list[tuple[int, str]] = []
    waiting = _following(below, -1, "")
    while waiting:
        number, drawn, further = waiting.pop()
        rows.append((number, drawn))
        waiting += _following(below, number, further)
    return rows


def _following(below: dict[int, list[int]], number: int, drawn: str) -> list[tuple[int, str, str]]:
    """What follows on a step, the first of it last: its number, its lines, and those of what follows it."""
    numbers = below.get(number, [])
    if len(numbers) == 1:
        return [(numbers[0], drawn, drawn)]
    last = numbers[-1] if numbers else -1
    return [
        (
            number,
            f"{drawn}{signs.LAST_BRANCH if number == last else signs.BRANCH}",
            f"{drawn}{'   ' if number == last else signs.BESIDE_BRANCH}",
        )
        for number in reversed(numbers)
    ]
