"""Forms of families whose templates show no calls, or show them differently from the training data.

They are registered as a plugin's are (`Registry.add_preset`).
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

from rig import plugins
from rig.engine.grammar.language import JSON, PYTHON, Tags
from rig.engine.native.shape import CallShape
from rig.engine.native.thinking import Thinking

_QUOTED = Tags("", "=", "", "=", "", join=", ", quoted=True, words=PYTHON.words)
"""Python's keyword arguments."""
_JSON = '", "arguments": '
_R1 = "<｜tool▁call▁begin｜>function<｜tool▁sep｜>"


class Preset(NamedTuple):
    """The form of a family. `marks` are texts of the templates it is for: all of one of these groups.

    With `always` it goes before what can be derived from the template. `words` stand around a reply.
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
    """Calls as a list of Python's between two marks."""
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
GEMMA = Preset("gemma", _LLAMA, (("<start_of_turn>", "<end_of_turn>"),))


def preset_for(source: str, *, always: bool) -> Preset | None:
    """The preset that a template's source asks for: the first of those that go before anything, or not."""
    presets: Iterable[Preset] = plugins.registered().presets.values()
    for preset in presets:
        if preset.always == always and any(all(mark in source for mark in marks) for marks in preset.marks):
            return preset
    return None
