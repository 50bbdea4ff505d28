"""Pages that are written line by line: titles, labelled values, and tables. All texts are made inert."""

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from rig.core.calls import Json
from rig.show.signs import Sign
from rig.show.steps import Called, CallVerdict, Differing
from rig.show.texts import LIMIT, Clip, clip, clip_json
from tui.text.lines import (
    BLANK,
    READABLE,
    WORDS_FROM,
    Line,
    Span,
    Tint,
    fit,
    inert,
    inert_line,
    labelled,
    pad,
    tint_json,
    width_of,
    wrap,
)

FULL = 200_000
"""The most characters of one text that are shown in full."""

_SIGN = 5
Label: TypeAlias = Sign | Span
"""What is in the margin: a sign with its word, or a word; in little room, only the sign or a letter."""


class PageWriter:
    """A page of lines of `width` cells. Texts are cut after 4,000 characters, or 200,000 if `full`."""

    def __init__(self, width: int, *, full: bool = False) -> None:
        self.width = max(width, 20)
        self.full = full
        self.lines: list[Line] = []

    @property
    def margin(self) -> int:
        """The width of the column of labels in cells."""
        return 13 if self.width >= WORDS_FROM else _SIGN

    @property
    def limit(self) -> int:
        """The most characters of one text that are shown."""
        return FULL if self.full else LIMIT

    def gap(self) -> None:
        """Write an empty line, unless the page is empty or already ends with one."""
        if self.lines and self.lines[-1] != BLANK:
            self.lines.append(BLANK)

    def title(self, text: str, *more: Span) -> None:
        """Write a heading with an empty line above."""
        self.gap()
        self.lines.append(fit([(f" {inert_line(text)}", Tint.TITLE), *more], self.width))

    def note(self, text: str, tint: Tint = Tint.MUTED) -> None:
        """Write a remark by rig from the left edge."""
        self.flush([(inert_line(text), tint)])

    def text(self, text: str, tint: Tint = Tint.PLAIN) -> list[Span]:
        """Return the spans of a text on one line, clipped to the page's limit."""
        return line_spans(clip(text, self.limit), tint)

    def room(self, indent: int = 0) -> int:
        """Return the width in cells beside the column of labels, less `indent` cells."""
        return max(min(self.width - self.margin - indent - 1, READABLE), 8)

    def beside(self, label: Label, spans: Iterable[Span], indent: int = 0) -> None:
        """Write spans wrapped beside a label, indented by `indent` cells."""
        self.lines_beside(label, wrap(spans, self.room(indent)), indent)

    def lines_beside(self, label: Label, lines: Iterable[Line], indent: int = 0) -> None:
        """Write lines beside a label, indented by `indent` cells."""
        is_wide = self.margin > _SIGN
        if isinstance(label, Sign):
            word, tint = label.label if is_wide else str(label.glyph), Tint(label.tint)
        else:
            word, tint = label[0] if is_wide else label[0][:1], label[1]
        self.lines += labelled(fit([(f" {word}", tint)], self.margin - 1), self.margin + indent, lines)

    def flush(self, spans: Iterable[Span]) -> None:
        """Write spans wrapped from the left edge, over the full width."""
        self.lines += [((" ", Tint.PLAIN), *line) for line in wrap(spans, max(self.width - 2, 8))]

    def words(self, label: Label, text: str | Clip, tint: Tint = Tint.PLAIN) -> None:
        """Write a text beside a label, with its line breaks."""
        self.beside(label, word_spans(clip(text, self.limit) if isinstance(text, str) else text, tint))

    def json(self, value: Json) -> list[Span]:
        """Return the spans of a value as JSON, clipped to the page's limit."""
        return json_spans(clip_json(value, self.limit))

    def call(self, label: Label, call: Called) -> None:
        """Write a call: its name, and each argument on its own line."""
        self.beside(label, line_spans(call.name, Tint.CALL) if call.name.text else [("(no name)", Tint.CALL)])
        if not call.pairs:
            self.beside(("", Tint.PLAIN), json_spans(call.arguments), 2)
        for name, value in call.pairs:
            spans = [*line_spans(name, Tint.KEY), ("  ", Tint.PLAIN), *json_spans(value)]
            self.beside(("", Tint.PLAIN), spans, 2)
        self.form(call.form)

    def form(self, text: str) -> None:
        """Write what is said of a call's form, if anything is."""
        if text:
            self.beside(("", Tint.PLAIN), [(inert_line(text), Tint.ALARM)])

    def table(self, header: Sequence[str], rows: Sequence[Sequence[Span]]) -> None:
        """Write rows under a header; the first column is left-aligned, the others right-aligned.

        Columns that do not fit are left out from the right.
        """
        widths = [max([len(head), *(width_of([row[n]]) for row in rows)]) for n, head in enumerate(header)]
        while len(widths) > 1 and sum(widths) + 2 * len(widths) > self.width:
            widths.pop()
        for row in ([(head, Tint.MUTED) for head in header], *rows):
            line: list[Span] = [(" ", Tint.PLAIN), *pad([row[0]], widths[0])]
            for cell, width in zip(row[1:], widths[1:], strict=False):
                line += [("  ", Tint.PLAIN), (" " * (width - width_of([cell])), Tint.PLAIN), cell]
            self.lines.append(fit(line, self.width))


def word_spans(text: Clip, tint: Tint = Tint.PLAIN) -> list[Span]:
    """Return the spans of a text with its line breaks."""
    return [(inert(text.text) or "(empty)", tint), *rest_of(text)]


def line_spans(text: Clip, tint: Tint = Tint.PLAIN) -> list[Span]:
    """Return the spans of a text on one line."""
    return [(inert_line(text.text), tint), *rest_of(text)]


def json_spans(value: Clip) -> list[Span]:
    """Return the spans of a value that is JSON already."""
    return [*tint_json(inert_line(value.text)), *rest_of(value)]


def verdict_lines(verdict: CallVerdict, width: int) -> list[Line]:
    """Return the verdict in words; if the call does not match, also why, argument by argument if possible."""
    tint = Tint.MUTED if verdict.match else Tint.FAILURE
    lines = wrap([(verdict.said, tint)], width) if verdict.said else []
    if not (verdict.match or verdict.differences):
        lines += wrap(word_spans(verdict.reason), width)
    for difference in verdict.differences if not verdict.match else ():
        lines += _difference(difference, width)
    return lines or [BLANK]


def _difference(difference: Differing, width: int) -> list[Line]:
    if difference.instead:
        return wrap([(difference.instead, Tint.PLAIN)], width)
    why: list[Span] = [(f"  {inert_line(difference.why)}", Tint.MUTED)] if difference.why else []
    lines = wrap([*line_spans(difference.what, Tint.KEY), *why], width)
    labels = ("  expected ", "  got      ") if width >= 32 else ("want ", "got  ")
    for label, value in zip(labels, (difference.expected, difference.got), strict=True):
        lines += labelled([(label, Tint.MUTED)], len(label), wrap(json_spans(value), width - len(label)))
    return lines


def rest_of(cut: Clip) -> list[Span]:
    """Return the note on what is left out of a text; no spans if it is whole."""
    return [(cut.rest, Tint.MUTED)] if cut.omitted else []


def unread(failure: str, width: int) -> list[Line]:
    """Return the lines of a page that is still being read, or of which `failure` says why it cannot be."""
    page = PageWriter(width)
    page.note(failure or "reading ..", Tint.ERROR if failure else Tint.MUTED)
    return [BLANK, *page.lines]
