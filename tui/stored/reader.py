"""The outline of a stored conversation, the reader's place in it, and the page there, without a terminal."""

from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple

from rig.plugins.matching.worlds import Effects
from rig.show import signs
from rig.show.signs import Sign
from tui.stored import story
from tui.stored.record import Record, StepRecord
from tui.text.lines import BLANK, Line
from tui.text.page_writer import PageWriter

SIGNS = (
    (signs.MATCH.glyph, "matches, or all calls of the turn were made"),
    (signs.NO_MATCH.glyph, "does not match, or a call is missing"),
    *((sign.glyph, words) for sign, words in signs.SAID.items()),
    (signs.REPLY.glyph, "reply"),
    (signs.WAITING.glyph, "not played yet"),
    (signs.RUNNING.glyph, "being played"),
)
"""The meanings of the signs, for help and documentation."""

_LONGEST = 200


class OutlineRow(NamedTuple):
    """A place in a conversation: all of it without a `turn`, or the whole turn without a `step`.

    `turn` is a position in the conversation. `note` is shown at the right end. `is_wrong` marks a step that
    went wrong, or a turn that lacks a call.
    """

    turn: int | None
    step: int | None
    sign: Sign
    text: str
    note: str = ""
    is_wrong: bool = False

    @property
    def place(self) -> tuple[int | None, int | None]:
        """The pair (turn, step), which still identifies the row after others were added."""
        return self.turn, self.step


def outline(record: Record) -> list[OutlineRow]:
    """Return the rows of a conversation in the order in which things happened."""
    counts, parts = record.transcript.counts, record.transcript.declaration.outcome
    share = " ".join(part.brief(counts) for part in parts if part.whole) if counts else ""
    rows = [OutlineRow(None, None, record.sign, "conversation", share)]
    for position in record.turns:
        turn = record.story(position, _LONGEST)
        note = f"{turn.made}/{len(turn.due)}" if turn.due and turn.is_paired else ""
        is_wrong = bool(turn.steps) and not turn.is_complete
        rows.append(OutlineRow(position, None, turn.sign, turn.heading.text(), note, is_wrong))
        for view, drawn in turn.outline or [(view, "") for view in turn.steps]:
            rows.append(OutlineRow(position, view.step, view.sign, drawn + view.words, "", view.is_wrong))
    return rows


class View(StrEnum):
    """The part of a step, a turn or a conversation that is shown."""

    STORY = "story"
    TOKENS = "tokens"
    RAW = "raw"
    WORLD = "world"
    TIME = "time"
    ARMS = "arms"


class RecordCursor:
    """A cursor in the outline of a record, and the pages of the views there.

    `effects` are None until they are known, or a text if they cannot be computed. `others` are the same
    conversation in all arms and repeats: None until they are read, or a text if they cannot be.
    """

    def __init__(self, record: Record) -> None:
        self.record = record
        self.rows: list[OutlineRow] = outline(record)
        self.cursor = 0
        self.effects: Effects | str | None = None
        self.others: Sequence[Record] | str | None = None
        self.revision = 0
        """A number that grows with everything that may change the page at the cursor."""

    @property
    def row(self) -> OutlineRow:
        """The row at the cursor."""
        return self.rows[self.cursor]

    @property
    def views(self) -> list[View]:
        """The views that make sense: arms side by side only if there are several."""
        return [view for view in View if view is not View.ARMS or len(self.record.columns) > 1]

    def take(self, record: Record) -> None:
        """Switch to another record, at the same place or the nearest one before it."""
        place = self.row.place
        self.revision += 1
        before = self.record
        if record.where != before.where or len(record.transcript.turns) != len(before.transcript.turns):
            self.effects = None
        if record.where.conversation != before.where.conversation:
            self.others = None
        self.record, self.rows = record, outline(record)
        self.cursor = max(n for n, row in enumerate(self.rows) if not n or _order(row.place) <= _order(place))

    def know(
        self, *, effects: Effects | str | None = None, others: Sequence[Record] | str | None = None
    ) -> None:
        """Set the effects or the other arms, or why they cannot be read."""
        self.effects = effects if effects is not None else self.effects
        self.others = others if others is not None else self.others
        self.revision += 1

    def move(self, by: int) -> None:
        """Move the cursor by this many rows, at most to the first or the last."""
        self.cursor = min(max(self.cursor + by, 0), len(self.rows) - 1)

    def move_to(self, number: int) -> None:
        """Move the cursor to a row."""
        self.move(number - self.cursor)

    def next_turn(self, by: int) -> None:
        """Move to the heading of the next turn, or of the previous one if `by` is negative."""
        self._go_on([number for number, row in enumerate(self.rows) if row.step is None], by)

    def next_wrong(self, by: int) -> None:
        """Move to the next step that went wrong or turn that lacks a call, and wrap around at the end."""
        wrong = [number for number, row in enumerate(self.rows) if row.is_wrong]
        if wrong and not self._go_on(wrong, by):
            self.cursor = wrong[0 if by > 0 else -1]

    def _go_on(self, numbers: list[int], by: int) -> bool:
        """Move to the next or the previous of these rows, and return whether there is one."""
        ahead = [number for number in numbers if (number > self.cursor if by > 0 else number < self.cursor)]
        if ahead:
            self.cursor = ahead[0 if by > 0 else -1]
        return bool(ahead)

    @property
    def steps(self) -> list[StepRecord]:
        """The steps at the cursor: one step, those of a turn, or all."""
        row = self.row
        turns = self.record.turns if row.turn is None else [row.turn]
        steps = [step for turn in turns for step in self.record.steps(turn)]
        return [step for step in steps if row.step is None or step.step == row.step]

    @property
    def step(self) -> StepRecord | None:
        """The step at the cursor, None if it is at a turn or at the conversation."""
        return self.steps[0] if self.row.step is not None and self.steps else None

    def page(self, view: View, width: int, *, full: bool = False) -> list[Line]:
        """Return the lines of a view of what is at the cursor."""
        page = PageWriter(width, full=full)
        row, effects, others = self.row, self.effects, self.others
        match view:
            case View.STORY:
                seen = effects if isinstance(effects, Effects) else None
                if row.turn is None:
                    story.write_conversation(page, self.record)
                elif self.step is None:
                    story.write_turn(page, self.record, row.turn, seen)
                else:
                    story.write_step_page(page, self.record, self.step, seen)
            case View.TOKENS if self.step is not None:
                story.write_tokens(page, self.step)
            case View.TOKENS:
                story.write_token_counts(page, self.steps)
            case View.RAW if row.turn is None:
                page.note("choose a turn or a step to read what was generated")
            case View.RAW:
                for step in self.steps:
                    story.write_raw(page, step, with_title=row.step is None)
            case View.WORLD if isinstance(effects, Effects):
                story.write_world(page, self.steps, effects)
            case View.WORLD:
                page.note(effects if isinstance(effects, str) else "executing the calls again ..")
            case View.TIME if row.turn is None:
                story.write_times_of_turns(page, self.record)
            case View.TIME:
                story.write_times_of_steps(page, self.record, self.steps)
            case View.ARMS if others is None or isinstance(others, str):
                page.note(others or "reading the other arms ..")
            case View.ARMS:
                story.write_arms(page, others, self.record.where, row.turn)
        return page.lines or [BLANK]


def _order(place: tuple[int | None, int | None]) -> tuple[int, ...]:
    """Return a key that sorts a conversation before its turns, and a turn before its steps."""
    return tuple(-1 if part is None else part for part in place)
