"""What the engine knows about an answer format: what a model reads, what it may write, and how rig reads
that.

A format is one class and one registration. Prompt, grammar, reading and teacher forcing know nothing else
about it.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import ClassVar, NamedTuple

from rig.calls import Call, Json, JsonObject
from rig.engine.core.sampling import Kind
from rig.engine.core.template import QUIET, ChatMessage, ChatTemplate
from rig.engine.grammar.language import Language
from rig.engine.grammar.schema import narrow
from rig.models import Message, ToolDoc
from rig.options import GrammarArm
from rig.toolbox.schemas import validator


class AnswerError(ValueError):
    """Text that is not a valid answer; the message says why in one line, `salvage` how the text was read."""

    def __init__(self, message: str, salvage: str = "") -> None:
        super().__init__(message)
        self.salvage = salvage


class CallChecker:
    """Checks calls by what the grammar enforces of their tools' schemas, even after it has promised that.

    `schemas` are these parts of the schemas, by tool. Raises SchemaError for what cannot be enforced.
    """

    def __init__(self, tools: Sequence[ToolDoc], grammar: GrammarArm) -> None:
        self.schemas: Mapping[str, JsonObject] = {
            tool.name: narrow(tool.parameters, tool.name, formats=grammar == "strict") for tool in tools
        }
        self._validators = {
            name: validator(schema, whole_patterns=True) for name, schema in self.schemas.items()
        }

    def call(self, name: str, arguments: Json) -> Call:
        """The call. Raises AnswerError if no tool takes it."""
        if name not in self._validators:
            raise AnswerError(f"no tool is called {name!r}")
        fault = next(self._validators[name].iter_errors(arguments), None)
        if fault is not None:
            raise AnswerError(f"{name}: {fault.message[:200]}")
        return Call(name, arguments)


@contextmanager
def read_as(how: str) -> Iterator[None]:
    """Let an AnswerError tell how the text was read."""
    try:
        yield
    except AnswerError as error:
        raise AnswerError(str(error), how) from error


def check_unicode(answer: Json) -> None:
    """Raise AnswerError for an answer that JSON's escapes make something else than Unicode."""
    try:
        json.dumps(answer, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise AnswerError("a string holds half of a surrogate pair, which is no Unicode text") from error


def json_text(value: Json) -> str:
    """JSON as it stands in prompts and answers."""
    return json.dumps(value, ensure_ascii=False)


class Reading(NamedTuple):
    """What a model wrote: calls, or only words; and beside both, its thoughts.

    `salvage` says how the answer was found if it did not have the form; otherwise it is empty.
    """

    calls: tuple[Call, ...] = ()
    content: str = ""
    reasoning: str = ""
    salvage: str = ""


class Offer(NamedTuple):
    """How a model learns about the form and the tools.

    `rules` and `tools` are words for the system prompt; `rules` do not depend on the tools. `declarations`
    are for chat templates that take `tools=`, or else a variable `declared_as`, in OpenAI's shape. With
    `context_apart`, a request's context goes into the first message of the user: templates put declarations
    after the system prompt, and anything that varies there would make all prompts differ before the
    declarations.
    """

    rules: str = ""
    tools: str = ""
    declarations: tuple[JsonObject, ...] = ()
    declared_as: str = "tools"
    context_apart: bool = False


class Span(NamedTuple):
    """A piece of an answer's text and what its tokens decide; None for pieces that are not assessed."""

    text: str
    kind: Kind | None


class AnswerFormat(ABC):
    """An answer format, for one set of tools, one arm of `--grammar` and one chat template.

    `version` goes up with any change in what a model reads or in how rig reads its answer. It is part of an
    arm's fingerprint, and without a grammar so are `salvage_rules`. Raises SchemaError for tools whose
    parameters cannot be enforced.
    """

    name: ClassVar[str]
    version: ClassVar[str]
    salvage_rules: ClassVar[str] = "1"
    variables: Mapping[str, Json] = QUIET
    """Further variables for the chat template, besides messages and tools."""

    def __init__(self, tools: tuple[ToolDoc, ...], grammar: GrammarArm, template: ChatTemplate) -> None:
        self.tools = tools
        self.grammar = grammar
        self.template = template

    @abstractmethod
    def offer(self) -> Offer:
        """What the model reads about the calls it can make, and how to make them."""

    @abstractmethod
    def write(self, messages: Sequence[Message]) -> list[ChatMessage]:
        """The history as this form shows it: earlier calls, their results, and words."""

    @abstractmethod
    def language(self) -> Language:
        """What may be written: the same object every time, by which its compiled grammar is found again."""

    @abstractmethod
    def read(self, text: str) -> Reading:
        """The answer that a text is, or without a grammar the one that is in it. Raises AnswerError."""

    def reasoning(self, text: str) -> str:
        """What is thought in a text, be it whole or not."""
        return ""

    @abstractmethod
    def spans(self, answer: Call | str) -> tuple[Span, ...]:
        """An answer as a model would have written it: a call, or the words of a reply."""
