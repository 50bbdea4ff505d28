"""What is read into answers that were written without a grammar, shape by shape."""

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from patience import in_a_moment

from rig.plugins.llama.formats.json_text import DEEPEST, JsonError, read_json
from rig.plugins.llama.formats.salvage import LONGEST, MARKS, AnswerError, salvage

ARGUMENTS = '{"time": "12:00:00"}'
OURS = f'{{"tool": "AddAlarm", "arguments": {ARGUMENTS}}}'
NAMED = f'{{"name": "AddAlarm", "arguments": {ARGUMENTS}}}'
PARAMETERS = f'{{"name": "AddAlarm", "parameters": {ARGUMENTS}}}'
OPENAI = json.dumps({"id": "1", "type": "function", "function": {"name": "AddAlarm", "arguments": ARGUMENTS}})
CALL = {"tool": "AddAlarm", "arguments": {"time": "12:00:00"}}

CALLS = [
    (OURS, ""),
    (f" \n{OURS}\n", ""),
    (f"```json\n{OURS}\n```", "fenced"),
    (f"```\n{OURS}\n```", "fenced"),
    (f"Here you go:\n```json\n{OURS}\n```\nDone!", "fenced"),
    (f"Sure, I will do that. {OURS} Anything else?", "in prose"),
    (NAMED, "name/arguments"),
    (PARAMETERS, "name/parameters"),
    (f'{{"function": "AddAlarm", "arguments": {ARGUMENTS}}}', "function/arguments"),
    (f'{{"tool": "AddAlarm", "arguments": {json.dumps(ARGUMENTS)}}}', "arguments as text"),
    (f'{{"tool": "AddAlarm", "arguments": {ARGUMENTS}, "why": "asked"}}', "other keys"),
    # Hermes, Qwen
    (f"<tool_call>\n{NAMED}\n</tool_call>", "<tool_call>, name/arguments"),
    (f"<tool_call>{NAMED}", "<tool_call>, name/arguments"),
    (f"I look.\n<tool_call>\n{NAMED}\n</tool_call>", "<tool_call>, name/arguments"),
    (
        f'<tool_call>\n{NAMED}\n</tool_call>\n<tool_call>\n{{"name": "B", "arguments": {{}}}}\n</tool_call>',
        "<tool_call>, name/arguments, first of 2",
    ),
    (f'<tool_call>\n{NAMED}\n</tool_call>\n<tool_call>\n{{"name": "B", "argu', None),
    # Granite, Phi
    (f"<|tool_call|>[{NAMED}]<|/tool_call|>", "<|tool_call|>, list, name/arguments"),
    # Mistral
    (f"[TOOL_CALLS][{NAMED}]", "[TOOL_CALLS], list, name/arguments"),
    (f"[TOOL_CALLS] [{NAMED}, {NAMED}]", "[TOOL_CALLS], list, name/arguments, first of 2"),
    (f"[TOOL_CALLS]AddAlarm[ARGS]{ARGUMENTS}", "[TOOL_CALLS]"),
    (f"[TOOL_CALLS]AddAlarm[CALL_ID]9x2fG[ARGS]{ARGUMENTS}", "[TOOL_CALLS]"),
    (f"[TOOL_CALLS]AddAlarm{ARGUMENTS}", "[TOOL_CALLS]"),
    # Llama
    (f"<|python_tag|>{PARAMETERS}", "<|python_tag|>, name/parameters"),
    (f"<function=AddAlarm>{ARGUMENTS}</function>", "<function=>"),
    (f"Let me see. <function=AddAlarm>\n{ARGUMENTS}\n</function>", "<function=>"),
    # OpenAI
    (OPENAI, "function, name/arguments, arguments as text"),
    (
        f'{{"content": null, "tool_calls": [{OPENAI}]}}',
        "tool_calls, list, function, name/arguments, arguments as text",
    ),
    # Thoughts; those in which the mark that opens them was in the prompt, too
    (f"<think>Is {{it}} noon? [yes]</think>\n{OURS}", "after thoughts"),
    (f"An alarm, then.\n</think>\n\n{OURS}", "after thoughts"),
    (
        f"<think>{PARAMETERS}</think><tool_call>{NAMED}</tool_call>",
        "after thoughts, <tool_call>, name/arguments",
    ),
]


@pytest.mark.parametrize(("text", "how"), CALLS)
def test_a_call_is_found_in_its_wrapping(text: str, how: str | None) -> None:
    found = salvage(text)
    assert found[0] == CALL
    expected = "<tool_call>, name/arguments, before JSON that cannot be read" if how is None else how
    assert found[1] == expected


@pytest.mark.parametrize(
    ("text", "reply", "how"),
    [
        ('{"reply": "Good night."}', "Good night.", ""),
        ('```json\n{"reply": "Good night."}\n```', "Good night.", "fenced"),
        ("Good night.", "Good night.", "words"),
        ("  Good\nnight.\n", "Good\nnight.", "words"),
        ("<think>Late.</think> Good night.", "Good night.", "after thoughts, words"),
        ("At [12:00] {sharp}, as in a[0] = {1, 2}.", "At [12:00] {sharp}, as in a[0] = {1, 2}.", "words"),
        ("Two lists: [1, 2] and [].", "Two lists: [1, 2] and [].", "words"),
        ('A fact: {"noon": true}.', 'A fact: {"noon": true}.', "words"),
        ("The tool: a hammer. The arguments: two.", "The tool: a hammer. The arguments: two.", "words"),
    ],
)
def test_words_are_a_reply(text: str, reply: str, how: str) -> None:
    assert salvage(text) == ({"reply": reply}, how)


def test_arguments_that_are_no_json_stay_the_text_that_they_are() -> None:
    found = salvage('{"name": "AddAlarm", "arguments": "noon"}')
    assert found == ({"tool": "AddAlarm", "arguments": "noon"}, "name/arguments")


@pytest.mark.parametrize(
    ("text", "reason", "how"),
    [
        ("", "nothing was said", ""),
        (" \n", "nothing was said", ""),
        ("<think>Is it noon?", "nothing was said after the thoughts", "after thoughts"),
        ("<think>Noon.</think>", "nothing was said after the thoughts", "after thoughts"),
        (OURS[:-1], "not JSON: ", ""),
        (f"Well: {OURS[:-9]}", "not JSON: ", ""),
        ('{"tool": "A", "tool": "B", "arguments": {}}', "not JSON: a name comes twice", ""),
        ('{"tool": "A", "arguments": {"n": NaN}}', "not JSON: NaN is no JSON", ""),
        ('{"tool": "A", "arguments": {"n": 1e999}}', "not JSON: a number is too large", ""),
        ("{'tool': 'A', 'arguments': {}}", "neither a tool call nor a reply", ""),
        ('{"noon": true}', "neither a tool call nor a reply", ""),
        ('{"tool": "A"}', "neither a tool call nor a reply", ""),
        ('{"tool": "A", "name": "B", "arguments": {}}', "neither a tool call nor a reply", ""),
        ('{"tool": "A", "arguments": {}, "parameters": {}}', "neither a tool call nor a reply", ""),
        ('[{"reply": "x"}, 1]', "neither a tool call nor a reply", ""),
        ("<tool_call>AddAlarm at noon</tool_call>", "neither a tool call nor a reply", "<tool_call>"),
        ('[AddAlarm(time="07:00:00")]', "calls written as Python are not read", ""),
        ("<think>x</think>[f(a=1), g()]", "calls written as Python are not read", "after thoughts"),
        ("[TOOL_CALLS]AddAlarm", "neither a tool call nor a reply", "[TOOL_CALLS]"),
        ("<function=AddAlarm><parameter=time>noon</parameter>", "neither a tool call nor a reply", ""),
    ],
)
def test_a_call_that_cannot_be_read_is_no_reply(text: str, reason: str, how: str) -> None:
    with pytest.raises(AnswerError) as raised:
        salvage(text)
    assert str(raised.value).startswith(reason)
    assert raised.value.salvage == how


@pytest.mark.parametrize(
    "text",
    [
        "x" * (LONGEST + 1),
        '{"a": ' * (LONGEST // 6),
        '{"a": [' * 500 + "1" + "]}" * 500,
        '{"tool": "A", "arguments": {"a": ' + "[" * DEEPEST + "]" * DEEPEST + "}}",
        '{"tool": "A", "arguments": {"n": ' + "1" * 5000 + "}}",
        '{"' * (LONGEST // 2),
    ],
    ids=["long", "open objects", "deep", "a little too deep", "long number", "quotes"],
)
def test_hostile_texts_are_refused_and_soon(text: str) -> None:
    with in_a_moment(), pytest.raises(AnswerError):
        salvage(text)


@pytest.mark.parametrize(
    "text", ["[" * LONGEST, "[ " * (LONGEST // 2 - 1), "[]" * (LONGEST // 2), "<think>" * 9000, "a{" * 999]
)
def test_what_looks_hostile_takes_no_time_either(text: str) -> None:
    with in_a_moment(), suppress(AnswerError):
        assert set(salvage(text)[0]) == {"reply"}


def test_a_value_as_deep_as_may_be_is_read() -> None:
    text = "[" * DEEPEST + "]" * DEEPEST
    assert json.dumps(read_json(text)) == text
    with pytest.raises(JsonError):
        read_json(f"[{text}]")


@given(
    st.text(max_size=200)
    | st.lists(
        st.sampled_from([*MARKS, OURS, NAMED, "{", "}", "[", "]", '"', "```json\n", "x", ": ", ", "])
    ).map("".join)
)
def test_any_text_is_an_answer_or_unreadable(text: str) -> None:
    with suppress(AnswerError):
        assert set(salvage(text)[0]) in ({"reply"}, {"tool", "arguments"})


@given(st.dictionaries(st.text(max_size=5), st.text(max_size=9) | st.integers() | st.booleans(), max_size=4))
def test_arguments_are_taken_as_they_were_written(arguments: dict[str, object]) -> None:
    written = json.dumps({"name": "A", "arguments": arguments})
    for text in (written, f"<tool_call>\n{written}\n</tool_call>", f"Right. ```json\n{written}\n```"):
        assert salvage(text)[0] == {"tool": "A", "arguments": arguments}
