"""What a reader of passages decides, and what it never does."""

from collections.abc import Callable

import pytest

from rig.plugins.text.judge import Band, beside, judge
from rig.plugins.tooltalk_tools.world import BODY, EVENT
from rig.scoring.similarity import Meaning, TextJudgement

BAND = Band(same=0.8, unclear=0.2, doubtful=0.95)


def judged(first: str, second: str, reader: Callable[[str, str], float | None]) -> TextJudgement:
    return judge(BODY, first, second, reader, BAND)


def read(first: str, second: str) -> list[tuple[str, str]]:
    """The passages that a reader is asked about."""
    asked: list[tuple[str, str]] = []

    def reader(one: str, other: str) -> float:
        asked.append((one, other))
        return 1.0

    judged(first, second, reader)
    return asked


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Ring Mia at 8 pm on Friday", "Ring Mia on Friday evening at 8"),
        ("Lunch on 3 May at noon", "Lunch at 12 pm on May 3rd"),
        ("A month ago, we moved", "We moved a month ago"),
        ("Every Friday Tom cooks", "Tom cooks every Friday"),
    ],
)
def test_times_at_either_end_may_stand_in_any_order(first: str, second: str) -> None:
    assert read(first, second) == []
    assert judged(first, second, lambda *_: 0.0).meaning is Meaning.SAME


def test_a_sentence_too_many_does_not_drown_in_one_that_has_no_partner() -> None:
    first, second = "Tell nobody about it.\nBring the red file.", "Keep this to yourself."
    assert judged(first, second, lambda *_: 0.9).meaning is Meaning.UNCLEAR


def test_a_name_alone_is_no_rewording_of_a_sentence() -> None:
    assert judged("Hurry.\nWater the plants.", "Hey Lou!\nHurry.", lambda *_: 0.9).meaning is Meaning.UNCLEAR


def test_a_time_within_a_sentence_keeps_its_place() -> None:
    assert read("Remind him on Monday to ring", "Remind him to ring on Monday") != []


LOADS = list(enumerate(("pears", "plums", "onions", "carrots", "apples"), 12))
WORDED = ("The goods will be dropped off on Monday.", "They are bringing the order on Monday.")


@pytest.mark.parametrize(
    ("likelihood", "meaning", "reason"),
    [
        (0.9, Meaning.SAME, "the wording is alike by 0.90"),
        (0.5, Meaning.UNCLEAR, "not clear: "),
        (0.1, Meaning.DIFFERENT, "the wording is alike by 0.10"),
    ],
)
def test_a_reader_decides_what_is_worded_otherwise(likelihood: float, meaning: Meaning, reason: str) -> None:
    found = judged(*WORDED, lambda *_: likelihood)
    assert (found.meaning, found.likeness) == (meaning, likelihood)
    assert found.reason.startswith(reason)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Meet me at 7 by the old mill.", "Let us meet at 8 at the old mill."),
        ("Write to Jonas about the roof.", "Drop Tobias a line about the roof."),
        ("Hi Jonas, the roof leaks.", "Hi Tobias, water comes through the roof."),
        ("Hurra, the roof holds 👍", "The roof is holding well 👎"),
    ],
)
def test_no_reader_accepts_what_is_proven_different(first: str, second: str) -> None:
    assert judged(first, second, lambda *_: 0.9).meaning is Meaning.DIFFERENT
    assert judged(first, second, lambda *_: 1.0).meaning is Meaning.UNCLEAR
    assert judge(BODY, first, second, lambda *_: 1.0, Band(0.8, 0.2)).meaning is Meaning.DIFFERENT


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("The shop may open.", "The shop will open."),
        ("Bring the red lamp.", "Bring the read lamp."),
        ("The shop is open until 31 May 2026.", "The shop is open until 34 May 2026."),
        ("How long are you open on Saturday?", "Blorp glim zank."),
        ("Mir fehlt das Brot und der Käse.", "Mir fehlt das Brot, der Käse und der Wein."),
    ],
)
def test_no_reader_accepts_a_least_difference_or_what_is_unrelated(first: str, second: str) -> None:
    assert judged(first, second, lambda *_: 1.0).meaning is not Meaning.SAME


def test_a_reader_is_not_asked_where_nothing_is_open() -> None:
    assert read("The hall is free. Bring bread.", "Bring bread. The hall is free.") == []
    assert read("Ich schlafe heute.", "Heute schlafe ich nicht.") == []


def test_a_reader_does_not_doubt_what_stands_in_another_argument() -> None:
    texts = ("Packing", "Packing between 9 am and 11 am")
    elsewhere = beside(["2023-10-11 09:00:00", "2023-10-11 11:00:00"])
    assert judge(EVENT, *texts, lambda *_: 0.1, BAND, elsewhere).meaning is Meaning.SAME
    assert judge(EVENT, *texts, lambda *_: 0.1, BAND).meaning is Meaning.DIFFERENT


def test_facts_of_two_sorts_are_left_to_a_reader() -> None:
    texts = ("He is 84 and has a weak heart.", "He is 84 years old, and his heart is weak.")
    assert judged(*texts, lambda *_: 0.9).meaning is Meaning.SAME
    assert judged(*texts, lambda *_: 0.1).meaning is Meaning.DIFFERENT


def test_a_sentence_without_a_partner_is_read_with_the_whole_text() -> None:
    texts = ("Do you want to come along? We meet at the boathouse.", "We meet at the boathouse.")
    assert read(*texts) == [tuple(sorted(texts))]
    assert judged(*texts, lambda *_: 0.1).meaning is Meaning.DIFFERENT
    assert judged(*texts, lambda *_: 1.0).meaning is Meaning.UNCLEAR


def test_passages_are_the_sentences_that_belong_together() -> None:
    first = "The plumber comes on Monday. I may be late. The hall is free."
    second = "The hall is free. Perhaps I get there late. On Monday the plumber is going to call in."
    assert set(map(frozenset, read(first, second))) == {
        frozenset(("The plumber comes on Monday.", "On Monday the plumber is going to call in.")),
        frozenset(("I may be late.", "Perhaps I get there late.")),
    }


def test_the_passage_that_is_least_alike_decides() -> None:
    texts = (
        "The plumber comes on Monday. I may be late.",
        "On Monday the plumber calls in. I get there late.",
    )

    def reader(first: str, second: str) -> float:
        return 0.1 if "late" in first else 0.99

    assert len(read(*texts)) == 2
    found = judged(*texts, reader)
    assert (found.meaning, found.likeness) == (Meaning.DIFFERENT, 0.1)


def test_what_a_reader_cannot_read_is_not_clear_unless_it_is_proven_different() -> None:
    assert judged(*WORDED, lambda *_: None).meaning is Meaning.UNCLEAR
    assert judged("We meet at 7.", "We are to meet at 8.", lambda *_: None).meaning is Meaning.DIFFERENT


def test_a_long_text_counts_as_a_whole_too() -> None:
    first = " ".join(f"The {number} crates of {what} go to Ole." for number, what in LOADS)
    second = " ".join(f"Ole gets {number} crates of {what}, all right." for number, what in LOADS)

    def of(passage: float, whole: float) -> Meaning:
        return judged(first, second, lambda one, _: whole if len(one.split()) > 25 else passage).meaning

    assert of(0.1, 0.1) is Meaning.DIFFERENT
    assert of(0.1, 0.9) is Meaning.UNCLEAR
    assert of(0.9, 0.1) is Meaning.UNCLEAR
    assert of(0.9, 0.9) is Meaning.SAME
