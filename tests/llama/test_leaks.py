"""Calls in another form than the family's: which are seen, which words are taken for none, and how soon."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from patience import in_a_moment

from rig.core.calls import Call, JsonObject
from rig.plugins.llama.formats.leaks import broken, leaked
from rig.plugins.llama.formats.salvage import LONGEST


def _schema(**types: str) -> JsonObject:
    properties = {name: {"type": kind} for name, kind in types.items()}
    return {"type": "object", "properties": properties, "additionalProperties": False}


SCHEMAS = {
    "get_weather": _schema(city="string", days="integer"),
    "send_mail": _schema(to="string", body="string"),
    "list_files": _schema(),
    "files/read:all": _schema(path="string"),
}
ARGUMENTS = '{"city": "Oslo", "days": 2}'
CALL = f'{{"name": "get_weather", "arguments": {ARGUMENTS}}}'
LLAMA = f'{{"name": "get_weather", "parameters": {ARGUMENTS}}}'
LAID_OUT = json.dumps(json.loads(CALL), indent=2)
TEXT = json.dumps({"name": "get_weather", "arguments": ARGUMENTS})
OPENAI = f'{{"type": "function", "function": {CALL}}}'
OSLO = Call("get_weather", {"city": "Oslo", "days": 2})
MAIL = '{"name": "send_mail", "arguments": {"to": "a@b.c", "body": "{\\"name\\": \\"get_weather\\"}"}}'

FORMS = [
    (CALL, "bare JSON"),
    (LLAMA, "bare JSON"),
    (LAID_OUT, "bare JSON"),
    (TEXT, "bare JSON"),
    (OPENAI, "bare JSON"),
    (f'{{"tool_calls": [{OPENAI}]}}', "bare JSON"),
    (f"[{CALL}]", "bare JSON"),
    (f'{{"tool": "get_weather", "args": {ARGUMENTS}}}', "bare JSON"),
    (f'{{"function": "get_weather", "parameters": {ARGUMENTS}}}', "bare JSON"),
    (f"{{{CALL}}}", "JSON in more braces"),
    (f"{{{CALL}", "JSON in more braces"),
    (f"```json\n{LAID_OUT}\n```", "fenced JSON"),
    (f"```\n{CALL}\n```", "fenced JSON"),
    (f"```tool_call\n{CALL}\n```", "fenced JSON"),
    (f"I'll look that up for you.\n\n```json\n{CALL}\n```", "fenced JSON"),
    (f"```json\n{CALL}\n```\nThis gets the weather in Oslo.", "fenced JSON"),
    (f"Let me check the weather.\n{CALL}", "JSON among words"),
    (f"<tools>\n{CALL}\n</tools>", "<tools>"),
    (f"<tool>{CALL}</tool>", "<tool>"),
    (f"<function_call>{CALL}</function_call>", "<function_call>"),
    (f"<tool_call>\n{CALL}\n</tool_call>", "<tool_call>"),
    (f"<tool_call>\n{CALL}", "<tool_call> without its end"),
    (f"<toolcall>{CALL}</toolcall>", "<toolcall>"),
    (f"<|python_tag|>{LLAMA}", "<|python_tag|>"),
    (f"[TOOL_CALLS][{CALL}]", "[TOOL_CALLS]"),
    (f"[TOOL_CALLS]get_weather[ARGS]{ARGUMENTS}", "[TOOL_CALLS]"),
    (f"[TOOL_CALLS]get_weather{ARGUMENTS}", "[TOOL_CALLS]"),
    (f"<|tool_call|>[{CALL}]<|/tool_call|>", "<|tool_call|>"),
    (f"functools[{CALL}]", "functools["),
    (f"<function=get_weather>{ARGUMENTS}</function>", "<function=…>"),
    (
        "<function=get_weather>\n<parameter=city>\nOslo\n</parameter>\n<parameter=days>\n2\n</parameter>\n</function>",
        "<function=…>",
    ),
    (
        "<tool_call>\n<function=get_weather>\n<parameter=city>\nOslo\n</parameter>\n"
        "<parameter=days>\n2\n</parameter>\n</function>\n</tool_call>",
        "<function=…>",
    ),
    (
        '<invoke name="get_weather"><parameter name="city">Oslo</parameter>'
        '<parameter name="days">2</parameter></invoke>',
        "<invoke name=…>",
    ),
    ("<get_weather><city>Oslo</city><days>2</days></get_weather>", "<NAME>"),
    (f"<get_weather>{ARGUMENTS}</get_weather>", "<NAME>"),
    (f"functions.get_weather:0{ARGUMENTS}", "functions.NAME"),
    (f"functions.get_weather:0<|tool_call_argument_begin|>{ARGUMENTS}", "functions.NAME"),
    (f"<tool_call>get_weather\n{ARGUMENTS}</tool_call>", "<tool_call>"),
    ('[get_weather(city="Oslo", days=2)]', "Python calls"),
    ("```python\n[get_weather(city='Oslo', days=2)]\n```", "Python calls"),
    ('<|python_start|>[get_weather(city="Oslo", days=2)]<|python_end|>', "<|python_start|>"),
    ("{'name': 'get_weather', 'arguments': {'city': 'Oslo', 'days': 2}}", "bare JSON"),
    (f'{{"id": "1", "name": "functions.get_weather", "arguments": {ARGUMENTS}}}', "bare JSON"),
]


@pytest.mark.parametrize(("text", "form"), FORMS)
def test_a_call_in_another_form_is_seen_and_its_form_named(text: str, form: str) -> None:
    leak = leaked(text, SCHEMAS)
    assert leak is not None
    assert leak.calls == (OSLO,)
    assert leak.form == form


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ('{"name": "list_files"}', "bare JSON"),
        ('```json\n{"name": "list_files"}\n```', "fenced JSON"),
        ('<tool_call>\n{"name": "list_files"}\n</tool_call>', "<tool_call>"),
        ('{"tool": "list_files"}', "bare JSON"),
        ('{"list_files": {}}', "bare JSON"),
        ('{"name": "list_files", "arguments": null}', "bare JSON"),
        ('{"name": "list_files", "arguments": ""}', "bare JSON"),
        ('{"name": "list_files", "parameters": []}', "bare JSON"),
    ],
)
def test_a_tool_without_parameters_is_called_by_its_name_alone(text: str, form: str) -> None:
    leak = leaked(text, SCHEMAS)
    assert leak is not None
    assert (leak.calls, leak.form) == ((Call("list_files", {}),), form)


@pytest.mark.parametrize("text", ['{"name": "get_weather"}', '{"get_weather": {}}', '{"name": "Ada"}'])
def test_a_name_alone_is_no_call_of_a_tool_with_parameters(text: str) -> None:
    assert leaked(text, SCHEMAS) is None


def test_several_calls_are_all_read_in_their_order() -> None:
    other = '{"name": "list_files", "arguments": {}}'
    for text in (f"{CALL}\n{other}", f"[{CALL}, {other}]", f"```json\n{CALL}\n```\n```json\n{other}\n```"):
        leak = leaked(text, SCHEMAS)
        assert leak is not None
        assert [call.name for call in leak.calls] == ["get_weather", "list_files"]


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "files/read:all", "arguments": {"path": "a"}}',
        '<function=files/read:all>{"path": "a"}</function>',
        'functions.files/read:all:0{"path": "a"}',
    ],
)
def test_names_may_have_what_names_of_tools_have(text: str) -> None:
    leak = leaked(text, SCHEMAS)
    assert leak is not None
    assert leak.calls == (Call("files/read:all", {"path": "a"}),)


def test_a_call_within_an_argument_is_part_of_the_argument() -> None:
    leak = leaked(MAIL, SCHEMAS)
    assert leak is not None
    assert [call.name for call in leak.calls] == ["send_mail"]


WORDS = [
    "The weather in Oslo is fine.",
    'The tool get_weather takes {"city": "Oslo"} and returns the forecast.',
    f"For example, you could call it like this:\n```json\n{CALL}\n```",
    f"```json\n{CALL}\n```\nWould you like me to send this?",
    f"The request would be {CALL}.",
    f"I called get_weather with {CALL} and it failed.",
    f"Earlier I sent:\n{CALL}\nand got no answer.",
    '```python\nfor city in ["Oslo", "Bergen"]:\n    print(get_weather(city=city))\n```',
    'Use it as in `get_weather(city="Oslo")`.',
    '{"name": "Paul", "arguments": {"a": 1}}',
    '{"city": "Oslo", "temperature": 21}',
    '```json\n{"name": "Oslo", "country": "Norway"}\n```',
    '[{"name": "get_weather", "description": "Weather", "parameters": {"type": "object", "properties": {}}}]',
    '{"name": "get_weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}',
    (
        "<tools>\n"
        '{"type": "function", "function": {"name": "get_weather", "description": "x", "parameters": {}}}'
        "\n</tools>"
    ),
    'Here is the definition of the tool:\n{"name": "get_weather", "parameters": {"city": "string"}}',
    'The form is this.\n{"name": "get_weather", "arguments": {"city": "<city>"}}',
    f"I have already called it:\n{CALL}",
    f"Is this the right one?\n{CALL}",
    f"From the logs:\n```json\n{CALL}\n```",
    f"```python\nrequest = {CALL}\n```",
    f'[{{"role": "user", "content": "Oslo?"}}, {{"role": "assistant", "tool_calls": [{OPENAI}]}}]',
    f"- {CALL}",
    "[1, 2, 3]",
    "[get_weather]",
    "get_weather",
    "[see get_weather(city) in the documentation]",
    "```json\n[]\n```",
    "<b>get_weather</b> is what I used.",
    "",
]


@pytest.mark.parametrize("text", WORDS)
def test_words_code_and_other_json_are_no_calls(text: str) -> None:
    assert leaked(text, SCHEMAS) is None


@pytest.mark.parametrize(
    ("text", "beginning"),
    [
        (f'<{{"name": "get_weather", "arguments": {ARGUMENTS}', "JSON"),
        ('<{{"name": "get_weather", "arguments": {', "JSON"),
        ('<tools>\n{"type": "function", "function": {"name": "get_weather"}}\n</tools>', "<tools>"),
        ("<response>\nfine\n</response>", "<response>"),
        ("<tool_call>get_weather of Oslo</tool_call>", "<tool_call>"),
        ("<toolcall><shell>ls</shell></toolcall>", "<toolcall>"),
        ("[TOOL_CALLS]get", "[TOOL_CALLS]"),
        ('```json\n{"name": "get_wether", "arguments": {}}\n```', "JSON that names no tool"),
        ('{{"name": "get_wether", "arguments": {"n": 1}}}', "JSON that names no tool"),
        ('{"name": "get_weather", "arguments": null}', "JSON whose arguments are no object"),
        ('{"name": "get_weather", "arguments": "Oslo"}', "JSON whose arguments are no object"),
        ('{"name": "get_weather", "arguments": {"city": "Os', "JSON"),
        ("The weather is fine.", ""),
        ('{"city": "Oslo", "temperature": 21}', ""),
        ('{"name": "Paul", "age": 3}', ""),
        ("# A heading\n<b>bold</b>", ""),
    ],
)
def test_what_begins_like_a_call_and_is_none_is_named(text: str, beginning: str) -> None:
    assert leaked(text, SCHEMAS) is None
    assert broken(text, SCHEMAS) == beginning


@pytest.mark.parametrize(
    "text",
    [
        "x" * (LONGEST + 1),
        "{" * LONGEST,
        "[" * LONGEST,
        "<" * LONGEST,
        "{'a':" * (LONGEST // 5),
        "<a>" * (LONGEST // 3),
        "functions." * (LONGEST // 10),
        "[get_weather(" * (LONGEST // 13),
        '{"name": "get_weather", "arguments": ' * (LONGEST // 37),
        "<function=get_weather>" * (LONGEST // 22),
        "<tool_call>" * (LONGEST // 11),
        "```json\n" * (LONGEST // 8),
    ],
)
def test_hostile_texts_are_read_soon(text: str) -> None:
    with in_a_moment():
        leaked(text, SCHEMAS)
        broken(text, SCHEMAS)


@given(st.text())
def test_any_text_can_be_read(text: str) -> None:
    assert leaked(text, SCHEMAS) is None or "get_weather" in text or "list_files" in text
    broken(text, SCHEMAS)
