"""A GGUF file's chat template, rendered in a sandbox.

Templates are programs from a file of unknown origin: they run in Jinja2's immutable sandbox, see no real
clock, and never see the content of messages. Each content is replaced by a marker while the template runs,
and put in afterwards, so that content cannot pass for template text and every piece is tokenised alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, TypeAlias

import jinja2
import jinja2.ext
import jinja2.sandbox

from rig.errors import RigError

Role: TypeAlias = Literal["system", "user", "assistant", "tool"]
MAX_TEMPLATE_CHARACTERS = 200_000


class TemplateError(Exception):
    """The template refused these messages or lost one of them."""


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """A role and its content, in parts that are tokenised one by one."""

    role: Role
    parts: tuple[str, ...]


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
        environment = jinja2.sandbox.ImmutableSandboxedEnvironment(
            trim_blocks=True, lstrip_blocks=True, extensions=[jinja2.ext.loopcontrols]
        )
        environment.globals.update(raise_exception=_raise, strftime_now=_no_clock)
        try:
            self._template = environment.from_string(source)
        except jinja2.TemplateError as error:
            raise RigError(f"the chat template does not compile: {error}") from error
        self._variables = {"bos_token": bos, "eos_token": eos}
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

    def render(self, messages: Sequence[ChatMessage]) -> list[Fragment]:
        """The prompt up to where the assistant speaks next. Raises TemplateError.

        What the template cannot do is done around it: a system message joins the first user message, tool
        messages become the user's, and messages of one role in a row become one.
        """
        return self._render(self._adapt(messages))

    def _adapt(self, messages: Sequence[ChatMessage]) -> list[ChatMessage]:
        adapted: list[ChatMessage] = []
        for message in messages:
            role = message.role
            if (role == "tool" and not self.tool) or (role == "system" and not self.system):
                role = "user"
            last = adapted[-1] if adapted else None
            joins_system = last is not None and messages[0].role == "system" and len(adapted) == 1
            if last and last.role == role and (not self.repeats or (joins_system and not self.system)):
                adapted[-1] = ChatMessage(role, (*last.parts, "\n\n", *message.parts))
            else:
                adapted.append(ChatMessage(role, message.parts))
        return adapted

    def _takes(self, messages: Sequence[ChatMessage]) -> bool:
        try:
            self._render(messages)
        except TemplateError:
            return False
        return True

    def _render(self, messages: Sequence[ChatMessage]) -> list[Fragment]:
        markers = [f"[rig:content:{number}]" for number in range(len(messages))]
        try:
            rest = self._template.render(
                messages=[
                    {"role": message.role, "content": marker}
                    for message, marker in zip(messages, markers, strict=True)
                ],
                add_generation_prompt=True,
                enable_thinking=False,
                **self._variables,
            )
        except Exception as error:  # a template can raise anything; none of it is ours
            raise TemplateError(f"{type(error).__name__}: {error}") from error
        fragments: list[Fragment] = []
        for message, marker in zip(messages, markers, strict=True):
            before, found, rest = rest.partition(marker)
            if not found:
                raise TemplateError(f"a message of role {message.role} does not appear in the prompt")
            fragments.append(TemplateText(before))
            fragments.extend(ContentText(part) for part in message.parts)
        return [*fragments, TemplateText(rest)]


def _raise(message: str) -> Any:
    raise jinja2.TemplateError(message)


def _no_clock(form: str) -> str:
    """Templates may print today's date; a fixed one keeps prompts, and so answers, the same every day."""
    return datetime(2024, 7, 26).strftime(form)  # noqa: DTZ001 - no zone is meant
