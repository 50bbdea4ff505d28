"""How each entry of a transcript looks: a label in the margin and wrapped lines beside it."""

from collections.abc import Iterable
from typing import NamedTuple

from rig.displays import signs
from rig.displays.signs import Sign
from rig.displays.steps import (
    Back,
    Called,
    CallVerdict,
    Differing,
    Ended,
    Failed,
    Replied,
    Returned,
    Said,
    Thought,
    TurnHeading,
    again,
)
from rig.displays.texts import Clip
from rig.errors import counted
from tui.live.transcript import Draft, Entry, NoticeLine, Repeated
from tui.text.bars import progress
from tui.text.flow import Flow, wrap
from tui.text.json_tint import JsonTint
from tui.text.lines import BLANK, READABLE, WORDS_FROM, Line, Span, Tint, inert, inert_line, labelled
from tui.text.page_writer import json_spans, line_spans, rest_of, word_spans

RESPONSE_LINES = 3
CALL_LINES = 12
THOUGHT_LINES = 1
READING_BAR = 10
READING = 56
"""Cells from which a bar tells how much of a prompt is read."""


class BlockLayout(NamedTuple):
    """How entries are laid out: in `width` cells, of a conversation of `turns` turns (0: unknown).

    `full` shows all that is kept of calls and responses, not only their beginnings.
    """

    width: int
    turns: int = 0
    full: bool = False

    @property
    def margin(self) -> int:
        """Cells of the label column."""
        return 13 if self.width >= WORDS_FROM else 3

    @property
    def text(self) -> int:
        """Cells for text beside the margin."""
        return max(min(self.width - self.margin - 2, READABLE), 8)


class DraftBlock:
    """A prediction being made: only the text that is new since the last look is tinted and wrapped."""

    def __init__(self, draft: Draft, form: BlockLayout) -> None:
        self.draft = draft
        self._form = form
        self._flow = Flow(form.text)
        self._tint: JsonTint | None = None
        self._taken = 0

    def lines(self) -> list[Line]:
        """The lines as of now, with a cursor where the next token appears."""
        text = self.draft.text
        new = text[self._taken :]
        if new:
            if not self._taken and text.lstrip().startswith("{"):
                self._tint = JsonTint()
            self._taken = len(text)
            visible = inert(new)
            self._flow.feed(self._tint.feed(visible) if self._tint else [(visible, Tint.PLAIN)])
        lines = self._flow.lines
        if self.draft.thoughts and not text:
            thinking = f"thinking, {counted(self.draft.thoughts, 'token')} "
            return _beside(signs.MODEL, [((thinking, Tint.MUTED), (" ", Tint.CURSOR))], self._form)
        if not self.draft.tokens:
            return _beside(signs.MODEL, [self._reading()], self._form)
        if self.draft.omitted:
            lines.append(tuple(rest_of(Clip("", self.draft.omitted))))
        lines[-1] = (*lines[-1], (" ", Tint.CURSOR))
        return _beside(signs.MODEL, lines, self._form)

    def _reading(self) -> Line:
        """How much of the prompt is read."""
        read, prompt = self.draft.read
        words: Span = ("reads the prompt", Tint.MUTED)
        if not prompt or self._form.text < READING:
            return (words,)
        amount: Span = (f"  {read:>{len(f'{prompt:,}')},} of {prompt:,} tokens", Tint.MUTED)
        return (words, ("  ", Tint.PLAIN), *progress(read, prompt, READING_BAR), amount)


def _beside(label: Sign | None, lines: Iterable[Line], form: BlockLayout) -> list[Line]:
    """Lines with a sign in the margin of the first."""
    if label is None:
        return labelled((), form.margin, lines)
    word = label.label if form.margin > 3 else label.sign
    return labelled([(" ", Tint.PLAIN), (word, Tint(label.tint))], form.margin, lines)


def _shortened(text: Clip, lines: int, form: BlockLayout) -> Clip:
    """The text on one line, shortened to about this many lines of the view."""
    line = inert_line(text.text)
    if not form.full and len(line) > lines * form.text:
        line = line[: max(lines * form.text - 32, form.text)]
    return Clip(line, max(len(text.text) - len(line), 0) + text.omitted)


def block(entry: Entry, form: BlockLayout) -> list[Line]:
    """The lines of a complete entry."""
    if isinstance(entry, TurnHeading):
        return _turn_heading(entry, form)
    if isinstance(entry, Repeated) and form.full:
        return [line for part in entry.entries for line in block(part, form)]
    paragraphs = _verdict(entry, form) if isinstance(entry, CallVerdict) else _paragraphs(entry, form)
    lines = [line for spans in paragraphs for line in wrap(spans, form.text)]
    if isinstance(entry, CallVerdict) and not entry.match:
        lines += [line for difference in entry.differences for line in _difference(difference, form.text)]
    gap = [BLANK] if isinstance(entry, Back | Ended) else []
    return [*gap, *_beside(getattr(entry, "sign", None), lines or [BLANK], form)]


def _turn_heading(entry: TurnHeading, form: BlockLayout) -> list[Line]:
    text = f" {entry.text(form.turns)} "
    rule = str(signs.RULE) * max(min(form.margin + form.text, form.width - 1) - len(text), 0)
    heading: Line = ((text, Tint.TITLE), (rule, Tint.RULE))
    return [heading] if entry.number == 1 else [BLANK, heading]


def _paragraphs(entry: Entry, form: BlockLayout) -> list[list[Span]]:
    match entry:
        case Said():
            return [[(inert(entry.text.text), Tint.STRONG), *rest_of(entry.text)]]
        case Back():
            return [[(inert_line(entry.text), Tint.MUTED)]]
        case Thought():
            text = line_spans(_shortened(entry.text, THOUGHT_LINES, form), Tint.MUTED)
            return [[(f"{entry.words} ", Tint.MUTED), *text]]
        case Called():
            arguments = json_spans(_shortened(entry.arguments, CALL_LINES, form))
            return [[(inert_line(entry.name.text), Tint.CALL), (" ", Tint.PLAIN), *arguments]]
        case Returned():
            return [line_spans(_shortened(entry.text, RESPONSE_LINES, form), Tint(entry.sign.tint))]
        case Replied():
            return [word_spans(entry.text, Tint.PLAIN if entry.text.text else Tint.MUTED)]
        case Failed():
            kind, colon, detail = inert_line(entry.why).partition(":")
            raw = [line_spans(_shortened(entry.raw, CALL_LINES, form), Tint.MUTED)]
            return [[(kind, Tint.ERROR), (colon + detail, Tint.PLAIN)], *(raw if entry.raw.text else [])]
        case Ended():
            return [[(entry.text, Tint.PLAIN)]]
        case NoticeLine():
            return [[(inert(entry.text), Tint.MUTED)]]
        case Repeated():
            return [[(again(entry.times), Tint.MUTED)]]
        case _:
            return []


def _verdict(entry: CallVerdict, form: BlockLayout) -> list[list[Span]]:
    words = [[(entry.said, Tint.MUTED if entry.match else Tint.FAILURE)]] if entry.said else []
    return words if entry.match or entry.differences else [*words, line_spans(entry.reason)]


def _difference(difference: Differing, width: int) -> list[Line]:
    if difference.instead:
        return wrap([(difference.instead, Tint.PLAIN)], width)
    why = difference.why
    more_of_it: list[Span] = [(f"  {inert_line(why)}", Tint.MUTED)] if why else []
    head = wrap([*line_spans(difference.what, Tint.KEY), *more_of_it], width)
    labels = ("  expected ", "  got      ") if width >= 32 else ("want ", "got  ")
    for label, value in zip(labels, (difference.expected, difference.got), strict=True):
        head += labelled([(label, Tint.MUTED)], len(label), wrap(json_spans(value), width - len(label)))
    return head


def plain(lines: Iterable[Line]) -> str:
    """The lines as bare text, for tests and for copying."""
    return "\n".join("".join(text for text, _ in line).rstrip() for line in lines)
