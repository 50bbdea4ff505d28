"""BFCL's rules, one by one. The table's verdicts are those of BFCL's own checker (bfcl-eval 2026.3.23)."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rig.plugins.bfcl.checker import Wrong, check
from rig.plugins.bfcl.data import SingleTurnEntry
from rig.plugins.bfcl.literals import TYPES, value_of, written

PROPERTIES = {
    "s": {"type": "string"},
    "i": {"type": "integer"},
    "f": {"type": "float"},
    "b": {"type": "boolean"},
    "l": {"type": "array", "items": {"type": "string"}},
    "n": {"type": "array", "items": {"type": "integer"}},
    "t": {"type": "tuple", "items": {"type": "float"}},
    "d": {"type": "dict", "properties": {}},
    "o": {"type": "array", "items": {"type": "dict"}},
    "a": {"type": "any"},
}


def is_right(
    category: str,
    output: Any,
    calls: Any,
    properties: Any = PROPERTIES,
    required: Any = (),
    *,
    underscores: bool = False,
) -> bool:
    functions = [
        {"name": name, "parameters": {"properties": properties, "required": list(required)}}
        for name in ("f", "g.h")
    ]
    try:
        check(output, SingleTurnEntry("", category, (), functions, calls), underscores=underscores)
    except Wrong:
        return False
    return True


ONE: list[tuple[dict[str, Any], dict[str, list[Any]], bool]] = [
    ({"s": "New York, N.Y."}, {"s": ["new-york ny"]}, True),
    ({"s": "it's"}, {"s": ['It"s']}, True),
    ({"s": "a:b"}, {"s": ["ab"]}, False),
    ({"s": 5}, {"s": ["5"]}, False),
    ({"s": ""}, {"s": ["a", ""]}, True),
    ({}, {"s": ["a", ""]}, True),
    ({}, {"s": ["a"]}, False),
    ({"i": 5}, {"i": [5]}, True),
    ({"i": 5.0}, {"i": [5]}, False),
    ({"i": True}, {"i": [1]}, False),
    ({"f": 5}, {"f": [5.0]}, True),
    ({"f": 5}, {"f": [5]}, True),
    ({"f": "5"}, {"f": [5.0]}, False),
    ({"f": True}, {"f": [1.0]}, False),
    ({"b": True}, {"b": [True]}, True),
    ({"b": 1}, {"b": [True]}, False),
    ({"b": "x"}, {"b": ["x"]}, True),
    ({"b": "X"}, {"b": ["x"]}, False),
    ({"i": "n"}, {"i": ["n"]}, True),
    ({"l": ["A b", "c."]}, {"l": [["ab", "C"]]}, True),
    ({"l": ["c", "a"]}, {"l": [["a", "c"]]}, False),
    ({"l": []}, {"l": [["a"], ""]}, True),
    ({"l": [1]}, {"l": [["a"]]}, False),
    ({"l": ("a",)}, {"l": [["a"]]}, False),
    ({"n": [1, 2]}, {"n": [[1, 2]]}, True),
    ({"n": [1.0, 2.0]}, {"n": [[1, 2]]}, False),
    ({"n": [True]}, {"n": [[1]]}, False),
    ({"t": (1.0, 2.0)}, {"t": [[1.0, 2.0]]}, True),
    ({"t": [1.0, 2.0]}, {"t": [[1.0, 2.0]]}, True),
    ({"t": [1, 2]}, {"t": [[1.0, 2.0]]}, False),
    ({"t": [1, 2]}, {"t": [[1, 2]]}, True),
    ({"d": {"k": "V"}}, {"d": [{"k": ["v"]}]}, True),
    ({"d": {"k": 1}}, {"d": [{"k": [True]}]}, True),
    ({"d": {}}, {"d": [{"k": ["v", ""]}]}, True),
    ({"d": {}}, {"d": [{"k": ["v"]}]}, False),
    ({"d": {"k": "v", "x": 1}}, {"d": [{"k": ["v"]}]}, False),
    ({"d": "v"}, {"d": ["v"]}, True),
    ({"o": [{"k": "V"}, {"k": 2}]}, {"o": [[{"k": ["v"]}, {"k": [2]}]]}, True),
    ({"o": [{"k": 2}, {"k": "v"}]}, {"o": [[{"k": ["v"]}, {"k": [2]}]]}, False),
    ({"o": []}, {"o": [[{"k": ["v"]}], ""]}, True),
    ({"a": "Text"}, {"a": ["text"]}, True),
    ({"a": 3}, {"a": [3]}, True),
    ({"a": 3.0}, {"a": [3]}, False),
    ({"s": "a", "x": 1}, {"s": ["a"]}, False),
    ({"s": "a", "i": 1}, {"s": ["a"]}, False),
]


@pytest.mark.parametrize(("given_", "allowed", "right"), ONE)
def test_one_call(given_: dict[str, Any], allowed: dict[str, list[Any]], right: bool) -> None:
    assert is_right("simple_python", [{"f": given_}], [{"f": allowed}]) is right


def test_what_is_required_has_to_be_given() -> None:
    assert not is_right("simple_python", [{"f": {}}], [{"f": {"s": ["a", ""]}}], required=["s"])


@pytest.mark.parametrize(
    ("category", "names", "right"),
    [
        ("simple_python", ["f"], True),
        ("simple_python", ["f", "f"], False),
        ("simple_python", [], False),
        ("multiple", ["f"], True),
        ("multiple", ["g.h"], False),
        ("parallel", ["f", "f"], False),
        ("live_parallel_multiple", ["f"], True),
    ],
)
def test_how_many_calls_there_may_be(category: str, names: list[str], right: bool) -> None:
    assert is_right(category, [{name: {}} for name in names], [{"f": {}}]) is right


def test_parallel_calls_come_in_any_order_and_are_taken_greedily() -> None:
    calls = [{"f": {"s": ["a", "b"]}}, {"f": {"s": ["a"]}}]
    assert is_right("parallel", [{"f": {"s": "b"}}, {"f": {"s": "a"}}], calls)
    assert not is_right("parallel", [{"f": {"s": "a"}}, {"f": {"s": "b"}}], calls)


@pytest.mark.parametrize(
    ("name", "underscores", "right"),
    [("g.h", False, True), ("g_h", True, True), ("g_h", False, False), ("g.h", True, False)],
)
def test_dots_in_names(name: str, underscores: bool, right: bool) -> None:
    assert is_right("multiple", [{name: {}}], [{"g.h": {}}], underscores=underscores) is right


JAVA = [
    *(
        ("5", "integer", None, 5),
        ("5L", "integer", None, "5L"),
        ("5L", "long", None, 5),
        ("5", "long", None, "5"),
    ),
    *(("1.5f", "float", None, 1.5), ("1.5", "float", None, "1.5"), ("1.5e2", "double", None, 150.0)),
    *(("true", "boolean", None, True), ("True", "boolean", None, "True"), ("x", "any", None, "x")),
    ("new int[]{1, 2}", "Array", "integer", [1, 2]),
    ('new String[]{"a"}', "Array", "String", ['"a"']),
    ("new long[]{1L, 2}", "Array", "long", [1, "2"]),
    ("int[]{1}", "Array", "integer", "int[]{1}"),
    ('new ArrayList<>(Arrays.asList("a", "b"))', "ArrayList", "String", ["a", "b"]),
    ('new ArrayList<String>() {{ add("a"); add("b"); }}', "ArrayList", "String", ["a", "b"]),
    ("new ArrayList<>()", "ArrayList", "String", []),
    (
        'new HashMap<String, Object>() {{ put("a", 1); put("b", "x"); put("c", true); }}',
        "HashMap",
        None,
        {"a": 1, "b": "x", "c": True},
    ),
    ("new HashMap<>()", "HashMap", None, {}),
    ("{a: 1}", "HashMap", None, "{a: 1}"),
]


@pytest.mark.parametrize(("text", "kind", "inner", "value"), JAVA)
def test_values_of_java(text: str, kind: str, inner: str | None, value: Any) -> None:
    assert value_of("java", text, kind, inner) == value


JAVASCRIPT = [
    *(
        ('"a"', "String", None, "a"),
        ("a", "String", None, "a"),
        ("5n", "Bigint", None, 5),
        ("5", "Bigint", None, "5"),
    ),
    *(("5", "integer", None, 5), ("1.5", "float", None, 1.5), ("1e3", "float", None, "1e3")),
    *(("false", "Boolean", None, False), ("[1, 2]", "array", "integer", [1, 2]), ("[]", "array", None, [])),
    *((" new Array(1, 'b')", "array", None, [1, "b"]), ("[[1, 2], [3]]", "array", "array", [[1, 2], [3]])),
    *(
        ("{}", "dict", None, {}),
        ("{'a': 1, b: 'x'}", "dict", None, {"a": 1, "b": "x"}),
        ("a", "array", None, "a"),
    ),
    ('{"a": [1, 2], "c": true}', "dict", None, {"a": [1, 2], "c": True}),
]


@pytest.mark.parametrize(("text", "kind", "inner", "value"), JAVASCRIPT)
def test_values_of_javascript(text: str, kind: str, inner: str | None, value: Any) -> None:
    assert value_of("javascript", text, kind, inner) == value


def test_arguments_of_java_are_texts() -> None:
    properties = {"n": {"type": "long"}, "l": {"type": "ArrayList", "items": {"type": "String"}}}
    right = {"n": "5L", "l": 'new ArrayList<>(Arrays.asList("a"))'}
    calls = [{"f": {"n": [5], "l": [["a"]]}}]
    assert is_right("simple_java", [{"f": right}], calls, properties)
    assert not is_right("simple_java", [{"f": {**right, "n": 5}}], calls, properties)
    assert not is_right("simple_java", [{"f": {**right, "n": "5"}}], calls, properties)


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


@given(
    name=st.sampled_from(sorted(PROPERTIES)),
    value=ANYTHING,
    allowed=st.lists(ANYTHING, max_size=3),
    category=st.sampled_from(["simple_python", "parallel", "multiple"]),
)
def test_whatever_is_given_it_is_right_or_wrong(
    name: str, value: Any, allowed: list[Any], category: str
) -> None:
    assert is_right(category, [{"f": {name: value}}], [{"f": {name: allowed}}]) in (True, False)


@given(
    text=st.text(max_size=60),
    kind=st.sampled_from(sorted(set(TYPES["java"]) | set(TYPES["javascript"]))),
    inner=st.sampled_from([None, "String", "integer", "float"]),
)
def test_any_text_is_read_as_a_value_or_stays_one(text: str, kind: str, inner: str | None) -> None:
    for language in ("java", "javascript"):
        if kind not in TYPES[language] or kind in ("Set", "Hashtable", "Queue", "Stack"):
            with pytest.raises(LookupError):
                value_of(language, text, kind, inner)
        elif inner is None or inner in TYPES[language]:
            assert value_of(language, text, kind, inner) is not None


def test_a_list_of_longs_in_java_is_read_as_it_was_written() -> None:
    declared = {"type": "ArrayList", "items": {"type": "long"}}
    text = written([101, 202], declared, "java")
    assert text == "new ArrayList<>(Arrays.asList(101L, 202L))"
    assert value_of("java", text, "ArrayList", "long") == [101, 202]
