"""What a model is to the rest of rig: something that answers a request with a prediction, piece by piece.

The llama.cpp engine, the oracle and the scripted models of the tests are equal.
"""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from rig.calls import Call, Json, JsonObject, Outcome
from rig.errors import ErrorKind


@dataclass(frozen=True, slots=True)
class UserMessage:
    """Words of the user. The first `shared` characters also begin other requests."""

    text: str
    shared: int = 0


@dataclass(frozen=True, slots=True)
class ReplyMessage:
    """Words of the assistant, and what it thought before."""

    text: str
    reasoning: str = ""


@dataclass(frozen=True, slots=True)
class CallMessage:
    """A tool call the assistant made, and what came back.

    `content` are words beside it, `reasoning` what it thought before. With `joins` it was made in the same
    message as the call before.
    """

    call: Call
    outcome: Outcome
    content: str = ""
    reasoning: str = ""
    joins: bool = False


Message: TypeAlias = UserMessage | ReplyMessage | CallMessage


@dataclass(frozen=True, slots=True)
class ToolDoc:
    """What a model reads about one tool. `parameters` is a JSON Schema of type object."""

    name: str
    description: str
    parameters: JsonObject
    returns: str = ""


@dataclass(frozen=True, slots=True, order=True)
class StepKey:
    """The step of an evaluation that a request is. Seeds and the oracle depend on it, prompts never do.

    `turn` is the position of the assistant turn in the conversation; `step` counts the predictions made in
    that turn; `repeat` counts the passes over a conversation.
    """

    conversation: str
    turn: int = 0
    step: int = 0
    repeat: int = 0

    def digest(self, seed: int) -> bytes:
        """16 bytes that seed the choices of this step alone."""
        name = f"{seed}/{self.conversation}/{self.turn}/{self.step}/{self.repeat}"
        return hashlib.blake2b(name.encode(), digest_size=16).digest()


@dataclass(frozen=True, slots=True)
class Sibling:
    """What another model answered to nearly the same request: text, tokens, and their log-probabilities."""

    raw: str
    token_ids: tuple[int, ...]
    logprobs: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Request:
    """One step to predict: the shared part of the prompt, the history, and what may be called.

    `instructions` are the same for every request of an arm, and `tools` if `tools_are_shared`, so an engine
    can keep their state; `context` (place, time, user) is the same within a conversation. With
    `several_calls`, the caller executes all calls of a message; otherwise a model may make only one. With
    `in_words` the answer is text as it stands: no form of answers shows the tools, and no grammar holds it.
    `sibling` is what another arm answered here: it can make an answer come faster, and never changes one.
    """

    key: StepKey
    instructions: str = ""
    tools: tuple[ToolDoc, ...] = ()
    context: str = ""
    messages: tuple[Message, ...] = ()
    tools_are_shared: bool = True
    several_calls: bool = False
    in_words: bool = False
    sibling: Sibling | None = None


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens and seconds of one step.

    `cached_tokens` of the `prompt_tokens` were served from the KV cache; `forced_tokens` of the
    `completion_tokens` were determined by the grammar alone, `reasoning_tokens` of them were thoughts, which
    took `reasoning_s` of the `decode_s`. `first_token_s` counts from the request. Of `drafted_tokens`
    `accepted_tokens` were what the model chose itself.
    """

    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0
    forced_tokens: int = 0
    prefill_s: float = 0.0
    decode_s: float = 0.0
    mask_s: float = 0.0
    first_token_s: float = 0.0
    reasoning_tokens: int = 0
    reasoning_s: float = 0.0
    drafted_tokens: int = 0
    accepted_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Prediction:
    """One step of a model: a call, a reply in words, or a failure of a named kind. Exactly one is set.

    `raw` is the text as it was generated, complete or not. `token_ids` and `logprobs` (natural logarithms,
    of the distribution left by the grammar; 0 for forced tokens) are empty for models that have none, and so
    are `token_chars`, the characters of `raw` that each token completed (0 while the bytes of a character are
    incomplete), and `token_forced`, whether the grammar left no other (a free token can have probability 1).
    `salvage` says how an answer was found that was written without a grammar; empty if it had the form.
    `further` are the calls that came after `call` in the same message, where a model may make several; once
    they are taken apart, `part` is the number of the call in its message. `reasoning` is what was thought
    before, `content` are words beside a call.
    """

    raw: str = ""
    call: Call | None = None
    reply: str | None = None
    error: ErrorKind | None = None
    error_detail: str = ""
    finish_reason: Literal["stop", "length", "error"] = "stop"
    usage: Usage = field(default_factory=Usage)
    token_ids: tuple[int, ...] = ()
    logprobs: tuple[float, ...] = ()
    token_chars: tuple[int, ...] = ()
    token_forced: tuple[bool, ...] = ()
    salvage: str = ""
    further: tuple[Call, ...] = ()
    part: int = 0
    reasoning: str = ""
    content: str = ""

    def __post_init__(self) -> None:
        if sum(part is not None for part in (self.call, self.reply, self.error)) != 1:
            raise ValueError("a prediction is a call, a reply or an error")

    @property
    def calls(self) -> tuple[Call, ...]:
        """All calls, in their order."""
        return () if self.call is None else (self.call, *self.further)

    def apart(self) -> tuple["Prediction", ...]:
        """Each call of the message as a prediction of its own; the first has all that was generated."""
        if not self.further:
            return (self,)
        later = (Prediction(call=call, part=part) for part, call in enumerate(self.further, 1))
        return replace(self, further=()), *later

    @property
    def kind(self) -> Literal["call", "reply", "error"]:
        if self.call is not None:
            return "call"
        return "reply" if self.reply is not None else "error"


@dataclass(frozen=True, slots=True)
class Piece:
    """Text as it is generated. `text` may be empty while the bytes of a character are still incomplete.

    `thought`: it is not a part of the answer, but of what comes before. Before each batch of the prompt there
    is one without text and tokens: `read` are then the tokens of it that are known, and all it has.
    """

    text: str
    tokens: int = 1
    forced: bool = False
    thought: bool = False
    read: tuple[int, int] = (0, 0)


OnPiece: TypeAlias = Callable[[Piece], None]


@dataclass(slots=True)
class PendingStep:
    """A step that was asked for in one of a model's slots, and whom to tell of its text."""

    slot: int
    request: Request
    on_piece: OnPiece


Notify: TypeAlias = Callable[[str], None]
"""Told in one line what a person should know that is not part of the result."""


class Model:
    """Anything that predicts. Not thread-safe unless an implementation says so.

    Most override `predict`, and predict their steps one after another, in the order in which they were begun.
    One that goes on with several at once overrides `begin` and `advance`.
    """

    name: str
    """How the arm is called: the registry name, the file's stem, or `oracle`."""

    def __init__(self, slots: int = 1) -> None:
        self._slots = slots
        self._begun: list[tuple[int, Request, OnPiece]] = []

    @property
    def fingerprint(self) -> Mapping[str, Json]:
        """Every property of the model and its settings that can change an answer, as flat JSON values."""
        raise NotImplementedError

    @property
    def slots(self) -> int:
        """How many steps it can predict at once."""
        return self._slots

    @property
    def uses_siblings(self) -> bool:
        """Whether requests shall have what another model answered."""
        return False

    def prepare(self, opening: Request, slots: int | None, before: Mapping[str, Json] | None = None) -> None:
        """Get ready for requests that begin like this one, which has no messages.

        `slots`, where given, is how many there shall be if the model's settings leave it open. `before` is
        the fingerprint that it had when a run began that is resumed: it answers in the way of then, where it
        still can. The fingerprint is complete only after this.
        """

    def obstacle(self, opening: Request) -> str | None:
        """Why no request that begins like this one can be answered; None if one may be."""
        return None

    def room(self, request: Request) -> int | None:
        """The tokens left behind this prompt and the longest answer; negative where they do not fit.

        None if only asking shows whether they do.
        """
        return None

    def predict(self, request: Request, on_piece: OnPiece) -> Prediction:
        """Predict one step, calling `on_piece` as text appears.

        Failures of generation are returned as predictions with an `error`; an exception is a bug.
        """
        self.begin(0, request, on_piece)
        while True:
            for _, prediction in self.advance():
                return prediction

    def begin(self, slot: int, request: Request, on_piece: OnPiece) -> None:
        """Take on a step in a slot that has none, without predicting anything yet."""
        self._begun.append((slot, request, on_piece))

    def advance(self) -> list[tuple[int, Prediction]]:
        """Go on for a moment with all steps under way; those that this has finished, by slot.

        What a listener raises comes through; all steps are then given up.
        """
        slot, request, on_piece = self._begun.pop(0)
        try:
            return [(slot, self.predict(request, on_piece))]
        except BaseException:
            self._begun.clear()
            raise

    def close(self) -> None:
        """Free what the model holds. Calling it twice is harmless."""


class OneByOne(Model):
    """A model that answers at once, such as an oracle: it keeps nobody waiting, however few slots it has."""
