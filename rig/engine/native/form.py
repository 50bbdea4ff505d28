"""A model's own form of answers: words, and calls as its template shows them."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from rig.calls import Call, Json, JsonObject, Outcome
from rig.engine.core.settings import GrammarArm, ThinkingArm
from rig.engine.formats import salvage
from rig.engine.formats.base import (
    AnswerError,
    AnswerFormat,
    CallChecker,
    Offer,
    Reading,
    Span,
    check_unicode,
    json_text,
)
from rig.engine.formats.rig import declarations_in_words
from rig.engine.formats.salvage import Unreadable
from rig.engine.grammar.language import Arguments, Language, Matching, Maybe, Pattern, Tags, Thoughts
from rig.engine.grammar.schema import SchemaError
from rig.engine.native.detection import Native
from rig.engine.native.probe import MARKER, Probe
from rig.engine.native.reader import CallReader, NotRead, RawCall
from rig.engine.native.shape import HOLES, ID, INDEX
from rig.engine.native.thinking import thoughts_of
from rig.engine.templates.template import QUIET, ChatMessage, ChatTemplate, ToolCall
from rig.models import CallMessage, Message, ReplyMessage, ToolDoc, UserMessage

_NAME = re.compile(r"[A-Za-z_][\w.-]{0,127}")
_ARGUMENT = re.compile(r"[\w.$@-][\w .$@-]{0,127}")
_NO_PARAMETERS: JsonObject = {"type": "object", "properties": {}, "additionalProperties": False}
_PYTHON_TAG = "<|python_tag|>"
"""Llama 3 may write it before a call, as text that says nothing."""


class NativeFormat(AnswerFormat):
    """What `native` found in a template, for one set of tools."""

    name: ClassVar[str] = "native"
    version: ClassVar[str] = "1"
    salvage_rules: ClassVar[str] = f"2, {salvage.RULES}"

    def __init__(
        self,
        tools: tuple[ToolDoc, ...],
        grammar: GrammarArm,
        template: ChatTemplate,
        *,
        native: Native,
        thinking: ThinkingArm = "auto",
    ) -> None:
        super().__init__(tools, grammar, template)
        self._native = native
        self._shape = native.shape
        self._checker = CallChecker(tools, grammar)
        self._schemas = {name: self._arranged(schema) for name, schema in self._checker.schemas.items()}
        self._check_names()
        self.variables = variables(native, thinking)
        self._reply_tool = "" if native.reply_tool in self._schemas else native.reply_tool
        self._off_word = native.thinking.off_word if thinking == "off" else ""
        self._thoughts = prompted_thoughts(native, template, thinking)
        self._language = self._made_language()

    def _arranged(self, schema: JsonObject) -> JsonObject:
        """A schema with its properties in the order in which the form writes them."""
        if not self._shape.sorts:
            return schema
        arranged = {key: self._arranged_part(value) for key, value in schema.items()}
        if isinstance(arranged.get("properties"), dict):
            arranged["properties"] = {
                name: arranged["properties"][name] for name in self._shape.names(arranged["properties"])
            }
        return arranged

    def _arranged_part(self, part: Json) -> Json:
        if isinstance(part, Mapping):
            return self._arranged(dict(part))
        return [self._arranged_part(item) for item in part] if isinstance(part, list) else part

    def _check_names(self) -> None:
        """Raise SchemaError for names that cannot be told from what stands around them."""
        for tool, schema in self._schemas.items():
            if not _NAME.fullmatch(tool):
                raise SchemaError(f"{tool!r} is no name that can be called in a model's own form")
            tagged = isinstance(self._shape.arguments, Tags)
            for name in schema.get("properties", {}) if tagged else ():
                if not _ARGUMENT.fullmatch(name):
                    raise SchemaError(
                        f"{tool}: the parameter {name!r} cannot be written in the model's own form"
                    )

    def offer(self) -> Offer:
        switch = self._off_word
        if self._native.declares:
            return Offer(switch, "", declarations(self.tools), self._native.declared_as, context_apart=True)
        example = self._shape.write((Call("NAME", {"PARAMETER": "VALUE"}),))
        rules = "\n\n".join(filter(None, (_RULES.format(example=example), switch)))
        return Offer(rules, declarations_in_words(self.tools))

    def language(self) -> Language:
        return self._language

    def _made_language(self) -> Language:
        shape = self._shape
        before, trigger, behind = shape.open.partition(shape.trigger)
        if shape.lead:
            before, trigger, behind = "", shape.trigger, ""
        also = (Maybe(_filled(shape.also_after)),) if shape.also_after else ()
        calls = tuple(
            (name, *_filled(after), Arguments(schema, shape.arguments), *also)
            for name, schema in self._schemas.items()
            for after in (shape.after_name, *shape.also_after_name)
        )
        no_arguments = Arguments(_NO_PARAMETERS, shape.arguments)
        replies = (self._reply_tool, *_filled(shape.after_name), no_arguments, *also)
        marks = {*self._native.words, _PYTHON_TAG, *MARKER.findall(before)}
        if self._thoughts is None and self._native.thinking.known:
            marks.add(self._native.thinking.close)
        pieces = {piece for mark in marks for piece in (MARKER.findall(mark) or [mark]) if piece}
        return Language(
            calls=calls,
            replies=(replies,) if self._reply_tool else (),
            trigger=trigger,
            prefix=_filled(behind),
            separator=_filled(shape.between),
            suffix=_filled(shape.close),
            lead=shape.lead,
            call_lead=before,
            thoughts=self._thoughts,
            marks=frozenset(pieces),
        )

    def write(self, messages: Sequence[Message]) -> list[ChatMessage]:
        chat: list[ChatMessage] = []
        results: list[ChatMessage] = []
        number = 0
        for message in messages:
            joins = isinstance(message, CallMessage) and message.joins and bool(results)
            if not joins:
                chat += results
                results = []
            match message:
                case UserMessage(text):
                    chat.append(ChatMessage("user", (text,)))
                case ReplyMessage(text, reasoning):
                    chat.append(ChatMessage("assistant", (text,), thoughts=self._shown(reasoning)))
                case CallMessage(call, outcome):
                    tool_call = self._made(number, call)
                    number += 1
                    if joins:
                        chat[-1] = chat[-1].with_call(tool_call)
                    else:
                        write = None if self._native.shows_calls else self._write_calls
                        thoughts = self._shown(message.reasoning)
                        chat.append(
                            ChatMessage(
                                "assistant", (message.content,), (tool_call,), "", "", thoughts, write
                            )
                        )
                    results.append(self._result(tool_call, outcome))
        return [*chat, *results]

    def _made(self, number: int, call: Call) -> ToolCall:
        identity = f"{number:09}" if self._native.ids == "nine" else f"functions.{call.name}:{number}"
        arguments = call.arguments if isinstance(call.arguments, dict) else {}
        return ToolCall(identity, call.name, json_text(arguments) if self._native.as_text else arguments)

    def _write_calls(self, calls: Sequence[ToolCall]) -> str:
        """Calls as the model writes them, for a template that does not show them."""
        return self._shape.write(tuple(Call(call.name, call.arguments) for call in calls))

    def _shown(self, reasoning: str) -> tuple[str, str]:
        return (self._native.thinking.key, reasoning) if reasoning else ("", "")

    def _result(self, tool_call: ToolCall, outcome: Outcome) -> ChatMessage:
        failed = outcome.exception is not None
        text = json_text({"exception": outcome.exception} if failed else outcome.response)
        if not self.template.results:
            text = f"Result of {tool_call.name}: {text}"
        return ChatMessage("tool", (text,), name=tool_call.name, call_id=tool_call.id)

    def spans(self, answer: Call | str) -> tuple[Span, ...]:
        """Of a reply, whose words could be any, only the decision to reply counts."""
        thoughts = self._thoughts
        closing = [Span(f"{thoughts.close}\n\n", "answer")] if thoughts and thoughts.is_open else []
        if isinstance(answer, str):
            text = f"{self._shape.lead}{self._native.words[0]}{answer}"
            cut = len(self._shape.lead + self._native.words[0]) + 1
            return *closing, Span(text[:cut], "answer"), Span(text[cut:], None)
        shape = self._shape
        opened = "" if shape.lead else shape.fill(shape.open, 0)
        spans = [*closing, Span(opened, "answer"), Span(answer.name, "tool")]
        spans.append(Span(shape.fill(shape.after_name, 0), "parameter"))
        spans += [Span(*part) for part in shape.parts(answer.arguments)]
        return tuple(span for span in (*spans, Span(shape.fill(shape.close, 0), "parameter")) if span.text)

    def read(self, text: str) -> Reading:
        loose = self.grammar == "none"
        reasoning, answer = self._apart(text)
        try:
            raw_calls, content, notes = self._calls(answer, loose=loose)
        except NotRead as error:
            if not loose:
                raise AnswerError(str(error)) from error
            return self._salvaged(answer, reasoning, str(error))
        how = ", ".join(dict.fromkeys(notes))
        if not raw_calls and loose:
            return self._salvaged(answer, reasoning, "")
        raw_calls = [raw_call for raw_call in raw_calls if raw_call != (self._reply_tool, {})]
        try:
            for raw_call in raw_calls:
                check_unicode(answer, raw_call.arguments)
            calls = tuple(self._checker.call(*raw_call) for raw_call in raw_calls)
        except AnswerError as error:
            raise AnswerError(str(error), how) from error
        return Reading(calls, content, reasoning, how)

    def reasoning(self, text: str) -> str:
        return self._apart(text)[0]

    def _apart(self, text: str) -> tuple[str, str]:
        """The thoughts, and the answer after them."""
        thinking, thoughts = self._native.thinking, self._thoughts
        if not thinking.known:
            return "", text
        begun = text.lstrip()
        is_opened = begun.startswith(thinking.open)
        if not is_opened and not (thoughts and thoughts.is_open):
            return "", text
        if thinking.close not in text and self._shape.trigger in text:
            return "", text  # the thoughts were none, or have no end that tells them from the call
        inner = begun[len(thinking.open) :] if is_opened else text
        reasoning, _, answer = inner.partition(thinking.close)
        return reasoning.strip(), answer

    def _calls(self, answer: str, *, loose: bool) -> tuple[list[RawCall], str, list[str]]:
        """The calls in an answer, the words beside them, and what was overlooked. Raises NotRead."""
        shape = self._shape
        reader = CallReader(shape, self._checker.schemas, loose=loose)
        if shape.lead and not answer.startswith(shape.lead) and (not loose or _NAME.match(answer)):
            raw_calls, end = reader.read(answer, 0, "")
            return self._ended(raw_calls, "", answer[end:], reader, loose=loose)
        words, trigger, _ = answer.partition(shape.trigger)
        if not trigger:
            return [], self._words(answer), []
        before = "" if shape.lead else shape.open.partition(shape.trigger)[0]
        opening = shape.trigger if shape.lead else shape.open[len(before) :]
        if loose and len(shape.trigger) == 1:  # a bracket; in words there may be others
            place = reader.first(answer, opening)
            if place is None:
                return [], self._words(answer), []
            words = answer[:place]
        raw_calls, end = reader.read(answer, len(words), opening)
        return self._ended(raw_calls, words.removesuffix(before), answer[end:], reader, loose=loose)

    def _ended(
        self, raw_calls: list[RawCall], words: str, rest: str, reader: CallReader, *, loose: bool
    ) -> tuple[list[RawCall], str, list[str]]:
        notes = [*reader.notes]
        if rest.strip():
            if not loose:
                raise NotRead(f"after the calls there is {rest.strip()[:30]!r}")
            notes.append("words after the calls")
        return raw_calls, self._words(words), notes

    def _words(self, text: str) -> str:
        opened, closed = self._native.words
        words = text.strip().removeprefix(_PYTHON_TAG)
        for mark in (self._shape.lead, opened):
            words = words.removeprefix(mark) if mark else words
        return (words.removesuffix(closed) if closed else words).strip()

    def _salvaged(self, text: str, reasoning: str, fault: str) -> Reading:
        """An answer that is not in the form: another form that is known, or words."""
        if not text.strip() and fault:
            raise AnswerError(fault)
        try:
            answers, how = salvage.salvage_all(text)
        except Unreadable as error:
            raise AnswerError(fault or str(error), error.how or ("own form" if fault else "")) from error
        if "reply" in answers[0]:
            if fault:
                raise AnswerError(fault, "own form")
            return Reading((), self._words(text), reasoning, "")
        how = ", ".join(filter(None, ("another form", how)))
        try:
            calls = tuple(self._salvaged_call(answer) for answer in answers)
        except AnswerError as error:
            raise AnswerError(str(error), how) from error
        return Reading(calls, "", reasoning, how)

    def _salvaged_call(self, answer: JsonObject) -> Call:
        match answer:
            case {"tool": str(name), "arguments": dict(arguments)}:
                return self._checker.call(name, arguments)
        raise AnswerError("neither a tool call nor a reply")


_RULES = (
    "You can call tools. To call one, write it exactly in this form,"
    " with the tool's name and its parameters:\n"
    "{example}\n"
    "After a tool was used you are shown its result. When nothing is left to be done, reply in words."
)


def declarations(tools: Sequence[ToolDoc]) -> tuple[JsonObject, ...]:
    """Tools in OpenAI's shape, as chat templates take them."""
    return tuple({"type": "function", "function": _declared(tool)} for tool in tools)


def _declared(tool: ToolDoc) -> JsonObject:
    sentences = [tool.description, f"Returns {tool.returns}." if tool.returns else ""]
    return {
        "name": tool.name,
        "description": " ".join(filter(None, sentences)),
        "parameters": _plain(tool.parameters),
    }


def _plain(schema: Any) -> Any:
    """A schema without the keywords that are rig's own."""
    if isinstance(schema, Mapping):
        return {key: _plain(value) for key, value in schema.items() if not str(key).startswith("x-")}
    return [_plain(item) for item in schema] if isinstance(schema, list) else schema


def variables(native: Native, thinking: ThinkingArm) -> Mapping[str, Json]:
    """What the template is given about thinking."""
    switch = native.thinking
    if thinking == "auto":
        return {}
    return (switch.on or {}) if thinking == "on" else (switch.off or QUIET)


def prompted_thoughts(native: Native, template: ChatTemplate, thinking: ThinkingArm) -> Thoughts | None:
    """What thoughts there may be in answers to this template's prompts."""
    probe = Probe(template)
    prompt = probe.after_question([], generation=True, variables=variables(native, thinking)) or ""
    return thoughts_of(native.thinking, prompt, wanted=thinking != "off")


def _filled(text: str) -> Pattern:
    """A text of a shape as a pattern, with its holes."""
    holes = {ID: Matching("[A-Za-z0-9]{9}"), INDEX: Matching("[0-9]{1,4}")}
    return tuple(holes.get(part, part) for part in re.split(f"({HOLES.pattern})", text) if part)
