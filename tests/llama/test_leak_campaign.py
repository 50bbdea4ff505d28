"""The campaign against leaks: calls in forms of many families are seen, and replies about calls are none."""

from random import Random

import leak_toolbox
import pytest
from leaked_calls import FORMS, WRAPPINGS, can_write
from words_about_calls import KINDS, reply

from rig.core.calls import Call
from rig.plugins.llama.formats.leaks import leaked

SCHEMAS = leak_toolbox.SCHEMAS
ROUNDS = 12
"""Replies of each kind, 200 of all; calls of each form, nearly 900 of all."""


def _call(random: Random, form: str) -> Call:
    return next(call for _ in range(99) if can_write(form, call := leak_toolbox.call(random)))


@pytest.mark.parametrize("wrapping", WRAPPINGS)
@pytest.mark.parametrize("form", FORMS)
def test_every_form_is_seen_in_every_wrapping_with_28_tools_and_with_one(form: str, wrapping: str) -> None:
    random = Random(f"{form} {wrapping}")
    call = _call(random, form)
    text = WRAPPINGS[wrapping](random, FORMS[form](call))
    for schemas in (SCHEMAS, {call.name: SCHEMAS[call.name]}):
        leak = leaked(text, schemas)
        assert leak is not None, text
        assert leak.calls == (call,), text


@pytest.mark.parametrize("form", [name for name in FORMS if name.startswith(("JSON", "marks"))])
def test_two_calls_are_both_seen(form: str) -> None:
    random = Random(form)
    calls = [_call(random, form) for _ in range(2)]
    leak = leaked("\n".join(FORMS[form](call) for call in calls), SCHEMAS)
    assert leak is not None
    assert list(leak.calls) == calls


@pytest.mark.parametrize("kind", KINDS)
def test_replies_about_calls_make_none(kind: str) -> None:
    taken = []
    for number in range(5 * ROUNDS):
        text, call = reply(kind, number)
        taken += [text for tools in (SCHEMAS, {call.name: SCHEMAS[call.name]}) if leaked(text, tools)]
    assert taken == []


TOLD = [
    "name: {name}\nparameters:\n  city: string\n  days: integer",
    '<tools><tool name="{name}"/><tool name="search"/></tools>',
    "Done! I have sent it. {json}",
    "Here's what I sent:\n{fence}",
    "<!-- {json} -->",
    "Output:\n{fence}",
    "{name}(city='Oslo')\nprint('done')",
    "import tools\ntools.setup()\n{name}(city='Oslo')",
    "I can use the weather tool for that:\n{json}\nJust say yes.",
    "{fence}\n\nLet me know if you want me to run this.",
    "I'll send this once you confirm:\n{fence}",
    "Here is the call, ready to be sent:\n{json}",
    "<example>\n{json}\n</example>",
    "INFO: {json}",
    "2026-01-01 10:00:00 DEBUG tool call {json}",
    "{name}(city='Oslo') -> dict",
    "+{json}",
    "I can call {json} if you like.",
    "The function call {json} asks for the weather.",
    "Below you'll find the call in question.\n\n{fence}\n\nIt asks for its weather over two days.",
    "A tool call consists of two fields: the name and the arguments.\n\n{fence}",
    "In JSON, a call to `{name}` is written as\n\n{fence}",
    "This JSON object has two keys:\n{fence}\n- `name`: the tool\n- `arguments`: its arguments",
    "The JSON you pasted:\n{fence}",
    "What you posted is this:\n{fence}",
    "Explanation of the call:\n{fence}\nThe first key is the name.",
    "The LLM's output: {json}",
    "Model output:\n{json}\nVerdict: correct",
    "Test 3 passed. Output:\n{fence}",
    "Tool call syntax\n{fence}",
    'Input:\n{json}\nOutput:\n{"temp": 3}',
    'Changelog: renamed the tool. Before:\n{fence}\nAfter:\n```json\n{"name": "weather"}\n```',
    "```diff\n- {json}\n+ {json}\n```",
    "Two tools exist: `{name}` and `search`. The first:\n{json}\nThe second:\n{json}",
    "Difference between the two calls:\n{fence}\nand\n{fence}",
    "Remember that tools are invoked with JSON.\n{json}",
    "As the assistant, one writes:\n{json}",
    "{json}  // get the weather",
    "{json} - this is the request",
    "Answer: {json} is a JSON object.",
    "This JSON calls the weather tool:\n{fence}",
    "JSON Schema validation succeeded for\n{fence}",
    "The assistant message in the dataset:\n{fence}",
    "Sure, here's what a function call is: a JSON object with a name and arguments.\n{fence}",
    "Sure! Here is a JSON object that represents a call to the {name} function:\n{fence}\nIt has a name.",
    "Here is a sample JSON request for the tool:\n{fence}",
    "Certainly! Below is an illustration of the tool invocation:\n{fence}",
    "Okay. Here's the documentation for the tool:\n{fence}",
    'I\'ve updated the config file:\n```json\n{"hooks": [{json}]}\n```',
    "I can help you write a tool call. Your final JSON:\n{fence}",
    "Let me explain. The call has this form:\n{fence}",
    "Let me show you an example.\n{fence}",
    "I'll explain the call:\n{fence}",
    "I'll show the call that was logged:\n{fence}",
    "{fence}\n\nExplanation:\n\n- **name**: The tool.\n- **arguments**: Its arguments.",
    "{fence}\n\nThis JSON object represents a function call with two arguments.",
    "{fence}\n\nIn this example, the tool gets the weather.",
    "{fence}\n\nYou can run this with any MCP client.",
    "{fence}\n\nSave this as call.json.",
    "{fence}\n\nNote: replace that with your own city.",
    "Ja, so ruft man das Werkzeug auf:\n{fence}",
    "Das JSON hat zwei Felder:\n{fence}",
    "Voici la structure d'un appel :\n{fence}",
    "La estructura es la siguiente:\n{fence}",
    "调用的结构是：\n{fence}",
    "JSON的结构说明：\n{fence}\n其中name是工具名。",
    "ツール呼び出しの構造：\n{fence}",
]


@pytest.mark.parametrize("text", TOLD)
def test_calls_among_words_that_tell_of_them_are_none(text: str) -> None:
    json = '{"name": "get_weather", "arguments": {"city": "Oslo", "days": 2}}'
    text = (
        text.replace("{fence}", f"```json\n{json}\n```")
        .replace("{json}", json)
        .replace("{name}", "get_weather")
    )
    assert leaked(text, SCHEMAS) is None


SPOKEN = [
    "Could not find it in what I know, so I'll check the weather.\n{json}",
    '{json}\n{"sky": "clear", "degrees": 4}',
    '{json}\n{"exception": "There is no such city."}',
    "Sure, let me get the weather for Oslo.\n\n{fence}",
    "To get the weather in Oslo, I will use the tool with the following parameters:\n\n{fence}",
    "Here is the JSON for the function call:\n{fence}",
    "Here is the function call in JSON format:\n\n{fence}",
    "I need to call the get_weather function to answer.\n{json}",
    "Based on the previous response, I'll now get the weather.\n{fence}",
    "I don't know the current weather, but I can look it up.\n{json}",
    "Function call: {json}",
    "**Tool Call:**\n{fence}",
    "Assistant: {json}",
    "<|im_start|>assistant\n{json}<|im_end|>",
    "{fence}\n\nThe weather in Oslo is sunny.",
    "{fence}\n\nPlease note that I will need the result to answer.",
    "`{json}`",
    "```tool_call\n{json}",
    "```xml\n<tool_call>{json}</tool_call>\n```",
    "<response>\n{json}\n</response>",
    "<|tool_call_start|>{json}<|tool_call_end|>",
    "[TOOL_REQUEST]{json}[END_TOOL_REQUEST]",
    "<tool_call>\n{json}\n<tool_call>",
    "<think>\nI need the weather of Oslo. I'll call the tool.\n\n{json}\n</think>",
    "<think>\nI need the weather of Oslo.\n<tool_call>\n{json}\n</tool_call>",
    "Ich rufe jetzt das Wetter ab.\n{fence}",
    "Je vais chercher la météo pour vous.\n{json}",
    "Claro, voy a buscar el tiempo.\n{fence}",
    "好的，我来查询奥斯陆的天气。\n{fence}",
    "すぐに天気を調べます。\n{fence}",
    "Action: get_weather(city='Oslo')",
    'Action: get_weather({"city": "Oslo"})',
    '{"name": “get_weather”, “arguments”: {“city”: “Oslo”}}',
    '<tool_use>\n<name>get_weather</name>\n<input>{"city": "Oslo"}</input>\n</tool_use>',
    "<tool_call>get_weather(city='Oslo')</tool_call>",
    '<get_weather city="Oslo"/>',
    '{"thoughts": {"text": "x"}, "command": {"name": "get_weather", "args": {"city": "Oslo"}}}',
    '{"function": "get_weather", "city": "Oslo"}',
    'to=functions.get_weather json\n{"city": "Oslo"}',
    "<function=get_weather>\n<parameter=city>\nOslo\n</parameter>",
]


@pytest.mark.parametrize("text", SPOKEN)
def test_calls_are_seen_among_words_that_announce_them(text: str) -> None:
    json = '{"name": "get_weather", "arguments": {"city": "Oslo"}}'
    leak = leaked(text.replace("{fence}", f"```json\n{json}\n```").replace("{json}", json), SCHEMAS)
    assert leak is not None
    assert leak.calls == (Call("get_weather", {"city": "Oslo"}),)


def test_a_text_in_a_tool_s_tag_is_its_only_argument_where_a_mark_says_that_it_is_a_call() -> None:
    schemas = {"shell": {"type": "object", "properties": {"command": {"type": "string"}}}}
    leak = leaked("<toolcall><shell>ls -la</shell></toolcall>", schemas)
    assert leak is not None
    assert leak.calls == (Call("shell", {"command": "ls -la"}),)
    assert leaked("<shell>ls -la</shell>", schemas) is None


def test_the_input_of_an_action_may_be_a_text_where_there_is_one_parameter() -> None:
    leak = leaked("Thought: sum.\nAction: calculator\nAction Input: 3 * 4\nObservation: 12", SCHEMAS)
    assert leak is not None
    assert leak.calls == (Call("calculator", {"expression": "3 * 4"}),)
    assert leaked("Action: route\nAction Input: home", SCHEMAS) is None
