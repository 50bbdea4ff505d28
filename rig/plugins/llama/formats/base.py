"""What the engine knows about an answer format, and rig's own formats.

A format says what a model reads, what it may write, and how rig reads that. It is one class and one
registration. Prompt, grammar, reading and teacher forcing know nothing else about it.

rig's own are JSON: an object that calls a tool or replies in words, or a function's arguments. The same form
is described to the model, enforced by the grammar, checked after decoding, and used to show the model its own
earlier answers. It needs only the roles from a chat template.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import ClassVar, NamedTuple

from rig.config.engine import CHOICES, GrammarArm
from rig.core.calls import Call, Json, JsonObject
from rig.core.errors import ErrorKind, RigError, meant
from rig.core.models import (
    LEAKED,
    OWN,
    CallMessage,
    Message,
    Prediction,
    ReplyMessage,
    ToolDoc,
    Usage,
    UserMessage,
)
from rig.plugins.llama.core.template import QUIET, ChatMessage, ChatTemplate
from rig.plugins.llama.formats import salvage
from rig.plugins.llama.formats.salvage import AnswerError, check_unicode
from rig.plugins.llama.grammar.language import JSON, Language
from rig.plugins.llama.grammar.language import Span as Span
from rig.plugins.llama.grammar.schema import SchemaError, holds_any_names, narrow
from rig.world.schemas import faults, with_nulls_absent, without_keys


class CallChecker:
    """Checks that calls fit their tools' schemas, whether or not a grammar held the model to them.

    `schemas` are the parts of the schemas that a grammar can enforce, by tool.
    """

    def __init__(self, tools: Sequence[ToolDoc], grammar: GrammarArm) -> None:
        self.schemas: Mapping[str, JsonObject] = {
            tool.name: narrow(tool.parameters, tool.name, formats=grammar == "strict") for tool in tools
        }
        self._tools = {tool.name: tool.parameters for tool in tools}

    def read(self, answer: Json, how: str = "", form: str = "") -> Call:
        """Return the call that an object in rig's form makes. Raises AnswerError for any other value, too."""
        match answer:
            case {"tool": str(name), "arguments": dict(arguments), **rest} if not rest:
                return self.call(name, arguments, how, form)
        raise AnswerError("neither a tool call nor a reply", how)

    def call(self, name: str, arguments: Json, how: str = "", form: str = "") -> Call:
        """Return the call. Raises AnswerError, which says `how` the text was read, if no tool accepts it."""
        if name not in self._tools:
            raise AnswerError(f"no tool is called {name!r}", how, form)
        schema = self._tools[name]
        # As everywhere, null for an optional argument means that it is absent.
        kept = with_nulls_absent(schema, arguments) if isinstance(arguments, dict) else arguments
        fault = next(faults(kept, schema), None)
        if fault is not None:
            raise AnswerError(f"{name}: {fault.message[:200]}", how, form)
        return Call(name, arguments)


def prompt_json(value: Json) -> str:
    """Return JSON as it is written in prompts and answers."""
    return json.dumps(value, ensure_ascii=False)


class Reading(NamedTuple):
    """What a model wrote: calls, or only words; and its thoughts with either.

    `salvage` says how the answer was found if it was not in the required form; otherwise it is empty. `form`
    is that of its calls, as in a `Prediction`.
    """

    calls: tuple[Call, ...] = ()
    content: str = ""
    reasoning: str = ""
    salvage: str = ""
    form: str = ""


def prediction(
    raw: str,
    read: Callable[[], Reading],
    failure: tuple[ErrorKind, str] | None,
    *,
    several: bool,
    reasoning: str,
    usage: Usage,
) -> Prediction:
    """Return the outcome of a step: its text as it is read, or only the failure.

    Without `several`, only the first call counts.
    """
    reading, salvage = Reading(), ""
    if failure is None:
        try:
            reading = read()
            salvage = reading.salvage
        except AnswerError as error:
            failure, salvage = (ErrorKind.INVALID, str(error)), error.salvage
            reading = Reading(form=error.form)
    if len(reading.calls) > 1 and not several:
        salvage = ", ".join(filter(None, [salvage, f"first of {len(reading.calls)}"]))
    kind, detail = failure or (None, "")
    is_cut = kind in (ErrorKind.TRUNCATED, ErrorKind.CONTEXT)
    return Prediction(
        raw=raw,
        call=reading.calls[0] if reading.calls else None,
        further=reading.calls[1:] if several else (),
        reply=None if failure or reading.calls else reading.content,
        error=kind,
        error_detail=" ".join(detail.split())[:500],
        finish_reason="stop" if kind is None else "length" if is_cut else "error",
        usage=usage,
        salvage=salvage,
        reasoning=reasoning or reading.reasoning,
        content=reading.content if reading.calls else "",
        form=reading.form or (OWN if reading.calls else ""),
    )


class Offer(NamedTuple):
    """How a model learns about the form and the tools.

    `rules` and `tools` are text for the system prompt; `rules` do not depend on the tools. `declarations`, in
    OpenAI's shape, are for chat templates that take `tools=`, or another variable `declared_as`. With
    `context_apart`, a request's context goes into the user's first message: templates put declarations after
    the system prompt, and anything that varies there would make all prompts differ before the declarations.
    """

    rules: str = ""
    tools: str = ""
    declarations: tuple[JsonObject, ...] = ()
    declared_as: str = "tools"
    context_apart: bool = False


class AnswerFormat(ABC):
    """An answer format, for one set of tools, one arm of `--grammar` and one chat template.

    `version` goes up with any change in what a model reads or in how rig reads its answer. It is part of an
    arm's fingerprint, and so are the `salvage_rules` of an arm without a grammar. Raises SchemaError for
    tools that the form cannot name.
    """

    name: ClassVar[str]
    version: ClassVar[str]
    salvage_rules: ClassVar[str] = "1"
    variables: Mapping[str, Json] = QUIET
    """Further variables for the chat template, besides messages and tools."""
    _language: Language

    def __init__(self, tools: tuple[ToolDoc, ...], grammar: GrammarArm, template: ChatTemplate) -> None:
        self.tools = tools
        self.grammar = grammar
        self.template = template

    @cached_property
    def checker(self) -> CallChecker:
        """The checker of the calls that are read."""
        return CallChecker(self.tools, self.grammar)

    def offer(self) -> Offer:
        """Return what the model reads about the calls it can make, and how; nothing by default."""
        return Offer()

    @abstractmethod
    def write(self, messages: Sequence[Message]) -> list[ChatMessage]:
        """Return the history as this form shows it: earlier calls, their results, and words."""

    def language(self, choice: str = "auto") -> Language:
        """Return the language of answers where calls are free, `required`, or `none` can be made.

        Raises RigError if the form has no such answers.
        """
        return replace(self._language, choice=choice)

    @abstractmethod
    def read(self, text: str) -> Reading:
        """Return the answer that a text is or, without a grammar, contains. Raises AnswerError."""

    def reasoning(self, text: str) -> str:
        """Return the thoughts in a text, which may be incomplete."""
        return ""

    @abstractmethod
    def spans(self, answer: Call | str) -> tuple[Span, ...]:
        """Return an answer, a call or the words of a reply, as a model would have written it."""


_RULES = (
    "Answer every time with exactly one JSON object on one line, in one of two forms.\n"
    'To use a tool: {"tool": "<name of the tool>", "arguments": {<its parameters>}}\n'
    'To speak to the user: {"reply": "<your words>"}\n'
    "After a tool was used you are shown its result, and answer again."
)


class RigFormat(AnswerFormat):
    """One JSON object on one line, in the same words for every arm of `--grammar`.

    Where nothing was enforced, `read` also accepts what can be salvaged.
    """

    name = "rig"
    version = "1"
    salvage_rules = salvage.RULES

    def __init__(self, tools: tuple[ToolDoc, ...], grammar: GrammarArm, template: ChatTemplate) -> None:
        super().__init__(tools, grammar, template)
        schemas = self.checker.schemas
        self._repeats = any(map(holds_any_names, schemas.values()))
        self._calls = [
            _object({"tool": {"const": name}, "arguments": part}) for name, part in schemas.items()
        ]

    def language(self, choice: str = "auto") -> Language:
        calls = [] if choice == "none" else self._calls
        replies = [] if choice == "required" and calls else [_object({"reply": {"type": "string"}})]
        return Language({"anyOf": [*calls, *replies]}, choice=choice, marks=salvage.MARKS)

    def offer(self) -> Offer:
        return Offer(_RULES, declarations_in_words(self.tools))

    def write(self, messages: Sequence[Message]) -> list[ChatMessage]:
        chat: list[ChatMessage] = []
        for message in messages:
            match message:
                case UserMessage(text):
                    chat.append(ChatMessage("user", (text,)))
                case ReplyMessage(text):
                    chat.append(ChatMessage("assistant", (self._text(text),)))
                case CallMessage(call, outcome):
                    failed = outcome.exception is not None
                    result = {"exception": outcome.exception} if failed else {"response": outcome.response}
                    # Under the user's role, this says that it is not the user who speaks.
                    who = "" if self.template.tool else f"Result of {call.name}: "
                    chat.append(ChatMessage("assistant", (self._text(call),)))
                    chat.append(ChatMessage("tool", (who + prompt_json(result),)))
        return chat

    def _text(self, answer: Call | str) -> str:
        return "".join(span.text for span in self.spans(answer))

    def spans(self, answer: Call | str) -> tuple[Span, ...]:
        """Return an answer's spans; in a reply, whose words are free, only the decision to reply counts."""
        if isinstance(answer, str):
            return Span('{"r', "answer"), Span(f'eply": {prompt_json(answer)}}}', None)
        spans = [Span('{"tool": ', "answer"), Span(prompt_json(answer.name), "tool")]
        spans += [Span(', "arguments": ', "parameter"), *JSON.parts(answer.arguments)]
        return *spans, Span("}", "parameter")

    def read(self, text: str) -> Reading:
        how = ""
        if self.grammar == "none":
            answer, how = salvage.salvage(text)
            check_unicode(answer, how)
        else:
            answer = salvage.read_answer(text, repeats=self._repeats)
        match answer:
            case {"reply": str(reply), **rest} if not rest:
                return Reading(content=reply, salvage=how)
        form = f"{LEAKED}{how}" if how not in ("", "after thoughts") else OWN
        return Reading((self.checker.read(answer, how, form),), salvage=how, form=form)


class PlainFormat(RigFormat):
    """Plain text, for requests that ask for words: nothing is offered, enforced or checked."""

    name = "plain"

    def __init__(self, tools: tuple[ToolDoc, ...], template: ChatTemplate) -> None:
        AnswerFormat.__init__(self, tools, "none", template)
        self._language = Language(marks=salvage.MARKS)

    language = AnswerFormat.language

    def offer(self) -> Offer:
        return Offer()

    def spans(self, answer: Call | str) -> tuple[Span, ...]:
        return (Span(answer if isinstance(answer, str) else prompt_json(answer.arguments), None),)

    def read(self, text: str) -> Reading:
        return Reading(content=salvage.without_thoughts(text)[0], reasoning=self.reasoning(text))

    def reasoning(self, text: str) -> str:
        return text.strip().removesuffix(salvage.without_thoughts(text)[0]).strip()


def chosen_tools(choice: str, tools: tuple[ToolDoc, ...]) -> tuple[tuple[ToolDoc, ...], str]:
    """Return the tools that can be called, and whether one has to be. Raises RigError for an unknown one."""
    names = [tool.name for tool in tools]
    if choice not in (*CHOICES, *names):
        raise RigError(f"--tool-choice {choice}: a conversation has no such tool{meant(choice, names)}")
    return (tools, choice) if choice in CHOICES else ((tools[names.index(choice)],), "required")


def declarations_in_words(tools: Sequence[ToolDoc]) -> str:
    """Return all tools as a model reads them in a system prompt."""
    return "\n\n".join([*(["Tools:"] if tools else []), *map(_declaration, tools)])


def _declaration(tool: ToolDoc) -> str:
    """Return a tool as a model reads it: what it does, then a line for each parameter.

    JSON declarations of the same would take nearly twice the tokens, in every prompt of a run.
    """
    sentences = described(tool)
    required = tool.parameters.get("required", [])
    lines = [f"{tool.name}: {sentences}" if sentences else tool.name]
    for name, schema in tool.parameters.get("properties", {}).items():
        form = _type(schema) + ("" if name in required else ", optional")
        description = schema.get("description")
        lines.append(f"- {name} ({form})" + (f": {description}" if description else ""))
    return "\n".join(lines)


def described(tool: ToolDoc) -> str:
    """Return what a tool does and what it gives back, in sentences."""
    return " ".join(filter(None, [tool.description, f"Returns {tool.returns}." if tool.returns else ""]))


def _type(schema: JsonObject) -> str:
    if "enum" in schema:
        return " or ".join(map(prompt_json, schema["enum"]))
    if schema.get("type") == "array" and "items" in schema:
        return f"list of {_type(schema['items'])}"
    if not schema.keys() - {"description", "title", "default", "examples"}:
        return "any value"
    if schema.get("type") == "object" or not isinstance(schema.get("type"), str):
        return prompt_json(without_keys(schema, ("description", "x-format", "title")))
    return str(schema["type"])


def _object(properties: JsonObject) -> JsonObject:
    required = list(properties)
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


_FIELDS = "Answer with exactly one JSON object on one line. Its fields, in this order:"


class ObjectFormat(AnswerFormat):
    """One JSON object on one line: the arguments of the only function."""

    name = "object"
    version = "1"

    def __init__(self, tools: tuple[ToolDoc, ...], grammar: GrammarArm, template: ChatTemplate) -> None:
        super().__init__(tools, grammar, template)
        if len(tools) != 1:
            raise SchemaError(f"the form `object` is for one function; here there are {len(tools)}")
        [self._tool] = tools
        self._language = Language(self.checker.schemas[self._tool.name], marks=salvage.MARKS)

    def language(self, choice: str = "auto") -> Language:
        if choice == "none":
            raise RigError("--tool-choice none: in the form `object`, every answer calls the one function")
        return self._language

    def write(self, messages: Sequence[Message]) -> list[ChatMessage]:
        chat: list[ChatMessage] = []
        for message in messages:
            match message:
                case UserMessage(text, shared):
                    parts = (text[:shared], text[shared:]) if shared else (text,)
                    chat.append(ChatMessage("user", parts))
                case ReplyMessage(text):
                    chat.append(ChatMessage("assistant", (text,)))
                case CallMessage(call, outcome):
                    chat.append(ChatMessage("assistant", (prompt_json(call.arguments),)))
                    chat.append(ChatMessage("user", (prompt_json(outcome.as_json()),)))
        if chat and chat[-1].role == "user":
            fields = self._tool.parameters["properties"].items()
            lines = [_FIELDS, *(f'- "{name}": {_described(part)}' for name, part in fields)]
            chat[-1] = replace(chat[-1], parts=(*chat[-1].parts, "\n\n" + "\n".join(lines)))
        return chat

    def read(self, text: str) -> Reading:
        return Reading((self.checker.call(self._tool.name, salvage.read_answer(text)),))

    def spans(self, answer: Call | str) -> tuple[Span, ...]:
        if isinstance(answer, str) or not isinstance(answer.arguments, dict):
            return (Span(prompt_json(answer if isinstance(answer, str) else answer.arguments), None),)
        return tuple(JSON.parts(answer.arguments))


def declarations(tools: Sequence[ToolDoc]) -> tuple[JsonObject, ...]:
    """Return tools in OpenAI's shape, as chat templates take them."""
    return tuple(
        {
            "type": "function",
            "function": {
                "name": tool.name,
                "description": described(tool),
                "parameters": without_keys(tool.parameters, ("x-format",)),  # a keyword of rig's own
            },
        }
        for tool in tools
    )


def _described(schema: JsonObject) -> str:
    """Return the description of a field for the model."""
    if "enum" in schema:
        kind = " or ".join(map(prompt_json, schema["enum"]))
    elif "maxLength" in schema:
        kind = f"{schema['type']}, at most {schema['maxLength']} characters"
    else:
        kind = str(schema.get("type", "any value"))
    description = schema.get("description")
    return f"{kind}. {description}" if description else kind
