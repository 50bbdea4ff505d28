"""A step under way: it generates tokens one by one under a grammar, and its text is read as a prediction."""

import codecs
import time
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from rig.core.errors import ErrorKind
from rig.core.models import OnPiece, Piece, Prediction, Request, Usage
from rig.plugins.llama.core.tokenizer import Tokenizer
from rig.plugins.llama.decoding.cache import Feed, Feeding, Logits
from rig.plugins.llama.decoding.sampler import Sampler
from rig.plugins.llama.formats.base import AnswerFormat, prediction
from rig.plugins.llama.grammar.language import Constraint, ConstraintError, Language, Thoughts


class Form(NamedTuple):
    """An answer format for one set of tools, and its language as this arm may use it.

    `marks` are tokens of the language that end an answer elsewhere; here they are part of the text.
    """

    format: AnswerFormat
    language: Language
    marks: frozenset[int] = frozenset()


@dataclass(slots=True)
class Lane:
    """A step under way: the coroutine that runs it, what it wants decoded, and the time it has taken.

    The answer is collected here as it grows, so a failure still leaves what there was.
    """

    request: Request
    on_piece: OnPiece
    started: float
    usage: Usage = field(default_factory=Usage)
    steps: Feeding | None = None
    feed: Feed = field(default_factory=lambda: Feed((), logits=False))
    fed: int = 0
    is_generating: bool = False
    token_ids: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    token_chars: list[int] = field(default_factory=list)
    token_forced: list[bool] = field(default_factory=list)
    text: str = ""
    reasoning_tokens: int = 0
    is_thinking: bool = False
    mask_s: float = 0.0
    first_token_at: float | None = None
    complete: bool = False

    def take(self, seconds: float) -> None:
        """Add seconds to what the lane is doing: prefill, or generating an answer or thoughts."""
        usage = self.usage
        if self.is_generating:
            thought_s = usage.reasoning_s + seconds * self.is_thinking
            self.usage = replace(usage, decode_s=usage.decode_s + seconds, reasoning_s=thought_s)
        else:
            self.usage = replace(usage, prefill_s=usage.prefill_s + seconds)

    def prediction(self, form: Form, failure: tuple[ErrorKind, str] | None) -> Prediction:
        """Return the outcome of the step: its text as the form reads it, or only the failure."""
        usage = replace(
            self.usage,
            completion_tokens=len(self.token_ids),
            forced_tokens=sum(self.token_forced),
            mask_s=self.mask_s,
            first_token_s=(self.first_token_at or self.started) - self.started,
            reasoning_tokens=self.reasoning_tokens,
        )
        outcome = prediction(
            self.text,
            lambda: form.format.read(self.text),
            failure,
            several=bool(form.language.separator),
            reasoning=form.format.reasoning(self.text),
            usage=usage,
        )
        return replace(
            outcome,
            token_ids=tuple(self.token_ids),
            logprobs=tuple(self.logprobs),
            token_chars=tuple(self.token_chars),
            token_forced=tuple(self.token_forced),
        )


@dataclass(frozen=True, slots=True)
class TokenBudget:
    """The tokens that an answer may take, and the thoughts before it; `room` is for both.

    Thoughts that have used up theirs are closed.
    """

    answer: int
    room: int
    thoughts: Thoughts | None = None
    thinking: int = 0

    def left(self, lane: Lane) -> int:
        """Return how many tokens may still come."""
        used = len(lane.token_ids)
        if lane.is_thinking:
            return self.room - used
        return min(self.answer + lane.reasoning_tokens, self.room) - used

    def follow(self, lane: Lane) -> None:
        """Note whether the tokens generated so far are thoughts or answer."""
        if self.thoughts is None or (lane.reasoning_tokens and not lane.is_thinking):
            return
        if not self.thoughts.is_open and not lane.text.lstrip().startswith(self.thoughts.open):
            return
        lane.is_thinking = self.thoughts.close not in lane.text
        lane.reasoning_tokens = len(lane.token_ids)


def generate(
    lane: Lane,
    tokenizer: Tokenizer,
    constraint: Constraint,
    sampler: Sampler,
    logits: Logits,
    *,
    budget: TokenBudget,
    marks: frozenset[int],
    fast_forward: bool,
) -> Feeding:
    """Generate from the prompt's last logits until the constraint is complete or the budget is spent.

    A chosen token and, with `fast_forward`, those that the grammar forces after it are decoded as one batch.
    `marks` are tokens that belong to this text although they end others.
    Raises ConstraintError, FloatingPointError, and anything that the listener raises; the lane then holds
    what came before.
    """
    bytes_to_text = codecs.getincrementaldecoder("utf-8")("replace")

    def add(tokens: list[int], logprob: float, *, forced: bool) -> None:
        sampler.accept(tokens)
        texts = [bytes_to_text.decode(tokenizer.shown(token, marks)) for token in tokens]
        text = "".join(texts)
        lane.first_token_at = lane.first_token_at or time.perf_counter()
        lane.token_ids += tokens
        lane.logprobs += [logprob] * len(tokens)
        lane.token_chars += map(len, texts)
        lane.token_forced += [forced] * len(tokens)
        lane.text += text
        was_thinking = lane.is_thinking
        budget.follow(lane)
        is_thought = was_thinking or lane.is_thinking
        lane.on_piece(Piece(text, tokens=len(tokens), forced=forced, thought=is_thought))

    pending: list[int] = []
    lane.is_thinking = budget.thoughts is not None and budget.thoughts.is_open
    while True:
        is_spent = lane.is_thinking and lane.reasoning_tokens >= budget.thinking
        if is_spent and budget.thoughts and not bytes_to_text.getstate()[0]:
            closing = tokenizer.content(budget.thoughts.close, special=True)
            if not constraint.allowed()[closing[0]]:
                closing = []  # thoughts cannot end yet
            for token in closing:
                constraint.accept(token)
            add(closing, 0.0, forced=True)
            pending += closing
        left = max(budget.left(lane), 0)
        clock = time.perf_counter()
        forced = constraint.forced() if fast_forward and left else []
        lane.complete = constraint.complete and len(forced) <= left
        lane.mask_s += time.perf_counter() - clock
        forced = forced[:left]
        if forced:
            add(forced, 0.0, forced=True)
            pending += forced
        if lane.complete or budget.left(lane) <= 0:
            lane.text += bytes_to_text.decode(b"", final=True)
            return
        if pending:
            following = yield Feed(pending, logits=True, generated=True)
            assert following is not None
            logits = following
        clock = time.perf_counter()
        allowed = constraint.allowed()
        lane.mask_s += time.perf_counter() - clock
        if not allowed.any():
            raise ConstraintError("no token of the vocabulary can go on")
        choice = sampler.choose(logits, allowed)
        constraint.accept(choice.token)
        add([choice.token], choice.logprob, forced=False)
        pending = [choice.token]
