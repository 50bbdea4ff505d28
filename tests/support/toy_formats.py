"""Two forms of answers that are not like rig's own, and the chat template that they need."""

import json
from collections.abc import Sequence
from dataclasses import replace

from rig.config.engine import GrammarArm
from rig.core.calls import Call
from rig.core.models import CallMessage, Message, ReplyMessage, ToolDoc, UserMessage
from rig.core.registry import Registry
from rig.plugins.llama.core.template import ChatMessage, ChatTemplate, ToolCall
from rig.plugins.llama.formats.base import AnswerFormat, Offer, Reading, Span
from rig.plugins.llama.formats.salvage import AnswerError
from rig.plugins.llama.grammar.language import Language, Maybe, Raw
from rig.plugins.llama.grammar.schema import narrow

TEMPLATE = (
    "{%- if tools %}{{ '<|im_start|>system\n' + messages[0].content + '\n' }}"
    "{%- for tool in tools %}{{ tool | tojson }}\n{% endfor %}{{ '<|im_end|>\n' }}{% endif %}"
    "{%- for message in (messages[1:] if tools else messages) %}"
    "{{ '<|im_start|>' + message.role + '\n' + message.content }}"
    '{%- for call in message.tool_calls %}{{ \'<tool_call>\n{"name": "\' + call.function.name }}'
    "{{ '\", \"arguments\": ' }}{{ call.function.arguments | tojson }}{{ '}\n</tool_call>' }}{% endfor %}"
    "{{ '<|im_end|>\n' }}{% endfor %}{{ '<|im_start|>assistant\n' }}"
)


class Marked(AnswerFormat):
    """Words, then calls between markers, as many as one likes; tools are declared by the template."""

    name = "marked"
    version = "1"

    def __init__(self, tools: tuple[ToolDoc, ...], grammar: GrammarArm, template: ChatTemplate) -> None:
        super().__init__(tools, grammar, template)
        calls = [
            (
                f'{{"name": {json.dumps(tool.name)}, "arguments": ',
                narrow(tool.parameters, tool.name, formats=False),
                "}",
            )
            for tool in tools
        ]
        between = "\n</tool_call>\n<tool_call>\n"
        self._language = Language(
            calls=tuple(calls),
            trigger="<tool_call>",
            prefix="\n",
            separator=between,
            suffix="\n</tool_call>",
        )

    def offer(self) -> Offer:
        shape = ("name", "description", "parameters")
        functions = [{name: getattr(tool, name) for name in shape} for tool in self.tools]
        return Offer(declarations=tuple({"type": "function", "function": each} for each in functions))

    def language(self, choice: str = "auto") -> Language:
        return replace(self._language, choice=choice)

    def write(self, messages: Sequence[Message]) -> list[ChatMessage]:
        chat: list[ChatMessage] = []
        for number, message in enumerate(messages):
            match message:
                case UserMessage(text):
                    chat.append(ChatMessage("user", (text,)))
                case ReplyMessage(text):
                    chat.append(ChatMessage("assistant", (text,)))
                case CallMessage(call, outcome):
                    made = ToolCall(f"call{number:05}", call.name, call.arguments)
                    chat.append(ChatMessage("assistant", ("",), (made,)))
                    text = json.dumps(outcome.as_json())
                    chat.append(ChatMessage("tool", (text,), name=call.name, call_id=made.id))
        return chat

    def read(self, text: str) -> Reading:
        words, *rest = text.split("<tool_call>")
        calls = []
        for block in rest:
            try:
                data = json.loads(block.strip().removesuffix("</tool_call>"))
                calls.append(Call(data["name"], data["arguments"]))
            except (ValueError, KeyError, TypeError) as error:
                raise AnswerError(f"not a call: {error}") from error
        return Reading(tuple(calls), words.strip())

    def spans(self, answer: Call | str) -> tuple[Span, ...]:
        if isinstance(answer, str):
            return Span(answer[:1], "answer"), Span(answer[1:], None)
        arguments = json.dumps(answer.arguments, ensure_ascii=False)
        return (
            Span("<tool_call>\n", "answer"),
            Span(f'{{"name": {json.dumps(answer.name)}', "tool"),
            Span(', "arguments": ', "parameter"),
            Span(arguments, "value"),
            Span("}\n</tool_call>", "parameter"),
        )


class Tagged(Marked):
    """The same with a tag for each parameter, whose value is raw text."""

    name = "tagged"

    def language(self, choice: str = "auto") -> Language:
        calls = [
            (
                f"<function={tool.name}>\n",
                *(
                    part if name in tool.parameters.get("required", ()) else Maybe(part)
                    for name in tool.parameters["properties"]
                    for part in [(f"<parameter={name}>\n", Raw("\n</parameter>\n"))]
                ),
                "</function>\n",
            )
            for tool in self.tools
        ]
        flat = tuple(
            tuple(piece for part in call for piece in (part if isinstance(part, tuple) else (part,)))
            for call in calls
        )
        return Language(calls=flat, trigger="<tool_call>", prefix="\n", suffix="</tool_call>", choice=choice)


def register(registry: Registry) -> None:
    registry.formats.add(Marked)
    registry.formats.add(Tagged)
