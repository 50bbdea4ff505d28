"""Render chosen messages with a chat template, and find out which variables matter."""

import re
from collections.abc import Mapping, Sequence
from os.path import commonprefix
from typing import NamedTuple

from rig.config.engine import GIVEN
from rig.core.calls import Json, JsonObject
from rig.core.errors import RigError, meant
from rig.core.models import ToolDoc
from rig.plugins.llama.core import process
from rig.plugins.llama.core.template import ChatMessage, ChatTemplate, TemplateError, ToolCall, Variables
from rig.plugins.llama.formats.base import declarations
from rig.plugins.llama.formats.shape import ID
from rig.plugins.llama.grammar.language import JSON

FIRST, SECOND = "probe_alpha_fn", "probe_bravo_fn"
QUESTION = "quokka77"
ANSWER = "wombat88"
THOUGHT = "numbat99"
SYSTEM = "bandicoot55"
MARKER = re.compile(r"<[^<>\n]{1,60}>|\[/?[A-Z_]{3,40}\]")
"""Texts that look like a special token or a tag."""
_IDS = ("k7Jq2Lx9A", "m4Rt8Vz1B")
_ENDS = (
    *("<|eom_id|>", "<|eot_id|>", "<|eom|>", "<|eot|>", "<|call|>", "<|return|>"),
    *("<|im_end|>", "<|end_of_text|>", "</s>"),
)
"""Ends of messages that differ from the ends of words in some families."""


_PARAMETERS: JsonObject = {
    "type": "object",
    "properties": {
        "kappa": {"type": "string", "description": "The first."},
        "omega": {"type": "integer", "description": "The second."},
    },
    "required": ["kappa"],
}
TOOLS = declarations([ToolDoc(name, f"Does what {name} does.", _PARAMETERS) for name in (FIRST, SECOND)])


def message(role: str, content: str, **more: Json) -> JsonObject:
    """Return a message as templates take it."""
    return {"role": role, "content": content, **more}


class Probe:
    """Renders messages and cuts out the wanted part. `fault` is the last reason why a template refused.

    `thoughts_close` is the mark that ends thoughts, once it is known.
    """

    def __init__(self, template: ChatTemplate, *, as_text: bool = False, ids: str = "nine") -> None:
        self.template = template
        self.as_text = as_text
        self.ids = ids
        self.fault = ""
        self.thoughts_close = ""
        self.prompt = self.after_question([], generation=True) or ""
        question, reply = message("user", QUESTION), message("assistant", ANSWER)
        before, _, after = self.text([question, reply, message("user", SYSTEM)]).partition(ANSWER)
        self.words = self.without_header(before.rpartition(QUESTION)[2]), after.partition(SYSTEM)[0]
        """The texts before an answer in words, where a call's message begins too, and after it."""
        last = (self.after_question([reply]) or "").partition(ANSWER)[2].strip()
        self.ends = [template.eos, *_ENDS, *MARKER.findall(self.words[1]), last]

    def text(
        self,
        messages: Sequence[JsonObject],
        *,
        generation: bool = False,
        tools: Sequence[JsonObject] = TOOLS,
        variables: Variables | None = None,
    ) -> str:
        """Return what the template makes of these messages; empty if it refuses."""
        try:
            return self.template.expand(messages, tools, generation=generation, variables=variables or {})
        except TemplateError as error:
            self._refusal = str(error)
            return ""

    def after_question(
        self, messages: Sequence[JsonObject], *, generation: bool = False, variables: Variables | None = None
    ) -> str | None:
        """Return what the template makes of messages after a question; None if it refuses or hides that."""
        self._refusal = ""
        text = self.text([message("user", QUESTION), *messages], generation=generation, variables=variables)
        self.fault = self._refusal or self.fault
        _, question, rest = text.rpartition(QUESTION)
        return rest if question else None

    def call(self, *calls: tuple[str, JsonObject], following: Sequence[JsonObject] = ()) -> str | None:
        """Return a message's calls, and what follows; None if the template refuses or hides the first."""
        text = self.after_question([self.message(*calls), *following])
        if text is None or calls[0][0] not in text:
            return None
        text = without_thoughts(self.without_header(text), self.thoughts_close)
        for id_ in _IDS[: len(calls)] if self.ids == "nine" else ():
            text = text.replace(id_, ID)
        return text

    def message(self, *calls: tuple[str, JsonObject]) -> JsonObject:
        """Return an assistant's message with these calls."""
        tool_calls = tuple(
            ToolCall(self.id_of(name, number), name, JSON.write(arguments) if self.as_text else arguments)
            for number, (name, arguments) in enumerate(calls)
        )
        return ChatMessage("assistant", (), tool_calls).shown("")

    def id_of(self, name: str, number: int) -> str:
        """Return the id of a call."""
        return _IDS[number] if self.ids == "nine" else f"functions.{name}:{number}"

    def without_header(self, text: str) -> str:
        """Return a text without the beginning that it shares with the prompt for an answer."""
        return text[max(common_length(text, self.prompt), self.header(text)) :]

    def header(self, text: str) -> int:
        """Return the length of the text's beginning that is the prompt's end; 0 if that holds no mark."""
        most = min(len(text), len(self.prompt))
        length = next((n for n in range(most, 0, -1) if self.prompt.endswith(text[:n])), 0)
        return length if MARKER.search(text[:length]) else 0


def common_start(one: str, other: str) -> str:
    """Return the common beginning of two texts."""
    return commonprefix([one, other])  # noqa: RUF071 - they are no paths


def common_length(one: str, other: str) -> int:
    """Return the length of the common beginning of two texts, cut so that it ends within no tag."""
    length = len(common_start(one, other))
    opened = one.rfind("<", 0, length)
    return opened if opened >= 0 and ">" not in one[opened:length] else length


_THOUGHTS = ("</think>", "[/THINK]", "<|END_THINKING|>", "</seed:think>", "<channel|>", "</think:opensource>")


def without_thoughts(text: str, close: str = "") -> str:
    """Return what follows empty thoughts, if a message begins with them. `close` is one more closing mark."""
    for mark in (*_THOUGHTS, *filter(None, [close])):
        before, is_closed, rest = text.partition(mark)
        if is_closed and FIRST not in before and SECOND not in before:
            return rest
    return text


_WORD = "potoroo44"
"""A text that no template compares anything with."""


_LEVELS = ("low", "medium", "high")
_LEVELED = re.compile(r"effort|strength|level")
"""The names of variables that templates write into prompts without comparing them, and what they can be."""
_THINKS: JsonObject = {"enable_thinking": True, "thinking": True}
_QUIET: JsonObject = {"enable_thinking": False, "thinking": False}
_WEATHER: tuple[JsonObject, ...] = (
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
    for name, use in _settable(template).items():
        constants: list[Json] = use["values"]
        flags = [] if any(isinstance(value, str) for value in constants) else [True, False]
        levels = _LEVELS if _LEVELED.search(name) else ()
        candidates = list({repr(value): value for value in (*constants, *flags, *levels)}.values())
        prompts = [(value, _prompts(template, {name: value})) for value in candidates]
        usable = [(value, texts) for value, texts in prompts if any(texts)]
        default = [value for value, texts in usable if texts == plain[: len(texts)] and value is not None]
        changing = tuple(value for value, texts in usable if _differ(texts, plain))
        word = "".join(_prompts(template, {name: _WORD}))
        if changing or _WORD in word or not use["is_own"]:
            variables.append(Variable(name, next(iter(default), None), changing, _WORD in word))
    return variables


def check_variables(template: ChatTemplate, chosen: JsonObject) -> str:
    """Return a remark if variables change no prompt, else an empty text. The template is one without them.

    Raises RigError for a variable that the template does not read.
    """
    if not chosen:
        return ""
    settable = _settable(template)
    if unknown := [name for name in chosen if name not in settable]:
        names = [variable.name for variable in find_variables(template)]
        choice = meant(unknown[0], names) if names else ""
        raise RigError(f"--template-set {unknown[0]}: the chat template reads no such variable{choice}")
    has_effect = _differ(_prompts(template, chosen), _prompts(template, {}))
    return "" if has_effect else "--template-set changes none of the prompts that were tried"


def _settable(template: ChatTemplate) -> Mapping[str, JsonObject]:
    """Return what a template reads besides what rig gives to every template."""
    return {name: read for name, read in process.reads(template.source).items() if name not in GIVEN}


def _differ(prompts: Sequence[str], plain: Sequence[str]) -> bool:
    """Whether prompts differ where the template refuses neither."""
    return any(one != other for one, other in zip(prompts, plain, strict=False) if one and other)


def _prompts(template: ChatTemplate, chosen: JsonObject) -> list[str]:
    """Return the prompts of conversations with these variables; empty texts where the template refuses.

    Some variables matter only where the model thinks, or where it does not.
    """
    prompts = []
    for base in ({},) if chosen.keys() & _THINKS.keys() else ({}, _THINKS, _QUIET):
        for messages in _CONVERSATIONS:
            for tools in (_WEATHER, ()):
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
