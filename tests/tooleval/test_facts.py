"""Facts that answers name: at least 100 answers for each kind, by forms that people and models write."""

from itertools import product
from pathlib import Path

import pytest

from rig.core.paths import CONVERSATIONS
from rig.plugins.tooleval.claims import states
from rig.plugins.tooleval.queries import load, names

SAYS = (
    "It is {}.",
    "The answer is {}.",
    "I looked it up: {}.",
    "Done. It says {} there.",
    "As you asked, I checked, and it is {}.",
    "Sure! That would be {}, as far as the record goes.",
)
DENIES = ("It is not {}.", "There is nothing for {}.", "I found no entry that says {}.")
OPEN = ("Is it {}?", "Perhaps it is {}.", "Please ask again for {}.", "It might be {}.")
KINDS = {
    "time": (
        ("15:40", "3:40"),
        ("15:40", "15:40:00", "3:40pm", "3:40 PM", "3.40 pm", "twenty to four", "3:40 p.m."),
        ("15:30", "16:40", "3:45 pm", "4:40pm", "14:30", "half past three", "twenty past four"),
    ),
    "date": (
        ("February 22", "22 February"),
        ("February 22", "February 22nd", "22 February", "Feb. 22", "2025-02-22", "the 22nd of February"),
        ("February 23", "22 March", "Feb. 2", "2025-02-20", "the 21st of February", "January 22"),
    ),
    "amount": (
        ("1,860", "1860"),
        ("$1,860", "1860 dollars", "1,860", "USD 1860", "$1860", "1860"),
        ("$1,680", "1806 dollars", "1,660", "$186", "$18,600", "2860"),
    ),
    "measure": (
        ("3 cm", "3cm"),
        ("3 cm", "3cm", "3 centimetres", "three centimeters", "3 centimeters wide", "30 mm"),
        ("3 mm", "4 cm", "13 cm", "3 inches", "five centimetres", "3 m"),
    ),
    "degrees": (
        ("32",),
        ("32", "32F", "32 F", "32°F", "32 degrees", "32 degrees Fahrenheit"),
        ("23", "33F", "32 pm", "42°F", "12 degrees", "31 degrees Fahrenheit"),
    ),
    "name": (
        ("Dmitri Volkov",),
        ("Dmitri Volkov", "dmitri volkov", "Mr. Dmitri Volkov", "DMITRI VOLKOV", "Dmitri Volkov himself"),
        ("Dmitri Volkow", "Dimitra Volkov", "Sergei Volkov", "Dmitri", "Anna Petrova"),
    ),
    "number": (
        ("773-555-0162",),
        ("773-555-0162", "(773) 555-0162", "773 555 0162", "773.555.0162", "7735550162"),
        ("773-555-0126", "(773) 555-0163", "773 555 016", "737.555.0162", "7735550161"),
    ),
}


def answers() -> list[tuple[str, tuple[str, ...], bool | None, str]]:
    rows = []
    for kind, (ways, right, wrong) in KINDS.items():
        rows += [(form.format(value), ways, True, kind) for form, value in product(SAYS, right)]
        rows += [(form.format(value), ways, False, kind) for form, value in product(SAYS, wrong)]
        rows += [(form.format(value), ways, False, kind) for form, value in product(DENIES, right)]
        rows += [(form.format(value), ways, None, kind) for form, value in product(OPEN, right)]
    return rows


@pytest.mark.parametrize("kind", KINDS)
def test_at_most_one_answer_in_twenty_is_judged_wrongly(kind: str) -> None:
    rows = [row for row in answers() if row[3] == kind]
    assert len(rows) >= 90
    wrong = [
        (answer, verdict)
        for answer, ways, expected, _ in rows
        if (verdict := names(answer, ways)) is not None and verdict is not expected and (verdict or expected)
    ]
    unclear = sum(names(answer, ways) is None for answer, ways, expected, _ in rows if expected is not None)
    assert len(wrong) <= 0.05 * len(rows), wrong
    assert unclear <= 0.2 * len(rows)


@pytest.mark.parametrize(
    ("answer", "ways", "expected"),
    [
        ("Your seats are in row B; it is 20 F outside.", ("row F", "F"), False),
        ("The seats are in row F.", ("row F", "F"), True),
        ("I found nothing, please ask again tomorrow.", ("tomorrow", "ready"), None),
        ("It is in Founders Hall or Marsh Hall.", ("Founders Hall",), None),
        ("There is no alarm at 15:40.", ("15:40",), False),
        ("The address is meilin.tam@kopiandco.example.", ("meilin.tan@kopiandco.example",), False),
        ("Twenty-nine arrived whole.", ("29", "twenty-nine"), True),
    ],
)
def test_what_misled_the_comparison_of_words(
    answer: str, ways: tuple[str, ...], expected: bool | None
) -> None:
    assert names(answer, ways) is expected


def judged(file: str) -> tuple[int, list[str], list[str]]:
    """The number of labelled answers in a file, those judged wrongly, and those that are unclear."""
    queries = {query.name: query for query in load(CONVERSATIONS / "queries")}
    lines = Path(__file__).parents[1].joinpath(f"support/{file}").read_text("utf-8").splitlines()
    rows = [line.split(" | ", 2) for line in lines if not line.startswith("#")]
    wrong, unclear = [], []
    for name, expected, answer in rows:
        query = queries[name]
        verdicts = {names(answer.replace("\\n", "\n"), ways, query.answer) for ways in query.named}
        if False not in verdicts and None in verdicts:
            unclear.append(answer)
        elif (False not in verdicts) != (expected == "y"):
            wrong.append(answer)
    return len(rows), wrong, unclear


def test_answers_to_the_queries_are_judged_as_a_person_would() -> None:
    count, wrong, unclear = judged("fact_answers.txt")
    assert count >= 540
    assert len(wrong) <= 0.03 * count, wrong
    assert len(unclear) <= 0.1 * count, unclear


def test_values_of_other_things_and_in_other_units_are_not_accepted() -> None:
    count, wrong, _ = judged("misleading_answers.txt")
    assert count >= 85
    assert len(wrong) <= 0.03 * count, wrong


def test_a_day_counts_as_one_where_days_are_counted() -> None:
    example = "In April it has 1 snow day."
    assert names("It has 1 day of snow in April.", ("1", "one"), example) is True
    assert names("It has 1 hour of snow in April.", ("1", "one"), example) is None


def test_what_only_begins_like_a_time_is_none() -> None:
    assert names("It opens at 10:455.", ("10:45",)) is False


@pytest.mark.parametrize(
    ("answer", "ways", "expected"),
    [
        ("The alarm rings at 3:40 AM.", ("15:40", "3:40"), False),
        ("The alarm rings at 3:40.", ("15:40", "3:40"), True),
        ("They begin at two.", ("14:00", "2"), True),
        ("They begin at 2 am.", ("14:00", "2"), False),
    ],
)
def test_half_of_the_day(answer: str, ways: tuple[str, ...], expected: bool) -> None:
    assert names(answer, ways) is expected


def test_facts_that_are_exchanged_are_unclear() -> None:
    example = "A high of 32 and a low of 17."
    assert names("A low of 32 and a high of 17.", ("32",), example) is None
    assert names("The low is 17, the high is 32.", ("32",), example) is True
    assert names("It has 17 to 32 degrees.", ("32",), example) is True


@pytest.mark.parametrize(
    ("answer", "ways", "example", "expected"),
    [
        ("Would you like me to set an alarm for 15:40?", ("15:40",), "", None),
        ("It has a low of -6.", ("6",), "", False),
        ("It has a low of -6 degrees.", ("-6", "-6 degrees"), "", True),
        ("It has a low of 6 or -60 degrees.", ("-6", "-6 degrees"), "", False),
        ("It takes 1 h 30 min.", ("90 minutes",), "", True),
        ("Write to ana@mail.org.uk.", ("ana@mail.org",), "", False),
        ("Write to ana@mail.org.", ("ana@mail.org",), "", True),
        ("It was moved from Room 118 to Room 204.", ("118",), "It was moved to Room 118.", None),
        ("It lasts from 1 pm to 2 pm.", ("14:00",), "It begins at 14:00.", None),
        ("It begins at 14:00 and ends at 16:00.", ("14:00",), "It begins at 14:00.", True),
        ("Your day is the 17th.", ("17",), "You have board 17.", False),
        ("Today it is 84, in July 32.", ("32",), "Today it is 32, and in July 84.", None),
        ("It is due on 31.01.2025.", ("January 31",), "", True),
        ("You have until the last day of January.", ("January 31",), "", None),
        ("They cost one thousand eight hundred and sixty.", ("1860",), "", None),
        ("Buy books for the library.", ("library books",), "", None),
        ("It will rain heavily.", ("heavy rain",), "", None),
        ("F", ("F",), "", True),
        ("It is in the E row, at 32 F.", ("F",), "", False),
    ],
)
def test_forms_that_are_not_read_are_unclear(
    answer: str, ways: tuple[str, ...], example: str, expected: bool | None
) -> None:
    assert names(answer, ways, example) is expected


def test_a_text_without_numbers_states_no_duration() -> None:
    assert states("It takes a while.", "90 minutes") is False
