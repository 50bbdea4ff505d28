"""Whether a fact was said, in whichever way people say it."""

import pytest

from rig.core.calls import Call, ExecutedCall, Json, Outcome
from rig.plugins.dynamic.judgement import Heard, asked_for, facts, unsaid


def told(value: Json, text: str) -> bool:
    found = list(facts({"field": value}))
    return bool(found) and all(Heard([text]).tells(fact) for fact in found)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("07:30:00", "It is set for 7:30."),
        ("19:30:00", "At 7:30 pm."),
        ("19:30:00", "at 7:30 p.m. sharp"),
        ("19:00:00", "around 7pm"),
        ("12:00:00", "at noon"),
        ("00:15:00", "12:15 am"),
        ("2024-03-05", "on the 5th of March"),
        ("2024-03-05", "on Tuesday"),
        ("2024-03-05", "2024-03-05"),
        ("2024-03-05 19:30:00", "March 5, 7:30 PM"),
        ("Dr. Ann Lee", "You see dr Ann Lee then."),
        (21, "It will be 21 degrees."),
        (21.4, "about 21 degrees"),
        (1250, "1,250 steps"),
        (-3, "it is -3 outside"),
        (["Ann", "Ben"], "Ben and Ann come"),
        ("Überlingen", "überlingen"),
    ],
)
def test_said(value: Json, text: str) -> None:
    assert told(value, text)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("07:30:00", "It is set for 8:30."),
        ("19:30:00", "At 7:30 am."),
        ("2024-03-05", "on the 6th of March"),
        ("2024-03-05", "5 people in April"),
        ("Ann", "Annabel"),
        (21, "at 2100 hours"),
        (3, "v1.3 is out"),
        (["Ann", "Ben"], "Ann comes"),
    ],
)
def test_not_said(value: Json, text: str) -> None:
    assert not told(value, text)


def test_truth_values_and_nothing_are_no_facts() -> None:
    assert list(facts(ExecutedCall(Call("Look"), Outcome({"a": True, "b": None, "c": "", "d": {}})))) == []


def test_only_what_the_true_reply_tells_and_the_user_did_not_know_is_asked_for() -> None:
    call = ExecutedCall(
        Call("Find"), Outcome([{"id": "ab-12", "who": "Ann", "room": "blue", "time": "09:00:00"}])
    )
    turns = [(["When do I see Ann?"], [call], "You see Ann at 9:00, booking ab-12.")]
    wanted = asked_for(turns, frozenset({"ab-12"}))
    assert [str(fact) for fact in wanted] == ["09:00"]
    assert unsaid(wanted, ["No idea.", "9 am!"]) == ()
    assert [str(fact) for fact in unsaid(wanted, ["No idea."])] == ["09:00"]
    assert asked_for([(["At 9:00?"], [call], "Yes, at 9:00.")], frozenset()) == ()
