"""Rules for arguments: what agrees, what does not, and what is no rule."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rig.core.errors import RigError
from rig.plugins.matching.agreement import (
    agrees,
    example_of,
    first_difference,
    nested,
    nested_texts,
    parse,
    simple,
)
from rig.plugins.matching.values import ABSENT
from rig.world.rules import Rule

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)

AGREE: list[tuple[dict[str, Any], list[Any], list[Any]]] = [
    ({"$exact": 3}, [3, 3.0], [True, "3", None, ABSENT]),
    ({"$exact": [1, {"a": 2}]}, [[1, {"a": 2.0}]], [[{"a": 2}, 1], [1]]),
    ({"$number": 3.5}, [3.5, "3.5"], [3.6, "three", True, None, [3.5], "nan", ABSENT]),
    ({"$number": 1000, "within": 1}, [999, 1001, "1,000"], [998.9, 1001.1]),
    ({"$number": 1234567890}, [1234567890.0, "1,234,567,890"], [1234567891, "1234567891"]),
    ({"$number": 0.3}, [0.1 + 0.2], [0.300001]),
    (
        {"$date": "2025-03-06"},
        ["2025-03-06", "2025-03-06 18:00", "2025-03-06T18:00:00Z"],
        ["2025-03-07", "soon", 5],
    ),
    (
        {"$time": "18:30"},
        ["18:30:00", "6:30 pm", "6:30 p.m.", "2025-03-06 18:30"],
        ["6:30", "18:31", "", None],
    ),
    ({"$time": "09:00", "within": 60}, ["9:01", "08:59", "9 am"], ["9:02", "9 pm"]),
    ({"$time": "23:59:30", "within": 60}, ["00:00:10", "23:59"], ["00:01"]),
    ({"$time": "18:30"}, ["18:30:00.000Z", "18:30Z", "2025-03-06T18:30:00.5+01:00"], ["19:30Z"]),
    (
        {"$datetime": "2025-03-06 18:30"},
        ["2025-03-06T18:30:00", "2025-03-06T18:30Z"],
        ["2025-03-06", "18:30"],
    ),
    ({"$datetime": "2025-03-06T18:30+01:00"}, ["2025-03-06T17:30Z"], ["2025-03-06T18:30Z"]),
    ({"$set": ["a", "b"]}, [["b", "a"], ["a", "b", "a"]], [["a"], ["a", "b", "c"], "ab", None]),
    ({"$any": True}, [1, None, "x", ABSENT, []], []),
    ({"$one_of": ["a", 1, None]}, ["a", 1.0, None, ABSENT], ["b", True]),
    ({"$one_of": ["a"]}, ["a"], [ABSENT, None]),
    ({"$regex": "[A-Z]{2}-[0-9]+", "example": "AB-1"}, ["AB-12"], ["xAB-12", "AB-", 3, None, ABSENT]),
    ({"$regex": "1[0-9]"}, [12, "12"], [2, True]),
    ({"$regex": "([](){9}]{2,3}|\\({100}|x{9}?)+"}, ["]9]", "(" * 100, "x" * 9], ["]", "x" * 8]),
]


@pytest.mark.parametrize(("written", "right", "wrong"), AGREE)
def test_what_agrees(written: dict[str, Any], right: list[Any], wrong: list[Any]) -> None:
    rule = parse(written)
    assert rule is not None
    expected = None if rule.name in ("any", "regex") else example_of(rule)
    assert [agrees(rule, expected, value) for value in right] == [True] * len(right)
    assert [agrees(rule, expected, value) for value in wrong] == [False] * len(wrong)
    assert parse(rule.as_json()) == rule


@pytest.mark.parametrize(
    ("written", "fault"),
    [
        ({"$some": 1}, r"'\$some' is not a rule; choose from: \$exact"),
        ({"$one_of": []}, "needs a list of values"),
        ({"$one_of": "abc"}, "needs a list of values"),
        ({"$regex": "("}, "missing"),
        ({"$regex": 3}, "is no text"),
        ({"$regex": "(((a{100}){100}){100}){100}"}, "too large"),
        ({"$regex": "(((a{,100})?){,100}){,100}b"}, "too large"),
        ({"$regex": "(" * 5000}, "missing|recursion"),
        ({"$date": "tomorrow"}, "is none"),
        ({"$number": "many"}, "is none"),
        ({"$set": "a"}, "needs a list"),
        ({"$text": 1}, "needs a text"),
        ({"$number": 1, "within": -1}, "needs a number from 0 on"),
        ({"$number": 1, "about": 2}, "has no option 'about'"),
        ({"about": 2, "$number": 1}, "'about' is not a rule"),
        ({"$regex": "a+", "example": "b"}, "does not agree"),
    ],
)
def test_what_is_no_rule(written: dict[str, Any], fault: str) -> None:
    with pytest.raises(RigError, match=fault):
        parse(written)


@pytest.mark.parametrize("value", [3, "x", None, [], {}, {"a": {"$any": True}}])
def test_a_value_is_no_rule(value: Any) -> None:
    assert parse(value) is None


@pytest.mark.parametrize("name", ["one_of", "regex", "magic", 3])
def test_a_name_alone_that_is_no_rule(name: Any) -> None:
    with pytest.raises(RigError, match="not a rule for an argument; choose from: exact"):
        simple(name)


@given(value=JSON, other=JSON, written=st.sampled_from([written for written, _, _ in AGREE]))
def test_no_value_of_a_model_makes_a_rule_fail(value: Any, other: Any, written: dict[str, Any]) -> None:
    rule = parse(written)
    assert rule is not None
    assert agrees(rule, other, value) in (True, False)


@pytest.mark.parametrize("name", ["exact", "number", "date", "time", "datetime", "set"])
def test_a_text_agrees_with_itself_and_null_with_nothing(name: str) -> None:
    """What is written into a conversation need not be what its rule reads."""
    assert agrees(Rule(name), "half past six", "half past six")
    assert not agrees(Rule(name), "half past six", "half past seven")
    assert all(agrees(Rule(name), None, value) for value in (None, ABSENT))
    assert not agrees(Rule(name), None, "half past six")


@given(value=JSON)
def test_equal_values_agree_exactly(value: Any) -> None:
    assert agrees(Rule("exact"), value, value)


def test_a_regular_expression_that_takes_for_ever_is_given_up() -> None:
    rule = parse({"$regex": "(a|aa)+$(b)?c"})
    assert rule is not None
    assert not agrees(rule, None, "a" * 5000 + "!")


NESTED = {
    "items": [{"name": {"$text": "two warm blankets"}, "count": {"$number": 2}}],
    "to": {"street": "Mill Lane", "gift": {"$one_of": [None, False]}},
}


@pytest.mark.parametrize(
    ("got", "is_met"),
    [
        ({"items": [{"name": "a pair", "count": "2"}], "to": {"street": "Mill Lane"}}, True),
        ({"items": [{"name": "a pair", "count": 3}], "to": {"street": "Mill Lane"}}, False),
        ({"items": [{"name": 4, "count": 2}], "to": {"street": "Mill Lane"}}, False),
        ({"items": [], "to": {"street": "Mill Lane"}}, False),
        ({"items": [{"name": "x", "count": 2}], "to": {"street": "Mill Lane", "gift": True}}, False),
        ({"items": [{"name": "x", "count": 2}], "to": {"street": "Mill Lane", "other": 1}}, False),
    ],
)
def test_rules_inside_a_value_apply_there(got: object, is_met: bool) -> None:
    rule = nested(NESTED)
    assert rule is not None
    assert agrees(rule, None, got) == is_met
    assert parse(rule.as_json()) == rule


def test_what_differs_inside_is_named_by_its_path() -> None:
    got = {"items": [{"name": "x", "count": 3}], "to": {"street": "Mill Lane"}}
    assert first_difference({"$nested": NESTED}, got) == (".items[0].count", {"$number": 2}, 3)
    texts = list(nested_texts(NESTED, got))
    assert texts == [(".items[0].name", "two warm blankets", "x")]
    assert nested({"a": [1, {"b": 2}]}) is None
    with pytest.raises(RigError, match=r"is not a rule"):
        nested({"a": {"$tezt": "x"}})


def test_a_value_without_rules_may_have_any_names() -> None:
    found = first_difference({"a": [{"$gt": 1}, 2]}, {"a": [{"$gt": 1}, 3]})
    assert found == (".a[1]", 2, 3)
    assert first_difference({"a": 1}, {"a": 1, "b": {"c": 2}}) == (".b", None, {"c": 2})
