"""A step under way: tokens one by one under a grammar, and the prediction that its text is read as."""

import codecs
import time
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from rig.engine.core.tokenizer import Tokenizer
from rig.engine.decoding.cache import Feed, Feeding, Logits
from rig.engine.decoding.drafting import Ahead
from rig.engine.decoding.sampler import Sampler
from rig.engine.formats.base import AnswerFormat, prediction
from rig.engine.grammar.language import Constraint, ConstraintError, Language, Thoughts
from rig.errors import ErrorKind
from rig.models import OnPiece, Piece, Prediction, Request, Usage


@dataclass(slots=True)
class Generation:
    """One step as it grows, so that a failure still leaves what there was."""

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


@dataclass(frozen=True, slots=True)
class Budget:
    """Tokens that an answer may take, and the thoughts before it; `room` is for both.

    Once thoughts have taken all of theirs they are closed.
    """

    answer: int
    room: int
    thoughts: Thoughts | None = None
    thinking: int = 0

    def left(self, generation: Generation) -> int:
        """How many tokens may still come."""
        used = len(generation.token_ids)
        if generation.is_thinking:
            return self.room - used
        return min(self.answer + generation.reasoning_tokens, self.room) - used

    def follow(self, generation: Generation) -> None:
        """Note whether what was generated so far is thought or said."""
        if self.thoughts is None or (generation.reasoning_tokens and not generation.is_thinking):
            return
        if not self.thoughts.is_open and not generation.text.lstrip().startswith(self.thoughts.open):
            return
        generation.is_thinking = self.thoughts.close not in generation.text
        generation.reasoning_tokens = len(generation.token_ids)


class Decoder:
    """Decodes steps, each on a sequence that holds its prompt."""

    def __init__(self, tokenizer: Tokenizer, *, fast_forward: bool) -> None:
        self._tokenizer = tokenizer
        self._fast_forward = fast_forward

    def run(
        self,
        constraint: Constraint,
        sampler: Sampler,
        generation: Generation,
        logits: Logits,
        *,
        budget: Budget,
        marks: frozenset[int],
        on_piece: OnPiece,
        ahead: Ahead,
    ) -> Feeding:
        """Generate from the prompt's last logits until the constraint is complete or the budget is spent.

        A chosen token and those the grammar forces after it are decoded as one batch, followed by the drafts
        of `ahead`. `marks` are tokens that belong to the text though they end others. Raises ConstraintError,
        FloatingPointError, and anything that `on_piece` raises; `generation` then holds what came before.
        """
        bytes_to_text = codecs.getincrementaldecoder("utf-8")("replace")

        def add(tokens: list[int], logprob: float, *, forced: bool) -> None:
            sampler.accept(tokens)
            texts = [bytes_to_text.decode(self._tokenizer.shown(token, marks)) for token in tokens]
            text = "".join(texts)
            generation.first_token_at = generation.first_token_at or time.perf_counter()
            generation.token_ids += tokens
            generation.logprobs += [logprob] * len(tokens)
            generation.token_chars += map(len, texts)
            generation.token_forced += [forced] * len(tokens)
            generation.text += text
            was_thinking = generation.is_thinking
            budget.follow(generation)
            is_thought = was_thinking or generation.is_thinking
            on_piece(Piece(text, tokens=len(tokens), forced=forced, thought=is_thought))

        pending: list[int] = []
        generation.is_thinking = budget.thoughts is not None and budget.thoughts.is_open
        while True:
            is_spent = generation.is_thinking and generation.reasoning_tokens >= budget.thinking
            if is_spent and not bytes_to_text.getstate()[0]:
                closing = self._closing(constraint, budget.thoughts)
                add(closing, 0.0, forced=True)
                pending += closing
            left = max(budget.left(generation), 0)
            clock = time.perf_counter()
            forced = constraint.forced() if self._fast_forward and left else []
            generation.complete = constraint.complete and len(forced) <= left
            generation.mask_s += time.perf_counter() - clock
            forced = forced[:left]
            if forced:
                add(forced, 0.0, forced=True)
                pending += forced
            if generation.complete or budget.left(generation) <= 0:
                generation.text += bytes_to_text.decode(b"", final=True)
                ahead.take(pending)
                return
            if pending:
                logits = yield from ahead.go_on(pending, generation.token_ids, budget.left(generation))
            clock = time.perf_counter()
            allowed = constraint.allowed()
            generation.mask_s += time.perf_counter() - clock
            if not allowed.any():
                raise ConstraintError("no token of the vocabulary can go on")
            logits = yield from ahead.surely(logits, allowed)
            choice = sampler.choose(logits, allowed)
            constraint.accept(choice.token)
            add([choice.token], choice.logprob, forced=False)
            pending = [choice.token]

    def _closing(self, constraint: Constraint, thoughts: Thoughts | None) -> list[int]:
        """The tokens that end thoughts, which the constraint has accepted; none where they cannot end yet."""
        assert thoughts is not None
        tokens = self._tokenizer.content(thoughts.close, special=True)
        if not constraint.allowed()[tokens[0]]:
            return []
        for token in tokens:
            constraint.accept(token)
        return tokens


class Form(NamedTuple):
    """A form of answers for one set of tools, and its language as this arm may use it.

    `marks` are the tokens of the language that end an answer elsewhere; in it they are a part of the text.
    """

    format: AnswerFormat
    language: Language
    marks: frozenset[int] = frozenset()


@dataclass(slots=True)
class Lane:
    """A step under way: the coroutine that makes it, what it wants decoded, and the time it has taken."""

    request: Request
    on_piece: OnPiece
    started: float
    generation: Generation = field(default_factory=Generation)
    usage: Usage = field(default_factory=Usage)
    steps: Feeding | None = None
    feed: Feed = field(default_factory=lambda: Feed((), logits=0))
    fed: int = 0
    rows: list[Logits] = field(default_factory=list)
    is_generating: bool = False

    def take(self, seconds: float) -> None:
        """Count seconds for what the lane is at."""
        usage = self.usage
        if self.is_generating:
            thought_s = usage.reasoning_s + seconds * self.generation.is_thinking
            self.usage = replace(usage, decode_s=usage.decode_s + seconds, reasoning_s=thought_s)
        else:
            self.usage = replace(usage, prefill_s=usage.prefill_s + seconds)

    def prediction(self, form: Form, failure: tuple[ErrorKind, str] | None) -> Prediction:
        """The outcome of the step: its text as the form reads it, or why it failed; then nothing is read."""
        generation = self.generation
        usage = replace(
            self.usage,
            completion_tokens=len(generation.token_ids),
            forced_tokens=sum(generation.token_forced),
            mask_s=generation.mask_s,
            first_token_s=(generation.first_token_at or self.started) - self.started,
            reasoning_tokens=generation.reasoning_tokens,
        )
        made = prediction(
            generation.text,
            lambda: form.format.read(generation.text),
            failure,
            several=bool(form.language.separator),
            reasoning=form.format.reasoning(generation.text),
            usage=usage,
        )
        return replace(
            made,
            token_ids=tuple(generation.token_ids),
            logprobs=tuple(generation.logprobs),
            token_chars=tuple(generation.token_chars),
            token_forced=tuple(generation.token_forced),
        )
