"""Conversations as the tokens that a run shows a model, and which of them the model has to say itself."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path

from rig.engine.formats.rig import RigFormat
from rig.engine.gguf.info import inspect
from rig.engine.llama import LlamaModel
from rig.engine.prompt import PromptBuilder
from rig.engine.template import ChatTemplate
from rig.engine.tokenizer import Tokenizer
from rig.methods.tooltalk.conversations import Conversation
from rig.methods.tooltalk.prompt import Settings, call_message, opening
from rig.models import CallMessage, Message, ReplyMessage, UserMessage

SETTINGS = Settings()
"""The prompt of a run with no options."""

REPLY_WEIGHT = 0.1
"""How much a token of a reply's words counts in the loss; one of a call's arguments counts 1."""

DECISION_WEIGHT = 5.0
"""How much the choice to call or to reply counts, and each token of the tool's name.

They are one token in thirty, and what comes after a wrong one is lost.
"""

_CHOICE = 4
"""So many of a reply's first tokens make the choice to reply: `{"reply": "`."""


@dataclass(frozen=True, slots=True)
class Lesson:
    """One conversation behind the prefix that all conversations share.

    `weights` says of each token how much it counts that the model predicts it: 0 for all that it is told.
    """

    name: str
    tokens: tuple[int, ...]
    weights: tuple[float, ...]
    tools: frozenset[str] = frozenset()
    """Those that it calls."""


class Renderer:
    """Renders conversations as a run with a certain model file does."""

    def __init__(self, base: Path, settings: Settings = SETTINGS) -> None:
        source = inspect(base).chat_template
        if source is None:
            raise ValueError(f"{base}: has no chat template")
        self._settings = settings
        self.tokenizer = Tokenizer(LlamaModel(base, n_gpu_layers=0))
        bos, eos = map(self.tokenizer.special_text, (self.tokenizer.bos, self.tokenizer.eos))
        template = ChatTemplate(source, bos=bos, eos=eos)
        self.builder = PromptBuilder(template, self.tokenizer)
        tools = settings.toolbox.docs(descriptions=settings.docs == "full")
        self.form = RigFormat(tools, "json", template)

    def render(self, conversation: Conversation) -> tuple[tuple[int, ...], Lesson]:
        """The shared prefix, and the rest of the conversation up to the end of its last answer."""
        empty = opening(conversation, self._settings)
        request = replace(empty, messages=tuple(messages_of(conversation)))
        prefix, context, *segments, last = self.builder.build(request, self.form)
        opened = len(self.builder.build(empty, self.form)[-1])
        tokens, weights = list(context), [0.0] * len(context)
        ends = False
        for segment, kind in zip(segments, _kinds(request.messages), strict=True):
            said = 0 if kind == "told" else len(segment) - opened
            shares = [0.0] * (len(segment) - said) + [1.0] * said
            if kind == "reply":
                shares[opened + _CHOICE :] = [REPLY_WEIGHT] * (said - _CHOICE)
            for place in self.decisions(segment[opened:]) if kind != "told" else ():
                shares[opened + place] = DECISION_WEIGHT
            if ends:  # a segment begins with what ends the answer before it
                shares[0] = 1.0
            tokens += segment
            weights += shares
            ends = kind != "told"
        called = frozenset(call.name for call in conversation.ground_truth)
        return prefix, Lesson(conversation.name, (*tokens, last[0]), (*weights, 1.0), called)

    def decisions(self, answer: Sequence[int]) -> list[int]:
        """The places of an answer's decisions: `tool` or `reply`, and the tool's name."""
        pieces = list(map(self.tokenizer.shown, answer))
        ends = list(accumulate(map(len, pieces)))
        _, key, between, value, *_ = b"".join(pieces).split(b'"')
        first = 2
        name = first + len(key) + len(between) + 2
        decided = [range(first, first + len(key)), range(name, name + len(value) * (key == b"tool"))]
        return [
            place
            for place, (piece, end) in enumerate(zip(pieces, ends, strict=True))
            if any(part.start < end and end - len(piece) < part.stop for part in decided if part)
        ]

    def declarations(self, prefix: Sequence[int]) -> dict[str, range]:
        """Where in the shared prefix the tokens of each tool's declaration are."""
        ends = list(accumulate(len(self.tokenizer.shown(token)) for token in prefix))
        text = b"".join(map(self.tokenizer.shown, prefix))
        found = {}
        for tool, declaration in zip(self.form.tools, self.form.offer().tools.split("\n\n")[1:], strict=True):
            start = text.index(declaration.encode())
            end = start + len(declaration.encode())
            found[tool.name] = range(bisect_right(ends, start), bisect_left(ends, end) + 1)
        return found


def messages_of(conversation: Conversation) -> Iterator[Message]:
    """All that is said and called, up to the last reply: what a user says after it is never answered."""
    for turn in conversation.turns[: conversation.assistant_turns[-1] + 1]:
        if turn.role == "user":
            yield UserMessage(turn.text)
        else:
            yield from map(call_message, turn.calls)
            yield ReplyMessage(turn.text)


def _kinds(messages: tuple[Message, ...]) -> Iterator[str]:
    """For each segment behind the context: a call, a reply, or what the model is told."""
    for message in messages:
        match message:
            case UserMessage():
                yield "told"
            case ReplyMessage():
                yield "reply"
            case CallMessage():
                yield from ("call", "told")
