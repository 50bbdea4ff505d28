"""How a transcript is laid out: a label in the margin of each entry, and all of them as lines."""

from bisect import bisect_right
from collections.abc import Iterable
from typing import NamedTuple

from rig.calls import StepPlace
from rig.displays import signs, steps
from rig.displays.signs import Sign
from rig.displays.steps import Called, CallVerdict, Returned, TurnHeading
from rig.displays.texts import Clip
from rig.errors import counted
from tui.live.transcript import Draft, Entry, LiveTranscript, NoticeLine, Repeated
from tui.text.lines import (
    BLANK,
    READABLE,
    WORDS_FROM,
    Line,
    Span,
    Tint,
    inert,
    inert_line,
    labelled,
    progress,
)
from tui.text.page_writer import json_spans, line_spans, rest_of, verdict_lines, word_spans
from tui.text.streams import Flow, JsonTint, wrap

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
            lines = [((f"thinking, {counted(self.draft.thoughts, 'token')} ", Tint.MUTED),)]
        elif not self.draft.tokens:
            return _beside(signs.MODEL, [self._reading()], self._form)
        elif self.draft.omitted:
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
        text = f" {entry.text(form.turns)} "
        rule = str(signs.RULE) * max(min(form.margin + form.text, form.width - 1) - len(text), 0)
        heading: Line = ((text, Tint.TITLE), (rule, Tint.RULE))
        return [heading] if entry.number == 1 else [BLANK, heading]
    if isinstance(entry, Repeated) and form.full:
        return [line for part in entry.entries for line in block(part, form)]
    if isinstance(entry, CallVerdict):
        lines = verdict_lines(entry, form.text)
    else:
        lines = [line for spans in _paragraphs(entry, form) for line in wrap(spans, form.text)]
    gap = [BLANK] if isinstance(entry, steps.Back | steps.Ended) else []
    return [*gap, *_beside(getattr(entry, "sign", None), lines or [BLANK], form)]


def _paragraphs(entry: Entry, form: BlockLayout) -> list[list[Span]]:
    match entry:
        case steps.Said():
            return [[(inert(entry.text.text), Tint.STRONG), *rest_of(entry.text)]]
        case steps.Back():
            return [[(inert_line(entry.text), Tint.MUTED)]]
        case steps.Thought():
            text = line_spans(_shortened(entry.text, THOUGHT_LINES, form), Tint.MUTED)
            return [[(f"{entry.words} ", Tint.MUTED), *text]]
        case Called():
            arguments = json_spans(_shortened(entry.arguments, CALL_LINES, form))
            return [[(inert_line(entry.name.text), Tint.CALL), (" ", Tint.PLAIN), *arguments]]
        case Returned():
            return [line_spans(_shortened(entry.text, RESPONSE_LINES, form), Tint(entry.sign.tint))]
        case steps.Replied():
            return [word_spans(entry.text, Tint.PLAIN if entry.text.text else Tint.MUTED)]
        case steps.Failed():
            kind, colon, detail = inert_line(entry.why).partition(":")
            raw = [line_spans(_shortened(entry.raw, CALL_LINES, form), Tint.MUTED)]
            return [[(kind, Tint.ERROR), (colon + detail, Tint.PLAIN)], *(raw if entry.raw.text else [])]
        case steps.Ended():
            return [[(entry.text, Tint.PLAIN)]]
        case NoticeLine():
            return [[(inert(entry.text), Tint.MUTED)]]
        case Repeated():
            return [[(steps.again(entry.times), Tint.MUTED)]]
        case _:
            return []


def plain(lines: Iterable[Line]) -> str:
    """The lines as bare text, for tests and for copying."""
    return "\n".join("".join(text for text, _ in line).rstrip() for line in lines)


class Column:
    """The lines of a transcript in one form. `full` are the calls that are shown in full."""

    def __init__(
        self, transcript: LiveTranscript, form: BlockLayout, full: frozenset[StepPlace] = frozenset()
    ) -> None:
        self.transcript = transcript
        self.form = form
        self.full = full
        self.lines: list[Line] = []
        self.entries: list[Entry] = []
        """The entries that are laid out."""
        self._starts: list[int] = []
        self._draft: DraftBlock | None = None
        self._revision = -1
        self._edits = transcript.edits

    def update(self) -> int | None:
        """Lay out what is new. The first line that is not as it was, None if all are."""
        entries = self.transcript.entries
        same = self._unchanged()
        draft = entries[-1] if entries and isinstance(entries[-1], Draft) else None
        if same == len(entries) == len(self.entries) and (not draft or draft.revision == self._revision):
            return None
        if draft and same == len(entries):
            same -= 1
        start = self._start_of(same)
        del self.entries[same:], self._starts[same:], self.lines[start:]
        for entry in entries[same:]:
            self.entries.append(entry)
            self._starts.append(len(self.lines))
            self.lines.extend(self._layout(entry))
        return start

    def entry_at(self, line: int) -> tuple[Entry | None, int]:
        """The entry that a line belongs to, and how many of its lines are above that one."""
        number = max(bisect_right(self._starts, line) - 1, 0)
        return (self.entries[number], line - self._starts[number]) if self.entries else (None, 0)

    def line_of(self, entry: Entry | None, line: int) -> int | None:
        """The same line of this very entry, or the last it has; None if the entry is no longer there."""
        for number, candidate in enumerate(self.entries):
            if candidate is entry:
                start, end = self._starts[number], self._start_of(number + 1)
                return min(start + line, max(end - 1, start))
        return None

    def _start_of(self, entry: int) -> int:
        return self._starts[entry] if entry < len(self._starts) else len(self.lines)

    def turns(self) -> list[int]:
        """The lines of the headings of turns."""
        return [
            start + (entry.number > 1)
            for entry, start in zip(self.entries, self._starts, strict=True)
            if isinstance(entry, TurnHeading)
        ]

    def calls(self) -> list[tuple[Called, range]]:
        """The complete calls, each with its lines: the call itself, what came back, and the verdict."""
        groups: list[tuple[Called, range]] = []
        for number, entry in enumerate(self.entries):
            if isinstance(entry, Called):
                last = number + 1
                for part in self.entries[last : last + 2]:
                    last += isinstance(part, Returned | CallVerdict) and (part.turn, part.step) == entry.place
                groups.append((entry, range(self._starts[number], self._start_of(last))))
        return groups

    def _unchanged(self) -> int:
        """How many entries from the beginning are as they were."""
        entries, edits = self.transcript.entries, self.transcript.edits
        if edits != self._edits:
            self._edits = edits
            return 0
        same = len(self.entries)
        while same and (same > len(entries) or self.entries[same - 1] is not entries[same - 1]):
            same -= 1
        return same

    def _layout(self, entry: Entry) -> list[Line]:
        if not isinstance(entry, Draft):
            self._draft = None
            chosen = isinstance(entry, Called | Returned) and (entry.turn, entry.step) in self.full
            return block(entry, self.form._replace(full=chosen or self.form.full))
        if self._draft is None or self._draft.draft is not entry:
            self._draft = DraftBlock(entry, self.form)
        self._revision = entry.revision
        return self._draft.lines()
