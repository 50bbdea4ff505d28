"""The form of a call as data: the texts around its name and its arguments, as a model writes them.

Families whose templates show no calls, or show them differently from the training data, have presets here,
which are registered as a plugin's are (`Registry.presets`).
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, TypeAlias

from rig.core import registry
from rig.core.calls import Call, Json
from rig.plugins.llama.core.template import ToolCall
from rig.plugins.llama.grammar.language import JSON, KIND, PYTHON, NestedTags, Span, Style, Tags

ID, INDEX, ORDINAL, AGAIN = "\ue0f2", "\ue0f3", "\ue0f4", "\ue0f5"
"""Stand for what differs from call to call: an id of letters and digits, the call's number from 0 or from 1,
and its name once more.
"""
Sorting: TypeAlias = Literal["", "capitals first", "any case"]
HOLES = re.compile(f"[{ID}{INDEX}{ORDINAL}{AGAIN}]")


@dataclass(frozen=True, slots=True)
class CallShape:
    """How calls are written: `open` NAME `after_name` ARGUMENTS, `between` and the next, then `close`.

    `arguments` are JSON of a spelling, tags, or elements. `open`, `after_name`, `between` and `close` can
    hold an id or a number (`ID`, `INDEX`, `ORDINAL`), and `after_name` the name (`AGAIN`). `trigger` is the
    part of `open` by which calls are recognised among words; with a `lead`, the prompt ends with the trigger
    already, a call may come at once, and words begin with the lead; after them, `open` follows the trigger.
    Without `between` there is one call at most. Any of `also_after_name` may replace `after_name`, and
    `also_after` may follow the arguments. `sorts` says whether arguments are sorted by name.
    """

    open: str
    after_name: str
    arguments: Style
    close: str
    trigger: str
    between: str = ""
    lead: str = ""
    sorts: Sorting = ""
    also_after_name: tuple[str, ...] = ()
    also_after: str = ""

    @property
    def opening(self) -> tuple[str, str, str]:
        """The parts of what calls begin with: before the trigger, the trigger, and after it."""
        return ("", self.trigger, self.open) if self.lead else self.open.partition(self.trigger)

    def write(self, calls: Sequence[Call | ToolCall]) -> str:
        """Return the calls as a model writes them."""
        return "".join(text for text, _ in self.spans(calls))

    def spans(self, calls: Sequence[Call | ToolCall]) -> Iterator[Span]:
        """Yield the calls piece by piece, as a model writes them."""
        for number, call in enumerate(calls):
            yield Span(self.filled(self.between if number else self.open, number), "answer")
            yield Span(call.name, "tool")
            yield Span(self.filled(self.after_name, number, call.name), "parameter")
            yield from self.arguments.parts(self.ordered(call.arguments))
        yield Span(self.filled(self.close, max(len(calls) - 1, 0)), "parameter")

    def ordered(self, value: Json) -> Json:
        """Return a value with all names in the order in which they are written."""
        if isinstance(value, list):
            return [self.ordered(item) for item in value]
        if not isinstance(value, dict):
            return value
        return {name: self.ordered(value[name]) for name in self.names(value)}

    def names(self, names: Iterable[str]) -> list[str]:
        """Return the names of arguments in the order in which they are written."""
        if not self.sorts:
            return list(names)
        return sorted(names, key=str.lower if self.sorts == "any case" else None)

    @staticmethod
    def filled(text: str, number: int, name: str = "") -> str:
        """Return a text with its holes filled, for a call with this number and name."""
        fillings = {ID: f"{number:09}", INDEX: str(number), ORDINAL: str(number + 1), AGAIN: name}
        return HOLES.sub(lambda hole: fillings[hole[0]], text)


Kept = Literal["never", "within a turn", "beside calls", "in part", "always"]


@dataclass(frozen=True, slots=True)
class Thinking:
    """What a template does about thoughts. `on` and `off` are its variables for them, None without a switch.

    `key` is where a message's thoughts are shown to it, empty if it shows none. `off_word` is a word in the
    system prompt that serves as the switch.
    """

    open: str = ""
    close: str = ""
    key: str = ""
    kept: Kept = "never"
    on: Mapping[str, Json] | None = None
    off: Mapping[str, Json] | None = None
    off_word: str = ""

    @property
    def known(self) -> bool:
        """Whether there are thoughts at all."""
        return bool(self.close)


NONE = Thinking()
"""No thoughts at all."""


_QUOTED = Tags("", "=", "", "=", "", join=", ", quoted=True, words=PYTHON.words)
"""Python's keyword arguments."""
_JSON = '", "arguments": '
_R1 = "<｜tool▁call▁begin｜>function<｜tool▁sep｜>"


class Preset(NamedTuple):
    """The form of a family. `marks` are texts in the templates it is for: all of one of these groups.

    With `always` it takes precedence over what can be derived from the template. `words` stand around a
    reply.
    """

    name: str
    shape: CallShape
    marks: tuple[tuple[str, ...], ...] = ()
    always: bool = False
    thinking: Thinking | None = None
    words: tuple[str, str] = ("", "")


def _listed(begin: str, end: str) -> CallShape:
    """Calls as one JSON list between two marks."""
    return CallShape(f'{begin}[{{"name": "', _JSON, JSON, f"}}]{end}", trigger=begin, between='}, {"name": "')


def _as_python(begin: str, end: str) -> CallShape:
    """Calls as a Python list between two marks."""
    return CallShape(f"{begin}[", "(", _QUOTED, f")]{end}", trigger=begin, between="), ")


_LLAMA = CallShape('{"name": "', '", "parameters": ', JSON, "}", trigger='{"')

GPT_OSS = Preset(
    "gpt-oss",
    CallShape(
        "<|channel|>commentary to=functions.",
        " <|constrain|>json<|message|>",
        JSON,
        "",
        trigger=" to=functions.",
        also_after_name=("<|channel|>commentary json<|message|>", "<|message|>", " json<|message|>"),
    ),
    (("<|channel|>", "<|message|>", "to=functions."), ("<|channel|>", "functions.", "<|call|>")),
    always=True,
    thinking=Thinking(
        "<|channel|>analysis<|message|>",
        "<|end|><|start|>assistant",
        "thinking",
        "within a turn",
        on={"reasoning_effort": "high"},
    ),
    words=("<|channel|>final<|message|>", ""),
)
HERMES = Preset(
    "hermes",
    CallShape(
        '<tool_call>\n{"name": "',
        _JSON,
        JSON,
        "}\n</tool_call>",
        trigger="<tool_call>",
        between='}\n</tool_call>\n<tool_call>\n{"name": "',
    ),
    (("SmolLM", "/no_think"), ("<tool_call>", "</tool_call>")),
)
SMOLLM2 = Preset("smollm2", _listed("<tool_call>", "</tool_call>"), (("named SmolLM, trained",),))
LLAMA3 = Preset("llama3", _LLAMA, (("<|start_header_id|>ipython<|end_header_id|>",),))
GRANITE3 = Preset("granite3", _listed("<|tool_call|>", ""), (("available_tools", "<|start_of_role|>"),))
PHI4 = Preset("phi4", _listed("<|tool_call|>", "<|/tool_call|>"), (("<|tool|>", "<|/tool|>"),))
FUNCTOOLS = Preset("functools", replace(_listed("functools", ""), trigger="functools["), (("functools[",),))
LFM2 = Preset(
    "lfm2",
    _as_python("<|tool_call_start|>", "<|tool_call_end|>"),
    (("<|tool_list_start|>",), ("List of tools: [",)),
)
LLAMA4 = Preset("llama4", _as_python("<|python_start|>", "<|python_end|>"), (("<|python_start|>",),))
DEEPSEEK_R1 = Preset(
    "deepseek-r1",
    CallShape(
        f"<｜tool▁calls▁begin｜>{_R1}",
        "\n```json\n",
        JSON,
        "\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
        trigger="<｜tool▁calls▁begin｜>",
        between=f"\n```<｜tool▁call▁end｜>\n{_R1}",
    ),
    (("<｜tool▁calls▁begin｜>",),),
)
MISTRAL = Preset(
    "mistral",
    CallShape("[TOOL_CALLS]", "[ARGS]", JSON, "", trigger="[TOOL_CALLS]", between="[TOOL_CALLS]"),
)
KIMI_K3 = Preset(
    "kimi-k3",
    CallShape(
        '<|open|>response<|sep|><|close|>response<|sep|><|open|>tools<|sep|><|open|>call tool="',
        f'" index="{ORDINAL}"<|sep|>',
        Tags(
            '<|open|>argument key="',
            '" type="string"<|sep|>',
            "<|close|>argument<|sep|>",
            f'" type="{KIND}"<|sep|>',
            "<|close|>argument<|sep|>",
        ),
        "<|close|>call<|sep|><|close|>tools<|sep|><|close|>message<|sep|>",
        trigger="<|open|>tools<|sep|>",
        between='<|close|>call<|sep|><|open|>call tool="',
    ),
    (("<|open|>", "<|end_of_msg|>", "argument"),),
    always=True,
    thinking=Thinking(
        "<|open|>think<|sep|>",
        "<|close|>think<|sep|>",
        "reasoning_content",
        "always",
        on={"thinking": True},
        off={"thinking": False},
    ),
    words=("<|open|>response<|sep|>", "<|close|>response<|sep|><|close|>message<|sep|>"),
)
_M3 = "]<]minimax[>["
MINIMAX_M3 = Preset(
    "minimax-m3",
    CallShape(
        f'{_M3}<tool_call>\n{_M3}<invoke name="',
        '">',
        NestedTags(_M3),
        f"{_M3}</invoke>\n{_M3}</tool_call>",
        trigger=f"{_M3}<tool_call>",
        between=f'{_M3}</invoke>\n{_M3}<invoke name="',
    ),
    ((_M3, "<mm:think>"),),
    always=True,
    thinking=Thinking(
        "<mm:think>",
        "</mm:think>",
        "reasoning_content",
        "always",
        on={"thinking_mode": "enabled"},
        off={"thinking_mode": "disabled"},
    ),
)
GEMMA = Preset("gemma", _LLAMA, (("<start_of_turn>", "<end_of_turn>"),))


def preset_for(source: str, *, always: bool) -> Preset | None:
    """Return the first preset for a template's source, among those with this `always`; None without one."""
    presets: Iterable[Preset] = registry.registered().presets.values()
    for preset in presets:
        if preset.always == always and any(all(mark in source for mark in marks) for marks in preset.marks):
            return preset
    return None
