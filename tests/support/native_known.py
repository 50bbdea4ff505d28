"""Templates with what rig finds in them, and what is shown of calls."""

import random
from collections.abc import Iterable
from typing import Any, NamedTuple

from native_templates import OWN, REAL

from rig.core.calls import Call, Outcome
from rig.core.models import CallMessage, ToolDoc, UserMessage
from rig.plugins.llama.core.template import ChatTemplate
from rig.plugins.llama.core.tokenizer import Tokenizer
from rig.plugins.llama.formats.derive import MARKER, Probe
from rig.plugins.llama.formats.detection import Native, native_of
from rig.plugins.llama.formats.form import NativeFormat
from rig.plugins.llama.grammar.language import Grammar, NestedTags

SOURCES = {**OWN, **{name: path.read_text(encoding="utf-8") for name, path in REAL.items()}}
_SILENT = "does not show the calls of earlier messages"
UNKNOWN = {
    "llama-cpp-rwkv-world": _SILENT,
    "microsoft-Phi-3.5-mini-instruct": _SILENT,
}
"""Public templates that rig makes nothing of, and why: two say nothing of tools."""
NAMES = sorted(SOURCES.keys() - UNKNOWN)


class Known(NamedTuple):
    """A template and what was found in it."""

    name: str
    template: ChatTemplate
    native: Native

    def form(self, docs: tuple[ToolDoc, ...], **choices: Any) -> NativeFormat:
        return NativeFormat(
            docs, choices.pop("grammar", "json"), self.template, native=self.native, **choices
        )

    def told(self, calls: Iterable[Call]) -> list[Call]:
        """What the form tells of calls: elements leave null out of objects, and have one form for nothing."""

        def kept(value: Any) -> Any:
            if isinstance(value, dict):
                value = {name: kept(inner) for name, inner in value.items() if inner is not None}
            elif isinstance(value, list):
                value = list(map(kept, value))
            return "" if value in ([], {}, None) else value

        if not isinstance(self.native.shape.arguments, NestedTags):
            return list(calls)
        return [Call(call.name, kept(call.arguments) or {}) for call in calls]

    def count(self, source: random.Random) -> int:
        """How many calls a message may have."""
        return source.choice((1, 1, 2, 3)) if self.native.shape.between else 1

    def shown(self, form: NativeFormat, calls: list[Call]) -> str:
        """The calls of an earlier message as they stand in the prompt, from where the assistant begins."""
        made = [CallMessage(call, Outcome("r"), joins=number > 0) for number, call in enumerate(calls)]
        chat = [message.with_written_calls() for message in form.write([UserMessage("quokka77"), *made])][:2]
        shown = [message.shown("".join(message.parts)) for message in chat]
        probe = Probe(self.template)
        tail = self.template.expand(shown, form.offer().declarations, variables=form.variables)
        text = probe.without_header(tail.rpartition("quokka77")[2])
        shape = self.native.shape
        ends = {"<|call|>"} if self.native.family == "gpt-oss" else {*probe.ends, "<|im_start|>"}
        begun = max(text.find(self.native.shape.trigger), 0) + len(self.native.shape.open)
        ends = {end for end in ends if end not in shape.after_name + shape.between}
        places = [place for end in ends if end and (place := text.find(end, begun)) >= 0]
        return text[: min(places)] if places else text


def known(name: str) -> Known:
    template = ChatTemplate(SOURCES[name], bos="<s>", eos="</s>")
    return Known(name, template, native_of(template))


class Writer(NamedTuple):
    """A tiny model's tokenizer with its grammar."""

    tokenizer: Tokenizer
    grammars: tuple[Grammar, ...]


def marks_of(native: Native) -> tuple[str, ...]:
    """What looks like special tokens in a form."""
    shape = native.shape
    text = "".join((shape.open, shape.after_name, shape.close, shape.between, native.thinking.open))
    text += native.thinking.close
    # The mark of nested tags is one token as a whole, and holds what looks like another.
    own = (shape.arguments.mark,) if isinstance(shape.arguments, NestedTags) else ()
    for mark in own:
        text = text.replace(mark, "")
    return (*own, *dict.fromkeys(MARKER.findall(text)))
