"""How each entry of a transcript looks: a label in the margin and wrapped lines beside it."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rig.displays import signs
from rig.displays.clip import Clip, more
from rig.displays.signs import Sign
from rig.displays.steps import (
    Called,
    Differing,
    Ended,
    Failed,
    Judged,
    Replied,
    Returned,
    Said,
    Thought,
    TurnHeading,
    again,
)
from rig.displays.trees import Back
from rig.words import counted
from tui.live.transcript import Draft, Entry, Remark, Repeated
from tui.text.bars import progress
from tui.text.flow import Flow, wrap
from tui.text.inert import inert, inert_line
from tui.text.json_tint import JsonTint, tint_json
from tui.text.lines import BLANK, Line, Span, Tint

READABLE = 110
"""Cells beyond which a line of text is no longer pleasant to read."""
RESPONSE_LINES = 3
CALL_LINES = 12
THOUGHT_LINES = 1
READING_BAR = 10
READING = 56
"""Cells from which a bar tells how much of a prompt is read."""
_WORDS_FROM = 44
"""Cells from which labels are words; in less, their first sign has to do."""


@dataclass(frozen=True, slots=True)
class Form:
    """How entries are laid out: in `width` cells, of a conversation of `turns` turns (0: unknown).

    `full` shows all that is kept of calls and responses, not only their beginnings.
    """

    width: int
    turns: int = 0
    full: bool = False

    def of(self, full: bool) -> "Form":
        """The same form, of something that is shown in full or not."""
        return self if full == self.full else replace(self, full=full)

    @property
    def margin(self) -> int:
        """Cells of the label column."""
        return 13 if self.width >= _WORDS_FROM else 3

    @property
    def text(self) -> int:
        """Cells for text beside the margin."""
        return max(min(self.width - self.margin - 2, READABLE), 8)


def block(entry: Entry, form: Form) -> list[Line]:
    """The lines of a complete entry."""
    return _BLOCKS[type(entry)](entry, form)


class DraftBlock:
    """A prediction being made: only the text that is new since the last look is tinted and wrapped."""

    def __init__(self, draft: Draft, form: Form) -> None:
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
            lines.append(tuple(_omitted(self.draft.omitted)))
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


def _beside(label: Sign | None, lines: Sequence[Line], form: Form) -> list[Line]:
    """Lines with a label in the margin of the first."""
    margin: Span = (" " * form.margin, Tint.PLAIN)
    head: Line = (margin,)
    if label is not None:
        sign = label.label if form.margin > 3 else label.sign
        gap = " " * (form.margin - 1 - len(sign))
        head = ((" ", Tint.PLAIN), (sign, Tint(label.tint)), (gap, Tint.PLAIN))
    return [(*((margin,) if number else head), *line) for number, line in enumerate(lines)]


def _omitted(characters: int) -> list[Span]:
    return [(more(characters), Tint.MUTED)] if characters else []


def _shortened(text: Clip, lines: int, form: Form) -> tuple[str, int]:
    """The text shortened to about this many lines, and how many characters are left out."""
    line = inert_line(text.text)
    if not form.full and len(line) > lines * form.text:
        line = line[: max(lines * form.text - 32, form.text)]
    return line, max(len(text.text) - len(line), 0) + text.omitted


def _words(text: Clip, tint: Tint, form: Form) -> list[Line]:
    return wrap([(inert(text.text), tint), *_omitted(text.omitted)], form.text)


def _turn_heading(entry: TurnHeading, form: Form) -> list[Line]:
    text = f" {entry.text(form.turns)} "
    rule = str(signs.RULE) * max(min(form.margin + form.text, form.width - 1) - len(text), 0)
    heading: Line = ((text, Tint.TITLE), (rule, Tint.RULE))
    return [heading] if entry.number == 1 else [BLANK, heading]


def _said(entry: Said, form: Form) -> list[Line]:
    return _beside(signs.USER, _words(entry.text, Tint.STRONG, form), form)


def _back(entry: Back, form: Form) -> list[Line]:
    return [BLANK, *_beside(entry.sign, wrap([(inert_line(entry.text), Tint.MUTED)], form.text), form)]


def _thought(entry: Thought, form: Form) -> list[Line]:
    text, omitted = _shortened(entry.text, THOUGHT_LINES, form)
    spans = [(f"{entry.words} ", Tint.MUTED), (text, Tint.MUTED), *_omitted(omitted)]
    return _beside(entry.sign, wrap(spans, form.text), form)


def _called(entry: Called, form: Form) -> list[Line]:
    name: Span = (inert_line(entry.name.text), Tint.CALL)
    arguments, omitted = _shortened(entry.arguments, CALL_LINES, form)
    spans = [name, (" ", Tint.PLAIN), *tint_json(arguments), *_omitted(omitted)]
    return _beside(entry.sign, wrap(spans, form.text), form)


def _returned(entry: Returned, form: Form) -> list[Line]:
    text, omitted = _shortened(entry.text, RESPONSE_LINES, form)
    return _beside(entry.sign, wrap([(text, Tint(entry.sign.tint)), *_omitted(omitted)], form.text), form)


def _judged(entry: Judged, form: Form) -> list[Line]:
    lines: list[Line] = []
    if entry.said:
        lines = wrap([(entry.said, Tint.MUTED if entry.match else Tint.FAILURE)], form.text)
    if not entry.match:
        lines += _reasons(entry, form)
    return _beside(entry.sign, lines or [BLANK], form)


def _reasons(entry: Judged, form: Form) -> list[Line]:
    if entry.differences:
        return [line for difference in entry.differences for line in _difference(difference, form.text)]
    reason = entry.reason
    return wrap([(inert_line(reason.text), Tint.PLAIN), *_omitted(reason.omitted)], form.text)


def _difference(difference: Differing, width: int) -> list[Line]:
    if difference.instead:
        return wrap([(difference.instead, Tint.PLAIN)], width)
    what, why = difference.what, difference.why
    more_of_it: list[Span] = [(f"  {inert_line(why)}", Tint.MUTED)] if why else []
    head = wrap([(inert_line(what.text), Tint.KEY), *_omitted(what.omitted), *more_of_it], width)
    labels = ("  expected ", "  got      ") if width >= 32 else ("want ", "got  ")
    for label, value in zip(labels, (difference.expected, difference.got), strict=True):
        spans = [*tint_json(inert_line(value.text)), *_omitted(value.omitted)]
        for number, line in enumerate(wrap(spans, width - len(label))):
            head.append(((" " * len(label) if number else label, Tint.MUTED), *line))
    return head


def _replied(entry: Replied, form: Form) -> list[Line]:
    if not entry.text.text:
        return _beside(entry.sign, [(("(empty)", Tint.MUTED),)], form)
    return _beside(entry.sign, _words(entry.text, Tint.PLAIN, form), form)


def _failed(entry: Failed, form: Form) -> list[Line]:
    kind, _, detail = inert_line(entry.why).partition(":")
    lines = wrap([(kind, Tint.ERROR), (f":{detail}" if detail else "", Tint.PLAIN)], form.text)
    if entry.raw.text:
        raw, omitted = _shortened(entry.raw, CALL_LINES, form)
        lines += wrap([(raw, Tint.MUTED), *_omitted(omitted)], form.text)
    return _beside(entry.sign, lines, form)


def _ended(entry: Ended, form: Form) -> list[Line]:
    return [BLANK, *_beside(entry.sign, wrap([(entry.text, Tint.PLAIN)], form.text), form)]


def _remark(entry: Remark, form: Form) -> list[Line]:
    return _beside(None, wrap([(inert(entry.text), Tint.MUTED)], form.text), form)


def _repeated(entry: Repeated, form: Form) -> list[Line]:
    if form.full:
        return [line for part in entry.entries for line in block(part, form)]
    return _beside(None, wrap([(again(entry.times), Tint.MUTED)], form.text), form)


_BLOCKS: dict[type[Entry], Callable[[Any, Form], list[Line]]] = {
    TurnHeading: _turn_heading,
    Said: _said,
    Back: _back,
    Thought: _thought,
    Called: _called,
    Returned: _returned,
    Judged: _judged,
    Replied: _replied,
    Failed: _failed,
    Ended: _ended,
    Remark: _remark,
    Repeated: _repeated,
}


def plain(lines: Iterable[Line]) -> str:
    """The lines as bare text, for tests and for copying."""
    return "\n".join("".join(text for text, _ in line).rstrip() for line in lines)
