"""Models as the rest of rig sees them: a model answers a request with a prediction, piece by piece.

The llama.cpp engine, the oracle and the scripted models of the tests are used in the same way.
"""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Literal, NamedTuple, TypeAlias

from rig.core.calls import Call, Json, JsonObject, Outcome
from rig.core.errors import ErrorKind, Halted


@dataclass(frozen=True, slots=True)
class UserMessage:
    """Words of the user. The first `shared` characters also begin other requests."""

    text: str
    shared: int = 0


@dataclass(frozen=True, slots=True)
class ReplyMessage:
    """Words of the assistant, and the thinking before them."""

    text: str
    reasoning: str = ""


@dataclass(frozen=True, slots=True)
class CallMessage:
    """A tool call that the assistant made, with its outcome.

    `content` is text beside the call, `reasoning` the thinking before it. With `joins` the call was made in
    the same message as the call before.
    """

    call: Call
    outcome: Outcome
    content: str = ""
    reasoning: str = ""
    joins: bool = False


Message: TypeAlias = UserMessage | ReplyMessage | CallMessage


@dataclass(frozen=True, slots=True)
class ToolDoc:
    """The documentation of a tool as a model reads it. `parameters` is a JSON Schema of type object."""

    name: str
    description: str
    parameters: JsonObject
    returns: str = ""


@dataclass(frozen=True, slots=True, order=True)
class StepKey:
    """The place of a request in an evaluation. Seeds and the oracle depend on it, prompts never do.

    `turn` is the position of the assistant turn in the conversation; `step` counts the predictions made in
    that turn; `repeat` counts the passes over a conversation.
    """

    conversation: str
    turn: int = 0
    step: int = 0
    repeat: int = 0

    def digest(self, seed: int) -> bytes:
        """Return 16 bytes that seed the choices of this step alone."""
        name = f"{seed}/{self.conversation}/{self.turn}/{self.step}/{self.repeat}"
        return hashlib.blake2b(name.encode(), digest_size=16).digest()


@dataclass(frozen=True, slots=True)
class Request:
    """One step to predict: the shared part of the prompt, the history, and what may be called.

    `instructions` are the same for every request of an arm, and so are `tools` if `tools_are_shared`, so an
    engine can keep their state; `context` (place, time, user) is the same within a conversation. With
    `several_calls`, the caller executes all calls of a message; otherwise a model may make only one. With
    `in_words` the answer is plain text: the prompt shows no tools, and no grammar restricts the answer.
    `now` is the time of the conversation, for chat templates that write the date; None if it has none.
    """

    key: StepKey
    instructions: str = ""
    tools: tuple[ToolDoc, ...] = ()
    context: str = ""
    messages: tuple[Message, ...] = ()
    tools_are_shared: bool = True
    several_calls: bool = False
    in_words: bool = False
    now: datetime | None = None


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens and seconds of one step.

    `cached_tokens` of the `prompt_tokens` were served from the KV cache. Of the `completion_tokens`,
    `forced_tokens` were determined by the grammar alone, and `reasoning_tokens` were thinking, which took
    `reasoning_s` of the `decode_s`. `first_token_s` counts from the request.
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


OWN = "own"
LEAKED, BROKEN = "leaked: ", "broken: "
"""The forms of calls: the family's own, another one, which is named, or the beginning of none."""


@dataclass(frozen=True, slots=True)
class Prediction:
    """One step of a model: a call, a reply in words, or a failure of a named kind. Exactly one is set.

    `raw` is the text as it was generated, complete or not. `token_ids` and `logprobs` (natural logarithms, in
    the distribution left by the grammar; 0 for forced tokens) are empty for models that have none. So are
    `token_chars`, the characters of `raw` that each token completed (0 while the bytes of a character are
    incomplete), and `token_forced`, whether the grammar left no other (a free token can have probability 1).
    `salvage` says how the answer was found in text written without a grammar; empty if it had the form.
    `further` are the calls that came after `call` in the same message, where a model may make several; in a
    prediction made by `apart`, `part` is the number of the call in its message. `reasoning` is the thinking
    before the answer, `content` the text beside a call. `form` is the form of the call: `OWN`; `LEAKED` and
    the name of another form, whether the call was carried out or taken for a reply; `BROKEN` and what an
    answer begins with that begins like a call and is none; or empty if there is none.
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
    form: str = ""

    def __post_init__(self) -> None:
        if sum(part is not None for part in (self.call, self.reply, self.error)) != 1:
            raise ValueError("a prediction is a call, a reply or an error")

    @property
    def calls(self) -> tuple[Call, ...]:
        """All calls of the message, in order."""
        return () if self.call is None else (self.call, *self.further)

    @property
    def notes(self) -> tuple[str, ...]:
        """What had to be overlooked, note by note."""
        return tuple(self.salvage.split(", ")) if self.salvage else ()

    def apart(self) -> tuple["Prediction", ...]:
        """Return a prediction for each call of the message; the first keeps everything that was generated."""
        if not self.further:
            return (self,)
        later = (
            Prediction(call=call, part=part, form=self.form) for part, call in enumerate(self.further, 1)
        )
        return replace(self, further=()), *later

    @property
    def kind(self) -> Literal["call", "reply", "error"]:
        if self.call is not None:
            return "call"
        return "reply" if self.reply is not None else "error"


def halted_step(halted: Halted) -> Prediction:
    """Return what comes of an answer that a listener ended, where the model knows no more of it."""
    usage, why = Usage(completion_tokens=halted.tokens), str(halted)
    return Prediction(halted.raw, error=halted.kind, error_detail=why, finish_reason="error", usage=usage)


@dataclass(frozen=True, slots=True)
class Piece:
    """Text as it is generated. `text` may be empty while the bytes of a character are still incomplete.

    With `thought`, the text is thinking and not part of the answer. Before each batch of the prompt there is
    a piece without text and tokens, whose `read` is how many prompt tokens have been read, and how many there
    are.
    """

    text: str
    tokens: int = 1
    forced: bool = False
    thought: bool = False
    read: tuple[int, int] = (0, 0)


OnPiece: TypeAlias = Callable[[Piece], None]
"""Called with text as it appears. It may raise `Halted`, which ends this answer alone."""

OnRead: TypeAlias = Callable[[int, int], None]
"""Called before each batch of a prompt with how many of its tokens have been read, and how many there are."""


def unheard(read: int, prompt: int) -> None:
    """Stand for a listener where nobody listens."""


@dataclass(slots=True)
class PendingStep:
    """A step under way in one of a model's slots, with the function that gets its text."""

    slot: int
    request: Request
    on_piece: OnPiece


Notify: TypeAlias = Callable[[str], None]
"""Called with one line that a person should know but that is not part of the result."""


class Memory(NamedTuple):
    """The bytes that a model's weights, KV cache and compute buffers take, in main memory and on all GPUs."""

    main: int
    device: int | None = None


class Model:
    """Anything that predicts. Not thread-safe unless an implementation says so.

    Most override `predict`, and predict their steps one after another, in the order in which they were begun.
    A model that works on several steps at once overrides `begin` and `advance`.
    """

    name: str
    """The name of the arm: the registry name, the file's stem, or `oracle`."""

    def __init__(self, slots: int = 1) -> None:
        self._slots = slots
        self._begun: list[tuple[int, Request, OnPiece]] = []

    @property
    def fingerprint(self) -> Mapping[str, Json]:
        """Every property of the model and its settings that can change an answer, as flat JSON values."""
        raise NotImplementedError

    @property
    def slots(self) -> int:
        """How many steps the model can predict at once."""
        return self._slots

    @property
    def memory(self) -> "Memory | None":
        """What the model takes; None if that is unknown, as where it computes elsewhere."""
        return None

    def prepare(
        self,
        opening: Request,
        slots: int | None,
        before: Mapping[str, Json] | None = None,
        on_read: OnRead = unheard,
    ) -> None:
        """Get ready for requests that begin like this one, which has no messages.

        `slots`, if given, is the number of slots to use if the model's settings leave it open. `before` is
        the fingerprint from the start of a run that is being resumed: the model answers as it did then, if it
        still can. `on_read` hears how much is read of the beginning that all prompts share, and may raise to
        give up. The fingerprint is complete only after this.
        """

    def obstacle(self, opening: Request) -> str | None:
        """Return why no request that begins like this one can be answered; None if some may be."""
        return None

    def room(self, request: Request) -> int | None:
        """Return the tokens left after this prompt and the longest answer; negative if they do not fit.

        None if only a request shows whether they do.
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
        """Start a step in a free slot, without predicting anything yet."""
        self._begun.append((slot, request, on_piece))

    def advance(self) -> list[tuple[int, Prediction]]:
        """Work on all open steps for a moment, and return those that are finished, by slot.

        An exception of a listener is passed on, and all steps are given up.
        """
        slot, request, on_piece = self._begun.pop(0)
        try:
            return [(slot, self.predict(request, on_piece))]
        except Halted as halted:
            return [(slot, halted_step(halted))]
        except BaseException:
            self._begun.clear()
            raise

    def close(self) -> None:
        """Free what the model holds. Calling it twice is harmless."""


class OneByOne(Model):
    """A model that answers at once, such as an oracle, so that the number of its slots does not matter."""
