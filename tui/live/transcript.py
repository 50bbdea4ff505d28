"""What a reader of one conversation sees, as a list of entries that grows at its end.

An entry above the end changes only when a later call makes an earlier one match another ground truth.
"""

from dataclasses import dataclass, field
from typing import TypeAlias

from rig.calls import Outcome, Verdict
from rig.displays import steps
from rig.displays.steps import Back, Called, CallVerdict, Lengths, Piece, TurnHeading
from rig.displays.texts import LIMIT, Clip, clip
from rig.models import Prediction
from rig.tasks import ASSISTANT

LENGTHS = Lengths(text=LIMIT, name=80, value=400, differences=12)

MOST = 1_000_000
"""Characters of one conversation that are kept while it goes on."""

_WEIGHT = 400
"""What an entry costs beside its text, in characters; memory is budgeted in characters."""


@dataclass(slots=True)
class Draft:
    """A prediction being made. `revision` grows with every piece; of thoughts only the tokens are counted.

    `read` is how many tokens of the prompt were read before it, of how many that have to be.
    """

    turn: int
    step: int
    text: str = ""
    omitted: int = 0
    tokens: int = 0
    thoughts: int = 0
    revision: int = 0
    read: tuple[int, int] = (0, 0)

    def add(self, text: str, tokens: int, *, thought: bool = False, read: tuple[int, int] = (0, 0)) -> None:
        """Append a piece; beyond the limit it is only counted, and so are thoughts."""
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
    """A line of rig's own."""

    text: str


@dataclass(frozen=True, slots=True)
class Repeated:
    """A call that was made again and again, with the same answer and the same verdict: all its entries."""

    entries: "tuple[Entry, ...]"

    @property
    def times(self) -> int:
        """How many times more."""
        return sum(isinstance(entry, Called) for entry in self.entries)


Entry: TypeAlias = Piece | Draft | NoticeLine | Repeated


@dataclass(slots=True)
class LiveTranscript:
    """The entries of one conversation. Only the last one may be a draft.

    `edits` counts the changes other than at the end: entries judged again, or dropped to stay below `MOST`.
    """

    entries: list[Entry] = field(default_factory=list)
    weight: int = 0
    edits: int = 0
    dropped_turns: int = 0

    def add(self, entry: Entry) -> None:
        """Append an entry, in the place of a draft that it completes."""
        self._drop_draft()
        self.entries.append(entry)
        self.weight += _characters(entry)
        if self.weight > MOST and isinstance(entry, TurnHeading):
            self._drop_oldest()

    def _drop_oldest(self) -> None:
        """Leave the turns that were played first to the store, until half of the room is free again."""
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

    def draft(self, turn: int, step: int) -> Draft:
        """The draft of this step, begun if need be."""
        last = self.entries[-1] if self.entries else None
        if isinstance(last, Draft) and (last.turn, last.step) == (turn, step):
            return last
        self._drop_draft()
        draft = Draft(turn, step)
        self.entries.append(draft)
        return draft

    def went_back(self, turn: int, step: int, parent: int) -> None:
        """The step to come follows an earlier one."""
        calls = (entry for entry in reversed(self.entries) if isinstance(entry, Called))
        earlier = next((entry for entry in calls if entry.place == (turn, parent)), None)
        call = clip(f"{earlier.name.text} {earlier.arguments.text}", LENGTHS.name) if earlier else Clip("")
        self.add(Back(turn, step, parent, call))

    def predicted(self, turn: int, step: int, prediction: Prediction, role: str = ASSISTANT) -> None:
        """A step is complete."""
        thoughts = steps.thought(turn, step, prediction, LENGTHS)
        if thoughts is not None:
            self.add(thoughts)
        self.add(steps.made(turn, step, prediction, LENGTHS, role))

    def judged(self, turn: int, step: int, outcome: Outcome, verdict: Verdict | None) -> None:
        """A call was executed, and matched where there is something to match it with."""
        self.add(steps.returned(turn, step, outcome, LENGTHS))
        if verdict is not None:
            self.add(steps.judged(turn, step, verdict, LENGTHS))
        self._fold(2 if verdict is None else 3)

    def _fold(self, size: int) -> None:
        """If the last call, of this many entries, repeats the one before it, only count it."""
        last, before = self.entries[-size:], self.entries[:-size]
        folded = before[-1] if before and isinstance(before[-1], Repeated) else None
        first = before[-size - 1 : -1] if folded else before[-size:]
        if len(first) == len(last) and isinstance(last[0], Called) and all(map(steps.is_alike, first, last)):
            entries = (*folded.entries, *last) if folded else tuple(last)
            self.entries[len(before) - bool(folded) :] = [Repeated(entries)]

    def rejudged(self, turn: int, step: int, verdict: Verdict) -> None:
        """An earlier call matches another ground truth than was said."""
        for number, entry in enumerate(self.entries):
            parts = entry.entries if isinstance(entry, Repeated) else ()
            if any(isinstance(part, Called) and part.place == (turn, step) for part in parts):
                self.entries[number : number + 1] = parts
        for number, entry in enumerate(self.entries):
            if isinstance(entry, CallVerdict) and (entry.turn, entry.step) == (turn, step):
                self.entries[number] = steps.judged(turn, step, verdict, LENGTHS)
                self.edits += 1


def _characters(entry: Entry) -> int:
    if isinstance(entry, Repeated):
        return sum(map(_characters, entry.entries))
    clips = (getattr(entry, name) for name in entry.__dataclass_fields__)
    return _WEIGHT + sum(len(value.text) for value in clips if isinstance(value, Clip))
