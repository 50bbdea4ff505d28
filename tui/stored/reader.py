"""Where a reader is in a stored conversation, and the page there. No terminal in it."""

from collections.abc import Sequence
from enum import StrEnum

from rig.rescore import Effects
from tui.stored.arms import write_arms
from tui.stored.outline import Row, outline
from tui.stored.record import Record, StepRecord
from tui.stored.story import write_conversation, write_step_page, write_turn
from tui.stored.timings import write_times_of_steps, write_times_of_turns
from tui.stored.tokens import write_raw, write_token_counts, write_tokens
from tui.stored.world import write_world
from tui.text.lines import BLANK, Line
from tui.text.page_writer import PageWriter


class View(StrEnum):
    """The part of a step, a turn or a conversation that is shown."""

    STORY = "story"
    TOKENS = "tokens"
    RAW = "raw"
    WORLD = "world"
    TIME = "time"
    ARMS = "arms"


class Reader:
    """A cursor in the outline of a record, and the pages.

    `effects` are None until they are known, a text where they cannot be had. `others` are the same
    conversation in all arms, None until they were read.
    """

    def __init__(self, record: Record) -> None:
        self.record = record
        self.rows: list[Row] = outline(record)
        self.cursor = 0
        self.effects: Effects | str | None = None
        self.others: Sequence[Record] | str | None = None
        self.revision = 0
        """Grows with everything that may change a page where it is."""

    @property
    def row(self) -> Row:
        """The row at the cursor."""
        return self.rows[self.cursor]

    @property
    def views(self) -> list[View]:
        """Those that make sense: arms side by side only where there are several."""
        return [view for view in View if view is not View.ARMS or len(self.record.columns) > 1]

    def take(self, record: Record) -> None:
        """Go on with another record, at the same place or the nearest before it."""
        place = self.row.place
        self.revision += 1
        if record.where != self.record.where or len(record.transcript.turns) != len(
            self.record.transcript.turns
        ):
            self.effects = None
        if record.where.conversation != self.record.where.conversation:
            self.others = None
        self.record, self.rows = record, outline(record)
        self.cursor = self._nearest(place)

    def know(
        self, *, effects: Effects | str | None = None, others: Sequence[Record] | str | None = None
    ) -> None:
        """Take in what became known, or why it cannot be."""
        self.effects = effects if effects is not None else self.effects
        self.others = others if others is not None else self.others
        self.revision += 1

    def _nearest(self, place: tuple[int | None, int | None]) -> int:
        turn, step = place
        target = (-1 if turn is None else turn, -1 if step is None else step)
        best = 0
        for number, row in enumerate(self.rows):
            here = (-1 if row.turn is None else row.turn, -1 if row.step is None else row.step)
            if here <= target:
                best = number
        return best

    def move(self, by: int) -> None:
        """Move the cursor, as far as there are rows."""
        self.cursor = min(max(self.cursor + by, 0), len(self.rows) - 1)

    def move_to(self, number: int) -> None:
        """Put the cursor at a row."""
        self.move(number - self.cursor)

    def next_turn(self, by: int) -> None:
        """To the heading of the next turn, or of the one before."""
        headings = [number for number, row in enumerate(self.rows) if row.step is None]
        if by > 0:
            heading = next((number for number in headings if number > self.cursor), self.cursor)
        else:
            heading = next((number for number in reversed(headings) if number < self.cursor), 0)
        self.cursor = heading

    @property
    def has_wrong(self) -> bool:
        """Whether anything is wrong anywhere."""
        return any(row.is_wrong for row in self.rows)

    def next_wrong(self, by: int) -> None:
        """To the next step that went wrong, or turn that lacks a call; going round at the end."""
        wrong = [number for number, row in enumerate(self.rows) if row.is_wrong]
        if not wrong:
            return
        if by > 0:
            self.cursor = next((number for number in wrong if number > self.cursor), wrong[0])
        else:
            self.cursor = next((number for number in reversed(wrong) if number < self.cursor), wrong[-1])

    @property
    def steps(self) -> list[StepRecord]:
        """The steps at the cursor: one, those of a turn, or all."""
        row = self.row
        turns = self.record.turns if row.turn is None else [row.turn]
        steps = [step for turn in turns for step in self.record.steps(turn)]
        return [step for step in steps if row.step is None or step.step == row.step]

    @property
    def step(self) -> StepRecord | None:
        """The step at the cursor, if it is at one."""
        return self.steps[0] if self.row.step is not None and self.steps else None

    def page(self, view: View, width: int, *, full: bool = False) -> list[Line]:
        """The lines of a view of what is at the cursor."""
        page = PageWriter(width, full=full)
        if view is View.ARMS:
            self._write_arms(page)
        elif view is View.WORLD:
            self._write_world(page)
        elif view is View.STORY:
            self._write_story(page)
        elif view is View.TOKENS:
            self._write_tokens(page)
        elif view is View.TIME:
            if self.row.turn is None:
                write_times_of_turns(page, self.record)
            else:
                write_times_of_steps(page, self.record, self.steps)
        else:
            self._write_raw(page)
        return page.lines or [BLANK]

    def _write_story(self, page: PageWriter) -> None:
        effects = self.effects if isinstance(self.effects, Effects) else None
        row, step = self.row, self.step
        if row.turn is None:
            write_conversation(page, self.record)
        elif step is None:
            write_turn(page, self.record, row.turn, effects)
        else:
            write_step_page(page, self.record, step, effects)

    def _write_tokens(self, page: PageWriter) -> None:
        if self.step is not None:
            write_tokens(page, self.step)
        else:
            write_token_counts(page, self.steps)

    def _write_raw(self, page: PageWriter) -> None:
        if self.row.turn is None:
            page.gap()
            page.note("choose a turn or a step to read what was generated")
        for step in self.steps if self.row.turn is not None else ():
            write_raw(page, step, with_title=self.row.step is None)

    def _write_world(self, page: PageWriter) -> None:
        if self.effects is None:
            page.gap()
            page.note("executing the calls again ..")
        elif isinstance(self.effects, str):
            page.gap()
            page.note(self.effects)
        else:
            write_world(page, self.steps, self.effects)

    def _write_arms(self, page: PageWriter) -> None:
        if self.others is None or isinstance(self.others, str):
            page.gap()
            page.note(self.others or "reading the other arms ..")
        else:
            write_arms(page, self.others, self.record.where, self.row.turn)
