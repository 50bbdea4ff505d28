"""Screens to read and to leave again: a text, a heat map, a result, the keys of a screen, unclear texts."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import ClassVar

from rich.cells import cell_len
from rich.table import Table
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Static

from rig.core.errors import RigError
from rig.plugins.groups.groups import WAYS, WHAT, Groups, Share, groups_of
from rig.plugins.groups.text import MARKS, groups_text, mark
from rig.plugins.rescore.adjudication import Adjudication, Unsettled
from rig.plugins.rescore.question import QUESTION, question_text
from rig.show.card import Card
from rig.show.signs import Glyph
from rig.show.table import ends, short_names
from rig.store import Runs
from tui.screens import keys
from tui.screens.base import PagedScreen
from tui.text.lines import (
    BLANK,
    HEAT,
    Line,
    Span,
    Tint,
    inert,
    inert_line,
    pad,
    width_of,
    without_start,
    wrap,
)
from tui.text.page_writer import PageWriter
from tui.widgets.keys import Key, KeyBar, Section, keys_of
from tui.widgets.lines import Lines, Page, Rearranged, SearchBar


class TextScreen(PagedScreen[None]):
    """A text whose lines are not wrapped, because they may be tables."""

    SUBJECT = "A text"
    KEYS = keys.TEXT

    def __init__(self, title: str, text: str) -> None:
        super().__init__()
        self.heading = title
        self.text = text
        self._left = self._most = 0

    def compose(self) -> ComposeResult:
        yield Lines(id="header")
        yield Page(id="page")
        yield SearchBar("search this text", id="search")
        yield KeyBar()

    def on_mount(self) -> None:
        self.show_state()

    def show_state(self) -> None:
        """Lay out the text."""
        right: list[Span] = [(f"{self.page.hits} ", Tint.FOUND_HERE)] if self.page.term else []
        self.show_header([(f"  {inert_line(self.heading)}", Tint.STRONG)], right)
        lines = self.lines_of(self.page.size.width)
        self._most = max(map(width_of, lines), default=0) - self.page.size.width + 1
        self.page.show_page([without_start(line, self._left) for line in lines])
        self.refresh_bindings()

    def lines_of(self, width: int) -> list[Line]:
        """Return the lines to show in `width` cells."""
        return [((f" {inert_line(line)}", Tint.PLAIN),) for line in self.text.splitlines()]

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return action != "match" or any(page.term for page in self.query(Page))

    def action_line(self, lines: int) -> None:
        self.page.jump_to(max(self.page.scroll_offset.y + lines, 0))

    def action_shift(self, cells: int) -> None:
        self._left = max(min(self._left + cells, self._most), 0)
        self.show_state()

    def action_copy(self) -> None:
        self.app.copy_to_clipboard(self.text)
        self.notify(f"copied {len(self.text):,} characters", markup=False)


QUIT = "quit"
_MARGIN = 2
_WIDEST = 112


class CardScreen(ModalScreen[str | None]):
    """The card of a run, dismissed with `QUIT` if the reader wants to leave the run, or None to read on."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,enter,C", "dismiss(None)", "read the run"),
        Binding("q", f"dismiss({QUIT!r})", "leave"),
        Binding("down,j", "scroll(1)", "down"),
        Binding("up,k", "scroll(-1)", "up"),
    ]

    def __init__(self, card: Card) -> None:
        super().__init__()
        self.card = card

    def compose(self) -> ComposeResult:
        with Vertical(id="card-room"):
            yield Lines(id="card")
            yield Lines(id="card-keys")

    def on_mount(self) -> None:
        self.on_rearranged(Rearranged())

    def on_rearranged(self, message: Rearranged) -> None:
        size = self.app.size
        width = max(min(size.width - 2 * (_MARGIN + 1), _WIDEST), 20)
        margin = (" " * _MARGIN, Tint.PLAIN)
        lines: list[Line] = []
        for line in self.card.lines(width):
            spans = tuple((inert_line(text), Tint(tint)) for text, tint in line)
            # A line has at most so many characters, which can be wider than as many cells.
            is_wider = cell_len("".join(text for text, _ in spans).rstrip()) > width
            lines += [(margin, *part) for part in (wrap(spans, width) if is_wider else [spans])]
        # Where the card fits without them, it has empty lines around it; its keys are always in sight.
        gap = [BLANK] if len(lines) + 4 <= size.height else []
        does = [("enter", "read the run"), ("q", "leave")]
        if len(lines) + 1 > size.height:
            does.insert(0, ("j/k", "scroll"))
        keys = [((key, Tint.CALL), (f" {word}   ", Tint.MUTED)) for key, word in does]
        below = [*gap, (margin, *chain.from_iterable(keys)), *gap]
        room, bar = self.query_one("#card-room"), self.query_one("#card-keys", Lines)
        room.styles.width = width + 2 * _MARGIN
        room.styles.height = min(len(gap) + len(lines) + len(below), size.height)
        bar.styles.height = len(below)
        bar.show(below)
        self.query_one("#card", Lines).show([*gap, *lines])

    def action_scroll(self, lines: int) -> None:
        card = self.query_one("#card", Lines)
        card.jump_to(max(card.scroll_offset.y + lines, 0))


class HelpScreen(ModalScreen[None]):
    """The help: the sections of a screen's keys and its signs."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,question_mark", "dismiss", "close")]

    def __init__(
        self, subject: str, sections: Sequence[Section], signs: Sequence[tuple[Glyph, str]] = ()
    ) -> None:
        super().__init__()
        self._signs = tuple(signs)
        self._subject = subject
        self._sections = tuple(sections)

    def compose(self) -> ComposeResult:
        with VerticalScroll(classes="dialog"):
            yield Static(Text(self._subject, style="bold"), markup=False)
            for title, lines in self.parts:
                # The keys, and beside them what they do, in as many lines as that needs.
                table = Table.grid(padding=(0, 1, 0, 0))
                table.add_column(style="bold", no_wrap=True, min_width=15)
                table.add_column()
                for key in lines:
                    table.add_row(Text(f"  {key.keys}"), Text(key.does))
                yield Static(Text(f"\n{title}", style="bold"), markup=False)
                yield Static(table, markup=False)

    @property
    def parts(self) -> list[tuple[str, list[Key]]]:
        """The titles and the lines of the help."""
        rows = [Key(str(sign), does) for sign, does in self._signs]
        parts = [(section.title, keys_of(section)) for section in self._sections]
        return [*parts, ("Signs", rows)] if rows else parts


_FULL, _SHORT = 14, 7
"""The widths of an arm in cells from which there is room for counts, and for a percentage."""


def heat_maps(store: Path, run: str) -> list[Groups]:
    """Read the stored results by tool, and in every other way that has several groups. Raises RigError."""
    maps = []
    with Runs.open(store) as runs:
        stored = runs.get(run)
        for by in WAYS:
            with suppress(RigError):
                maps.append(groups_of(runs, stored, by))
    return [groups for groups in maps if groups.by == "tool" or len(groups.rows) > 1]


class HeatScreen(TextScreen):
    """A heat map: a row for each group, and in it a coloured cell with a sign for each arm."""

    SUBJECT = "Results by tool, skill, tag and suite"

    def __init__(self, title: str, maps: Sequence[Groups]) -> None:
        texts = "\n\n".join(map(groups_text, maps))
        super().__init__(title, texts or "No conversation of this run is scored yet.")
        self._maps = maps

    def lines_of(self, width: int) -> list[Line]:
        if not self._maps:
            return super().lines_of(width)
        return [line for groups in self._maps for line in (*_map(groups, width), BLANK)]


def _map(groups: Groups, width: int) -> Iterator[Line]:
    names = [inert_line(name) for name, _ in groups.rows]
    label = min(max(map(len, names)) + 2, width // 3)
    room = min(max((width - label) // len(groups.arms) - 1, 1), _FULL + 2)
    legend = ((f" {sign} ", tint) for sign, tint in zip(MARKS, HEAT, strict=True))
    yield ((f" {WHAT[groups.by]}   ", Tint.TITLE), *legend, (" from none to all", Tint.MUTED))
    heads = [str((arm + 1) % 10) for arm in range(len(groups.arms))]
    if room >= _SHORT:
        heads = ends(short_names(groups.arms), room)
    yield ((" " * label, Tint.PLAIN), *((f"{inert_line(head):>{room}} ", Tint.MUTED) for head in heads))
    for name, (_, shares) in zip(names, groups.rows, strict=True):
        line: list[Span] = [*pad([(f" {name}", Tint.PLAIN)], label)]
        for share in shares:
            tint = Tint.MUTED if share.rate is None else HEAT[MARKS.index(mark(share))]
            line += [(_cell(share, room), tint), (" ", Tint.PLAIN)]
        yield tuple(line)


def _cell(share: Share, room: int) -> str:
    if share.rate is None:
        return "-".rjust(room)
    text = mark(share)
    if room >= _SHORT:
        # Only none and all are 0% and 100%.
        whole = share.rate if share.rate in (0, 1) else min(max(share.rate, 0.01), 0.99)
        text = f"{100 * whole:.0f}% {text}"
    if room >= _FULL:
        text = f"{share.part}/{share.whole} {text}"
    return text.rjust(room)


class AdjudicationScreen(PagedScreen[None]):
    """Questions on pairs of texts that no rule can judge. Each answer is stored as soon as it is given."""

    SUBJECT = "Texts that no rule can judge"
    KEYS = keys.ADJUDICATION

    def __init__(self, store: Path, run: str) -> None:
        super().__init__()
        self.store = store
        self.run = run
        self.asking: Adjudication | None = None
        self.failure = ""
        self.at = 0
        self.decided: set[int] = set()

    @property
    def question(self) -> Unsettled | None:
        """The pair of texts that is shown; None until they are read, and after the last."""
        questions = self.asking.questions if self.asking else []
        return questions[self.at] if self.at < len(questions) else None

    def compose(self) -> ComposeResult:
        yield Lines(id="header")
        yield Page(id="page")
        yield KeyBar()

    def on_mount(self) -> None:
        self.show_state()
        self.in_background(lambda: Adjudication(self.store, self.run), self._take, self._take)

    def _take(self, asking: Adjudication | str) -> None:
        if isinstance(asking, str):
            self.failure = asking
        else:
            self.asking = asking
        self.show_state()

    def show_state(self) -> None:
        """Show the pair of texts, or why there is none."""
        of = len(self.asking.questions) if self.asking else 0
        right: list[Span] = [(f"{self.asking.answered} answered ", Tint.MUTED)] if self.asking else []
        self.show_header([(f"  unclear texts of run {inert_line(self.run)}", Tint.STRONG)], right)
        page = PageWriter(self.size.width)
        if self.question is not None:
            for line in question_text(self.question, self.at + 1, of).splitlines():
                page.flush([(inert(line), Tint.PLAIN)])
            page.gap()
            page.note(QUESTION, Tint.STRONG)
        else:
            page.note(self._nothing)
        self.query_one(Page).show_page([BLANK, *page.lines])
        self.refresh_bindings()

    @property
    def _nothing(self) -> str:
        if self.failure:
            return self.failure
        if self.asking is None:
            return "reading what is unclear .."
        if not self.asking.questions:
            return "no unclear text is left to judge"
        return f"that was the last one; rig score {self.run} scores the run with your answers"

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return action not in ("answer", "skip") or self.question is not None

    def action_answer(self, same: bool) -> None:
        if self.asking is None or self.question is None:
            return
        try:
            self.asking.answer(self.question, same=same)
        except RigError as error:
            self.say_fault(str(error))
        else:
            self.decided.add(self.at)
            self.action_skip()

    def action_undo(self) -> None:
        """Go back to the previous pair, and undo the answer that was given to it here."""
        if self.asking is None or not self.at:
            return
        before = self.at - 1
        if before in self.decided:
            try:
                self.asking.answer(self.asking.questions[before], same=None)
            except RigError as error:
                self.say_fault(str(error))
                return
            self.decided.remove(before)
        self._go_to(before)

    def action_skip(self) -> None:
        self._go_to(self.at + 1)

    def _go_to(self, number: int) -> None:
        self.at = number
        self.page.jump_to(0)
        self.show_state()
