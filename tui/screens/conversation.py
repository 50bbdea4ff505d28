"""One stored conversation, step by step: words, calls, tokens, raw text, world, times and other arms."""

import json
import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical

from rig.core.calls import JsonObject
from rig.core.events import Where
from rig.plugins.matching.worlds import Effects
from rig.plugins.rescore.reexecute import effects_of
from rig.show.signs import CURSOR
from rig.show.transcript import transcript_json
from rig.store import Transcript
from tui.live.layout import plain
from tui.screens import keys
from tui.screens.base import PagedScreen, RigScreen, WriteScreen
from tui.stored.reader import SIGNS, OutlineRow, RecordCursor, View
from tui.stored.record import Record, StepRecord, read_columns, read_place, read_record
from tui.text.lines import Line, Span, Tint, inert_line, spread, width_of
from tui.text.page_writer import unread
from tui.widgets.keys import KeyBar
from tui.widgets.lines import Lines, Page, RowPicked, Rows, SearchBar


class Outline(Rows):
    """The outline of a conversation, which scrolls to the row at the cursor when the cursor moves."""

    _cursor = -1

    def show_rows(self, rows: Sequence[OutlineRow], cursor: int) -> None:
        """Update the outline."""
        if not self.size.width:
            return
        is_other = self.is_new(rows)
        self.show([_line(row, number == cursor, self.size.width) for number, row in enumerate(rows)])
        if is_other or cursor != self._cursor:
            self._cursor = cursor
            self.bring_into_sight(max(cursor - 1, 0), min(cursor + 1, len(rows) - 1))


def _line(row: OutlineRow, is_chosen: bool, width: int) -> Line:
    bar: Span = (str(CURSOR) if is_chosen else " ", Tint.RUNNING)
    indent = "  " if row.step is not None else ""
    tint = Tint.STRONG if is_chosen else Tint.PLAIN if row.step is not None else Tint.TITLE
    sign: Span = (str(row.sign.glyph), Tint(row.sign.tint))
    left: list[Span] = [bar, (indent, Tint.PLAIN), sign, (" ", Tint.PLAIN), (inert_line(row.text), tint)]
    return spread(left, [(f"{row.note} ", Tint.MUTED)], width)


TEXT_WIDTH = 122
"""The width in cells of a page or a conversation that is written as text."""

LOOK_S = 1.0
"""The seconds between reads of the store while the conversation is not over."""


class ConversationScreen(PagedScreen[None]):
    """The screen of a stored conversation, which is read again while turns are added to it."""

    SUBJECT = "One conversation, step by step"
    KEYS = keys.CONVERSATION
    SIGNS = SIGNS

    def __init__(self, store: Path, run: str, where: Where) -> None:
        super().__init__()
        self.store = store
        self.run_id = run
        self.where = where
        self.reader: RecordCursor | None = None
        self.view = View.STORY
        self.full = False
        self.failure = ""
        self._shown: tuple[object, ...] = ()

    def compose(self) -> ComposeResult:
        yield Lines(id="header")
        with Horizontal(id="body"):
            yield Outline(id="outline")
            with Vertical(id="reading"):
                yield Tabs(id="tabs")
                yield Page(id="page")
                yield SearchBar("search this page", id="search")
        yield KeyBar()

    # Reading the store

    def on_mount(self) -> None:
        self._read(self.where)
        self.set_interval(LOOK_S, self._look)

    def _look(self) -> None:
        """Read the conversation again unless it is over."""
        record = self.reader.record if self.reader else None
        if self.is_current and record is not None and record.transcript.counts is None:
            self._read(self.where)

    def _read(self, where: Where) -> None:
        self.where = where
        read = partial(read_record, self.store, self.run_id, where)
        self.in_background(read, self._take, self._take, group="read")

    def _take(self, record: Record | str) -> None:
        if isinstance(record, str):
            self.failure = record
            self.show_state()
        elif record.where == self.where:
            self.failure = ""
            reader = self.reader = self.reader or RecordCursor(record)
            if record.transcript != reader.record.transcript or record.where != reader.record.where:
                reader.take(record)
                self.view = self.view if self.view in reader.views else View.STORY
            self._want_more(reader)
            self.show_state()

    def _want_more(self, reader: RecordCursor) -> None:
        """Compute the effects of the calls in the background, and read the other arms if they are in view."""
        record = reader.record

        def take_effects(effects: Effects | str) -> None:
            if reader.record is record:
                reader.know(effects=effects)
                self.show_state()

        def take_others(others: list[Record] | str) -> None:
            if reader.record.where.conversation == record.where.conversation:
                reader.know(others=others)
                self.show_state()

        if reader.effects is None:
            effects = partial(effects_of, record.run, record.transcript)
            self.in_background(effects, take_effects, take_effects, group="effects")
        if self.view is View.ARMS and not isinstance(reader.others, list):
            others = partial(read_columns, self.store, record)
            self.in_background(others, take_others, take_others, group="arms")

    # Showing

    def show_state(self) -> None:
        """Update every widget."""
        self.set_class(self.view is View.ARMS, "-arms")
        width = self.page.size.width
        if not width:
            return
        reader = self.reader
        if reader is None or self.failure:
            self.show_header([])
            self.page.show(unread(self.failure, width))
            return
        self.query_one(Outline).show_rows(reader.rows, reader.cursor)
        self.query_one(Tabs).show_views(reader.views, reader.views.index(self.view))
        key = (reader.cursor, self.view, reader.revision, self.full, width)
        if key != self._shown:
            is_other = key[:2] != self._shown[:2]
            self._shown = key
            self.page.show_page(reader.page(self.view, width, full=self.full))
            if is_other:
                self.page.jump_to(0)
        self._show_header(reader)
        self.refresh_bindings()

    def _show_header(self, reader: RecordCursor) -> None:
        record, columns = reader.record, reader.record.columns
        many = f" ({columns.index(record.where) + 1} of {len(columns)})" if len(columns) > 1 else ""
        left: list[Span] = [
            ("  ", Tint.PLAIN),
            (inert_line(record.where.conversation), Tint.STRONG),
            ("  ", Tint.PLAIN),
            (str(record.sign.glyph), Tint(record.sign.tint)),
            (f"  {inert_line(record.name_of(record.where))}{many}", Tint.PLAIN),
        ]
        hits = self.page.hits
        right: list[Span] = [(hits, Tint.FOUND_HERE), ("  ", Tint.PLAIN)] if hits else []
        right.append((f"run {inert_line(record.run.id)} ", Tint.MUTED))
        self.show_header(left, right)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        reader = self.reader
        if reader is None or action in ("leave", "back", "command_palette"):
            return action in ("leave", "back", "command_palette")
        match action, parameters:
            case "column", _:
                return len(reader.record.columns) > 1
            case "view", (int() as number,):
                return number < len(reader.views)
            case "neighbour", (int() as by,):
                return reader.record.neighbour(by) is not None
            case "wrong", _:
                return any(row.is_wrong for row in reader.rows)
            case "copy", _:
                return reader.step is not None
            case "match", _:
                return bool(self.page.term)
            case _:
                return True

    # Places

    def _go(self, move: Callable[[RecordCursor], None]) -> None:
        if self.reader is not None:
            move(self.reader)
            self.show_state()

    def action_move(self, by: int) -> None:
        self._go(lambda reader: reader.move(by))

    def action_turn(self, by: int) -> None:
        self._go(lambda reader: reader.next_turn(by))

    def action_wrong(self, by: int) -> None:
        self._go(lambda reader: reader.next_wrong(by))

    def on_row_picked(self, message: RowPicked) -> None:
        self._go(lambda reader: reader.move_to(message.number))

    def action_column(self, by: int) -> None:
        if self.reader is not None:
            columns = self.reader.record.columns
            self._read(columns[(columns.index(self.where) + by) % len(columns)])

    def action_neighbour(self, by: int) -> None:
        name = self.reader.record.neighbour(by) if self.reader is not None else None
        if self.reader is not None and name is not None:
            self.reader.move_to(0)
            self._read(Where(self.where.arm, name, self.where.repeat))

    # Views

    def action_view(self, number: int) -> None:
        if self.reader is not None:
            self.view = self.reader.views[number]
            self._want_more(self.reader)
            self.show_state()

    def action_next_view(self, by: int) -> None:
        if self.reader is not None:
            views = self.reader.views
            self.action_view((views.index(self.view) + by) % len(views))

    def action_full(self) -> None:
        self.full = not self.full
        self.show_state()

    def action_copy(self) -> None:
        step = self.reader.step if self.reader is not None else None
        if step is not None:
            text = step_json(step)
            self.app.copy_to_clipboard(text)
            self.notify(f"copied step {step.step + 1}, {len(text):,} characters", markup=False)

    def action_edit(self) -> None:
        if self.reader is not None:
            turn = self.reader.row.turn
            self.edit(partial(read_place, self.store, self.run_id, self.where, turn))

    def action_write(self) -> None:
        self.app.push_screen(WriteScreen("page"), self._write)

    def _write(self, ending: str | None) -> None:
        if ending is None or self.reader is None:
            return
        if ending == "json":
            text = stored_json(self.reader.record.transcript)
        elif ending == "txt":
            text = f"{plain(self.reader.page(self.view, TEXT_WIDTH, full=True))}\n"
        else:
            text = self.app.export_screenshot()
        write_file(self, self.run_id, self.where, ending, text)


class Tabs(Lines):
    """The names of the views. The current one is marked by brackets as well as by colour."""

    _ends: Sequence[int] = ()

    def show_views(self, names: Sequence[str], chosen: int) -> None:
        """Update the line. Names are cut to their first letters if there is little room."""
        if not self.size.width:
            return
        for longest in (20, 5, 3, 0):
            line: list[Span] = []
            ends = []
            for number, name in enumerate(names):
                word = f"{number + 1} {name[:longest]}".rstrip()
                is_chosen = number == chosen
                line.append((f"[{word}]", Tint.STRONG) if is_chosen else (f" {word} ", Tint.MUTED))
                ends.append(width_of(line))
            if width_of(line) <= self.size.width:
                break
        self._ends = ends
        self.show([tuple(line)])

    async def on_click(self, event: events.Click) -> None:
        if event.x < max(self._ends, default=0):
            await self.run_action(f"screen.view({bisect_right(self._ends, event.x)})")


def stored_json(transcript: Transcript) -> str:
    """Return all that is stored of a conversation, as `rig show RUN CONVERSATION --json` does for an arm."""
    return indented(transcript_json(transcript))


def write_new(directory: Path, name: str, text: str) -> Path:
    """Write a new file of this name, with a number added if the name is taken. Raises OSError."""
    stem, _, ending = name.rpartition(".")
    for number in range(1, 1000):
        path = directory / (name if number == 1 else f"{stem}-{number}.{ending}")
        try:
            with path.open("x", encoding="utf-8", errors="backslashreplace") as file:
                file.write(text)
        except FileExistsError:
            continue
        return path
    raise FileExistsError(f"there are too many files named like {name}")


def indented(value: JsonObject) -> str:
    """Return a value as indented JSON."""
    return json.dumps(value, indent=2, ensure_ascii=False)


def step_json(step: StepRecord) -> str:
    """Return a step as JSON: a call with what came back and the verdict, a reply, or an error."""
    prediction, executed, verdict = step.made.prediction, step.made.executed, step.made.verdict
    fields: JsonObject
    if prediction.call is not None:
        fields = {"name": prediction.call.name, "arguments": prediction.call.arguments}
        if executed is not None:
            fields |= {"response": executed.outcome.response, "exception": executed.outcome.exception}
        if verdict is not None:
            fields["verdict"] = verdict.as_json()
    elif prediction.reply is not None:
        fields = {"reply": prediction.reply}
    else:
        error, detail = str(prediction.error), prediction.error_detail
        fields = {"error": error, "detail": detail, "raw": prediction.raw}
    try:
        return indented(fields)
    except RecursionError:
        return prediction.raw


def write_file(screen: RigScreen[Any], run: str, where: Where, ending: str, text: str) -> None:
    """Write a text to a new file in the current folder, and show the file's name or why it failed."""
    # The name is harmless, whatever the names of run and conversation are.
    stem = re.sub(r"[^\w.-]+", "_", f"rig-{run}-{where.conversation}")[:120]
    arm = f"-arm{where.arm + 1}" if where.arm else ""
    repeat = f"-{where.repeat + 1}" if where.repeat else ""
    try:
        path = write_new(Path.cwd(), f"{stem}{arm}{repeat}.{ending}", text)
    except OSError as error:
        screen.notify(inert_line(f"cannot write: {error}"), severity="error", markup=False)
    else:
        screen.notify(inert_line(f"wrote {path.name}"), markup=False)
