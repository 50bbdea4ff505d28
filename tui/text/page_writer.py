"""Pages written line by line: titles, values with a label in the margin, tables. What is written is inert."""

from collections.abc import Iterable, Sequence

from rig.calls import Json
from tui.text.clip import LIMIT, Clip, clip, clip_json
from tui.text.flow import wrap
from tui.text.inert import inert, inert_line
from tui.text.json_tint import tint_json
from tui.text.lines import BLANK, Line, Span, Tint, fit, width_of

FULL = 200_000
"""Characters of one text that are shown when all of it is asked for."""

_READABLE = 110
_WORDS_FROM = 44
"""Cells from which labels are words; in less, a sign has to do."""

_SIGN = 5
_SIGNS = {"call": ">", "response": "<", "refused": "<!", "reply": "="}


class PageWriter:
    """Lines of `width` cells. `full` shows texts whole that otherwise are cut after 4,000 characters."""

    def __init__(self, width: int, *, full: bool = False) -> None:
        self.width = max(width, 20)
        self.full = full
        self.lines: list[Line] = []

    @property
    def margin(self) -> int:
        """Cells of the column of labels."""
        return 12 if self.width >= _WORDS_FROM else _SIGN

    @property
    def limit(self) -> int:
        """Characters of one text that are shown."""
        return FULL if self.full else LIMIT

    def gap(self) -> None:
        """An empty line, unless there is one, or nothing yet."""
        if self.lines and self.lines[-1] != BLANK:
            self.lines.append(BLANK)

    def title(self, text: str, *more: Span) -> None:
        """A heading with an empty line above."""
        self.gap()
        self.lines.append(fit([(f" {inert_line(text)}", Tint.TITLE), *more], self.width))

    def note(self, text: str, tint: Tint = Tint.MUTED) -> None:
        """A sentence of rig's own, from the left edge."""
        self.flush([(inert_line(text), tint)])

    def text(self, text: str, tint: Tint = Tint.PLAIN) -> list[Span]:
        """The spans of a text that is to be on one line."""
        cut = clip(text, self.limit)
        return [(inert_line(cut.text), tint), *_omitted(cut)]

    def beside(self, label: Span, spans: Iterable[Span], indent: int = 0) -> None:
        """Spans wrapped beside a label; `indent` cells further in, and all but the first line two more."""
        word, tint = label
        margin = self.margin
        shown = fit([(f" {word if margin > _SIGN else _sign(word)}", tint)], margin - 1)
        head: Line = (*shown, (" " * (margin - width_of(shown) + indent), Tint.PLAIN))
        room = min(self.width - margin - indent - 1, _READABLE)
        for number, line in enumerate(wrap(spans, max(room, 8))):
            self.lines.append(
                (*head, *line) if not number else ((" " * (margin + indent), Tint.PLAIN), *line)
            )

    def flush(self, spans: Iterable[Span]) -> None:
        """Spans wrapped from the left edge, as wide as there is room."""
        self.lines += [((" ", Tint.PLAIN), *line) for line in wrap(spans, max(self.width - 2, 8))]

    def words(self, label: Span, text: str, tint: Tint = Tint.PLAIN) -> None:
        """What somebody said, with its line breaks."""
        cut = clip(text, self.limit)
        self.beside(label, [(inert(cut.text) or "(empty)", tint), *_omitted(cut)])

    def value(self, label: Span, value: Json, indent: int = 0) -> None:
        """A value as JSON."""
        self.beside(label, self.json(value), indent)

    def json(self, value: Json) -> list[Span]:
        """The spans of a value as JSON."""
        cut = clip_json(value, self.limit)
        return [*tint_json(inert_line(cut.text)), *_omitted(cut)]

    def arguments(self, label: Span, name: str, arguments: Json) -> None:
        """A call: its name, and an argument a line."""
        self.beside(label, self.text(name or "(no name)", Tint.CALL))
        if not isinstance(arguments, dict):
            self.value(("", Tint.PLAIN), arguments, 2)
            return
        for key, value in arguments.items():
            spans = [*self.text(str(key), Tint.KEY), ("  ", Tint.PLAIN), *self.json(value)]
            self.beside(("", Tint.PLAIN), spans, 2)

    def table(self, header: Sequence[str], rows: Sequence[Sequence[Span]], left: int = 1) -> None:
        """Rows under a header; the first `left` columns begin, the others end at the same place.

        Columns that there is no room for are left out from the right.
        """
        widths = [
            max([len(head), *(width_of([row[column]]) for row in rows)]) for column, head in enumerate(header)
        ]
        while len(widths) > 1 and sum(widths) + 2 * len(widths) > self.width:
            widths.pop()
        shown: list[Sequence[Span]] = [[(head, Tint.MUTED) for head in header], *rows]
        for row in shown:
            line: list[Span] = [(" ", Tint.PLAIN)]
            for column, width in enumerate(widths):
                space: Span = (" " * (width - width_of([row[column]])), Tint.PLAIN)
                line += [row[column], space] if column < left else [space, row[column]]
                line.append(("  ", Tint.PLAIN))
            self.lines.append(fit(line[:-1], self.width))


def _sign(word: str) -> str:
    """What stands for a label: the sign it begins with, or its first letter."""
    first, _, _ = word.partition(" ")
    return first if len(first) < _SIGN - 1 else _SIGNS.get(word, first[:1])


def _omitted(cut: Clip) -> list[Span]:
    return [(f" .. {cut.omitted:,} more characters", Tint.MUTED)] if cut.omitted else []
