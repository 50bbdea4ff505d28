"""Text up to another text as a regular expression, held against Python's own search."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rig.engine.grammar.automaton.until import Characters, until, without

TEXTS = st.text(alphabet="ab<>\n", min_size=1, max_size=6)


@given(TEXTS, st.text(alphabet="ab<>\nx", max_size=14))
def test_it_says_what_a_search_says(closing: str, text: str) -> None:
    ends_at = text.find(closing)
    assert bool(re.fullmatch(without(closing, Characters()), text)) == (ends_at < 0)
    is_closed = ends_at >= 0 and ends_at == len(text) - len(closing)
    assert bool(re.fullmatch(until(closing, Characters()), text)) == is_closed


@given(TEXTS, st.text(alphabet="ab<>\nx", max_size=14))
def test_whatever_comes_before_it_ends_where_it_is_first(closing: str, text: str) -> None:
    whole = text + closing
    found = re.fullmatch(until(closing, Characters()), whole[: whole.find(closing) + len(closing)])
    assert found


@pytest.mark.parametrize(
    ("text", "is_in"), [("a b", True), ("a\x01b", False), ("a\u2603b", True), ("", True)]
)
def test_some_characters_are_never_in_it_and_others_are_though(text: str, is_in: bool) -> None:
    characters = Characters("\\x00-\\x1f\\u2600-\\u26ff", "\u2603")
    assert bool(re.fullmatch(without("</p>", characters), text)) == is_in
