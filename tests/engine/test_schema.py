"""Which schemas are enforced, what they are narrowed to, and what is refused in one line."""

import re
from decimal import Decimal
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rig.engine.grammar.patterns import NAMED, canonical, decimals, integers
from rig.engine.grammar.schema import SchemaError, holds_any_names, narrow

STRING = {"type": "string"}
MOST = 10**15


def of(properties: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, **more}


@pytest.mark.parametrize(
    ("schema", "narrowed"),
    [
        (STRING, STRING),
        ({"type": "string", "description": "d", "default": "x", "format": "date"}, STRING),
        ({"type": "boolean", "title": "t"}, {"type": "boolean"}),
        ({"type": "integer"}, {"type": "integer", "minimum": -MOST, "maximum": MOST}),
        (
            {"type": "integer", "minimum": 0.5, "exclusiveMaximum": 9},
            {"type": "integer", "minimum": 1, "maximum": 8},
        ),
        ({"type": "number", "maximum": 2.0}, {"type": "number", "minimum": -MOST, "maximum": 2}),
        (
            {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
            {"type": "number", "minimum": 1e-9, "maximum": 1 - 1e-9},
        ),
        ({"enum": ["a", 2.0, None]}, {"enum": ["a", 2, None]}),
        (
            {"type": ["string", "null"], "maxLength": 3},
            {"anyOf": [{"type": "string", "maxLength": 3}, {"type": "null"}]},
        ),
        ({"anyOf": [STRING, {**STRING, "title": "t"}]}, {"anyOf": [STRING]}),
        (
            {"type": "integer", "minimum": -(2**63), "maximum": 1e300, "$schema": "x"},
            {"type": "integer", "minimum": -MOST, "maximum": MOST},
        ),
        (
            {"type": "number", "minimum": 1e-07, "maximum": 2},
            {"type": "number", "minimum": 1e-07, "maximum": 2},
        ),
        (
            {"type": "string", "minLength": 1, "maxLength": 1000},
            {"type": "string", "minLength": 1, "maxLength": 256},
        ),
        (of({"a": STRING}, additionalProperties=STRING), of({"a": STRING}, additionalProperties=False)),
        (of({"a": STRING}), of({"a": STRING}, additionalProperties=False)),
        (of({"a": STRING}, additionalProperties=True), of({"a": STRING}, additionalProperties=False)),
        ({"type": "object", "additionalProperties": False}, of({}, additionalProperties=False)),
        ({"type": "string", "pattern": "^\\d+$"}, {"type": "string", "pattern": "^(?:[0-9]+)$"}),
    ],
)
def test_a_schema_is_narrowed_to_what_is_enforced(schema: dict[str, Any], narrowed: dict[str, Any]) -> None:
    assert narrow(schema, "T", formats=False) == narrowed
    jsonschema.Draft202012Validator.check_schema(narrowed)


def test_an_object_of_which_nothing_is_declared_has_any_names_and_plain_values() -> None:
    found = narrow(of({"more": {"type": "object", "description": "d"}}), "T", formats=False)
    jsonschema.Draft202012Validator.check_schema(found)
    fits = jsonschema.Draft202012Validator(found).is_valid
    for value in ({}, {"a b": "x"}, {"n": 1.5, "l": [1, "x", None], "o": {"deep": True}}):
        assert fits({"more": value})
    for value in ([], "{}", {"a": {"b": {"c": 1}}}, {"a": [[1]]}):
        assert not fits({"more": value})
    assert holds_any_names(found)
    assert not holds_any_names(narrow(of({"a": of({"b": STRING})}), "T", formats=False))
    assert holds_any_names(
        narrow(of({"a": {"type": "array", "items": {"type": "object"}}}), "T", formats=False)
    )


def test_beside_other_objects_those_of_any_names_are_left_out() -> None:
    """Every answer that fits still fits what was declared; both would begin alike."""
    free, texts, named = (
        {"type": "object"},
        {"type": "object", "additionalProperties": STRING},
        of({"a": STRING}),
    )
    closed = {**named, "additionalProperties": False}
    assert narrow({"anyOf": [free, named, STRING]}, "T", formats=False)["anyOf"] == [closed, STRING]
    assert narrow({"anyOf": [{"anyOf": [free]}, named]}, "T", formats=False)["anyOf"] == [closed]
    [one, other] = narrow({"anyOf": [texts, STRING, free]}, "T", formats=False)["anyOf"]
    assert (one["additionalProperties"], other) == (STRING, STRING)


def test_the_values_of_any_names_can_be_declared() -> None:
    texts = narrow(of({"a": {"type": "object", "additionalProperties": STRING}}), "T", formats=False)
    assert texts["properties"]["a"] == {"type": "object", "properties": {}, "additionalProperties": STRING}
    closed = of({"a": {"type": "object", "additionalProperties": False}})
    assert not holds_any_names(narrow(closed, "T", formats=False))
    with pytest.raises(SchemaError, match=re.escape("T.a.*: a type is needed")):
        narrow(of({"a": {"type": "object", "additionalProperties": {"type": "x"}}}), "T", formats=False)
    with pytest.raises(SchemaError, match="required has to be a list of names"):
        narrow(of({"a": {"type": "object", "required": ["b"]}}), "T", formats=False)


@pytest.mark.parametrize("keyword", ["format", "x-format"])
def test_formats_are_patterns_where_they_are_enforced(keyword: str) -> None:
    for name, pattern in NAMED[keyword].items():
        schema = {"type": "string", keyword: name}
        assert narrow(schema, "T", formats=True) == {"type": "string", "pattern": pattern}
        assert narrow(schema, "T", formats=False) == STRING


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        ({}, "T: a type is needed"),
        ([], "T: [] is not an object"),
        ({"type": "file"}, "a type is needed"),
        ({"$ref": "#/x"}, "a type is needed"),
        ({"type": "string", "minimum": 1}, "'minimum' of type string cannot be enforced"),
        ({"type": "integer", "multipleOf": 2}, "'multipleOf' of type integer cannot be enforced"),
        ({"type": "integer", "minimum": 2, "maximum": 1}, "no number is allowed"),
        ({"type": "number", "exclusiveMinimum": 1, "maximum": 1}, "no number is allowed"),
        ({"type": "number", "minimum": 10**16}, "no number is allowed"),
        ({"type": "number", "minimum": float("nan")}, "is not a number of at most 30 places"),
        ({"type": "number", "minimum": 1e-300}, "is not a number of at most 30 places"),
        ({"type": "integer", "minimum": "1"}, "is not a number of at most 30 places"),
        ({"type": "string", "minLength": 1000}, "minLength 1000 is not a count up to 256"),
        ({"type": "array", "items": STRING, "maxItems": -1}, "maxItems -1 is not a count"),
        ({"type": "string", "minLength": 2, "maxLength": 1}, "minLength is more than maxLength"),
        ({"type": "string", "pattern": "^a$", "minLength": 1}, "only one can be enforced"),
        ({"type": "string", "pattern": "a"}, "it has to begin with ^ and end with $"),
        ({"type": "string", "pattern": "^(?=a)$"}, "is not understood"),
        ({"type": "string", "pattern": "^a{999}$"}, "counts further than 256"),
        ({"type": "string", "pattern": '^"$'}, "has more than one spelling in JSON"),
        ({"enum": []}, "enum needs a list of values"),
        ({"enum": [["a"]]}, "is not of type"),
        ({"enum": [1e300]}, "is not a number within ±10^15"),
        ({"enum": ["\ud800"]}, "is not Unicode text"),
        ({"type": "string", "enum": ["a", 1]}, "1 in enum is not of type 'string'"),
        ({"anyOf": []}, "anyOf needs a list of schemas"),
        ({"anyOf": [STRING], "type": "string"}, "'type' beside anyOf cannot be enforced"),
        ({"type": "array"}, "say what its items are"),
        ({"type": "array", "items": STRING, "uniqueItems": True}, "'uniqueItems' of type array"),
        ({"type": "object"}, "name its properties"),
        (of({"a": STRING}, required=["b"]), "required has to be a list of names that properties has too"),
        (
            of({"a": STRING}, additionalProperties="no"),
            "additionalProperties has to be true, false or a schema",
        ),
        ({"type": "object", "additionalProperties": STRING}, "name its properties"),
        (of({"a": {"type": "array", "items": of({"b": {}})}}), "T.a[].b: a type is needed"),
        (of({"\ud800": STRING}), "is not Unicode text"),
    ],
)
def test_what_cannot_be_enforced_is_refused_in_one_line(schema: Any, reason: str) -> None:
    with pytest.raises(SchemaError, match=re.escape(reason)) as raised:
        narrow(schema, "T", formats=False)
    assert "\n" not in str(raised.value)


def test_an_unknown_format_matters_only_where_formats_are_enforced() -> None:
    schema = {"type": "string", "format": "hostname"}
    assert narrow(schema, "T", formats=False) == STRING
    with pytest.raises(SchemaError, match="format 'hostname' is not known; those known are date"):
        narrow(schema, "T", formats=True)


def test_a_schema_may_not_be_nested_without_end() -> None:
    schema: dict[str, Any] = STRING
    for _ in range(40):
        schema = {"type": "array", "items": schema}
    with pytest.raises(SchemaError, match="nested deeper than 32 levels"):
        narrow(schema, "T", formats=False)


@given(st.data())
def test_integers_between_bounds_and_no_others(data: st.DataObject) -> None:
    bounds = st.integers(-(10**15), 10**15) | st.integers(-120, 120)
    low, high = sorted((data.draw(bounds), data.draw(bounds)))
    pattern = re.compile(integers(low, high))
    near = st.sampled_from([low, high]).flatmap(lambda bound: st.integers(bound - 12, bound + 12))
    for value in data.draw(st.lists(near | bounds, min_size=5, max_size=20)):
        assert bool(pattern.fullmatch(str(value))) == (low <= value <= high), value
    for text in ("", "-", "+1", "01", "1.0", "1e1"):
        assert not pattern.fullmatch(text)


@given(st.data())
def test_decimals_between_bounds_and_no_others(data: st.DataObject) -> None:
    places = st.integers(0, 9)
    bounds = st.builds(lambda number, digits: number / 10**digits, st.integers(-(10**9), 10**9), places)
    low, high = sorted((data.draw(bounds), data.draw(bounds)))
    pattern = re.compile(decimals(low, high))
    near = [format(Decimal(repr(bound)), "f") for bound in (low, high)]
    damage = st.tuples(st.sampled_from(near), st.integers(0, 12), st.text("0123456789.", max_size=2))
    damaged = damage.map(lambda each: each[0][: each[1]] + each[2] + each[0][each[1] + 1 :])
    for text in [*near, *data.draw(st.lists(damaged, min_size=5, max_size=20))]:
        is_number = re.fullmatch(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?", text) is not None
        is_within = is_number and Decimal(repr(low)) <= Decimal(text) <= Decimal(repr(high))
        if not (text.startswith("-") and low >= 0):  # -0 is written only where negative numbers may be
            assert bool(pattern.fullmatch(text)) == is_within, (low, high, text)
        if is_within:
            assert low <= float(text) <= high


@pytest.mark.parametrize(
    ("pattern", "fitting", "others"),
    [
        ("^[A-Z]{3}$", ["ABC"], ["AB", "ABCD", "abc", "ABC\n"]),
        ("^\\w+$", ["a_1"], ["é", "a b", ""]),
        ("^\\D$", ["a", "٣", "é"], ["1", '"', "\n"]),
        ("^[^,]$", ["a", "😀"], [",", '"', "\\", "\x7f"]),
        ("^.$", ["a", "\u2028"], ["\n", '"', ""]),
        ("^[\\]\\-a]+$", ["]-a"], ["b"]),
        ("^(a|b)\\.$", ["a.", "b."], ["a", "ab"]),
        ("^a$", ["a"], ["a\n", "ba"]),
    ],
)
def test_patterns_mean_the_same_to_all(pattern: str, fitting: list[str], others: list[str]) -> None:
    found = re.compile(canonical(pattern)[1:-1])
    assert all(found.fullmatch(text) for text in fitting)
    assert not any(found.fullmatch(text) for text in others)


@pytest.mark.parametrize(
    "pattern",
    [
        "^a|b$",
        "^*$",
        "^a**$",
        "^(a$",
        "^\\b$",
        "^\\1$",
        "^[b-a]$",
        "^\\p{L}$",
        "^(?i:a)$",
        "^a\\$",
        '^[""]$',
        "^é\n$",
    ],
)
def test_patterns_that_are_read_in_several_ways_are_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match=r"[a-z]"):
        canonical(pattern)
