"""A GGUF file's chat template, rendered in a sandbox.

Templates are programs from a file of unknown origin: they run in Jinja2's immutable sandbox, see no real
clock, and never see the content of messages. Each content is replaced by a marker while the template runs,
and put in afterwards, so that content cannot pass for template text and every piece is tokenised alone.
Declarations and calls they do see (`rig.engine.shield`). Whatever else a template can use is as transformers
has it (`transformers.utils.chat_template_utils`), byte for byte.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from typing import Any, Literal, NamedTuple, TypeAlias

import jinja2
import jinja2.ext
import jinja2.meta
import jinja2.nodes
import jinja2.parser
import jinja2.runtime
import jinja2.sandbox
import jinja2.utils

from rig.calls import Json, JsonObject
from rig.errors import RigError

Role: TypeAlias = Literal["system", "user", "assistant", "tool"]
MAX_TEMPLATE_CHARACTERS = 200_000
QUIET: Mapping[str, Json] = {"enable_thinking": False}
"""What templates are told where nothing else is said of thinking."""
_MOST_ITEMS = 10_000
"""Of a list that a template makes for itself."""


class TemplateError(Exception):
    """The template refused these messages or lost one of them."""


class Markup(str):
    """A part of a message in which special tokens count, as in a template's own text."""

    __slots__ = ()


class ToolCall(NamedTuple):
    """A call as templates are shown it. Some want an id of exactly nine letters and digits."""

    id: str
    name: str
    arguments: Json


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """A role and its content, in parts that are tokenised one by one.

    `calls` are those of an assistant's message, whose content templates may then leave out; where a template
    shows none, `spell` makes a text of them. `name` and `call_id` say which call a tool's message answers.
    `thoughts` are what came before an assistant's answer, with the key under which templates look for it.
    """

    role: Role
    parts: tuple[str, ...]
    calls: tuple[ToolCall, ...] = ()
    name: str = ""
    call_id: str = ""
    thoughts: tuple[str, str] = ("", "")
    spell: Callable[[Sequence[ToolCall]], str] | None = None

    def with_call(self, call: ToolCall) -> "ChatMessage":
        """The message with one more call."""
        return replace(self, calls=(*self.calls, call))

    def spelled(self) -> "ChatMessage":
        """The message with its calls as a text, where a template shows none."""
        if self.spell is None:
            return self
        return replace(self, calls=(), spell=None, parts=(*self.parts, Markup(self.spell(self.calls))))

    @property
    def is_bare(self) -> bool:
        """Whether there are calls and nothing was said beside them."""
        return bool(self.calls) and not any(self.parts)

    def shown(self, content: str) -> JsonObject:
        """The message as templates want it, with this for its content."""
        calls = [
            {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}
            for id, name, arguments in self.calls
        ]
        return {
            "role": self.role,
            "content": content,
            **({"tool_calls": calls} if calls else {}),
            **({"name": self.name} if self.name else {}),
            **({"tool_call_id": self.call_id} if self.call_id else {}),
            **({self.thoughts[0]: self.thoughts[1]} if all(self.thoughts) else {}),
        }


@dataclass(frozen=True, slots=True)
class TemplateText:
    """Text written by the template."""

    text: str


@dataclass(frozen=True, slots=True)
class ContentText:
    """A part of a message's content."""

    text: str


Fragment: TypeAlias = TemplateText | ContentText


class ChatTemplate:
    """A chat template and what it can do, found out by trying.

    `system`, `tool` and `repeats` say whether it takes system messages, tool messages, and two messages of
    one role in a row. Raises RigError when it does not compile or cannot render a plain exchange.
    """

    def __init__(self, source: str, *, bos: str = "", eos: str = "") -> None:
        if len(source) > MAX_TEMPLATE_CHARACTERS:
            raise RigError(f"the chat template has over {MAX_TEMPLATE_CHARACTERS} characters; refused")
        environment = _environment()
        try:
            self._template = environment.from_string(source)
            undeclared = jinja2.meta.find_undeclared_variables(environment.parse(source))
        except jinja2.TemplateError as error:
            raise RigError(f"the chat template does not compile: {error}") from error
        self.source = source
        self.eos = eos
        self._variables = {"bos_token": bos, "eos_token": eos}
        self._dated = {"datetime": _no_clock("%b %d %Y")} if "datetime" in undeclared else {}
        # Templates of FireFunction's age take declarations as text, and do not ask whether there are any.
        self._has_functions = "functions" in undeclared and "functions is defined" not in source
        user, assistant = ChatMessage("user", ("q",)), ChatMessage("assistant", ("a",))
        try:
            self._render([user, assistant, user])
        except TemplateError as error:
            raise RigError(f"the chat template cannot render a plain exchange: {error}") from error
        # Some templates move the system message to the last user turn, which no prefix survives.
        self.system = self._takes([ChatMessage("system", ("s",)), user, assistant, user])
        # A template that just prints any role says nothing of what the model was trained on.
        self.tool = "tool" in source and self._takes([user, assistant, ChatMessage("tool", ("t",))])
        self.repeats = self._takes([user, user, assistant, assistant, user])

    @cached_property
    def results(self) -> bool:
        """Whether it takes tool messages that answer a call; some take no others."""
        arguments: JsonObject = {"argument": "value"}
        return "tool" in self.source and any(
            self._takes(
                [
                    ChatMessage("user", ("q",)),
                    ChatMessage("assistant", ("",), (ToolCall("abcdefghi", "name", given),)),
                    ChatMessage("tool", ("t",), name="name", call_id="abcdefghi"),
                ]
            )
            for given in (arguments, json.dumps(arguments))
        )

    def render(
        self,
        messages: Sequence[ChatMessage],
        tools: Sequence[JsonObject] = (),
        variables: Mapping[str, Json] = QUIET,
    ) -> list[Fragment]:
        """The prompt up to where the assistant speaks next. Raises TemplateError.

        What the template cannot do is done around it: a system message joins the first user message, tool
        messages become the user's, and messages of one role in a row become one. `tools` are declarations in
        OpenAI's shape, for templates that show them; `variables` is what else the template is told.
        """
        return self._render(self._adapt(messages), tools, variables)

    def expand(
        self,
        messages: Sequence[JsonObject],
        tools: Sequence[JsonObject] = (),
        *,
        generation: bool = False,
        variables: Mapping[str, Json] = QUIET,
    ) -> str:
        """What the template makes of messages as they are, contents included. Raises TemplateError."""
        given: JsonObject = {**self._variables, **self._dated}
        if tools:
            given["tools"] = _given(tools)
        if self._has_functions:
            given["functions"] = _to_json(list(tools), indent=4)
        try:
            return self._template.render(
                **given, messages=_given(messages), add_generation_prompt=generation, **variables
            )
        except Exception as error:  # a template can raise anything; none of it is ours
            raise TemplateError(f"{type(error).__name__}: {error}") from error

    def _adapt(self, messages: Sequence[ChatMessage]) -> list[ChatMessage]:
        adapted: list[ChatMessage] = []
        for message in messages:
            role = message.role
            takes_tool = self.results if message.call_id else self.tool
            if (role == "tool" and not takes_tool) or (role == "system" and not self.system):
                role = "user"
            last = adapted[-1] if adapted else None
            joins_system = last is not None and messages[0].role == "system" and len(adapted) == 1
            joins = last and last.role == role and (not self.repeats or (joins_system and not self.system))
            if last and joins and not (last.calls or message.calls):
                adapted[-1] = replace(last, parts=(*last.parts, "\n\n", *message.parts))
            else:
                adapted.append(replace(message, role=role))
        return adapted

    def _takes(self, messages: Sequence[ChatMessage]) -> bool:
        try:
            self._render(messages)
        except TemplateError:
            return False
        return True

    def _render(
        self,
        messages: Sequence[ChatMessage],
        tools: Sequence[JsonObject] = (),
        variables: Mapping[str, Json] = QUIET,
    ) -> list[Fragment]:
        # Templates may put a content into JSON, with its escapes; one that holds a quote shows that. Where
        # there are no calls and no declarations contents stay as they are: so prompts have always been.
        quote = '"' if tools or any(message.calls for message in messages) else ""
        markers = [f"[rig:{quote}content:{number}]" for number in range(len(messages))]
        shown = [
            message.shown("" if message.is_bare else marker)
            for message, marker in zip(messages, markers, strict=True)
        ]
        rest = self.expand(shown, tools, generation=True, variables=variables)
        fragments: list[Fragment] = []
        for message, marker in zip(messages, markers, strict=True):
            escaped = marker.replace('"', '\\"')
            is_escaped = marker not in rest and escaped in rest
            before, found, after = rest.partition(escaped if is_escaped else marker)
            if not found:
                if message.calls:
                    continue  # many templates leave out what was said beside calls
                raise TemplateError(f"a message of role {message.role} does not appear in the prompt")
            rest = after
            fragments.append(TemplateText(before))
            for part in message.parts:
                text = _escaped(part) if is_escaped else part
                fragments.append(TemplateText(text) if isinstance(part, Markup) else ContentText(text))
        return [*fragments, TemplateText(rest)]


def _escaped(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)[1:-1]


class _Given(list[Any]):
    """A list that a template is given, which it cannot change."""


def _given(value: Json) -> Json:
    """A copy of a JSON value, whose lists cannot be changed."""
    if isinstance(value, Mapping):
        return {key: _given(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return _Given(map(_given, value))
    return value


class _Sandbox(jinja2.sandbox.ImmutableSandboxedEnvironment):
    """The sandbox, in which a template may yet lengthen and shorten lists of its own, as Kimi K2's do."""

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        if type(obj) is list and attr in ("append", "pop"):
            return len(obj) < _MOST_ITEMS
        return super().is_safe_attribute(obj, attr, value)


def _environment() -> _Sandbox:
    environment = _Sandbox(
        trim_blocks=True, lstrip_blocks=True, extensions=[_GenerationTag, jinja2.ext.loopcontrols]
    )
    environment.filters["tojson"] = _to_json
    environment.globals.update(
        raise_exception=_raise, strftime_now=_no_clock, namespace=_Namespace, dict=_Dictionary()
    )
    return environment


class _GenerationTag(jinja2.ext.Extension):
    """`{% generation %}` marks what an assistant wrote, for training; it changes nothing of the text."""

    tags = {"generation"}  # noqa: RUF012 - so jinja2 has it

    def parse(self, parser: jinja2.parser.Parser) -> jinja2.nodes.Node | list[jinja2.nodes.Node]:
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("_pass_on"), [], [], body).set_lineno(line)

    def _pass_on(self, caller: jinja2.runtime.Macro) -> str:
        return caller()


class _Dictionary:
    """`dict`, with nothing but what makes one."""

    def __call__(self, *arguments: Any, **names: Any) -> dict[Any, Any]:
        return dict(*arguments, **names)

    def fromkeys(self, *arguments: Any) -> dict[Any, Any]:
        return dict.fromkeys(*arguments)


class _Namespace(jinja2.utils.Namespace):
    """`namespace`, in which nothing can be called as Python calls its own."""

    def __init__(*arguments: Any, **names: Any) -> None:
        self, *rest = arguments
        made = dict(*rest, **names)
        for name in made:
            _refuse_hidden(name)
        jinja2.utils.Namespace.__init__(self, made)

    def __setitem__(self, name: str, value: Any) -> None:
        _refuse_hidden(name)
        super().__setitem__(name, value)


def _refuse_hidden(name: object) -> None:
    if isinstance(name, str) and name.startswith("_"):
        raise jinja2.exceptions.SecurityError(f"a namespace takes no name that begins with _: {name!r}")


def _to_json(
    value: Any,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    """Jinja's own sorts keys and escapes for HTML, which no model was trained on."""
    return json.dumps(
        value,
        ensure_ascii=ensure_ascii,
        indent=indent,
        separators=separators,
        sort_keys=sort_keys,
        default=_drawn,
    )


def _drawn(value: Any) -> Json:
    """What a filter such as `map` gives one by one, as llama.cpp has it: a list."""
    if isinstance(value, Iterator):
        return list(value)
    raise TypeError(f"Object of type {type(value).__name__} is not JSON serializable")


def _raise(message: str) -> Any:
    raise jinja2.TemplateError(message)


def _no_clock(form: str) -> str:
    """Templates may print today's date; a fixed one keeps prompts, and so answers, the same every day."""
    return datetime(2024, 7, 26).strftime(form)  # noqa: DTZ001 - no zone is meant
