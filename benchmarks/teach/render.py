"""Conversations as the tokens that a run shows a model, and which of them the model has to say itself."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import accumulate
from pathlib import Path

from benchmarks.teach.generate import conversations
from benchmarks.teach.lessons import Lesson, Lessons, Wanted
from rig.core.calls import Call
from rig.core.models import CallMessage, Message, ReplyMessage, UserMessage
from rig.plugins.llama.core.llama import LlamaModel
from rig.plugins.llama.core.settings import EngineSettings
from rig.plugins.llama.core.template import ChatTemplate
from rig.plugins.llama.core.tokenizer import Tokenizer
from rig.plugins.llama.files.info import inspect
from rig.plugins.llama.formats.base import RigFormat
from rig.plugins.llama.formats.form import choose
from rig.plugins.llama.prompt import PromptBuilder
from rig.plugins.tooltalk.conversations import Conversation
from rig.plugins.tooltalk.prompt import ToolTalkSettings, call_message, opening

HELD_OUT_SEED = 1_000_003
"""Conversations of this seed are never trained on; the loss on them is the held-out loss."""

SETTINGS = ToolTalkSettings()
"""The prompt of a run with no options."""

REPLY_WEIGHT = 0.1
"""How much a token of a reply's words counts in the loss; one of a call's arguments counts 1."""

DECISION_WEIGHT = 5.0
"""How much the choice to call or to reply counts, and each token of the tool's name.

They are one token in thirty, and what comes after a wrong one is lost.
"""

_WEIGHTS = {"answer": DECISION_WEIGHT, "tool": DECISION_WEIGHT, None: REPLY_WEIGHT}
"""By what a token decides; 1 for what is not here."""


class Renderer:
    """Renders conversations as a run with a certain model file does, in the form of answers of a name.

    A model's own form will do where rig declares the tools, not where the chat template does.
    """

    def __init__(self, base: Path, settings: ToolTalkSettings = SETTINGS, form: str = RigFormat.name) -> None:
        source = inspect(base).chat_template
        if source is None:
            raise ValueError(f"{base}: has no chat template")
        self._settings = settings
        self.tokenizer = Tokenizer(LlamaModel(base))
        bos, eos = map(self.tokenizer.special_text, (self.tokenizer.bos, self.tokenizer.eos))
        template = ChatTemplate(source, bos=bos, eos=eos)
        self.builder = PromptBuilder(template, self.tokenizer)
        tools = settings.toolbox.docs(descriptions=settings.docs == "full")
        self.form = choose(EngineSettings(format=form), template).make(tools, "json", template)
        if self.form.offer().context_apart:
            raise ValueError(f"{base}: declares tools by its chat template, which cannot be taught here")

    def render(self, conversation: Conversation) -> tuple[tuple[int, ...], Lesson]:
        """The shared prefix, and the rest of the conversation up to the end of its last answer."""
        empty = opening(conversation, self._settings)
        messages = tuple(messages_of(conversation))
        prefix, *segments, last = self.builder.build(replace(empty, messages=messages), self.form)
        tokens = (*(token for segment in segments for token in segment), last[0])
        weights = [0.0] * len(tokens)
        begins = _behind(tokens, self.builder.build(empty, self.form)[-1])
        for begin, answer in zip(begins, _answers(messages), strict=True):
            shares = (*self.shares(answer, tokens[begin:]), 1.0)  # and what ends the answer
            weights[begin : begin + len(shares)] = shares
        called = frozenset(call.name for call in conversation.ground_truth)
        return prefix, Lesson(conversation.name, tokens, tuple(weights), called)

    def shares(self, answer: Call | str, tokens: Sequence[int]) -> list[float]:
        """How much each token of an answer counts, with which `tokens` begin: as its weightiest part."""
        spans = self.form.spans(answer)
        ends = list(accumulate(len(span.text.encode()) for span in spans))
        found: list[float] = []
        begin = 0
        for token in tokens:
            if begin == ends[-1]:
                break
            end = begin + len(self.tokenizer.shown(token))
            parts = spans[bisect_right(ends, begin) : bisect_left(ends, end) + 1]
            found.append(max(_WEIGHTS.get(part.kind, 1.0) for part in parts))
            begin = end
        return found

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


def lessons(base: Path, wanted: Wanted) -> list[Lessons]:
    """Generate conversations and render them, in each form its share of them.

    Raises ValueError if those of a form do not share their prefix.
    """
    taught, held_out = (
        list(conversations(seed, count))
        for seed, count in ((wanted.seed, wanted.conversations), (HELD_OUT_SEED, wanted.held_out))
    )
    made = []
    for form in dict.fromkeys(wanted.forms):
        renderer = Renderer(base, form=form)
        turns = [place for place, name in enumerate(wanted.forms) if name == form]
        parts = [
            [renderer.render(each) for number, each in enumerate(part) if number % len(wanted.forms) in turns]
            for part in (taught, held_out)
        ]
        prefixes = {prefix for prefix, _ in parts[0]}
        if len(prefixes) != 1:
            raise ValueError("the conversations do not share their prefix")
        prefix = prefixes.pop()
        found = renderer.declarations(prefix)
        made.append(Lessons(prefix, found, *([lesson for _, lesson in part] for part in parts)))
    return made


def messages_of(conversation: Conversation) -> Iterator[Message]:
    """All that is said and called, up to the last reply: what a user says after it is never answered."""
    for turn in conversation.turns[: conversation.known_turns[-1] + 1]:
        if turn.role == "user":
            yield UserMessage(turn.text)
        else:
            yield from map(call_message, turn.calls)
            yield ReplyMessage(turn.text)


def _answers(messages: tuple[Message, ...]) -> Iterator[Call | str]:
    """What the model says: calls, and the words of replies."""
    for message in messages:
        match message:
            case ReplyMessage(text):
                yield text
            case CallMessage(call):
                yield call


def _behind(tokens: Sequence[int], opener: Sequence[int]) -> Iterator[int]:
    """The places behind every occurrence of what opens an answer, which no message can contain."""
    size = len(opener)
    return (end for end in range(size, len(tokens)) if tuple(tokens[end - size : end]) == tuple(opener))
