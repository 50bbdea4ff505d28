"""A transcript, which is a list of entries that grows at its end, and its layout as lines with labels.

An earlier entry changes only if a later call makes it match another ground truth.
"""

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from rig.core.calls import Outcome, StepPlace, Verdict
from rig.core.errors import counted
from rig.core.models import Prediction
from rig.core.tasks import ASSISTANT
from rig.show import signs, steps
from rig.show.signs import Sign
from rig.show.steps import Back, Called, CallVerdict, Ended, Lengths, Piece, Returned, TurnHeading
from rig.show.story import StoryTurn
from rig.show.texts import LIMIT, Clip, clip, read_so_far
from tui.text.lines import (
    BLANK,
    READABLE,
    WORDS_FROM,
    Flow,
    JsonTint,
    Line,
    Span,
    Tint,
    inert,
    inert_line,
    labelled,
    progress,
    wrap,
)
from tui.text.page_writer import json_spans, line_spans, rest_of, verdict_lines, word_spans

LENGTHS = Lengths(text=LIMIT, name=80, value=400, differences=12, by_argument=False)

MOST = 1_000_000
"""The most characters of a conversation that are kept while it is played."""

_WEIGHT = 400
"""The memory of an entry besides its text, in characters, as memory is budgeted in characters."""


@dataclass(slots=True)
class Draft:
    """A prediction being made. `revision` grows with every piece; only the tokens of thoughts are counted.

    `read` is how many tokens of the prompt have been read, and how many there are.
    """

    place: StepPlace
    text: str = ""
    omitted: int = 0
    tokens: int = 0
    thoughts: int = 0
    revision: int = 0
    read: tuple[int, int] = (0, 0)

    def add(self, text: str, tokens: int, *, thought: bool = False, read: tuple[int, int] = (0, 0)) -> None:
        """Append a piece; thoughts and text beyond the limit are only counted."""
        self.read = read
        if thought:
            self.thoughts += tokens
            text = ""
        room = max(LIMIT - len(self.text), 0)
        self.text += text[:room]
        self.omitted += max(len(text) - room, 0)
        self.tokens += tokens
        self.revision += 1


@dataclass(frozen=True, slots=True)
class NoticeLine:
    """A line with a remark by rig."""

    text: str


@dataclass(frozen=True, slots=True)
class Repeated:
    """The entries of a call's repetitions, which all had the same answer and the same verdict."""

    entries: "tuple[Entry, ...]"


Entry: TypeAlias = Piece | Draft | NoticeLine | Repeated


@dataclass(slots=True)
class LiveTranscript:
    """The entries of one conversation. Only the last one may be a draft.

    `edits` counts changes before the end: entries that were judged again, or dropped to stay below `MOST`.
    """

    entries: list[Entry] = field(default_factory=list)
    weight: int = 0
    edits: int = 0
    dropped_turns: int = 0

    @classmethod
    def of(cls, turns: Iterable[StoryTurn], end: Ended | None) -> "LiveTranscript":
        """Return what has been played as the events of it would give it."""
        transcript = cls()
        for turn in turns:
            for piece in turn.heading_and_words:
                transcript.add(piece)
            for view in turn.steps:
                if view.back is not None:
                    transcript.went_back(view.place.turn, view.back.parent)
                for piece in view.pieces:
                    if piece is not view.back:
                        transcript.add(piece)
                if view.returned is not None:
                    transcript.fold(2 if view.judged is None else 3)
        if end is not None:
            transcript.add(end)
        return transcript

    def add(self, entry: Entry) -> None:
        """Append an entry in place of the draft, if there is one."""
        self._drop_draft()
        self.entries.append(entry)
        self.weight += _characters(entry)
        if self.weight > MOST and isinstance(entry, TurnHeading):
            self._drop_oldest()

    def _drop_oldest(self) -> None:
        """Drop the oldest turns, which are in the store, until half of the room is free again."""
        headings = [place for place, entry in enumerate(self.entries) if isinstance(entry, TurnHeading)]
        for number, place in enumerate(headings[1:], 1):
            left = sum(map(_characters, self.entries[place:]))
            if left <= MOST // 2 or place == headings[-1]:
                self.dropped_turns += number
                self.entries[:place] = [NoticeLine(f"{self.dropped_turns} earlier turns are in the store")]
                self.weight = sum(map(_characters, self.entries))
                self.edits += 1
                return

    def _drop_draft(self) -> None:
        if self.entries and isinstance(self.entries[-1], Draft):
            self.entries.pop()

    def draft(self, place: StepPlace) -> Draft:
        """Return the draft of this step, a new one if it has none."""
        last = self.entries[-1] if self.entries else None
        if isinstance(last, Draft) and last.place == place:
            return last
        self._drop_draft()
        draft = Draft(place)
        self.entries.append(draft)
        return draft

    def went_back(self, turn: int, parent: int) -> None:
        """Record that the next step follows an earlier one."""
        calls = (entry for entry in reversed(self.entries) if isinstance(entry, Called))
        earlier = next((entry for entry in calls if entry.place == (turn, parent)), None)
        call = clip(f"{earlier.name.text} {earlier.arguments.text}", LENGTHS.name) if earlier else Clip("")
        self.add(Back(parent, call))

    def predicted(self, place: StepPlace, prediction: Prediction, role: str = ASSISTANT) -> None:
        """Record a complete prediction."""
        thoughts = steps.thought(prediction, LENGTHS)
        if thoughts is not None:
            self.add(thoughts)
        self.add(steps.made(place, prediction, LENGTHS, role))

    def judged(self, place: StepPlace, outcome: Outcome, verdict: Verdict | None) -> None:
        """Record what an executed call returned, and its verdict if there is one."""
        self.add(steps.returned(place, outcome, LENGTHS))
        if verdict is not None:
            self.add(steps.judged(place, verdict, LENGTHS))
        self.fold(2 if verdict is None else 3)

    def fold(self, size: int) -> None:
        """Fold the last call, which has `size` entries, into the one before if it repeats that one."""
        last, before = self.entries[-size:], self.entries[:-size]
        folded = before[-1] if before and isinstance(before[-1], Repeated) else None
        first = before[-size - 1 : -1] if folded else before[-size:]
        if len(first) == len(last) and isinstance(last[0], Called) and all(map(steps.is_alike, first, last)):
            entries = (*folded.entries, *last) if folded else tuple(last)
            self.entries[len(before) - bool(folded) :] = [Repeated(entries)]

    def rejudged(self, place: StepPlace, verdict: Verdict) -> None:
        """Change the verdict on an earlier call, which now matches another ground truth."""
        for number, entry in enumerate(self.entries):
            parts = entry.entries if isinstance(entry, Repeated) else ()
            if any(isinstance(part, Called) and part.place == place for part in parts):
                self.entries[number : number + 1] = parts
        for number, entry in enumerate(self.entries):
            if isinstance(entry, CallVerdict) and entry.place == place:
                self.entries[number] = steps.judged(place, verdict, LENGTHS)
                self.edits += 1


def _characters(entry: Entry) -> int:
    if isinstance(entry, Repeated):
        return sum(map(_characters, entry.entries))
    clips = (getattr(entry, name) for name in entry.__dataclass_fields__)
    return _WEIGHT + sum(len(value.text) for value in clips if isinstance(value, Clip))


RESPONSE_LINES = 3
CALL_LINES = 12
THOUGHT_LINES = 1
READING_BAR = 10
READING = 60
"""The width in cells from which a bar shows how much of a prompt is read."""


class BlockLayout(NamedTuple):
    """How entries are laid out: in `width` cells, for a conversation of `turns` turns (0: unknown).

    `full` shows all that is kept of calls and responses, not only their beginnings.
    """

    width: int
    turns: int = 0
    full: bool = False

    @property
    def margin(self) -> int:
        """The width of the label column in cells."""
        return 13 if self.width >= WORDS_FROM else 3

    @property
    def text(self) -> int:
        """The width of the text beside the margin in cells."""
        return max(min(self.width - self.margin - 2, READABLE), 8)


class DraftBlock:
    """The lines of a prediction being made. Each time, only its new text is tinted and wrapped."""

    def __init__(self, draft: Draft, form: BlockLayout) -> None:
        self.draft = draft
        self._form = form
        self._flow = Flow(form.text)
        self._tint: JsonTint | None = None
        self._taken = 0

    def lines(self) -> list[Line]:
        """Return the current lines, with a cursor where the next token will appear."""
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
        """Return a line that shows how much of the prompt is read."""
        read, prompt = self.draft.read
        words: Span = ("reads the prompt", Tint.MUTED)
        if not prompt or self._form.text < READING:
            return (words,)
        amount: Span = (f"  {read_so_far(read, prompt)}", Tint.MUTED)
        return (words, ("  ", Tint.PLAIN), *progress(read, prompt, READING_BAR), amount)


def _beside(label: Sign | None, lines: Iterable[Line], form: BlockLayout) -> list[Line]:
    """Return lines with a sign in the margin of the first."""
    if label is None:
        return labelled((), form.margin, lines)
    word = label.label if form.margin > 3 else str(label.glyph)
    return labelled([(" ", Tint.PLAIN), (word, Tint(label.tint))], form.margin, lines)


def _shortened(text: Clip, lines: int, form: BlockLayout) -> Clip:
    """Return the text on one line, unless shown in full shortened to about `lines` lines of the view."""
    line = inert_line(text.text)
    if not form.full and len(line) > lines * form.text:
        line = line[: max(lines * form.text - 32, form.text)]
    return Clip(line, max(len(text.text) - len(line), 0) + text.omitted)


def block(entry: Entry, form: BlockLayout) -> list[Line]:
    """Return the lines of a complete entry."""
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
            call = [(inert_line(entry.name.text), Tint.CALL), (" ", Tint.PLAIN), *arguments]
            return [call, *_form(entry.form)]
        case Returned():
            return [line_spans(_shortened(entry.text, RESPONSE_LINES, form), Tint(entry.sign.tint))]
        case steps.Replied():
            words = word_spans(entry.text, Tint.PLAIN if entry.text.text else Tint.MUTED)
            return [words, *_form(entry.form)]
        case steps.Failed():
            kind, colon, detail = inert_line(entry.why).partition(":")
            raw = [line_spans(_shortened(entry.raw, CALL_LINES, form), Tint.MUTED)]
            return [[(kind, Tint.ERROR), (colon + detail, Tint.PLAIN)], *(raw if entry.raw.text else [])]
        case steps.Ended():
            return [[(entry.text, Tint.PLAIN)]]
        case NoticeLine():
            return [[(inert(entry.text), Tint.MUTED)]]
        case Repeated():
            times = sum(isinstance(part, Called) for part in entry.entries)
            return [[(steps.again(times), Tint.MUTED)]]
        case _:
            return []


def _form(form: str) -> list[list[Span]]:
    """Return a paragraph about the form of a call that is not the family's own."""
    return [[(inert_line(form), Tint.ALARM)]] if form else []


def plain(lines: Iterable[Line]) -> str:
    """Return the lines as bare text, for tests and for copying."""
    return "\n".join("".join(text for text, _ in line).rstrip() for line in lines)


class Column:
    """The lines of a transcript in one layout. `full` are the calls that are shown in full."""

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
        """Lay out what is new, and return the first line that changed, None if there is none."""
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
        """Return the entry that a line belongs to, and the number of its lines above that one."""
        number = max(bisect_right(self._starts, line) - 1, 0)
        return (self.entries[number], line - self._starts[number]) if self.entries else (None, 0)

    def line_of(self, entry: Entry | None, line: int) -> int | None:
        """Return where line `line` of this entry is, or its last line; None if the entry is gone."""
        for number, candidate in enumerate(self.entries):
            if candidate is entry:
                start, end = self._starts[number], self._start_of(number + 1)
                return min(start + line, max(end - 1, start))
        return None

    def _start_of(self, entry: int) -> int:
        return self._starts[entry] if entry < len(self._starts) else len(self.lines)

    def turns(self) -> list[int]:
        """Return the lines of the headings of turns."""
        return [
            start + (entry.number > 1)
            for entry, start in zip(self.entries, self._starts, strict=True)
            if isinstance(entry, TurnHeading)
        ]

    def calls(self) -> list[tuple[Called, range]]:
        """Return the complete calls, each with the lines of the call, what came back, and the verdict."""
        groups: list[tuple[Called, range]] = []
        for number, entry in enumerate(self.entries):
            if isinstance(entry, Called):
                last = number + 1
                for part in self.entries[last : last + 2]:
                    last += isinstance(part, Returned | CallVerdict) and part.place == entry.place
                groups.append((entry, range(self._starts[number], self._start_of(last))))
        return groups

    def _unchanged(self) -> int:
        """Return how many entries at the beginning have not changed."""
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
            chosen = isinstance(entry, Called | Returned) and entry.place in self.full
            return block(entry, self.form._replace(full=chosen or self.form.full))
        if self._draft is None or self._draft.draft is not entry:
            self._draft = DraftBlock(entry, self.form)
        self._revision = entry.revision
        return self._draft.lines()
