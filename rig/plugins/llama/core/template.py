"""A GGUF file's chat template, rendered in a sandbox.

Templates are programs from a file of unknown origin: they run in a separate process, within limits on time
and memory (`rig.plugins.llama.core.process`), and never see the content of messages. Each content is replaced
by a marker while the template runs and inserted afterwards, so content cannot pass for template text, and
every piece is tokenised alone. Templates do see declarations and calls (`rig.plugins.llama.prompt`).
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from typing import Literal, NamedTuple, TypeAlias

from rig.core.calls import Json, JsonObject
from rig.core.errors import RigError
from rig.plugins.llama.core import process
from rig.plugins.llama.core.process import TemplateError as TemplateError
from rig.plugins.llama.core.process import probing as probing

Role: TypeAlias = Literal["system", "developer", "user", "assistant", "tool"]
Variables: TypeAlias = Mapping[str, Json]
MAX_TEMPLATE_CHARACTERS = 200_000
_CLOCK = re.compile(r"\bstrftime_now\s*\(|\{\{-?\s*datetime\b|\bdate_string\b")
"""How templates read the date."""
QUIET: Variables = {"enable_thinking": False}
"""The variables for templates if nothing is set about thinking."""
LOUD: Variables = {"enable_thinking": True}
"""The variables for templates that refuse the others."""


class Markup(str):
    """A part of a message in which special tokens count, as in a template's own text."""

    __slots__ = ()


class ToolCall(NamedTuple):
    """A call as templates receive it. Some want an id of exactly nine letters and digits."""

    id: str
    name: str
    arguments: Json


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """A role and its content, in parts that are tokenised one by one.

    `calls` belong to an assistant's message, whose content templates may then leave out; where a template
    shows no calls, `write_calls` turns them into text. `name` and `call_id` say which call a tool's message
    answers. `thoughts` are the key under which templates expect an assistant's thoughts, and these thoughts.
    """

    role: Role
    parts: tuple[str, ...]
    calls: tuple[ToolCall, ...] = ()
    name: str = ""
    call_id: str = ""
    thoughts: tuple[str, str] = ("", "")
    write_calls: Callable[[Sequence[ToolCall]], str] | None = None

    def with_written_calls(self) -> "ChatMessage":
        """Return the message with its calls as text, where a template shows none."""
        if self.write_calls is None:
            return self
        written = Markup(self.write_calls(self.calls))
        return replace(self, calls=(), write_calls=None, parts=(*self.parts, written))

    def shown(self, content: str) -> JsonObject:
        """Return the message as templates want it, with this content."""
        calls = [
            {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}
            for id, name, arguments in self.calls
        ]
        shown: JsonObject = {
            "role": self.role,
            "content": content,
            **({"tool_calls": calls} if calls else {}),
            **({"name": self.name} if self.name else {}),
            **({"tool_call_id": self.call_id} if self.call_id else {}),
        }
        return with_thoughts(shown, *self.thoughts) if all(self.thoughts) else shown


def with_thoughts(message: JsonObject, key: str, thoughts: str) -> JsonObject:
    """Return a message with thoughts under this key; under that of the content they are a part of it."""
    if key != "content":
        return {**message, key: thoughts}
    parts: list[JsonObject] = [{"type": "thinking", "thinking": thoughts}]
    if words := message["content"]:
        parts.append({"type": "text", "text": words})
    return {**message, "content": parts}


class Fragment(NamedTuple):
    """A piece of a prompt: the template's own text, or a part of a message's content."""

    text: str
    is_content: bool = False


class ChatTemplate:
    """A chat template and its abilities, found out by trying.

    `system`, `tool` and `repeats` say whether it accepts system messages, tool messages, and two messages of
    one role in a row; `developer`, whether it takes a developer's message instead of the system's;
    `in_parts`, whether it wants content as a list of parts; and `beside_calls`, whether it knows results only
    in the message of their calls. The `chosen` variables hold in every prompt, over others of their names.
    Raises RigError when it does not compile or cannot render a plain exchange.
    """

    def __init__(self, source: str, *, bos: str = "", eos: str = "", chosen: Variables | None = None) -> None:
        if len(source) > MAX_TEMPLATE_CHARACTERS:
            raise RigError(f"the chat template has over {MAX_TEMPLATE_CHARACTERS} characters; refused")
        try:
            process.render(source)
        except TemplateError as error:
            raise RigError(f"the chat template does not compile: {error}") from error
        self.source = source
        self.bos, self.eos = bos, eos
        self._variables = {"bos_token": bos, "eos_token": eos}
        self.chosen: Variables = chosen or {}
        self.beside_calls = False
        user, assistant = ChatMessage("user", ("q",)), ChatMessage("assistant", ("a",))
        fault: TemplateError | None = None
        self._forced: Variables = {}
        for self.in_parts, self._forced in ((False, {}), (True, {}), (False, LOUD)):
            try:
                self._render([user, assistant, user])
                break
            except TemplateError as error:
                fault = fault or error
        else:
            raise RigError(f"the chat template cannot render a plain exchange: {fault}") from fault
        # Some templates move the system message to the last user turn, so no prefix stays the same.
        self.system = self._takes([ChatMessage("system", ("s",)), user, assistant, user])
        developer = ChatMessage("developer", ("s",))
        self.developer = (
            not self.system and "developer" in source and self._takes([developer, user, assistant, user])
        )
        # A template that prints any role does not show what the model was trained on.
        self.tool = "tool" in source and self._takes([user, assistant, ChatMessage("tool", ("t",))])
        self.repeats = self._takes([user, user, assistant, assistant, user])
        self.beside_calls = "tool_responses" in source and self._prints_any_role()

    @cached_property
    def results(self) -> bool:
        """Whether it accepts tool messages that answer a call; some accept no others."""
        arguments: JsonObject = {"argument": "value"}
        return "tool" in self.source and any(
            self._takes(
                [
                    ChatMessage("user", ("q",)),
                    ChatMessage("assistant", ("",), (ToolCall("abcdefghi", "name", shape),)),
                    ChatMessage("tool", ("t",), name="name", call_id="abcdefghi"),
                ]
            )
            for shape in (arguments, json.dumps(arguments))
        )

    @cached_property
    def adaptations(self) -> tuple[str, ...]:
        """What rig changes in conversations for this template, which a server in production may not."""
        has_tools = self.tool or self.results
        takes_none = "its template takes no system message"
        lines = {
            f"{takes_none}: rig gives the instructions as a developer's": self.developer,
            f"{takes_none}: rig puts the instructions before the user's first words": not (
                self.system or self.developer
            ),
            "its template takes no results of tools: rig gives them as the user's words": not has_tools,
            "its template wants roles to alternate: rig joins messages of one role": not self.repeats,
            "its template wants content as a list of parts: rig gives it so": self.in_parts,
            "its template wants results in the message of the calls: rig gives them so": self.beside_calls,
            "its template refuses to have thinking turned off: rig leaves it on": bool(self._forced),
            "its template writes the date: rig gives it the conversation's, a server today's; prompts of"
            " other days share only what stands before it": self.is_dated,
        }
        return tuple(line for line, holds in lines.items() if holds)

    @property
    def is_dated(self) -> bool:
        """Whether it writes the date into prompts."""
        return bool(_CLOCK.search(self.source))

    @property
    def roles(self) -> JsonObject:
        """What the template accepts, for fingerprints. Rare abilities are left out where they are missing."""
        common = {"system": self.system, "tool": self.tool, "repeats": self.repeats}
        rare = {"developer": self.developer, "in_parts": self.in_parts, "beside_calls": self.beside_calls}
        return {**common, **{name: True for name, holds in rare.items() if holds}}

    def render(
        self,
        messages: Sequence[ChatMessage],
        tools: Sequence[JsonObject] = (),
        variables: Variables = QUIET,
        now: datetime | None = None,
    ) -> list[Fragment]:
        """Return the prompt up to where the assistant speaks next. Raises TemplateError.

        What the template cannot do is worked around: a system message joins the first user message, tool
        messages become the user's, and consecutive messages of one role become one. `tools` are declarations
        in OpenAI's shape, for templates that show them; `variables` are passed to the template as well, and
        `now` is the date for those that write one.
        """
        return self._render(self.adapt(messages), tools, variables, now)

    def expand(
        self,
        messages: Sequence[JsonObject],
        tools: Sequence[JsonObject] = (),
        *,
        generation: bool = False,
        variables: Variables = QUIET,
        now: datetime | None = None,
    ) -> str:
        """Return what the template makes of messages as they are, contents included. Raises TemplateError."""
        own = {**self._variables, "add_generation_prompt": generation}
        all_variables = {**own, **variables, **self._forced, **self.chosen}
        views = [_in_parts(message) for message in messages] if self.in_parts else messages
        views = _beside_calls(views) if self.beside_calls else views
        return process.render(self.source, views, tools, all_variables, now)

    def adapt(self, messages: Sequence[ChatMessage]) -> list[ChatMessage]:
        """Return the messages as `render` shows them to the template."""
        adapted: list[ChatMessage] = []
        for message in messages:
            takes = {"tool": self.results if message.call_id else self.tool, "system": self.system}
            if not takes.get(message.role, True):
                is_developers = message.role == "system" and self.developer
                message = replace(message, role="developer" if is_developers else "user")
            last = adapted[-1] if adapted else None
            takes_system = self.system or self.developer
            joins_system = messages[0].role == "system" and len(adapted) == 1 and not takes_system
            joins = last and last.role == message.role and (not self.repeats or joins_system)
            if last and joins and not (last.calls or message.calls):
                adapted[-1] = replace(last, parts=(*last.parts, "\n\n", *message.parts))
            else:
                adapted.append(message)
        return adapted

    def _prints_any_role(self) -> bool:
        """Whether a result's message is printed as one of a role that there is not."""
        call = ChatMessage("assistant", (), (ToolCall("abcdefghi", "name", {"argument": "value"}),)).shown("")
        of_role = [
            [{"role": "user", "content": "q"}, call, {"role": role, "content": "t"}]
            for role in ("tool", "x9")
        ]
        with suppress(TemplateError):
            result, other = map(self.expand, of_role)
            return result == other.replace("x9", "tool")
        return False

    def _takes(self, messages: Sequence[ChatMessage]) -> bool:
        with suppress(TemplateError):
            self._render(messages)
            return True
        return False

    def _render(
        self,
        messages: Sequence[ChatMessage],
        tools: Sequence[JsonObject] = (),
        variables: Variables = QUIET,
        now: datetime | None = None,
    ) -> list[Fragment]:
        # Templates may put a content into JSON, with escapes; a marker with a quote reveals that. Without
        # calls and declarations it has no quote, so that these prompts stay as they have always been.
        quote = '"' if tools or any(message.calls for message in messages) else ""
        marked = [(message, f"[rig:{quote}content:{number}]") for number, message in enumerate(messages)]
        # Templates may test whether a message with calls has any content as well.
        views = [
            message.shown(marker if any(message.parts) or not message.calls else "")
            for message, marker in marked
        ]
        text = self.expand(views, tools, generation=True, variables=variables, now=now)
        numbers = {
            spelling: number
            for number, (_, marker) in enumerate(marked)
            for spelling in (marker, marker.replace('"', '\\"'))
        }
        pieces = re.split(f"({'|'.join(map(re.escape, numbers)) or '(?!)'})", text)
        # Templates may leave out the content beside calls, or show it behind the results.
        asked = [number for number, message in enumerate(messages) if not message.calls]
        places = dict.fromkeys(numbers[marker] for marker in pieces[1::2])
        places_of_words = (number for number in places if not messages[number].calls)
        for number in asked:
            if next(places_of_words, None) != number:
                role = messages[number].role
                raise TemplateError(f"a message of role {role} does not appear in the prompt")
        fragments = [Fragment(pieces[0])]
        for marker, after in zip(pieces[1::2], pieces[2::2], strict=True):
            for part in messages[numbers[marker]].parts:
                written = json.dumps(part, ensure_ascii=False)[1:-1] if "\\" in marker else part
                fragments.append(Fragment(written, is_content=not isinstance(part, Markup)))
            fragments.append(Fragment(after))
        return fragments


def _in_parts(message: JsonObject) -> JsonObject:
    """Return a message whose content is a list of parts."""
    content = message.get("content")
    return (
        {**message, "content": [{"type": "text", "text": content}]} if isinstance(content, str) else message
    )


def _beside_calls(messages: Sequence[JsonObject]) -> list[JsonObject]:
    """Return messages with results in those of their calls."""
    moved: list[JsonObject] = []
    for message in messages:
        last = moved[-1] if moved else {}
        if message["role"] == "tool" and "tool_calls" in last:
            result = {"name": message.get("name", ""), "response": message["content"]}
            moved[-1] = {**last, "tool_responses": [*last.get("tool_responses", []), result]}
        else:
            moved.append(message)
    return moved
