"""From a request to token segments: the pieces in which a prompt is prefilled and found again in the cache.

A segment ends where a message's content ends, and before the tools where they differ within an arm. Prefill
is always cut at the same places, so a segment that is found in the cache and one that is computed again went
through the same batches and hold the same bits.

Templates look into declarations and calls, so these cannot be inserted afterwards, as messages' contents are.
Instead, every special token that is spelled in one of their strings is put between two marks, and tokenized
as text afterwards, as transformers does it (`sanitize_control_tokens`).
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property

from rig.calls import Json
from rig.engine.core.tokenizer import Segment, Tokenizer
from rig.engine.formats.base import AnswerFormat, Offer
from rig.engine.templates.template import ChatMessage, ChatTemplate, ContentText, Fragment, ToolCall
from rig.models import Request

_START, _END = "\ue0f0", "\ue0f1"
"""Of Unicode's private use area; a template that escapes what is not ASCII escapes them too."""
_MARKS = re.compile(f"[{_START}{_END}]")
_MARKED = re.compile(
    rf"(?:{_START}|{re.escape(ascii(_START)[1:-1])})(.*?)(?:{_END}|{re.escape(ascii(_END)[1:-1])})", re.DOTALL
)


class PromptBuilder:
    """Renders requests through a chat template and tokenises them.

    Runs begun before `cuts_before_tools` was thought of go on without it: their logits have other low bits.
    """

    def __init__(self, template: ChatTemplate, tokenizer: Tokenizer) -> None:
        self._template = template
        self._tokenizer = tokenizer
        self._shield = Shield(tokenizer)
        self._contents: dict[str, list[int]] = {}
        self.cuts_before_tools = True

    def build(self, request: Request, form: AnswerFormat) -> list[Segment]:
        """The prompt's segments; the last one is the template's opening of the assistant's answer.

        Raises TemplateError if the template refuses the messages.
        """
        offer = form.offer()
        words = "\n\n".join(filter(None, (offer.rules, offer.tools)))
        shared = f"{request.instructions}\n\n{words}" if words else request.instructions
        fragments = self._render(request, form, offer, shared)
        cut = 0
        if offer.tools and self.cuts_before_tools and not request.tools_are_shared:
            cut = self._common(shared, f"{request.instructions}\n\n{offer.rules}")
        segments: list[Segment] = []
        open_segment: list[int] = []
        contents = 0
        for fragment in fragments:
            if isinstance(fragment, ContentText):
                contents += 1
                content = self._content(fragment.text)
                if cut:  # the first content is the system prompt's
                    segments.append((*open_segment, *content[:cut]))
                    open_segment, content, cut = [], content[cut:], 0
                if offer.context_apart and contents == 2:  # the declarations are through
                    segments.append(tuple(open_segment))
                    open_segment = []
                open_segment += content
                if not (offer.context_apart and contents == 1 and request.tools_are_shared):
                    segments.append(tuple(open_segment))
                    open_segment = []
            else:
                open_segment += self._shield.tokens(fragment.text)
        segments.append(tuple(open_segment))
        segments = [segment for segment in segments if segment]
        if self._tokenizer.adds_bos and segments[0][:1] != (self._tokenizer.bos,):
            segments[0] = (self._tokenizer.bos, *segments[0])
        return segments

    def _render(self, request: Request, form: AnswerFormat, offer: Offer, shared: str) -> list[Fragment]:
        chat = form.write(request.messages)
        system = ChatMessage("system", (shared, "\n\n" + request.context))
        if offer.context_apart:
            system, chat = ChatMessage("system", (shared,)), _with_context(request.context, chat)
        declared, variables = self._shield.value(offer.declarations), form.variables
        if declared and offer.declared_as != "tools":
            variables, declared = {**variables, offer.declared_as: declared}, []
        return self._template.render([system, *map(self._shield.message, chat)], declared, variables)

    def _common(self, text: str, beginning: str) -> int:
        """How many tokens of a text are those of its beginning alone; the last ones can grow together."""
        pairs = zip(self._content(text), self._content(beginning), strict=False)
        return next((n for n, (a, b) in enumerate(pairs) if a != b), len(self._content(beginning)))

    def _content(self, text: str) -> list[int]:
        """Long shared parts come again with every request; tokenising them once is enough."""
        if text not in self._contents:
            if len(self._contents) >= 1024:
                self._contents.clear()
            self._contents[text] = self._tokenizer.content(text)
        return self._contents[text]


def _with_context(context: str, chat: list[ChatMessage]) -> list[ChatMessage]:
    """The messages with a context told in the user's first one."""
    if not context:
        return chat
    if chat and chat[0].role == "user":
        return [replace(chat[0], parts=(context, "\n\n", *chat[0].parts)), *chat[1:]]
    return [ChatMessage("user", (context,)), *chat]


class Shield:
    """Marks special tokens in values, and tokenises what a template made of them."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer

    @cached_property
    def _special(self) -> re.Pattern[str]:
        longest_first = sorted(self._tokenizer.specials, key=len, reverse=True)
        return re.compile("|".join(map(re.escape, longest_first)) or "(?!)")

    def message(self, message: ChatMessage) -> ChatMessage:
        """A message whose calls, thoughts and names are shielded; its content has no need."""
        if not (message.calls or message.name or all(message.thoughts)):
            return message
        calls = tuple(ToolCall(call.id, *self.value([call.name, call.arguments])) for call in message.calls)
        thoughts = message.thoughts[0], self.value(message.thoughts[1])
        shielded = replace(message, calls=calls, name=self.value(message.name), thoughts=thoughts)
        return shielded.with_written_calls()

    def value(self, value: Json) -> Json:
        """A JSON value, every string in it shielded."""
        if isinstance(value, str):
            return self._special.sub(rf"{_START}\g<0>{_END}", _MARKS.sub("", value))
        if isinstance(value, Mapping):
            return {self.value(key): self.value(inner) for key, inner in value.items()}
        if isinstance(value, list | tuple):
            return [self.value(inner) for inner in value]
        return value

    def tokens(self, text: str) -> list[int]:
        """The tokens of text from a template. A mark without its fellow parts what it stands between."""
        tokens: list[int] = []
        for number, piece in enumerate(_MARKED.split(text)):
            if number % 2:
                tokens += self._tokenizer.content(_MARKS.sub("", piece))
            else:
                for part in _MARKS.split(piece):
                    tokens += self._tokenizer.template(part)
        return tokens
