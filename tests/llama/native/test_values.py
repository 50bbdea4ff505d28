"""Values that are easily lost between writing and reading: white space, unions, nothing at all."""

from typing import Any

import pytest
from native_known import NAMES, Known, known
from native_templates import OWN

from rig.config.engine import GrammarArm
from rig.core.calls import Call
from rig.core.models import ToolDoc
from rig.plugins.llama.core.template import ChatTemplate
from rig.plugins.llama.formats.base import Reading
from rig.plugins.llama.formats.detection import native_of
from rig.plugins.llama.formats.form import NativeFormat
from rig.plugins.llama.formats.reader import read_value
from rig.plugins.llama.formats.salvage import AnswerError
from rig.plugins.llama.grammar.language import Elements, Tags
from rig.plugins.llama.grammar.lark import grammar as lark_of

TEXT_OR_NUMBER = {"anyOf": [{"type": "string"}, {"type": "integer"}]}
PARAMETERS = {
    "type": "object",
    "properties": {
        "text": {"type": "string"},
        "either": TEXT_OR_NUMBER,
        "maybe": {"type": ["string", "null"]},
        "choice": {"enum": ["1", 1, "true", True, None]},
        "items": {"type": "array", "items": TEXT_OR_NUMBER},
        "inside": {
            "type": "object",
            "properties": {"either": TEXT_OR_NUMBER, "items": {"type": "array", "items": {"type": "string"}}},
        },
    },
}
TOOLS = (ToolDoc("look", "", PARAMETERS), ToolDoc("log_out", "", {"type": "object", "properties": {}}))
PLAIN: list[dict[str, Any]] = [
    {},
    *({"text": text} for text in ("", " ", "\n", "\t", " a ", "\na\n", "a\n\n", "12", "null", 'a <b> & "c"')),
    *({"either": value} for value in (12, 0, "a", " 12", "12 ", "007", "-01.5", "[1]", '"a"')),
    *({"maybe": value} for value in (None, "a", " null")),
    *({"choice": value} for value in (1, True, None)),
    *({"items": value} for value in ([], ["a", 1, " "])),
    *({"inside": value} for value in ({}, {"either": "b"}, {"either": 12, "items": ["", " a "]})),
]
NESTED: list[dict[str, Any]] = [{"items": ["1", 1]}, {"inside": {"either": "12"}}]
"""Texts like numbers, which are told apart wherever nested values are JSON."""
MARKED: list[dict[str, Any]] = [
    {"either": "12"},
    {"either": "true"},
    {"maybe": "null"},
    {"choice": "1"},
    {"choice": "true"},
]
"""Texts that look like values of another type that fits, too."""


def form(name: str, grammar: GrammarArm) -> tuple[Known, NativeFormat]:
    template = known(name)
    return template, template.form(TOOLS, grammar=grammar)


@pytest.mark.parametrize("grammar", ["none", "json"])
@pytest.mark.parametrize("name", NAMES)
def test_what_is_written_is_read_as_it_was_and_nothing_is_overlooked(name: str, grammar: GrammarArm) -> None:
    template, native_form = form(name, grammar)
    style = template.native.shape.arguments
    is_marked = not isinstance(style, Tags | Elements) or (
        isinstance(style, Tags) and (style.quoted or style.text_open != style.other_open)
    )
    is_json = not isinstance(style, Elements)
    messages = [
        [Call("look", arguments)]
        for arguments in (*PLAIN, *(NESTED if is_json else ()), *(MARKED if is_marked else ()))
    ]
    messages.append([Call("log_out", {})])
    if template.native.shape.between:
        messages.append([Call("log_out", {}), Call("look", {"text": " a "}), Call("log_out", {})])
    for calls in messages:
        text = template.native.shape.write(tuple(calls))
        reading = native_form.read(text)
        assert reading.salvage == "", text
        assert repr(template.told(reading.calls)) == repr(template.told(calls)), text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("<parameter=text> a </parameter>", " a "),
        ("<parameter=text>\n a </parameter>\n", " a "),
        ("<parameter=text> a\n</parameter>\n", " a"),
        ("<parameter=text>\na</parameter><parameter=maybe>b</parameter>", "a"),
        ("<parameter=text>\na</parameter>b\n</parameter>\n", "a</parameter>b"),
    ],
)
def test_other_white_space_around_a_tag_is_overlooked_but_that_of_the_text_is_kept(
    value: str, text: str
) -> None:
    _, native_form = form("a tag for each", "none")
    reading = native_form.read(f"<tool_call>\n<function=look>\n{value}</function>\n</tool_call>")
    assert reading.calls[0].arguments["text"] == text
    assert reading.salvage == ("" if "b\n" in value else "other white space")


def test_a_text_is_a_text_where_the_form_says_so_and_a_number_where_nothing_else_fits() -> None:
    tool = ToolDoc("look", "", {"type": "object", "properties": {"n": {"type": "integer"}}})
    template = known("typed tags")
    text = template.native.shape.write((Call("look", {"n": "12"}),))
    assert template.form((tool,), grammar="none").read(text).calls == (Call("look", {"n": 12}),)


def test_thoughts_that_are_closed_behind_a_call_are_no_part_of_it() -> None:
    """Some templates begin the next answer with empty thoughts, even where none was asked for."""
    source = OWN["thinking"] + "{% if not add_generation_prompt %}<think></think>{% endif %}"
    assert native_of(ChatTemplate(source)).shape == native_of(ChatTemplate(OWN["thinking"])).shape


@pytest.mark.parametrize("effort", ["minimal", "low"])
def test_an_effort_at_which_thoughts_are_closed_is_a_switch(effort: str) -> None:
    begun = "{% if add_generation_prompt %}<|begin|>assistant"
    closed = f"{{% if reasoning_effort == '{effort}' %}}<|think|><|end|><|begin|>assistant{{% endif %}}"
    source = OWN["a message for each part"].replace(begun, begun + closed)
    thinking = native_of(ChatTemplate(source)).thinking
    assert (thinking.on, thinking.off) == ({"reasoning_effort": "high"}, {"reasoning_effort": effort})
    worded = OWN["a message for each part"].replace(begun, "{{ reasoning_effort }}" + begun)
    assert native_of(ChatTemplate(worded)).thinking.off != {"reasoning_effort": effort}


def test_a_tool_of_the_templates_own_is_called_to_reply() -> None:
    source = OWN["told again before each answer"].replace(
        "Write an action.", "Use `directly-answer` if you can."
    )
    template = ChatTemplate(source, bos="<s>", eos="</s>")
    native = native_of(template)
    native_form = NativeFormat(TOOLS, "json", template, native=native)
    call = native.shape.write((Call("directly-answer", {}),))
    assert native_form.read(call) == Reading()
    assert native_form.read(f"Good day.\n{call}").content == "Good day."
    if native.shape.between:
        both = native.shape.write((Call("directly-answer", {}), Call("log_out", {})))
        assert native_form.read(both).calls == (Call("log_out", {}),)
    assert "directly-answer" in lark_of(native_form.language(), {})
    with pytest.raises(AnswerError, match="no tool is called 'directly-answer'"):
        form("told again before each answer", "json")[1].read(call)
    assert native.as_json()["reply_tool"] == "directly-answer"


BARE = ("quotes of its own", "google-gemma-4-31B-it-interleaved")


def with_parameter(name: str) -> ToolDoc:
    inside = {"type": "object", "properties": {name: {"type": "string"}}}
    return ToolDoc("look", "", {"type": "object", "properties": {"in": inside}})


@pytest.mark.parametrize("name", [name for name in BARE if name in NAMES])
@pytest.mark.parametrize("parameter", ["start date", "a  b c", "größe", "x-y", "$ref"])
def test_a_name_without_quotes_may_have_spaces_in_it(name: str, parameter: str) -> None:
    call = Call("look", {"in": {parameter: " x "}})
    template = known(name)
    text = template.native.shape.write((call,))
    for grammar in ("json", "none"):
        reading = template.form((with_parameter(parameter),), grammar=grammar).read(text)
        assert (reading.calls, reading.salvage) == ((call,), "")


STRANGE = (
    "",
    " a",
    "a ",
    "a:b",
    "a,b",
    "a}",
    'a"b',
    "a\nb",
    "filter[status]",
    "page[size]",
    "a/b",
    "a>b",
    "(a)",
)


@pytest.mark.parametrize("name", [name for name in BARE if name in NAMES])
@pytest.mark.parametrize("parameter", STRANGE)
def test_a_name_that_could_not_be_told_from_what_follows_has_quotes(name: str, parameter: str) -> None:
    call = Call("look", {"in": {parameter: "x", "b": 1}})
    inside = {"type": "object", "properties": {parameter: {"type": "string"}, "b": {"type": "integer"}}}
    tool = ToolDoc("look", "", {"type": "object", "properties": {"in": inside}})
    template = known(name)
    form = template.form((tool,))
    assert form.read(template.native.shape.write((call,))).calls == (call,)


@pytest.mark.parametrize("name", ["a tag for each", "keys and values", "in sections"])
@pytest.mark.parametrize("parameter", STRANGE)
def test_a_parameter_in_tags_may_have_any_name(name: str, parameter: str) -> None:
    """As servers made of OpenAPI documents have them: a declared name is read as what it is."""
    call = Call("look", {parameter: "open", "size": 3})
    properties = {parameter: {"type": "string"}, "size": {"type": "integer"}}
    template = known(name)
    text = template.native.shape.write((call,))
    for grammar in ("json", "none"):
        form = template.form(
            (ToolDoc("look", "", {"type": "object", "properties": properties}),), grammar=grammar
        )
        assert form.read(text).calls == (call,)


@pytest.mark.parametrize("name", ["a tag for each", "keys and values", "in sections"])
def test_a_text_in_a_tag_has_no_quotes_however_deep_its_option_is(name: str) -> None:
    flat = {"anyOf": [{"type": "string"}, {"type": "null"}, {"type": "integer"}]}
    deep = {"anyOf": [{"type": ["string", "null"]}, {"type": "integer"}]}

    def grammar_of(value: dict[str, Any]) -> str:
        tool = ToolDoc("look", "", {"type": "object", "properties": {"either": value}})
        return lark_of(known(name).form((tool,)).language(), {})

    assert grammar_of(deep) == grammar_of(flat)


def test_a_number_has_any_number_of_digits_behind_its_point() -> None:
    text = "0." + "1" * 500
    assert read_value(text, 0) == (float(text), len(text))
