"""Which conversations are listed, and in which order: rows are conversations, columns are arms."""

from collections.abc import Iterable, Iterator, Sequence
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


class Row(NamedTuple):
    """A conversation in all arms, once for every repeat."""

    conversation: str
    repeat: int

    def at(self, arm: int) -> Where:
        """The conversation of this row in one arm."""
        return Where(arm, self.conversation, self.repeat)


class _Order(NamedTuple):
    """Which conversation comes before which: row by row, and arm by arm in a row."""

    row: int
    arm: int


_BEFORE_ALL = _Order(-1, 0)


class Board:
    """The rows of a run in sight. They are only arranged again when the run's `changes` ask for it."""

    def __init__(self, state: RunState) -> None:
        self._state = state
        self.filter = Filter.ALL
        self.differing_first = True
        self._arranged: tuple[object, ...] = ()
        self._rows: list[Row] = []
        self._places: dict[Row, int] = {}
        self.differing: frozenset[Row] = frozenset()
        self.total = 0
        self.ending = ""
        """What all names of conversations end in, which the list then leaves out: `easy` of `login-easy`."""

    @property
    def rows(self) -> list[Row]:
        """The rows that pass the filter; those in which the arms differ come first, if that is wanted."""
        state = self._state
        version = (state.changes, len(state.conversations), self.filter, self.differing_first)
        if version != self._arranged:
            self._arranged = version
            self._arrange()
        return self._rows

    @property
    def filters(self) -> list[Filter]:
        """The filters that mean something here."""
        return [choice for choice in Filter if choice is not Filter.DIFFERING or len(self._state.arms) > 1]

    def short(self, row: Row) -> str:
        """A row's name without the ending of all."""
        return row.conversation.removesuffix(f"-{self.ending}") if self.ending else row.conversation

    @property
    def longest(self) -> int:
        """The characters of the longest such name."""
        return max((len(self.short(row)) for row in self.rows), default=0)

    def next_filter(self) -> None:
        """Change to the next filter, in a circle."""
        filters = self.filters
        self.filter = filters[(filters.index(self.filter) + 1) % len(filters)]

    def place(self, where: Where | None) -> int | None:
        """The row of a conversation, if it is in sight."""
        _ = self.rows
        return None if where is None else self._places.get(Row(where.conversation, where.repeat))

    def cells(self, row: Row) -> list[ConversationState]:
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
        failed = [cell.where for cell in self._in_order() if cell.failed]
        if not failed:
            return None
        if where in failed:
            return failed[(failed.index(where) + step) % len(failed)]
        after = [place for place in failed if self._order(place) > self._order(where)]
        before = [place for place in failed if self._order(place) < self._order(where)]
        return (after or failed)[0] if step > 0 else (before or failed)[-1]

    def _in_order(self) -> Iterator[ConversationState]:
        for row in self.rows:
            yield from self.cells(row)

    def _order(self, where: Where | None) -> _Order:
        place = self.place(where)
        return _BEFORE_ALL if where is None or place is None else _Order(place, where.arm)

    def _arrange(self) -> None:
        rows = list(
            dict.fromkeys(
                Row(conversation.conversation, conversation.repeat)
                for conversation in self._state.conversations
            )
        )
        self.total = len(rows)
        self.ending = _common_ending([row.conversation for row in rows])
        self.differing = frozenset(row for row in rows if differ(self.cells(row), self._state.declaration))
        kept = [row for row in rows if self._passes(row)]
        if self.differing_first:
            kept.sort(key=lambda row: row not in self.differing)
        self._rows = kept
        self._places = {row: place for place, row in enumerate(kept)}

    def _passes(self, row: Row) -> bool:
        match self.filter:
            case Filter.ALL:
                return True
            case Filter.FAILED:
                return any(cell.failed for cell in self.cells(row))
            case Filter.INCORRECT:
                return any(cell.incorrect_actions for cell in self.cells(row))
            case Filter.DIFFERING:
                return row in self.differing


def _common_ending(names: Sequence[str]) -> str:
    endings = {name.rpartition("-")[2] for name in names if name.rpartition("-")[0]}
    is_common = len(names) > 1 and len(endings) == 1 and all("-" in name for name in names)
    return endings.pop() if is_common else ""


def differ(cells: Iterable[ConversationState], declaration: Declaration) -> bool:
    """Whether the arms that are through with a conversation came to different results.

    Results are the same when success is, and all that is said about how it went.
    """
    results = {
        (declaration.succeeded(cell.counts), declaration.text(cell.counts))
        for cell in cells
        if cell.counts is not None
    }
    return len(results) > 1
