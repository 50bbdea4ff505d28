"""Which conversations are listed, and in which order: rows are conversations, columns are arms."""

from collections.abc import Iterable
from enum import StrEnum
from typing import NamedTuple

from rig.events import Where
from rig.metrics import Declaration
from tui.live.state import ConversationState, RunState


class Filter(StrEnum):
    """What is listed. Of several arms, one that fits is enough."""

    ALL = "all"
    FAILED = "failed"
    INCORRECT = "incorrect"
    DIFFERING = "differing"


class BoardRow(NamedTuple):
    """A conversation in all arms, once for every repeat."""

    conversation: str
    repeat: int

    def at(self, arm: int) -> Where:
        """The conversation of this row in one arm."""
        return Where(arm, self.conversation, self.repeat)


class Board:
    """The rows of a run in sight. They are only arranged again when the run's `changes` ask for it."""

    def __init__(self, state: RunState) -> None:
        self._state = state
        self.filter = Filter.ALL
        self.differing_first = True
        self._arranged: tuple[object, ...] = ()
        self._rows: list[BoardRow] = []
        self._places: dict[BoardRow, int] = {}
        self.differing: frozenset[BoardRow] = frozenset()
        self.total = 0
        self.ending = ""
        """What all names of conversations end in, which the list then leaves out: `easy` of `login-easy`."""

    @property
    def rows(self) -> list[BoardRow]:
        """The rows that pass the filter; those in which the arms differ come first, if that is wanted."""
        state = self._state
        version = (state.changes, len(state.conversations), self.filter, self.differing_first)
        if version != self._arranged:
            self._arranged = version
            self._arrange()
        return self._rows

    def short(self, row: BoardRow) -> str:
        """A row's name without the ending of all."""
        return row.conversation.removesuffix(f"-{self.ending}") if self.ending else row.conversation

    @property
    def longest(self) -> int:
        """The characters of the longest such name."""
        return max((len(self.short(row)) for row in self.rows), default=0)

    def next_filter(self) -> None:
        """Change to the next filter that means something here, in a circle."""
        filters = [choice for choice in Filter if choice is not Filter.DIFFERING or len(self._state.arms) > 1]
        self.filter = filters[(filters.index(self.filter) + 1) % len(filters)]

    def place(self, where: Where | None) -> int | None:
        """The row of a conversation, if it is in sight."""
        _ = self.rows
        return None if where is None else self._places.get(BoardRow(where.conversation, where.repeat))

    def cells(self, row: BoardRow) -> list[ConversationState]:
        """The row's conversation in each arm that has it."""
        cells = (self._state.conversations.get(row.at(arm)) for arm in range(max(len(self._state.arms), 1)))
        return [cell for cell in cells if cell is not None]

    def moved(self, where: Where | None, steps: int) -> Where | None:
        """The conversation `steps` rows below (above when negative), as far as the rows go."""
        rows = self.rows
        if not rows:
            return None
        place = self.place(where)
        if place is None:
            place = -1 if steps > 0 else 0
        return rows[min(max(place + steps, 0), len(rows) - 1)].at(where.arm if where else 0)

    def next_failure(self, where: Where | None, step: int) -> Where | None:
        """The next failed conversation after this one, row by row and arm by arm, going round at the end."""
        failed = [cell.where for row in self.rows for cell in self.cells(row) if cell.failed]
        here = self._order(where)
        if step > 0:
            ahead = [place for place in failed if self._order(place) > here]
        else:
            ahead = [place for place in reversed(failed) if self._order(place) < here]
        around = failed[:1] if step > 0 else failed[-1:]
        return next(iter([*ahead, *around]), None)

    def _order(self, where: Where | None) -> tuple[int, int]:
        """By row and arm; what is not in sight is before all."""
        place = self.place(where)
        return (-1, 0) if where is None or place is None else (place, where.arm)

    def _arrange(self) -> None:
        everywhere = (BoardRow(where.conversation, where.repeat) for where in self._state.conversations)
        rows = list(dict.fromkeys(everywhere))
        self.total = len(rows)
        parts = [row.conversation.rpartition("-") for row in rows]
        endings = {ending for beginning, _, ending in parts if beginning}
        is_common = len(rows) > 1 and len(endings) == 1 and all(dash for _, dash, _ in parts)
        self.ending = endings.pop() if is_common else ""
        self.differing = frozenset(row for row in rows if differ(self.cells(row), self._state.declaration))
        kept = [row for row in rows if self._passes(row)]
        if self.differing_first:
            kept.sort(key=lambda row: row not in self.differing)
        self._rows = kept
        self._places = {row: place for place, row in enumerate(kept)}

    def _passes(self, row: BoardRow) -> bool:
        match self.filter:
            case Filter.ALL:
                return True
            case Filter.FAILED:
                return any(cell.failed for cell in self.cells(row))
            case Filter.INCORRECT:
                return any(cell.incorrect_actions for cell in self.cells(row))
            case Filter.DIFFERING:
                return row in self.differing


def differ(cells: Iterable[ConversationState], declaration: Declaration) -> bool:
    """Whether the arms that are through with a conversation came to different results.

    Results are the same when success is, and all that is said about how it went.
    """
    scored = (cell.counts for cell in cells if cell.counts is not None)
    return len({(declaration.succeeded(counts), declaration.text(counts)) for counts in scored}) > 1
