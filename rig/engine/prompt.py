"""From a request to token segments: the pieces in which a prompt is prefilled and found again in the cache.

A segment ends where a message's content ends. Prefill is always cut at the same places, so a segment that is
found in the cache and one that is computed anew went through the same batches and hold the same bits.
"""

import json
from collections.abc import Sequence
from typing import TypeAlias

from rig.calls import Call, Outcome
from rig.engine.formats import rig as answers
from rig.engine.formats.rig import AnswerForm
from rig.engine.template import ChatMessage, ChatTemplate, ContentText
from rig.engine.tokenizer import Tokenizer
from rig.models import CallMessage, Message, ReplyMessage, Request, UserMessage

Segment: TypeAlias = tuple[int, ...]

FORMAT = "rig-1"
"""Version of the prompt's wording and form; part of every fingerprint."""


class PromptBuilder:
    """Renders requests through a chat template and tokenises them."""

    def __init__(self, template: ChatTemplate, tokenizer: Tokenizer) -> None:
        self._template = template
        self._tokenizer = tokenizer
        self._contents: dict[str, list[int]] = {}

    def build(self, request: Request, form: AnswerForm) -> list[Segment]:
        """The prompt's segments; the last one is the template's opening of the assistant's answer.

        Raises TemplateError where the template refuses the messages.
        """
        shared = f"{request.instructions}\n\n{form.description}"
        system = ChatMessage("system", (shared, "\n\n" + request.context))
        fragments = self._template.render([system, *self._chat(request.messages)])
        segments: list[Segment] = []
        open_segment: list[int] = []
        for fragment in fragments:
            if isinstance(fragment, ContentText):
                open_segment += self._content(fragment.text)
                segments.append(tuple(open_segment))
                open_segment = []
            else:
                open_segment += self._tokenizer.template(fragment.text)
        segments.append(tuple(open_segment))
        if self._tokenizer.adds_bos and segments[0][:1] != (self._tokenizer.bos,):
            segments[0] = (self._tokenizer.bos, *segments[0])
        return [segment for segment in segments if segment]

    def _content(self, text: str) -> list[int]:
        """Long shared parts come again with every request; tokenising them once is enough."""
        if text not in self._contents:
            if len(self._contents) >= 1024:
                self._contents.clear()
            self._contents[text] = self._tokenizer.content(text)
        return self._contents[text]

    def _chat(self, messages: Sequence[Message]) -> list[ChatMessage]:
        chat: list[ChatMessage] = []
        for message in messages:
            match message:
                case UserMessage(text):
                    chat.append(ChatMessage("user", (text,)))
                case ReplyMessage(text):
                    chat.append(ChatMessage("assistant", (answers.reply_text(text),)))
                case CallMessage(call, outcome):
                    chat.append(ChatMessage("assistant", (answers.call_text(call),)))
                    chat.append(ChatMessage("tool", (self._result(call, outcome),)))
        return chat

    def _result(self, call: Call, outcome: Outcome) -> str:
        """What a tool gave back. Under the user's role it says that it is not the user who speaks."""
        failed = outcome.exception is not None
        result = {"exception": outcome.exception} if failed else {"response": outcome.response}
        text = json.dumps(result, ensure_ascii=False)
        return text if self._template.tool else f"Result of {call.name}: {text}"
