"""The variables of chat templates: which there are, their defaults, and which values change a prompt."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from rig.calls import Json, JsonObject
from rig.engine.core import process
from rig.engine.core.template import ChatMessage, ChatTemplate, TemplateError, ToolCall
from rig.errors import RigError, meant

_WORD = "wombat88"
"""A text that no template compares anything with."""


_LEVELS = ("low", "medium", "high")
_LEVELED = re.compile(r"effort|strength|level")
"""The names of variables that templates write into prompts without comparing them, and what they can be."""
_THINKING: JsonObject = {"enable_thinking": True, "thinking": True}
_TOOLS: tuple[JsonObject, ...] = (
    {
        "type": "function",
        "function": {
            "name": "get_weather",
            "description": "The weather of the next days.",
            "parameters": {
                "type": "object",
                "properties": {"city": {"type": "string"}},
                "required": ["city"],
            },
        },
    },
)


class Variable(NamedTuple):
    """A variable that a template reads: its default, and the values that change a prompt.

    The default is None if no value gives the same prompts. `is_open` is whether any text changes them.
    """

    name: str
    default: Json
    values: tuple[Json, ...]
    is_open: bool


def find_variables(template: ChatTemplate) -> list[Variable]:
    """Return the variables that a template reads, found in its source and tried in conversations."""
    plain = _prompts(template, {})
    variables = []
    for name, found in process.reads(template.source).items():
        constants: list[Json] = found["values"]
        flags = [] if any(isinstance(value, str) for value in constants) else [True, False]
        levels = _LEVELS if _LEVELED.search(name) else ()
        candidates = list({repr(value): value for value in (*constants, *flags, *levels)}.values())
        prompts = [(value, _prompts(template, {name: value})) for value in candidates]
        usable = [(value, texts) for value, texts in prompts if any(texts)]
        default = [value for value, texts in usable if texts == plain[: len(texts)] and value is not None]
        changing = tuple(value for value, texts in usable if _differ(texts, plain))
        word = "".join(_prompts(template, {name: _WORD}))
        if changing or _WORD in word or not found["is_own"]:
            variables.append(Variable(name, next(iter(default), None), changing, _WORD in word))
    return variables


def check_variables(template: ChatTemplate, chosen: JsonObject) -> str:
    """Return a remark if variables change no prompt, else an empty text. The template is one without them.

    Raises RigError for a variable that the template does not read.
    """
    if not chosen:
        return ""
    known = process.reads(template.source)
    if unknown := [name for name in chosen if name not in known]:
        names = [variable.name for variable in find_variables(template)]
        choice = meant(unknown[0], names) if names else ""
        raise RigError(f"--template-set {unknown[0]}: the chat template reads no such variable{choice}")
    has_effect = _differ(_prompts(template, chosen), _prompts(template, {}))
    return "" if has_effect else "--template-set changes none of the prompts that were tried"


def _differ(prompts: Sequence[str], plain: Sequence[str]) -> bool:
    """Whether prompts differ where the template refuses neither."""
    return any(one != other for one, other in zip(prompts, plain, strict=False) if one and other)


def _prompts(template: ChatTemplate, chosen: JsonObject) -> list[str]:
    """Return the prompts of conversations with these variables; empty texts where the template refuses.

    Some variables matter only where the model thinks.
    """
    prompts = []
    for base in ({},) if chosen.keys() & _THINKING.keys() else ({}, _THINKING):
        for messages in _CONVERSATIONS:
            for tools in (_TOOLS, ()):
                try:
                    prompts.append(
                        template.expand(messages, tools, generation=True, variables={**base, **chosen})
                    )
                except TemplateError:
                    prompts.append("")
    return prompts


def _conversations() -> list[list[JsonObject]]:
    system, user = ({"role": role, "content": f"By the {role}."} for role in ("system", "user"))
    thoughts = {"reasoning_content": "Hm.", "reasoning": "Hm.", "thinking": "Hm."}
    within = {"role": "assistant", "content": "<think>\nHm.\n</think>\n\nDone."}
    reply = {"role": "assistant", "content": "Done.", **thoughts}
    talks: list[list[JsonObject]] = [[user], [system, user], [user, reply, user]]
    talks.append([user, within, user, within, user])
    for arguments in ({"city": "Oslo"}, '{"city": "Oslo"}'):
        call = ChatMessage("assistant", (), (ToolCall("k7Jq2Lx9A", "get_weather", arguments),)).shown("")
        result = {"role": "tool", "content": "{}", "name": "get_weather", "tool_call_id": "k7Jq2Lx9A"}
        talks.append([user, {**call, **thoughts}, result])
        talks.append([system, user, {**call, **thoughts}, result, reply, user])
    return talks


_CONVERSATIONS = _conversations()
