"""Forms of families whose templates show no calls, or show them differently from the training data."""

from dataclasses import replace
from typing import NamedTuple

from rig.engine.grammar.spelling import JSON, PYTHON, Tags
from rig.engine.native.shape import CallShape
from rig.engine.native.thinking import Thinking

_QUOTED = Tags("", "=", "", "=", "", join=", ", quoted=True, words=PYTHON.words)
"""Python's keyword arguments."""

_JSON = '", "arguments": '

HERMES = CallShape(
    open='<tool_call>\n{"name": "',
    after_name=_JSON,
    arguments=JSON,
    close="}\n</tool_call>",
    between='}\n</tool_call>\n<tool_call>\n{"name": "',
    trigger="<tool_call>",
)
LLAMA = CallShape(open='{"name": "', after_name='", "parameters": ', arguments=JSON, close="}", trigger='{"')
_R1 = "<｜tool▁call▁begin｜>function<｜tool▁sep｜>"


class Preset(NamedTuple):
    """A form by name. `marks` are what the template holds that it is for: all of one of these groups.

    With `always` it goes before what can be derived from the template.
    """

    shape: CallShape
    marks: tuple[tuple[str, ...], ...] = ()
    always: bool = False
    thinking: Thinking | None = None
    words: tuple[str, str] = ("", "")


def _listed(begin: str, end: str) -> CallShape:
    """Calls as one JSON list between two marks."""
    return CallShape(
        open=f'{begin}[{{"name": "',
        after_name=_JSON,
        arguments=JSON,
        close=f"}}]{end}",
        between='}, {"name": "',
        trigger=begin,
    )


def _as_python(begin: str, end: str) -> CallShape:
    """Calls as a list of Python's between two marks."""
    return CallShape(
        open=f"{begin}[",
        after_name="(",
        arguments=_QUOTED,
        close=f")]{end}",
        between="), ",
        trigger=begin,
    )


PRESETS: dict[str, Preset] = {
    "gpt-oss": Preset(
        CallShape(
            open="<|channel|>commentary to=functions.",
            after_name=" <|constrain|>json<|message|>",
            also_after_name=("<|channel|>commentary json<|message|>", "<|message|>", " json<|message|>"),
            arguments=JSON,
            close="",
            trigger=" to=functions.",
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
    ),
    "hermes": Preset(HERMES, (("SmolLM", "/no_think"), ("<tool_call>", "</tool_call>"))),
    "smollm2": Preset(_listed("<tool_call>", "</tool_call>"), (("named SmolLM, trained",),)),
    "llama3": Preset(LLAMA, (("<|start_header_id|>ipython<|end_header_id|>",),)),
    "granite3": Preset(_listed("<|tool_call|>", ""), (("available_tools", "<|start_of_role|>"),)),
    "phi4": Preset(_listed("<|tool_call|>", "<|/tool_call|>"), (("<|tool|>", "<|/tool|>"),)),
    "functools": Preset(
        replace(_listed("functools", ""), open='functools[{"name": "', trigger="functools["),
        (("functools[",),),
    ),
    "lfm2": Preset(
        _as_python("<|tool_call_start|>", "<|tool_call_end|>"),
        (("<|tool_list_start|>",), ("List of tools: [",)),
    ),
    "llama4": Preset(_as_python("<|python_start|>", "<|python_end|>"), (("<|python_start|>",),)),
    "deepseek-r1": Preset(
        CallShape(
            open=f"<｜tool▁calls▁begin｜>{_R1}",
            after_name="\n```json\n",
            arguments=JSON,
            close="\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
            between=f"\n```<｜tool▁call▁end｜>\n{_R1}",
            trigger="<｜tool▁calls▁begin｜>",
        ),
        (("<｜tool▁calls▁begin｜>",),),
    ),
    "mistral": Preset(
        CallShape(
            open="[TOOL_CALLS]",
            after_name="[ARGS]",
            arguments=JSON,
            close="",
            between="[TOOL_CALLS]",
            trigger="[TOOL_CALLS]",
        )
    ),
    "gemma": Preset(LLAMA, (("<start_of_turn>", "<end_of_turn>"),)),
}
"""By the family's name, which `--format` takes. The first whose marks a template holds is taken."""


def preset_for(source: str, *, always: bool) -> tuple[str, Preset] | None:
    """The preset that a template's source asks for: those that go before anything, or the others."""
    for name, preset in PRESETS.items():
        if preset.always == always and any(all(m in source for m in marks) for marks in preset.marks):
            return name, preset
    return None
