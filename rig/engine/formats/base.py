"""What a form of answers is to the engine: what a model is told, what it may write, and how that is read.

A format is one class and one registration. Prompt, grammar, reading and teacher forcing know no more of it.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar, NamedTuple

from rig.calls import Call, Json, JsonObject
from rig.engine.forcing.assessment import Kind
from rig.engine.grammar.language import Language
from rig.engine.settings import GrammarArm
from rig.engine.template import QUIET, ChatMessage, ChatTemplate
from rig.models import Message, ToolDoc


class AnswerError(ValueError):
    """Text that is no valid answer; the message says why in one line, `salvage` how the text was read."""

    def __init__(self, message: str, salvage: str = "") -> None:
        super().__init__(message)
        self.salvage = salvage


class Reading(NamedTuple):
    """What a model wrote: calls, or words alone; and beside both what it thought.

    `salvage` says how the answer was found where it had not the form; empty where it had.
    """

    calls: tuple[Call, ...] = ()
    content: str = ""
    reasoning: str = ""
    salvage: str = ""


class Offer(NamedTuple):
    """How a model is told of the form and of the tools.

    `rules` and `tools` are words for the system prompt; `rules` are the same whatever the tools are.
    `declarations` are for chat templates that take `tools=`, or a variable `declared_as` otherwise, in
    OpenAI's shape. With `context_apart` a request's context is told in the first message of the user:
    templates put declarations behind the system prompt, and what differs would part all prompts before them.
    """

    rules: str = ""
    tools: str = ""
    declarations: tuple[JsonObject, ...] = ()
    declared_as: str = "tools"
    context_apart: bool = False


class Span(NamedTuple):
    """A piece of an answer's text and what its tokens decide; None for what is not put to a model."""

    text: str
    kind: Kind | None


class AnswerFormat(ABC):
    """A form of answers, for one set of tools, one arm of `--grammar` and one chat template.

    `version` goes up with any change of what a model is told or of how it is read; it is part of an arm's
    fingerprint, and so are `salvage_rules` where there is no grammar.
    Raises SchemaError for tools whose parameters cannot be enforced.
    """

    name: ClassVar[str]
    version: ClassVar[str]
    salvage_rules: ClassVar[str] = "1"
    variables: Mapping[str, Json] = QUIET
    """What the chat template is told beside messages and tools."""

    def __init__(self, tools: tuple[ToolDoc, ...], grammar: GrammarArm, template: ChatTemplate) -> None:
        self.tools = tools
        self.grammar = grammar
        self.template = template

    @abstractmethod
    def offer(self) -> Offer:
        """How a model is told what it may call, and how."""

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
