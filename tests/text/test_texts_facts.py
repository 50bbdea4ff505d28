"""Days, times and amounts: what a text states, and when two texts state different ones."""

import pytest

from rig.plugins.text.judge import Band, judge
from rig.plugins.text.reading.clauses import read_text
from rig.plugins.text.reading.facts import Sort
from rig.plugins.tooltalk_tools.world import BODY, TASK
from rig.scoring.similarity import Meaning, TextJudgement
from rig.world.spec import Text


def judged(kind: Text, first: str, second: str) -> TextJudgement:
    """The judgement with the wording taken for alike."""
    return judge(kind, first, second, lambda *_: 1.0, Band(0.5, 0.4))


AGREE = [
    ("at 3pm", "at 15:00"),
    ("at 3 p.m.", "at 3"),
    ("half past four", "16:30"),
    ("quarter to five", "4:45"),
    ("ten past six", "6:10 pm"),
    ("14h30", "2:30 pm"),
    ("at noon", "at 12 pm"),
    ("11 o'clock", "at 11"),
    ("from 8 to 10 am", "8:00 - 10:00"),
    ("11 to 1 pm", "11:00-13:00"),
    ("between 9am and 1pm", "9:00 to 13:00"),
    ("7:40 in the evening", "19:40"),
    ("September 15", "the 15th of Sept."),
    ("the 15th", "September 15th"),
    ("Aug 3-7", "3 to 7 August"),
    ("2024-09-15", "15 September 2024"),
    ("9/15", "15/9"),
    ("5/6", "June 5"),
    ("5/6", "6 May 2025"),
    ("05/06/2025", "2025/06/05"),
    ("on Tues", "on Tuesday"),
    ("next Tuesday", "Tuesday next week"),
    ("every week", "weekly"),
    ("every other day", "every second day"),
    ("twice a year", "every six months"),
    ("two times daily", "twice a day"),
    ("three times an hour", "every 20 minutes"),
    ("tonight", "this evening, today"),
    ("on Friday night", "on Friday evening"),
    ("every half hour", "every 30 minutes"),
    ("every quarter of an hour", "every 15 minutes"),
    ("at the weekend", "on weekends"),
    ("on weekends", "every weekend"),
    ("half-yearly", "six-monthly"),
    ("three-weekly", "every three weeks"),
    ("from the 3rd to the 6th of May", "between May 3 and May 6"),
    ("five days ago", "5 days ago"),
    ("two days ago", "the day before yesterday"),
    ("in two days", "the day after tomorrow"),
    ("on Friday evening at 8", "at 8 pm on Friday"),
    ("between 9:00 and 11:00", "9:00 - 11:00"),
    ("nightly", "every night"),
    ("on weekday mornings", "in the morning on weekdays"),
    ("at dawn", "in the morning"),
    ("two tickets", "2 tickets"),
    ("twenty-five chairs", "25 chairs"),
    ("a hundred and ten chairs", "110 chairs"),
    ("$1,250", "1250 dollars"),
    ("20 bucks", "$20"),
    ("5k", "5000"),
    ("20%", "20 percent"),
    ("half an hour", "30 minutes"),
    ("an hour and a half", "90 min"),
    ("1 hour and 30 minutes", "90 minutes"),
    ("two and a half hours", "150 minutes"),
    ("three quarters of an hour", "45 min"),
    ("half a year", "6 months"),
    ("a year and six months", "18 months"),
    ("2 weeks and 3 days", "17 days"),
    ("a decade", "ten years"),
    ("1 hr 30 min", "90 minutes"),
    ("1h 30m", "90 minutes"),
    ("2 hr", "2 hours"),
    ("two weeks", "14 days"),
    ("24 hours", "1 day"),
    ("the third quarter", "Q3"),
    ("room 3A", "room 3a"),
    ("a dozen eggs", "12 eggs"),
    ("half a dozen eggs", "6 eggs"),
    ("a half-dozen", "six"),
    ("no. 7", "#7"),
    ("the 2nd floor", "second floor"),
    ("at 12 noon", "at noon"),
    ("at 4:30 am", "4.30 in the morning"),
    ("closed in the morning, and we hope that it opens at one", "closed in the morning, open at 1 pm"),
]


@pytest.mark.parametrize(("first", "second"), AGREE)
def test_one_fact_is_written_in_many_ways(first: str, second: str) -> None:
    assert judged(BODY, f"It is {first}", f"It is {second}").meaning is not Meaning.DIFFERENT


DISAGREE = [
    ("an hour and ten minutes", "an hour and twenty minutes", "duration: "),
    ("half a year", "two years", "duration: "),
    ("2 tablespoons", "2 teaspoons", "measure: "),
    ("on Tuesday", "on Thursday", "weekday: tuesday is not thursday"),
    ("at 8pm", "at 8am", "time: 8pm is not 8am"),
    ("half past four", "half past five", "time: "),
    ("in the morning", "in the evening", "part of the day: "),
    ("every evening", "every night", "part of the day: "),
    ("at dusk", "at dawn", "part of the day: "),
    ("the evening ferry", "the night ferry", "part of the day: "),
    ("every half hour", "every hour", "how often: "),
    ("tomorrow", "today", "day: tomorrow is not today"),
    ("next week", "this week", "which week or day: next week is not this week"),
    ("every other day", "every day", "how often: "),
    ("twice a month", "every two months", "how often: "),
    ("every third week", "three times a week", "how often: "),
    ("from 8:00 to 18:00", "at 8:00 and 18:00", "one names the first and the last day or time"),
    ("from the 3rd to the 6th", "on the 3rd and the 6th", "one names the first and the last day or time"),
    ("on weekends", "this weekend", "day: weekends is not weekend"),
    ("three weeks ago", "two weeks ago", "day: three weeks ago is not two weeks ago"),
    ("tonight at 9", "tonight at 9 am", "time: 9 is not 9 am"),
    ("every quarter of an hour", "every quarter", "how often"),
    ("from Tuesday to Friday", "on Tuesday and Friday", "one names the first and the last day or time"),
    ("March 3", "March 13", "day of the month: "),
    ("July 8th", "August 8th", "month: july 8th is not august 8th"),
    ("the 15th", "the 16th", "day of the month: 15th is not 16th"),
    ("05/06", "05/07", "day of the month: 05/06 is not 05/07"),
    ("05/06", "06/05", "day of the month: 05/06 is not 06/05"),
    ("05/06", "June 6th", "day of the month: "),
    ("2025/05/06", "2025/06/05", "month: 2025/05/06 is not 2025/06/05"),
    ("in June 2023", "in June 2024", "year: 2023 is not 2024"),
    ("2 tickets", "four tickets", "number: 2 is not four"),
    ("$200", "$2000", "amount of money: $200 is not $2000"),
    ("$20", "€20", "amount of money: "),
    ("20%", "30%", "percentage: "),
    ("10 minutes", "40 minutes", "duration: "),
    ("room 204", "room 240", "number: 204 is not 240"),
    ("Room A", "Room B", "letter: a is not b"),
    ("flat 5C", "flat 6C", "letter: 5c is not 6c"),
    ("555-0134", "555-0143", "number: "),
    ("code 0042", "code 42", "number: "),
    ("Second reminder", "Third reminder", "number: "),
    ("level 3, tower 2", "level 2, tower 3", "number: "),
    ("id 123456789012345678", "id 123456789012345679", "number: "),
]


@pytest.mark.parametrize(("first", "second", "reason"), DISAGREE)
def test_another_fact_is_refused_with_a_reason(first: str, second: str, reason: str) -> None:
    judgement = judged(BODY, f"It is {first}", f"It is {second}")
    given = judgement.reason
    assert judgement.meaning is Meaning.DIFFERENT
    parts = reason.removesuffix(" ").split(" is not ")
    assert (
        given.startswith(reason)
        or given == f"{parts[0].split(': ')[0]}: {parts[1]} is not " + parts[0].split(": ")[1]
    )


@pytest.mark.parametrize(
    ("text", "sorts"),
    [
        ("We may march on", []),
        ("in May", [Sort.MONTH]),
        ("the blue one", []),
        ("one-on-one with Bo", []),
        ("3rd Street", [Sort.NUMBER]),
        ("the first thing to do", []),
        ("wait a second", []),
        ("Sprint 14, part one", [Sort.NUMBER, Sort.NUMBER]),
        ("open 24/7", [Sort.NUMBER, Sort.NUMBER]),
        ("call 9 people", [Sort.NUMBER]),
    ],
)
def test_what_only_looks_like_a_fact_is_none(text: str, sorts: list[Sort]) -> None:
    assert [fact.sort for fact in read_text(text).facts] == sorts


def test_money_below_zero_is_other_money() -> None:
    assert judged(BODY, "It is -$50", "It is $50").meaning is not Meaning.SAME


def test_a_fact_that_only_one_states_is_missing() -> None:
    assert judged(TASK, "pay rent by Friday", "pay rent").reason == "not clear: only one says: friday"
