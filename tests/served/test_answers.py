"""Answers put together from events, whichever way servers cut them up."""

import json
from typing import Any

import pytest
from fake_servers import chunk
from hypothesis import given
from hypothesis import strategies as st

from rig.core.calls import Call
from rig.core.errors import ErrorKind
from rig.core.models import ToolDoc
from rig.plugins.llama.formats.salvage import AnswerError
from rig.plugins.served.answers import ServedFormat, StreamedAnswer
from rig.plugins.served.wire.client import ServerFault

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
FORM = ServedFormat(
    (ToolDoc("weather", "Weather.", SCHEMA), ToolDoc("bye", "", {"type": "object", "properties": {}}))
)


def answer_of(*parts: Any) -> StreamedAnswer:
    answer = StreamedAnswer()
    for part in parts:
        answer.take(part)
    return answer


def call_delta(
    index: int | None, arguments: Any = None, name: str = "", identity: str = ""
) -> dict[str, Any]:
    function = {**({"name": name} if name else {}), **({} if arguments is None else {"arguments": arguments})}
    part = {**({"index": index} if index is not None else {}), **({"id": identity} if identity else {})}
    return chunk(tool_calls=[{**part, "type": "function", "function": function}])


def test_the_first_delta_of_a_call_may_hold_the_begin_of_its_arguments() -> None:
    answer = answer_of(
        chunk(content=None, role="assistant"),
        call_delta(0, "{", "weather", "a"),
        call_delta(0, '"city": "Oslo"'),
        call_delta(0, "}"),
        call_delta(1, "{}", "bye", "b"),
        chunk("tool_calls"),
    )
    reading = FORM.read(answer)
    assert reading.calls == (Call("weather", {"city": "Oslo"}), Call("bye", {}))
    assert reading.salvage == ""


def test_two_calls_under_one_number_are_told_apart_by_their_ids() -> None:
    answer = answer_of(
        call_delta(0, '{"city": "A"}', "weather", "a"), call_delta(0, '{"city": "B"}', "weather", "b")
    )
    reading = FORM.read(answer)
    assert [call.arguments for call in reading.calls] == [{"city": "A"}, {"city": "B"}]
    assert "one index" in reading.salvage


def test_names_come_in_pieces_and_pieces_without_a_number() -> None:
    begin = {"id": "a", "function": {"name": "weat", "arguments": ""}}
    rest = ({"name": "her"}, {"name": "weather", "arguments": '{"city": '}, {"arguments": '"Oslo"}'})
    deltas = [chunk(tool_calls=[{"function": function}]) for function in rest[2:]]
    numbered = [chunk(tool_calls=[{"index": 0, "function": function}]) for function in rest[:2]]
    reading = FORM.read(answer_of(chunk(tool_calls=[{"index": 0, **begin}]), *numbered, *deltas))
    assert reading.calls == (Call("weather", {"city": "Oslo"}),)


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "number"}, float("nan")),
        ({"type": "number"}, float("inf")),
        ({"type": "string"}, "\ud800"),
        ({"type": "array", "items": {"type": "array", "items": {"type": "string"}}}, [["deep"]]),
    ],
)
def test_an_object_is_held_to_what_its_text_is(
    schema: dict[str, Any], value: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rig.plugins.llama.formats.json_text.DEEPEST", 2)
    form = ServedFormat((ToolDoc("any", "", {"type": "object", "properties": {"a": schema}}),))
    for arguments in ({"a": value}, json.dumps({"a": value})):
        with pytest.raises(AnswerError, match=r"not JSON|no JSON|nested|Unicode|surrogate"):
            form.read(answer_of(call_delta(0, arguments, "any")))


def test_arguments_as_an_object_are_read_and_noted() -> None:
    reading = FORM.read(answer_of(call_delta(None, {"city": "Oslo"}, "weather")))
    assert reading.calls == (Call("weather", {"city": "Oslo"}),)
    assert reading.salvage == "arguments that are no text"


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (json.dumps(json.dumps({"city": "Oslo"})), "weather"),
        ('{"city": "Oslo"', "weather"),
        ('{"city": 7}', "weather"),
        ('{"city": "Oslo"}', "Weather"),
        ('{"city": "a", "city": "b"}', "weather"),
        ('{"city": "\\ud800"}', "weather"),
        ("[" * 100_000, "weather"),
    ],
)
def test_a_call_that_no_tool_takes_is_invalid(arguments: str, name: str) -> None:
    with pytest.raises(AnswerError):
        FORM.read(answer_of(call_delta(0, arguments, name, "a")))


def test_words_and_thoughts_are_kept_apart() -> None:
    answer = answer_of(
        chunk(reasoning_content="hm"),
        chunk(reasoning=" so"),
        chunk(content=[{"type": "text", "text": "Hi "}]),
        chunk("stop"),
    )
    assert (answer.reasoning, answer.content, answer.finish) == ("hm so", "Hi ", "stop")
    assert FORM.read(answer).content == "Hi"
    with pytest.raises(AnswerError, match="nothing was said"):
        FORM.read(answer_of(chunk("stop")))


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "choices",
                    "delta",
                    "message",
                    "tool_calls",
                    "function",
                    "arguments",
                    "index",
                    "id",
                    "name",
                    "content",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)


@given(st.lists(st.dictionaries(st.sampled_from(["choices", "usage", "model"]), JSON_VALUES), max_size=4))
def test_whatever_a_server_says_is_an_answer_or_malformed(parts: list[dict[str, Any]]) -> None:
    answer, kinds = StreamedAnswer(), {ErrorKind.MALFORMED}
    try:
        for part in parts:
            answer.take(part)
        FORM.read(answer)
    except ServerFault as fault:
        kinds.add(fault.kind)
    except AnswerError:
        pass
    assert kinds == {ErrorKind.MALFORMED}
    assert answer.tokens("prompt_tokens") >= 0
