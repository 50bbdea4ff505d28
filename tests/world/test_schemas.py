"""Whether arguments fit: in agreement with jsonschema, in words that say what is wrong."""

import time
from collections import Counter
from typing import Any

import jsonschema
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rig.world import patterns as expressions
from rig.world.schemas import kind_of, schema_faults

PLAIN: st.SearchStrategy[dict[str, Any]] = st.one_of(
    st.sampled_from(["string", "integer", "number", "boolean"]).map(lambda kind: {"type": kind}),
    st.lists(st.sampled_from(["a", "b", "c"]), min_size=1, unique=True).map(
        lambda choices: {"type": "string", "enum": choices}
    ),
    st.tuples(st.integers(-3, 0), st.integers(0, 3)).map(
        lambda span: {"type": "integer", "minimum": span[0], "maximum": span[1]}
    ),
)
PROPERTIES = st.one_of(PLAIN, PLAIN.map(lambda items: {"type": "array", "items": items}))
NAMES = st.sampled_from("xyz")
VALUES = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(-5, 5), st.sampled_from(["a", "b", "", "d"]), st.just(0.5)
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(NAMES, inner, max_size=2)),
    max_leaves=4,
)


@st.composite
def schemas(draw: st.DrawFn) -> dict[str, Any]:
    properties = draw(st.dictionaries(NAMES, PROPERTIES))
    required = draw(st.lists(st.sampled_from(sorted(properties)), unique=True)) if properties else []
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


WHOLE: dict[str, Any] = {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}


@settings(deadline=None)
@example(WHOLE, {"x": 2.0})
@example(WHOLE, {"x": 2.5})
@given(schemas(), st.one_of(VALUES, st.dictionaries(st.sampled_from("wxyz"), VALUES)))
def test_it_agrees_with_jsonschema(schema: dict[str, Any], arguments: Any) -> None:
    given = arguments
    if isinstance(arguments, dict):  # null for an optional argument is as good as nothing
        optional = schema["properties"].keys() - set(schema["required"])
        nulls = {name for name in optional if arguments.get(name) is None}
        given = {name: value for name, value in arguments.items() if name not in nulls}
    fits = jsonschema.Draft202012Validator(schema).is_valid(given)
    assert (list(schema_faults(schema, arguments)) == []) is fits


SCHEMA = {
    "type": "object",
    "properties": {
        "at": {"type": "string", "x-format": "datetime"},
        "tags": {"type": "array", "items": {"type": "string", "enum": ["red", "blue"]}},
        "count": {"type": "integer", "minimum": 1},
    },
    "required": ["at"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("arguments", "kind", "name", "wanted", "culprit"),
    [
        ([], "type", "arguments", "an object", []),
        ({}, "missing", "at", "to be given", None),
        ({"at": "2024-03-05 18:30:00", "by": 1}, "unknown", "by", "no such argument", 1),
        ({"at": None}, "type", "at", "a string", None),
        ({"at": "tomorrow"}, "form", "at", "YYYY-MM-DD HH:MM:SS", "tomorrow"),
        ({"at": "2024-03-05 18:30:00", "tags": "red"}, "type", "tags", "a list of strings", "red"),
        ({"at": "2024-03-05 18:30:00", "tags": ["red", 5]}, "type", "tags", "a list of strings", 5),
        ({"at": "2024-03-05 18:30:00", "tags": ["red", "x"]}, "choice", "tags", "red or blue", "x"),
        ({"at": "2024-03-05 18:30:00", "count": True}, "type", "count", "a whole number", True),
        ({"at": "2024-03-05 18:30:00", "count": 0}, "choice", "count", "from 1 to inf", 0),
    ],
)
def test_what_is_wrong(arguments: Any, kind: str, name: str, wanted: str, culprit: Any) -> None:
    [found] = schema_faults(SCHEMA, arguments)
    assert (found.kind, found.name, found.needed, found.culprit) == (kind, name, wanted, culprit)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (None, "null"),
        (True, "true or false"),
        (1, "a number"),
        (0.5, "a number"),
        ("", "a string"),
        ([], "a list"),
        ({}, "an object"),
    ],
)
def test_what_a_value_is(value: Any, words: str) -> None:
    assert kind_of(value) == words


def test_a_pattern_that_takes_for_ever_is_not_met() -> None:
    schema = {"properties": {"a": {"type": "string", "pattern": "^(a+)+$"}}, "required": []}
    assert list(schema_faults(schema, {"a": "aaa"})) == []
    began = time.monotonic()
    [fault] = schema_faults(schema, {"a": "a" * 40 + "!"})
    assert fault.name == "a"
    assert time.monotonic() - began < 30


@pytest.mark.slow
def test_many_texts_for_patterns_that_take_for_ever_do_not_take_longer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(expressions, "_overdue", Counter())
    words = ("a", "aa", "aaa", "aaaa")
    patterns = [f"^({'|'.join(words[: number % 3 + 2])}|{number})+$" for number in range(30)]
    listed = {"type": "array", "items": {"allOf": [{"pattern": pattern} for pattern in patterns]}}
    began = time.process_time()
    [fault] = schema_faults({"properties": {"a": listed}, "required": []}, {"a": ["a" * 60 + "!"] * 20})
    assert fault.name == "a"
    assert time.process_time() - began < 30
    assert list(schema_faults({"properties": {"a": listed}, "required": []}, {"a": ["aaa"]})) == []


@pytest.mark.parametrize("pattern", ["^(((a{100}){100}){100}){100}$", "^((a$"])
def test_a_pattern_with_a_fault_is_not_met(pattern: str) -> None:
    schema = {"properties": {"a": {"type": "string", "pattern": pattern}}, "required": []}
    assert [fault.name for fault in schema_faults(schema, {"a": "a"})] == ["a"]
