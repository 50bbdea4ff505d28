"""Which schemas are enforced, what they are narrowed to, and what is refused in one line."""

import re
from decimal import Decimal
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rig.plugins.llama.grammar.patterns import NAMED, canonical, decimals, integers
from rig.plugins.llama.grammar.schema import holds_any_names, narrow
from rig.world.patterns import is_match
from rig.world.schemas import as_python

STRING = {"type": "string"}
MOST = 10**100


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
            {"type": "integer", "minimum": -(2**63), "maximum": MOST},
        ),
        (
            {"type": "number", "minimum": 1e-07, "maximum": 2},
            {"type": "number", "minimum": 1e-07, "maximum": 2},
        ),
        (
            {"type": "string", "minLength": 1, "maxLength": 1000},
            {"type": "string", "minLength": 1, "maxLength": 1000},
        ),
        (of({"a": STRING}, additionalProperties=STRING), of({"a": STRING}, additionalProperties=False)),
        (of({"a": STRING}), of({"a": STRING}, additionalProperties=False)),
        (of({"a": STRING}, additionalProperties=True), of({"a": STRING}, additionalProperties=False)),
        ({"type": "object", "additionalProperties": False}, of({}, additionalProperties=False)),
        ({"type": "string", "pattern": "^\\d+$"}, {"type": "string", "pattern": "^(?:[0-9]+)$"}),
    ],
)
def test_a_schema_is_narrowed_to_what_is_enforced(schema: dict[str, Any], narrowed: dict[str, Any]) -> None:
    whole = narrow(of({"p": schema}), "T", formats=False)
    assert whole == of({"p": narrowed}, additionalProperties=False)
    jsonschema.Draft202012Validator.check_schema(whole)


def test_an_object_of_which_nothing_is_declared_has_any_names_and_values() -> None:
    narrowed = narrow(of({"more": {"type": "object", "description": "d"}}), "T", formats=False)
    jsonschema.Draft202012Validator.check_schema(narrowed)
    fits = jsonschema.Draft202012Validator(narrowed).is_valid
    for value in ({}, {"a b": "x"}, {"n": 1.5, "l": [1, "x", None]}, {"a": {"b": {"c": 1}}}, {"a": [[1]]}):
        assert fits({"more": value})
    assert not any(map(fits, ({"more": []}, {"more": "{}"})))
    assert holds_any_names(narrowed)
    assert not holds_any_names(narrow(of({"a": of({"b": STRING})}), "T", formats=False))
    lists = narrow(of({"a": {"type": "array", "items": {"type": "object"}}}), "T", formats=False)
    assert holds_any_names(lists)


FREE = {"type": "object"}
NAMED_OBJECT = of({"a": STRING})


@pytest.mark.parametrize(
    "options",
    [
        [FREE, NAMED_OBJECT, STRING],
        [{"anyOf": [FREE]}, NAMED_OBJECT],
        [{"type": "object", "additionalProperties": STRING}, STRING, FREE],
        [{"type": "array", "items": FREE}, {"type": "array", "items": NAMED_OBJECT}],
        [{"type": "array"}, {"type": "array", "items": NAMED_OBJECT}],
    ],
)
def test_several_kinds_of_objects_are_left_open_where_one_has_any_names(options: list[Any]) -> None:
    """Both would begin alike; the call is judged by the schema afterwards."""
    notes: list[str] = []
    assert narrow(of({"x": {"anyOf": options}}), "T", formats=False, notes=notes)["properties"]["x"] == {}
    assert "T.x: a grammar does not hold several kinds of objects" in " ".join(notes)


def test_the_values_of_any_names_can_be_declared() -> None:
    texts = narrow(of({"a": {"type": "object", "additionalProperties": STRING}}), "T", formats=False)
    assert texts["properties"]["a"] == {"type": "object", "properties": {}, "additionalProperties": STRING}
    closed = of({"a": {"type": "object", "additionalProperties": False}})
    assert not holds_any_names(narrow(closed, "T", formats=False))
    required = narrow(of({"a": {"type": "object", "required": ["b"]}}), "T", formats=False)
    assert required["properties"]["a"]["properties"] == {"b": {}}


@pytest.mark.parametrize("keyword", ["format", "x-format"])
def test_formats_are_patterns_where_they_are_enforced(keyword: str) -> None:
    for name, pattern in NAMED[keyword].items():
        schema = of({"p": {"type": "string", keyword: name}})
        assert narrow(schema, "T", formats=True)["properties"]["p"] == {"type": "string", "pattern": pattern}
        assert narrow(schema, "T", formats=False)["properties"]["p"] == STRING


@pytest.mark.parametrize(
    ("schema", "narrowed", "note"),
    [
        ({}, {}, ""),
        ([], {}, ""),
        ({"type": "file"}, {}, "the type 'file'"),
        ({"$ref": "#/x"}, {}, "a schema inside itself"),
        ({"type": "boolean", "minimum": 1}, {"type": "boolean"}, "minimum 1"),
        (
            {"type": "number", "multipleOf": 2},
            {"type": "number", "minimum": -MOST, "maximum": MOST},
            "multipleOf 2",
        ),
        ({"type": "integer", "minimum": 2, "maximum": 1}, {}, "bounds that no number is within"),
        ({"type": "number", "exclusiveMinimum": 1, "maximum": 1}, {}, "bounds that no number is within"),
        (
            {"type": "number", "minimum": 1e-300, "maximum": 2},
            {"type": "number", "minimum": -MOST, "maximum": 2},
            "minimum 1e-300",
        ),
        (
            {"type": "integer", "minimum": 1, "maximum": 10**400},
            {"type": "integer", "minimum": 1, "maximum": MOST},
            "numbers up to 10^100 alone, not maximum of more than 100 digits",
        ),
        ({"type": "string", "minLength": 10**6}, STRING, "minLength 1000000"),
        ({"type": "string", "maxLength": 10**6}, STRING, "maxLength 1000000"),
        ({"type": "string", "minLength": 500}, {"type": "string", "minLength": 500}, ""),
        ({"type": "string", "minLength": 2, "maxLength": 1}, STRING, "minLength above maxLength"),
        (
            {"type": "array", "items": STRING, "minItems": 300},
            {"type": "array", "items": STRING, "minItems": 300},
            "",
        ),
        (
            {"type": "array", "items": STRING, "minItems": 5000},
            {"type": "array", "items": STRING},
            "minItems 5000",
        ),
        (
            {"type": "string", "pattern": "^a$", "minLength": 1},
            {"type": "string", "pattern": "^(?:a)$"},
            "minLength 1",
        ),
        ({"type": "string", "pattern": "a"}, STRING, "it does not go from ^ to $"),
        ({"type": "string", "pattern": "^(?=a)$"}, STRING, "is not understood"),
        (
            {"type": "string", "pattern": "^(?!x)", "maxLength": 9},
            {"type": "string", "maxLength": 9},
            "(?!x)",
        ),
        ({"type": "string", "pattern": "^a{99999}$"}, STRING, "counts further than 32768"),
        ({"enum": []}, {}, "a choice of which no value fits"),
        ({"enum": [["a"], {"b": 1e300}]}, {"enum": [["a"], {"b": 1e300}]}, ""),
        ({"enum": ["\ud800", "a"]}, {"enum": ["a"]}, ""),
        ({"type": "string", "enum": ["a", 1]}, {"type": "string", "enum": ["a"]}, ""),
        ({"type": "string", "enum": ["a", "bc"], "minLength": 2}, {"type": "string", "enum": ["bc"]}, ""),
        ({"anyOf": []}, {}, "anyOf"),
        ({"anyOf": [STRING, {}]}, {}, ""),
        (
            {"allOf": [{"description": "d"}, STRING, {"minLength": 2}]},
            STRING,
            "all of several schemas at once",
        ),
        ({"type": "array"}, {"type": "array", "items": {}}, ""),
        (
            {"type": "array", "items": STRING, "uniqueItems": True},
            {"type": "array", "items": STRING},
            "uniqueItems",
        ),
        ({"type": "array", "prefixItems": [STRING]}, {"type": "array", "items": {}}, "prefixItems"),
        (
            of({"b": STRING}, required=["c"]),
            of({"b": STRING, "c": {}}, required=["c"], additionalProperties=False),
            "",
        ),
        (of({"\ud800": STRING, "a": STRING}), of({"a": STRING}, additionalProperties=False), ""),
    ],
)
def test_what_a_grammar_cannot_hold_is_left_open_and_named(schema: Any, narrowed: Any, note: str) -> None:
    notes: list[str] = []
    whole = narrow(of({"p": schema}), "T", formats=False, notes=notes)
    assert whole == of({"p": narrowed}, additionalProperties=False)
    assert note in " ".join(notes)
    assert bool(notes) == bool(note)
    assert all(line.startswith("T.p") and "\n" not in line for line in notes)


@pytest.mark.parametrize("schema", [None, [], 3, {}, {"type": "array"}, {"anyOf": []}, {"properties": 3}])
def test_parameters_of_any_kind_are_an_object(schema: Any) -> None:
    narrowed = narrow(schema, "T", formats=True)
    assert (narrowed["type"], narrowed["properties"]) == ("object", {})


def test_an_unknown_format_matters_only_where_formats_are_enforced() -> None:
    schema = of({"p": {"type": "string", "format": "hostname"}})
    for formats, count in ((False, 0), (True, 1)):
        notes: list[str] = []
        assert narrow(schema, "T", formats=formats, notes=notes)["properties"]["p"] == STRING
        assert len(notes) == count


def test_what_is_nested_without_end_is_left_open() -> None:
    schema: dict[str, Any] = STRING
    for _ in range(40):
        schema = {"type": "array", "items": schema}
    notes: list[str] = []
    narrow(of({"p": schema}), "T", formats=False, notes=notes)
    assert "nested deep" in notes[0]
    tree = {"$ref": "#/$defs/n"}
    node = of({"name": STRING, "children": {"type": "array", "items": tree}})
    narrowed = narrow({**of({"tree": tree}), "$defs": {"n": node}}, "T", formats=False, notes=notes)
    assert narrowed["properties"]["tree"]["properties"]["name"] == STRING
    assert narrowed["properties"]["tree"]["properties"]["children"]["items"] == {}


@given(st.data())
def test_integers_between_bounds_and_no_others(data: st.DataObject) -> None:
    bounds = (
        st.integers(-(10**100), 10**100)
        | st.integers(-120, 120)
        | st.sampled_from([10**n for n in range(101)])
    )
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
        ("^\\D$", ["a", "٣", "é", '"', "\n"], ["1", ""]),
        ("^[^,]$", ["a", "😀", '"', "\\"], [",", ""]),
        ("^.$", ["a", '"'], ["\n", "\u2028", ""]),
        ("^[\\s\\S]{1,3}$", ["a\nb", "\t", "\\"], ["", "abcd"]),
        ("^\\x41\\u4e00\\n$", ["A一\n"], ["A", "A一n"]),
        ("^[\\]\\-a]+$", ["]-a"], ["b"]),
        ("^(a|b)\\.$", ["a.", "b."], ["a", "ab"]),
        ("^a$", ["a"], ["a\n", "ba"]),
    ],
)
def test_patterns_mean_the_same_to_all(pattern: str, fitting: list[str], others: list[str]) -> None:
    for text in (*fitting, *others):
        is_fitting = text in fitting
        assert bool(re.fullmatch(canonical(pattern)[1:-1], text)) is is_fitting
        assert bool(re.fullmatch(canonical(canonical(pattern))[1:-1], text)) is is_fitting
        assert is_match(as_python(pattern), text, whole=False) is is_fitting


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
        "^\\u00$",
    ],
)
def test_patterns_that_are_read_in_several_ways_are_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match=r"[a-z]"):
        canonical(pattern)
