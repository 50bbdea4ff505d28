"""From generated text to a prediction: the text is read in the form that was asked for."""

from typing import NamedTuple

from rig.engine.decoder import Generation
from rig.engine.formats.base import AnswerError, AnswerFormat, Reading
from rig.engine.grammar.language import Language
from rig.errors import ErrorKind
from rig.models import Prediction, Usage


class Form(NamedTuple):
    """A form of answers for one set of tools, and its language as this arm may use it.

    `marks` are the tokens of the language that end an answer elsewhere; in it they are a part of the text.
    """

    format: AnswerFormat
    language: Language
    marks: frozenset[int] = frozenset()


def predicted(
    form: Form, generation: Generation, usage: Usage, failure: tuple[ErrorKind, str] | None
) -> Prediction:
    """The outcome of a step: its text as the form reads it, or why it failed. A failure is never read."""
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
