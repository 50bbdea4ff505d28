"""Counts with their nouns, and the name that was meant."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rig.core.errors import counted, did_you_mean


@pytest.mark.parametrize(
    ("count", "noun", "text"),
    [(0, "file", "0 files"), (1, "file", "1 file"), (2, "file", "2 files"), (3, "query", "3 queries")],
)
def test_a_noun_has_its_plural(count: int, noun: str, text: str) -> None:
    assert counted(count, noun) == text


def test_nothing_can_have_a_word_of_its_own() -> None:
    assert counted(0, "fault", "no") == "no faults"
    assert counted(2, "fault", "no") == "2 faults"


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("smolm2", "smollm2"), ("EASY", "easy"), ("addalarm-esy", "AddAlarm-easy"), ("qqqq", None), ("", None)],
)
def test_the_nearest_name_is_suggested_whatever_its_case(typed: str, meant: str | None) -> None:
    known = ["smollm2", "easy", "AddAlarm-easy"]
    assert did_you_mean(typed, known) == (f" (did you mean {meant!r}?)" if meant else "")


@given(st.text(), st.lists(st.text(min_size=1)))
def test_only_what_is_known_is_suggested(typed: str, known: list[str]) -> None:
    said = did_you_mean(typed, known)
    assert said == "" or any(said == f" (did you mean {name!r}?)" for name in known)


def test_a_very_long_name_takes_no_time() -> None:
    assert did_you_mean("x" * 10**6, ["x" * 50, "easy"]) != ""
