"""The words and signs that are shown of a conversation, as plain values that painters only lay out."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, TypeAlias

from rig.core.calls import Call, CallPlace, Outcome, StepPlace, Verdict, without_token
from rig.core.errors import ErrorKind, counted
from rig.core.metrics import Counts, Declaration
from rig.core.models import LEAKED, Prediction
from rig.core.tasks import ASSISTANT, Step
from rig.show import signs
from rig.show.signs import Sign
from rig.show.texts import Clip, clip, clip_json

NOTHING = Clip("")


@dataclass(frozen=True, slots=True)
class Back:
    """The next step does not follow the step before it but step `parent`, or the beginning if it is -1.

    `call` is the call of that step, for readers who do not see the steps numbered.
    """

    sign: ClassVar[Sign] = signs.BACK
    parent: int
    call: Clip = NOTHING

    @property
    def text(self) -> str:
        """Where it goes back to, in words."""
        if self.parent < 0:
            return "again from the beginning"
        return f"again from step {self.parent + 1}{f', {self.call}' if self.call.text else ''}"


def back(number: int, step: Step) -> Back | None:
    """Return where a search went back to before a step, None if it did not."""
    parent = parent_of(number, step)
    return None if parent == number - 1 else Back(parent)


def parent_of(number: int, step: Step) -> int:
    """Return the number of the step that a step follows, -1 for none.

    If the stored number is impossible, as in a damaged store, it is the step before.
    """
    return step.parent if isinstance(step.parent, int) and -1 <= step.parent < number else number - 1


class Lengths(NamedTuple):
    """The most characters of a text, a name and a value, and the most differences of a call."""

    text: int
    name: int
    value: int
    differences: int
    by_argument: bool = True
    """Whether predicted calls have their arguments one by one, too."""

    @classmethod
    def of(cls, longest: int) -> "Lengths":
        """Return the same length for everything, with up to 1,000 differences."""
        return cls(longest, longest, longest, 1_000)


@dataclass(frozen=True, slots=True)
class TurnHeading:
    """The beginning of the assistant turn at position `turn`, the `number`th (from 1) of those to predict."""

    turn: int
    number: int

    def text(self, turns: int = 0) -> str:
        """Return the heading in a conversation of this many turns (0: unknown)."""
        return f"turn {self.number} of {turns}" if turns else f"turn {self.number}"


@dataclass(frozen=True, slots=True)
class Said:
    """Words of the user, or anything else that was said before the turn."""

    sign: ClassVar[Sign] = signs.USER
    text: Clip


@dataclass(frozen=True, slots=True)
class Called:
    """A complete call. `pairs` are its arguments one by one, if they were requested and have names.

    `form` tells of a form that is not the family's own, as that of a reply and of a failed step does.
    """

    sign: ClassVar[Sign] = signs.CALL
    place: StepPlace
    name: Clip
    arguments: Clip
    pairs: tuple[tuple[Clip, Clip], ...] = ()
    form: str = ""


@dataclass(frozen=True, slots=True)
class Thought:
    """What a model thought before its answer, and how many tokens that took."""

    sign: ClassVar[Sign] = signs.THOUGHT
    text: Clip
    tokens: int

    @property
    def words(self) -> str:
        """The number of tokens, in words."""
        return f"{counted(self.tokens, 'token')}:"


@dataclass(frozen=True, slots=True)
class Returned:
    """What the tool gave back: a response as JSON, or the text of an exception."""

    place: StepPlace
    text: Clip
    failed: bool

    @property
    def sign(self) -> Sign:
        return signs.REFUSED if self.failed else signs.RESPONSE


@dataclass(frozen=True, slots=True)
class Differing:
    """Why one argument of a call did not match; values are JSON."""

    what: Clip
    expected: Clip
    got: Clip
    similarity: float | None = None
    threshold: float | None = None
    note: Clip | None = None

    @property
    def instead(self) -> str:
        """A sentence that says it better than the two values; empty for most differences."""
        failed = self.what.text == "exception" and self.expected.text == "null"
        return "the call failed; it should have succeeded" if failed else ""

    @property
    def why(self) -> str:
        """The similarity of the texts, and any note on the difference."""
        parts = []
        if self.similarity is not None:
            needed = "" if self.threshold is None else f", needs {self.threshold:.2f}"
            parts.append(f"similarity {self.similarity:.2f}{needed}")
        if self.note is not None:
            parts.append(str(self.note))
        return "; ".join(parts)


@dataclass(frozen=True, slots=True)
class CallVerdict:
    """Whether the call at `place` matched. `ground_truth` is the call that it matches."""

    place: StepPlace
    match: bool
    ground_truth: CallPlace | None
    bad_action: bool
    reason: Clip
    differences: tuple[Differing, ...] = ()

    @property
    def sign(self) -> Sign:
        return signs.judged(match=self.match, incorrect=self.bad_action)

    @property
    def said(self) -> str:
        """The words beside the sign, before any reason; empty for a call that just did not match."""
        if not self.match:
            return signs.SAID[signs.INCORRECT] if self.bad_action else ""
        if self.ground_truth is None:
            return "an expected call"
        turn, call = self.ground_truth
        return f"expected call {call + 1}{'' if turn == self.place.turn else ' of another turn'}"


@dataclass(frozen=True, slots=True)
class Replied:
    """A reply in words by a role. The assistant's reply ends the turn."""

    text: Clip
    role: str = ASSISTANT
    form: str = ""

    @property
    def sign(self) -> Sign:
        return signs.REPLY if self.role == ASSISTANT else signs.REPLY._replace(word=self.role)


@dataclass(frozen=True, slots=True)
class Failed:
    """A step that gave no usable prediction, with the raw text that was generated."""

    sign: ClassVar[Sign] = signs.ERROR
    kind: str
    detail: Clip
    raw: Clip
    form: str = ""

    @property
    def why(self) -> str:
        """The kind of failure, with its detail if there is one."""
        return f"{self.kind}: {self.detail}" if self.detail.text else self.kind


@dataclass(frozen=True, slots=True)
class Ended:
    """How a conversation ended: a sign, and the results of its calls in words."""

    sign: Sign
    text: str


def ended(declaration: Declaration, counts: Counts, errors: Mapping[str, int]) -> Ended:
    """Return how a conversation with these counts and errors by kind ended, in the words of its method."""
    sign = signs.ended(
        success=declaration.succeeded(counts),
        incorrect=bool(declaration.faults(counts)),
        error=bool(errors),
    )
    kinds = ", ".join(f"{kind} {count}" for kind, count in sorted(errors.items()))
    if sign is signs.ERRED and ErrorKind.CALL_CAP in errors:
        sign = signs.CAPPED
    return Ended(sign, "; ".join(filter(None, (declaration.text(counts), kinds))))


Made: TypeAlias = Called | Replied | Failed


@dataclass(frozen=True, slots=True)
class StepView:
    """One step: what was predicted and, if it is a call, what came back and how it was judged.

    `salvage` names the form of an answer that was not in rig's own, as no grammar enforced it; `raw` is all
    that was generated. `parent` is the number of the step that it follows, -1 for none; `back` says where a
    search went back to before it.
    """

    place: StepPlace
    parent: int
    made: Made
    returned: Returned | None
    judged: CallVerdict | None
    salvage: str
    raw: Clip
    thought: Thought | None = None
    back: Back | None = None
    is_error: bool = False

    @property
    def step(self) -> int:
        """The number of the step in its turn."""
        return self.place.step

    @property
    def pieces(self) -> "list[Piece]":
        """What there is to read of the step, in order."""
        parts = (self.back, self.thought, self.made, self.returned, self.judged)
        return [part for part in parts if part is not None]

    @property
    def sign(self) -> Sign:
        """How the step went."""
        return self.judged.sign if self.judged else self.made.sign

    @property
    def words(self) -> str:
        """The step in a few words."""
        match self.made:
            case Called():
                return self.made.name.text or "(no name)"
            case Replied():
                return self.made.text.text or "(empty)"
            case Failed():
                return self.made.kind.replace("_", " ")

    @property
    def is_wrong(self) -> bool:
        """Whether the step failed or its call did not match."""
        return isinstance(self.made, Failed) or (self.judged is not None and not self.judged.match)


def again(times: int) -> str:
    """Return the words for a call that was repeated `times` times with the same answer and verdict."""
    return f"the same call, {'once more' if times == 1 else f'{times} more times'}"


def is_alike(part: object, other: Any) -> bool:
    """Whether two parts of steps are the same, apart from the number of the step."""
    if not isinstance(part, Called | Returned | CallVerdict) or type(part) is not type(other):
        return part is other
    return replace(part, place=part.place._replace(step=other.place.step)) == other


def repeats(before: StepView, view: StepView) -> bool:
    """Whether a step repeats the call before it, with the same answer and verdict."""
    pairs = ((before.made, view.made), (before.returned, view.returned), (before.judged, view.judged))
    plain = not (view.thought or view.back or view.salvage or before.salvage)
    return isinstance(view.made, Called) and plain and all(is_alike(*pair) for pair in pairs)


def step_view(place: StepPlace, step: Step, lengths: Lengths) -> StepView:
    """Return a step for display, with its texts cut."""
    executed, verdict = step.executed, step.verdict
    return StepView(
        place,
        parent_of(place.step, step),
        made(place, step.prediction, lengths, step.role),
        returned(place, executed.outcome, lengths) if executed else None,
        judged(place, verdict, lengths) if verdict else None,
        step.prediction.salvage,
        clip(step.prediction.raw, lengths.text),
        thought(step.prediction, lengths),
        back(place.step, step),
        step.prediction.error is not None,
    )


def thought(prediction: Prediction, lengths: Lengths) -> Thought | None:
    """Return what a model thought before a prediction, None if nothing."""
    if not prediction.reasoning:
        return None
    return Thought(clip(prediction.reasoning, lengths.text), prediction.usage.reasoning_tokens)


def made(place: StepPlace, prediction: Prediction, lengths: Lengths, role: str) -> Made:
    """Return a prediction of this role for display: a call, a reply or a failure."""
    form = form_of(prediction)
    if prediction.call is not None:
        return replace(shown_call(place, prediction.call, lengths), form=form)
    if prediction.reply is not None:
        return Replied(clip(prediction.reply, lengths.text), role, form)
    kind = prediction.error.value if prediction.error else "error"
    detail = clip(prediction.error_detail, lengths.value)
    return Failed(kind, detail, clip(prediction.raw, 2 * lengths.value), form)


def form_of(prediction: Prediction) -> str:
    """Return what to say of a call's form, as in `leaked call (fenced JSON)`; empty if it is the family's."""
    kind, colon, form = prediction.form.partition(": ")
    if not colon:
        return ""
    note = "" if prediction.reply is None or not prediction.form.startswith(LEAKED) else ", taken for words"
    return f"{kind} call ({clip(form, 60).line}){note}"


def shown_call(place: StepPlace, call: Call, lengths: Lengths) -> Called:
    """Return a call without the session token that the simulator injects. Only objects have `pairs`."""
    own = without_token(call.arguments)
    pairs = own.items() if lengths.by_argument and isinstance(own, dict) else ()
    by_name = tuple((clip(str(name), lengths.name), clip_json(value, lengths.value)) for name, value in pairs)
    return Called(place, clip(call.name, lengths.name), clip_json(own, lengths.text), by_name)


def returned(place: StepPlace, outcome: Outcome, lengths: Lengths) -> Returned:
    """Return the outcome of a call for display."""
    if outcome.exception is None:
        return Returned(place, clip_json(outcome.response, lengths.text), failed=False)
    return Returned(place, clip(outcome.exception, lengths.text), failed=True)


def judged(place: StepPlace, verdict: Verdict, lengths: Lengths) -> CallVerdict:
    """Return the verdict on a call for display."""
    unexplained = not verdict.match and not verdict.differences
    differences = (
        Differing(
            clip(difference.what, lengths.name),
            clip_json(difference.expected, lengths.value),
            clip_json(difference.got, lengths.value),
            difference.similarity,
            difference.threshold,
            None if difference.note is None else clip(difference.note, lengths.value),
        )
        for difference in verdict.differences[: lengths.differences]
    )
    return CallVerdict(
        place,
        verdict.match,
        verdict.ground_truth,
        verdict.bad_action,
        clip(verdict.reason or ("no such call is expected" if unexplained else ""), lengths.value),
        tuple(differences),
    )


Piece: TypeAlias = (
    TurnHeading | Said | Back | Thought | Called | Returned | CallVerdict | Replied | Failed | Ended
)
"""Something to read in a conversation."""
