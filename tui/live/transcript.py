"""What a reader of one conversation sees, as a list of entries that grows at its end.

An entry above the end changes only when a later call makes an earlier one match another ground truth.
"""

from dataclasses import dataclass, field
from typing import TypeAlias

from rig.calls import Call, Outcome, without_token
from rig.models import Prediction, Usage
from rig.verdicts import Difference, Verdict
from tui.text.clip import LIMIT, Clip, clip, clip_json

NAME = 80
VALUE = 400
DIFFERENCES = 12

MOST = 1_000_000
"""Characters of one conversation that are kept while it goes on."""

_WEIGHT = 400
"""What an entry costs beside its text, in characters; memory is budgeted in characters."""


@dataclass(frozen=True, slots=True)
class TurnHeading:
    """The assistant turn at position `turn` begins: the `number`th (from 1) of those to predict."""

    turn: int
    number: int


@dataclass(frozen=True, slots=True)
class Said:
    """Words of the user, or whatever else was said before the turn."""

    text: Clip


@dataclass(slots=True)
class Draft:
    """A prediction being made. `revision` grows with every piece."""

    turn: int
    step: int
    text: str = ""
    omitted: int = 0
    tokens: int = 0
    revision: int = 0

    def add(self, text: str, tokens: int) -> None:
        """Append a piece; beyond the limit it is only counted."""
        room = max(LIMIT - len(self.text), 0)
        self.text += text[:room]
        self.omitted += max(len(text) - room, 0)
        self.tokens += tokens
        self.revision += 1


@dataclass(frozen=True, slots=True)
class Called:
    """A complete call, not yet executed."""

    turn: int
    step: int
    name: Clip
    arguments: Clip
    usage: Usage


@dataclass(frozen=True, slots=True)
class Returned:
    """What the tool gave back: a response as JSON, or the text of an exception."""

    turn: int
    step: int
    text: Clip
    failed: bool


@dataclass(frozen=True, slots=True)
class Differing:
    """Why a call did not match, as far as one argument is concerned; values as JSON."""

    what: Clip
    expected: Clip
    got: Clip
    similarity: float | None = None
    threshold: float | None = None
    note: Clip | None = None


@dataclass(frozen=True, slots=True)
class Judged:
    """The match status of the call above. `ground_truth` is the (turn, call) it matches."""

    turn: int
    step: int
    match: bool
    ground_truth: tuple[int, int] | None
    bad_action: bool
    reason: Clip
    differences: tuple[Differing, ...] = ()


@dataclass(frozen=True, slots=True)
class Replied:
    """The model's reply in words, which ends the turn."""

    text: Clip
    usage: Usage


@dataclass(frozen=True, slots=True)
class Failed:
    """A step that gave no usable prediction, with what had been generated."""

    kind: str
    detail: Clip
    raw: Clip


@dataclass(frozen=True, slots=True)
class Ended:
    """The conversation is through: whether it succeeded, how it went in words, and its errors by kind."""

    success: bool
    text: str
    errors: dict[str, int]


@dataclass(frozen=True, slots=True)
class Remark:
    """A line of rig's own."""

    text: str


Entry: TypeAlias = TurnHeading | Said | Draft | Called | Returned | Judged | Replied | Failed | Ended | Remark


@dataclass(slots=True)
class Transcript:
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
                text = f"{self.dropped_turns} earlier turns are in the store"
                self.entries[:place] = [Remark(text)]
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

    def predicted(self, turn: int, step: int, prediction: Prediction) -> None:
        """A step is complete."""
        if prediction.call is not None:
            call = prediction.call
            self.add(Called(turn, step, clip(call.name, NAME), clip_json(shown(call)), prediction.usage))
        elif prediction.reply is not None:
            self.add(Replied(clip(prediction.reply), prediction.usage))
        else:
            kind = prediction.error.value if prediction.error else "error"
            self.add(Failed(kind, clip(prediction.error_detail, VALUE), clip(prediction.raw, 2 * VALUE)))

    def judged(self, turn: int, step: int, outcome: Outcome, verdict: Verdict) -> None:
        """A call was executed and matched."""
        text = clip_json(outcome.response) if outcome.exception is None else clip(outcome.exception)
        self.add(Returned(turn, step, text, outcome.exception is not None))
        self.add(_judged(turn, step, verdict))

    def rejudged(self, turn: int, step: int, verdict: Verdict) -> None:
        """An earlier call matches another ground truth than was said."""
        for number, entry in enumerate(self.entries):
            if isinstance(entry, Judged) and (entry.turn, entry.step) == (turn, step):
                self.entries[number] = _judged(turn, step, verdict)
                self.edits += 1

    def ended(self, success: bool, text: str, errors: dict[str, int]) -> None:
        """The conversation is through."""
        self.add(Ended(success, text, errors))


def shown(call: Call) -> object:
    """The arguments worth showing: all but the session token that the simulator injects."""
    return without_token(call.arguments)


def _judged(turn: int, step: int, verdict: Verdict) -> Judged:
    return Judged(
        turn,
        step,
        verdict.match,
        verdict.ground_truth,
        verdict.bad_action,
        clip(verdict.reason, VALUE),
        tuple(_differing(difference) for difference in verdict.differences[:DIFFERENCES]),
    )


def _differing(difference: Difference) -> Differing:
    return Differing(
        clip(difference.what, NAME),
        clip_json(difference.expected, VALUE),
        clip_json(difference.got, VALUE),
        difference.similarity,
        difference.threshold,
        None if difference.note is None else clip(difference.note, VALUE),
    )


def _characters(entry: Entry) -> int:
    clips = (getattr(entry, name) for name in entry.__dataclass_fields__)
    return _WEIGHT + sum(len(value.text) for value in clips if isinstance(value, Clip))
