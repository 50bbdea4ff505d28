"""From a request to token segments: the pieces in which a prompt is prefilled and found again in the cache.

A segment ends where a message's content ends, and before the tools where they differ within an arm. Prefill
is always cut at the same places, so a segment that is found in the cache and one that is computed again went
through the same batches and hold the same bits.

Templates look into declarations and calls, so these cannot be inserted afterwards, as messages' contents are.
Instead, every special token that is spelled in one of their strings is put between two marks, and tokenized
as text afterwards, as transformers does it (`sanitize_control_tokens`).
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from rig.core.calls import Json
from rig.core.models import Request
from rig.plugins.llama.core.template import ChatMessage, ChatTemplate, Fragment, ToolCall
from rig.plugins.llama.core.tokenizer import Segment, Tokenizer
from rig.plugins.llama.decoding.cache import common
from rig.plugins.llama.formats.base import AnswerFormat, Offer
from rig.world.schemas import with_texts

_START, _END = "\ue0f0", "\ue0f1"
"""From Unicode's private use area; a template that escapes non-ASCII characters escapes them too."""
_MARKS = re.compile(f"[{_START}{_END}]")
_MARKED = re.compile(
    rf"(?:{_START}|{re.escape(ascii(_START)[1:-1])})(.*?)(?:{_END}|{re.escape(ascii(_END)[1:-1])})", re.DOTALL
)


def conversation(context: str, chat: list[ChatMessage], offer: Offer, shared: str) -> list[ChatMessage]:
    """Return a request's messages as a form shows them: the system prompt, with `shared`, and the history."""
    if not offer.context_apart:
        return [ChatMessage("system", (shared, "\n\n" + context)), *chat]
    # The context goes into the user's first message.
    if chat and chat[0].role == "user" and context:
        chat[0] = replace(chat[0], parts=(context, "\n\n", *chat[0].parts))
    elif context:
        chat.insert(0, ChatMessage("user", (context,)))
    return [ChatMessage("system", (shared,)), *chat]


class PromptBuilder:
    """Renders requests through a chat template and tokenises them.

    Runs that began before `cuts_before_tools` existed continue without it, because it changes the low bits of
    their logits. With `whole` a prompt is tokenized in one piece, as servers do it: text that spells a
    special token becomes one wherever it comes from, and the end of one content can merge with what follows.
    """

    def __init__(self, template: ChatTemplate, tokenizer: Tokenizer, *, whole: bool = False) -> None:
        self._whole = whole
        self._template = template
        self._tokenizer = tokenizer
        longest_first = sorted(tokenizer.specials, key=len, reverse=True)
        self._special = re.compile("|".join(map(re.escape, longest_first)) or "(?!)")
        # Long shared parts come again with every request; tokenising them once is enough.
        self._content = lru_cache(maxsize=1024)(tokenizer.content)
        self.cuts_before_tools = True

    def build(self, request: Request, form: AnswerFormat) -> list[Segment]:
        """Return the prompt's segments; the last one is the template's opening of the assistant's answer.

        Raises TemplateError if the template refuses the messages.
        """
        offer = form.offer()
        words = "\n\n".join(filter(None, (offer.rules, offer.tools)))
        shared = f"{request.instructions}\n\n{words}" if words else request.instructions
        fragments = self._render(request, form, offer, shared)
        if self._whole:
            return self._with_bos(self._whole_segments(fragments))
        cut = 0
        if offer.tools and self.cuts_before_tools and not request.tools_are_shared:
            # The tokens that the rules alone share with the whole: their last ones can merge with the tools'.
            whole, rules = map(self._content, (shared, f"{request.instructions}\n\n{offer.rules}"))
            cut = common(whole, rules)
        segments: list[list[int]] = [[]]
        contents = 0
        for fragment in fragments:
            if not fragment.is_content:
                segments[-1] += self._template_tokens(fragment.text)
                continue
            contents += 1
            content = self._content(fragment.text)
            if cut:  # the first content is the system prompt's
                segments[-1] += content[:cut]
                segments.append([])
                content, cut = content[cut:], 0
            if offer.context_apart and contents == 2:  # the declarations are behind
                segments.append([])
            segments[-1] += content
            if not (offer.context_apart and contents == 1 and request.tools_are_shared):
                segments.append([])
        return self._with_bos([tuple(segment) for segment in segments if segment])

    def _whole_segments(self, fragments: Sequence[Fragment]) -> list[Segment]:
        """Return the whole prompt's tokens, cut after each content that ends at a token boundary."""
        ends, length = set(), 0
        for fragment in fragments:
            length += len(fragment.text.encode())
            if fragment.is_content:
                ends.add(length)
        segments: list[list[int]] = [[]]
        length = 0
        for token in self._tokenizer.template("".join(fragment.text for fragment in fragments)):
            segments[-1].append(token)
            length += len(self._tokenizer.piece(token) or self._tokenizer.special_text(token).encode())
            if length in ends:
                segments.append([])
        return [tuple(segment) for segment in segments if segment]

    def _with_bos(self, segments: list[Segment]) -> list[Segment]:
        bos = (self._tokenizer.bos,)
        if self._tokenizer.adds_bos and segments[0][:1] != bos:
            segments[0] = bos + segments[0]
        return segments

    def _render(self, request: Request, form: AnswerFormat, offer: Offer, shared: str) -> list[Fragment]:
        system, *chat = conversation(request.context, form.write(request.messages), offer, shared)
        declared, variables = self._shielded(offer.declarations), form.variables
        if declared and offer.declared_as != "tools":
            variables, declared = {**variables, offer.declared_as: declared}, []
        messages = [system, *map(self._shielded_message, chat)]
        return self._template.render(messages, declared, variables, request.now)

    def _shielded_message(self, message: ChatMessage) -> ChatMessage:
        """Return a message with its calls, thoughts and names shielded; its content needs no shielding."""
        calls = tuple(
            ToolCall(call.id, *self._shielded([call.name, call.arguments])) for call in message.calls
        )
        thoughts = message.thoughts[0], self._shielded(message.thoughts[1])
        shielded = replace(message, calls=calls, name=self._shielded(message.name), thoughts=thoughts)
        return shielded.with_written_calls()

    def _shielded(self, value: Json) -> Json:
        """Return a JSON value with the special tokens in all its strings put between marks."""
        if self._whole:
            return value
        marked = rf"{_START}\g<0>{_END}"
        return with_texts(value, lambda text: self._special.sub(marked, _MARKS.sub("", text)))

    def _template_tokens(self, text: str) -> list[int]:
        """Return the tokens of text from a template. An unpaired mark only separates what is around it."""
        tokens: list[int] = []
        for number, piece in enumerate(_MARKED.split(text)):
            if number % 2:
                tokens += self._tokenizer.content(_MARKS.sub("", piece))
            else:
                for part in _MARKS.split(piece):
                    tokens += self._tokenizer.template(part)
        return tokens
