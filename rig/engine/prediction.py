"""A step under way, and the prediction that comes of it: its text is read in the form that was asked for."""

from dataclasses import dataclass, field
from typing import NamedTuple

from rig.engine.cache.prefix import Feed, Feeding, Logits, Prefill
from rig.engine.decoder import Generation
from rig.engine.formats.base import AnswerError, AnswerFormat, Reading
from rig.engine.grammar.language import Language
from rig.errors import ErrorKind
from rig.models import OnPiece, Prediction, Request, Usage


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
    prefill: Prefill = field(default_factory=lambda: Prefill(0, 0))
    steps: Feeding | None = None
    feed: Feed = field(default_factory=lambda: Feed((), logits=0))
    fed: int = 0
    rows: list[Logits] = field(default_factory=list)
    drafted_tokens: int = 0
    accepted_tokens: int = 0
    is_generating: bool = False
    prefill_s: float = 0.0
    decode_s: float = 0.0
    reasoning_s: float = 0.0

    def take(self, seconds: float) -> None:
        """Count seconds for what the lane is at."""
        if self.is_generating:
            self.decode_s += seconds
            self.reasoning_s += seconds * self.generation.is_thinking
        else:
            self.prefill_s += seconds

    def prediction(self, form: Form, failure: tuple[ErrorKind, str] | None) -> Prediction:
        """The outcome of the step: its text as the form reads it, or why it failed; then nothing is read."""
        generation = self.generation
        usage = Usage(
            prompt_tokens=self.prefill.prompt_tokens,
            cached_tokens=self.prefill.cached_tokens,
            completion_tokens=len(generation.token_ids),
            forced_tokens=sum(generation.token_forced),
            prefill_s=self.prefill_s,
            decode_s=self.decode_s,
            mask_s=generation.mask_s,
            first_token_s=(generation.first_token_at or self.started) - self.started,
            reasoning_tokens=generation.reasoning_tokens,
            reasoning_s=self.reasoning_s,
            drafted_tokens=self.drafted_tokens,
            accepted_tokens=self.accepted_tokens,
        )
        reading = Reading()
        salvage = ""
        if failure is None:
            try:
                reading = form.format.read(generation.text)
                salvage = reading.salvage
            except AnswerError as error:
                failure, salvage = (ErrorKind.INVALID, str(error)), error.salvage
        several = bool(form.language.separator)
        if len(reading.calls) > 1 and not several:
            salvage = ", ".join(filter(None, [salvage, f"first of {len(reading.calls)}"]))
        kind, detail = failure or (None, "")
        incomplete = kind in (ErrorKind.TRUNCATED, ErrorKind.CONTEXT)
        return Prediction(
            raw=generation.text,
            call=reading.calls[0] if reading.calls else None,
            further=reading.calls[1:] if several else (),
            reply=None if failure or reading.calls else reading.content,
            error=kind,
            error_detail=" ".join(detail.split())[:500],
            finish_reason="stop" if kind is None else "length" if incomplete else "error",
            usage=usage,
            token_ids=tuple(generation.token_ids),
            logprobs=tuple(generation.logprobs),
            token_chars=tuple(generation.token_chars),
            token_forced=tuple(generation.token_forced),
            salvage=salvage,
            reasoning=form.format.reasoning(generation.text),
            content=reading.content if reading.calls else "",
        )
