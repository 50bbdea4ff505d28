"""One stored conversation, step by step: words, calls, tokens, raw text, world, times, and arms beside it."""

from pathlib import Path
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical

from rig.errors import RigError
from rig.events import Where
from rig.rescore import Effects
from tui.live.blocks import plain
from tui.screens import keys
from tui.screens.ask import WriteScreen
from tui.screens.paged import PagedScreen
from tui.stored.copies import file_name, step_json, stored_json, write_new
from tui.stored.outline import SIGNS, sign_of
from tui.stored.reader import Reader, View
from tui.stored.record import Record, read_columns, read_record
from tui.text.inert import inert_line
from tui.text.lines import BLANK, Span, Tint, spread
from tui.widgets.keybar import KeyBar
from tui.widgets.keys import Section, bindings_of
from tui.widgets.lines import Lines
from tui.widgets.messages import Rearranged, RowPicked, ViewPicked
from tui.widgets.outline import Outline
from tui.widgets.page import Page, SearchBar
from tui.widgets.titles import Tabs

_WIDTH = 122
"""Cells of a page written as text."""

LOOK_S = 1.0
"""How often the store is asked for more while the conversation is not over."""


class ConversationScreen(PagedScreen[None]):
    """Reads a conversation from the store, and again while turns are added to it."""

    SUBJECT = "One conversation, step by step"
    KEYS: ClassVar[tuple[Section, ...]] = keys.CONVERSATION
    SIGNS = SIGNS
    BINDINGS: ClassVar[list[BindingType]] = bindings_of(keys.CONVERSATION)

    def __init__(self, store: Path, run: str, where: Where) -> None:
        super().__init__()
        self.store = store
        self.run_id = run
        self.where = where
        self.reader: Reader | None = None
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
        """Read again what may have grown."""
        record = self.reader.record if self.reader else None
        if self.is_current and record is not None and record.transcript.counts is None:
            self._read(self.where)

    def _read(self, where: Where) -> None:
        self.where = where
        self.run_worker(lambda: self._work(where), thread=True, group="read", exclusive=True)

    def _work(self, where: Where) -> None:
        try:
            record = read_record(self.store, self.run_id, where)
        except RigError as error:
            self.app.call_from_thread(self._failed, str(error))
        else:
            self.app.call_from_thread(self._take, record)

    def _failed(self, failure: str) -> None:
        self.failure = failure
        self.show_state()

    def _take(self, record: Record) -> None:
        if record.where != self.where:
            return
        self.failure = ""
        if self.reader is None:
            self.reader = Reader(record)
        elif record.transcript != self.reader.record.transcript or record.where != self.reader.record.where:
            self.reader.take(record)
            if self.view not in self.reader.views:
                self.view = View.STORY
        self._want_effects(self.reader)
        self._want_others(self.reader)
        self.show_state()

    def _want_effects(self, reader: Reader) -> None:
        record = reader.record
        if reader.effects is None:
            self.run_worker(lambda: self._execute(record), thread=True, group="effects", exclusive=True)

    def _execute(self, record: Record) -> None:
        result: Effects | str
        try:
            result = record.effects()
        except RigError as error:
            result = str(error)
        self.app.call_from_thread(self._take_effects, record, result)

    def _take_effects(self, record: Record, result: Effects | str) -> None:
        if self.reader is not None and self.reader.record is record:
            self.reader.know(effects=result)
            self.show_state()

    def _want_others(self, reader: Reader) -> None:
        if self.view is View.ARMS and not isinstance(reader.others, list):
            record = reader.record
            self.run_worker(lambda: self._read_others(record), thread=True, group="arms", exclusive=True)

    def _read_others(self, record: Record) -> None:
        result: list[Record] | str
        try:
            result = list(read_columns(self.store, record))
        except RigError as error:
            result = str(error)
        self.app.call_from_thread(self._take_others, record, result)

    def _take_others(self, record: Record, result: list[Record] | str) -> None:
        here = self.reader.record.where.conversation if self.reader else None
        if self.reader is not None and record.where.conversation == here:
            self.reader.know(others=result)
            self.show_state()

    # Showing

    def show_state(self) -> None:
        """Bring every widget up to date."""
        self.set_class(self.view is View.ARMS, "-arms")
        width = self.page.size.width
        if not width:
            return
        reader = self.reader
        if reader is None or self.failure:
            self.query_one("#header", Lines).show([((" rig ", Tint.BRAND),)])
            text = self.failure or "reading .."
            self.page.show([BLANK, ((f" {inert_line(text)}", Tint.ERROR if self.failure else Tint.MUTED),)])
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

    def _show_header(self, reader: Reader) -> None:
        record = reader.record
        header = self.query_one("#header", Lines)
        sign = sign_of(record)
        columns = record.columns
        many = f" ({columns.index(record.where) + 1} of {len(columns)})" if len(columns) > 1 else ""
        left: list[Span] = [
            (" rig ", Tint.BRAND),
            ("  ", Tint.PLAIN),
            (inert_line(record.where.conversation), Tint.STRONG),
            ("  ", Tint.PLAIN),
            (sign.sign, Tint(sign.tint)),
            (f"  {inert_line(record.name_of(record.where))}{many}", Tint.PLAIN),
        ]
        hits = self.page.search.count
        right: list[Span] = [(hits, Tint.FOUND_HERE), ("  ", Tint.PLAIN)] if hits else []
        right.append((f"run {inert_line(record.run.id)} ", Tint.MUTED))
        header.show([spread(left, right, header.size.width)])

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        reader = self.reader
        if action in ("leave", "back", "command_palette"):
            return True
        if reader is None:
            return False
        match action, parameters:
            case "column", _:
                return len(reader.record.columns) > 1
            case "view", (int() as number,):
                return number < len(reader.views)
            case "neighbour", (int() as by,):
                return reader.record.neighbour(by) is not None
            case "wrong", _:
                return reader.has_wrong
            case "copy", _:
                return reader.step is not None
            case "match", _:
                return bool(self.page.search.term)
            case _:
                return True

    def on_rearranged(self, message: Rearranged) -> None:
        self.show_state()

    # Places

    def action_move(self, by: int) -> None:
        if self.reader is not None:
            self.reader.move(by)
            self.show_state()

    def action_turn(self, by: int) -> None:
        if self.reader is not None:
            self.reader.next_turn(by)
            self.show_state()

    def action_wrong(self, by: int) -> None:
        if self.reader is not None:
            self.reader.next_wrong(by)
            self.show_state()

    def action_column(self, by: int) -> None:
        if self.reader is not None:
            columns = self.reader.record.columns
            self._read(columns[(columns.index(self.where) + by) % len(columns)])

    def action_neighbour(self, by: int) -> None:
        name = self.reader.record.neighbour(by) if self.reader is not None else None
        if self.reader is not None and name is not None:
            self.reader.move_to(0)
            self._read(Where(self.where.arm, name, self.where.repeat))

    def on_row_picked(self, message: RowPicked) -> None:
        if self.reader is not None:
            self.reader.move_to(message.number)
            self.show_state()

    # Views

    def action_view(self, number: int) -> None:
        if self.reader is not None:
            self.view = self.reader.views[number]
            self._want_others(self.reader)
            self.show_state()

    def action_next_view(self, by: int) -> None:
        if self.reader is not None:
            views = self.reader.views
            self.action_view((views.index(self.view) + by) % len(views))

    def on_view_picked(self, message: ViewPicked) -> None:
        self.action_view(message.number)

    def action_full(self) -> None:
        self.full = not self.full
        self.show_state()

    def action_copy(self) -> None:
        step = self.reader.step if self.reader is not None else None
        if step is not None:
            text = step_json(step)
            self.app.copy_to_clipboard(text)
            self.notify(f"copied step {step.step + 1}, {len(text):,} characters", markup=False)

    def action_write(self) -> None:
        self.app.push_screen(WriteScreen("page"), self._write)

    def _write(self, ending: str | None) -> None:
        if ending is None or self.reader is None:
            return
        if ending == "json":
            text = stored_json(self.reader.record.transcript)
        elif ending == "txt":
            text = f"{plain(self.reader.page(self.view, _WIDTH, full=True))}\n"
        else:
            text = self.app.export_screenshot()
        try:
            path = write_new(Path.cwd(), file_name(self.run_id, self.where, ending), text)
        except OSError as error:
            self.notify(inert_line(f"cannot write: {error}"), severity="error", markup=False)
        else:
            self.notify(inert_line(f"wrote {path.name}"), markup=False)
