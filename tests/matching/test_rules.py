"""What counts as the same call, by our rules and by ToolTalk's."""

from typing import Any

import pytest

from rig.core.calls import Call, CallPlace, Difference, ExecutedCall, Outcome, Verdict
from rig.core.errors import RigError
from rig.plugins.matching.matching import Grader, Mode
from rig.plugins.tooltalk_tools import TOOLTALK
from rig.scoring import Exact

TOKEN = "token-1"


def made(
    name: str,
    arguments: Any = None,
    response: Any = None,
    exception: str | None = None,
    username: str | None = "ann",
) -> ExecutedCall:
    if isinstance(arguments, dict):
        arguments = {"session_token": TOKEN, **arguments}
    return ExecutedCall(Call(name, arguments), Outcome(response, exception), username)


def judge(truth: ExecutedCall, predicted: ExecutedCall, mode: Mode = "default") -> Verdict:
    return Grader(mode, Exact(), TOOLTALK).start([(CallPlace(1, 0), truth)]).add(1, predicted)


EVENT = {
    "name": "Picnic",
    "event_type": "meeting",
    "start_time": "2024-05-04 09:00:00",
    "end_time": "2024-05-04 10:00:00",
    "location": "Town Hall",
    "attendees": ["bob", "cleo"],
}
REMINDER = {"task": "water the ferns", "due_date": "2024-05-04 17:30:00"}
MAIL = {"to": ["a@b.org", "c@d.org"], "subject": "Ferns", "body": "They are thirsty."}
NOTE = {"receiver": "bob", "message": "They are thirsty."}

# tool, true arguments, changed arguments, same by default, same upstream
CHANGES: list[tuple[str, dict[str, Any], dict[str, Any], bool, bool]] = [
    ("CreateEvent", EVENT, {}, True, True),
    ("CreateEvent", EVENT, {"start_time": "2024-5-4 9:00:00"}, True, False),
    ("CreateEvent", EVENT, {"start_time": "2024-05-04 09:30:00"}, False, False),
    ("CreateEvent", EVENT, {"event_type": "event"}, False, False),
    ("CreateEvent", EVENT, {"attendees": ["cleo", "bob"]}, True, False),
    ("CreateEvent", EVENT, {"attendees": ["cleo", "bob", "ann"]}, True, False),
    ("CreateEvent", EVENT, {"attendees": ["cleo", "bob", "dan"]}, False, False),
    ("CreateEvent", EVENT, {"attendees": ["bob"]}, False, False),
    ("CreateEvent", EVENT, {"attendees": "bob cleo"}, False, False),
    ("CreateEvent", EVENT, {"attendees": [["bob"], "cleo"]}, False, False),
    ("CreateEvent", EVENT, {"location": " town  hall"}, True, False),
    ("CreateEvent", EVENT, {"location": "Library"}, False, False),
    ("CreateEvent", EVENT, {"location": None}, False, False),
    ("CreateEvent", EVENT, {"name": "PICNIC"}, False, False),
    ("CreateEvent", EVENT, {"name": ["Picnic"]}, False, False),
    ("CreateEvent", EVENT, {"description": "on the grass"}, True, True),
    ("CreateEvent", {**EVENT, "description": " "}, {"description": "on the grass"}, True, False),
    (
        "ModifyEvent",
        {"event_id": "1", "new_attendees": ["bob", "ann"]},
        {"new_attendees": ["bob"]},
        True,
        False,
    ),
    ("ModifyEvent", {"event_id": "1", "new_location": "Hall"}, {"event_id": "2"}, False, False),
    ("AddAlarm", {"time": "07:00:00"}, {"time": "7:0:0"}, True, False),
    ("AddAlarm", {"time": "07:00:00"}, {"time": "19:00:00"}, False, False),
    ("AddAlarm", {"time": "07:00:00"}, {"time": 7}, False, False),
    ("AddReminder", REMINDER, {"due_date": "2024-5-4 17:30:0"}, True, True),
    ("AddReminder", REMINDER, {"due_date": "2024-05-04 09:00:00"}, False, True),
    ("AddReminder", REMINDER, {"due_date": "2024-05-05 17:30:00"}, False, False),
    ("AddReminder", REMINDER, {"due_date": None}, False, False),
    ("AddReminder", {**REMINDER, "due_date": "2024-05-04 00:00:00"}, REMINDER, True, True),
    ("AddReminder", {**REMINDER, "due_date": "2024-05-04 23:59:59"}, REMINDER, True, True),
    ("AddReminder", {"task": "water the ferns"}, REMINDER, True, True),
    ("AddReminder", REMINDER, {"task": None}, False, False),
    ("SendEmail", MAIL, {"to": ["c@d.org", "a@b.org", "a@b.org"]}, True, True),
    ("SendEmail", MAIL, {"to": ["a@b.org"]}, False, False),
    ("SendEmail", MAIL, {"to": {"a@b.org": 1, "c@d.org": 2}}, False, True),
    ("SendEmail", MAIL, {"to": 5}, False, False),
    ("SendEmail", {**MAIL, "body": ""}, {"body": "Anything at all."}, True, False),
    ("SendMessage", NOTE, {"receiver": "cleo"}, False, True),
    ("SendMessage", NOTE, {"receiver": None}, False, True),
    ("SendMessage", NOTE, {"message": "They are fine."}, False, False),
    ("DeleteAlarm", {"alarm_id": "1"}, {"alarm_id": "2"}, False, False),
]


@pytest.mark.parametrize(("tool", "true", "changes", "default", "upstream"), CHANGES)
def test_arguments(
    tool: str, true: dict[str, Any], changes: dict[str, Any], default: bool, upstream: bool
) -> None:
    truth, predicted = (
        made(tool, true, {"status": "success"}),
        made(tool, {**true, **changes}, {"status": "success"}),
    )
    assert judge(truth, predicted).match is default
    assert judge(truth, predicted, "per-turn").match is default
    assert judge(truth, predicted, "upstream").match is upstream


@pytest.mark.parametrize("mode", ["default", "upstream"])
def test_a_missing_argument_is_a_difference(mode: Mode) -> None:
    truth = made("AddAlarm", {"time": "07:00:00"}, {"alarm_id": "1"})
    verdict = judge(truth, made("AddAlarm", {}, {"alarm_id": "1"}), mode)
    assert verdict.differences == (Difference("time", "07:00:00", None),)


@pytest.mark.parametrize("mode", ["default", "upstream"])
@pytest.mark.parametrize("arguments", [None, [], "text", 5, True])
def test_arguments_that_are_no_object_match_nothing(mode: Mode, arguments: Any) -> None:
    truth = made("GetReminders", {}, {"reminders": []})
    assert not judge(truth, made("GetReminders", arguments, {"reminders": []}), mode).match


WEATHER = {"weather": {"high": 20}}


@pytest.mark.parametrize(("place", "default"), [("new york", True), ("  New   York ", True), ("York", False)])
def test_places_are_compared_without_case_and_space(place: str, default: bool) -> None:
    truth = made("CurrentWeather", {"location": "New York"}, WEATHER)
    predicted = made("CurrentWeather", {"location": place}, WEATHER)
    assert judge(truth, predicted).match is default
    assert not judge(truth, predicted, "upstream").match


def test_a_lookup_must_return_the_same() -> None:
    truth = made("CurrentWeather", {"location": "New York"}, WEATHER)
    verdict = judge(truth, made("CurrentWeather", {"location": "New York"}, {"weather": {"high": 21}}))
    assert [difference.what for difference in verdict.differences] == ["response"]


def found(*ids: str) -> dict[str, Any]:
    return {"alarms": [{"alarm_id": each, "time": "07:00:00"} for each in ids]}


@pytest.mark.parametrize(
    ("wanted", "got", "asked", "default", "upstream"),
    [
        (["1"], ["1"], {}, True, True),
        (["1"], ["2", "1"], {}, True, True),
        (["1", "2"], ["1"], {}, False, False),
        ([], [], {}, True, True),
        ([], ["1"], {}, False, True),
        ([], ["1"], {"start_range": "07:00:00"}, True, True),
    ],
)
def test_a_search_must_find_what_it_should(
    wanted: list[str], got: list[str], asked: dict[str, str], default: bool, upstream: bool
) -> None:
    truth = made("FindAlarms", {"start_range": "07:00:00"}, found(*wanted))
    predicted = made("FindAlarms", asked, found(*got))
    assert judge(truth, predicted).match is default
    assert judge(truth, predicted, "upstream").match is upstream


@pytest.mark.parametrize("mode", ["default", "upstream"])
@pytest.mark.parametrize("response", [None, 5, {}, {"alarms": 5}, {"alarms": [{}]}, {"alarms": [5]}])
def test_a_search_with_a_strange_response_matches_nothing(mode: Mode, response: Any) -> None:
    truth = made("FindAlarms", {}, found("1"))
    assert not judge(truth, made("FindAlarms", {}, response), mode).match


def test_upstream_wants_a_request_for_reminders_as_a_whole() -> None:
    reminders = {"reminders": [{"reminder_id": "1"}, {"reminder_id": "2"}]}
    truth = made("GetReminders", {}, {"reminders": [{"reminder_id": "1"}]})
    assert judge(truth, made("GetReminders", {}, reminders), "upstream").match
    more = made("GetReminders", {"status": "pending"}, reminders)
    assert judge(truth, more).match
    assert judge(truth, more, "upstream").differences == (Difference("status", None, "pending"),)


def test_the_user_counts_and_not_the_token() -> None:
    truth = made("DeleteAlarm", {"alarm_id": "1"}, {"status": "success"})
    later = made("DeleteAlarm", {"alarm_id": "1", "session_token": "token-2"}, {"status": "success"})
    assert judge(truth, later).match
    assert not judge(truth, later, "upstream").match
    other = made("DeleteAlarm", {"alarm_id": "1"}, {"status": "success"}, username="bob")
    assert [difference.what for difference in judge(truth, other).differences] == ["logged-in user"]
    assert judge(truth, other, "upstream").match


def test_tokens_stand_in_for_users_that_are_not_known() -> None:
    truth = made("DeleteAlarm", {"alarm_id": "1"}, {"status": "success"}, username=None)
    same = made("DeleteAlarm", {"alarm_id": "1"}, {"status": "success"})
    assert judge(truth, same).match
    other = made("DeleteAlarm", {"alarm_id": "1", "session_token": "token-2"}, {"status": "success"})
    assert not judge(truth, other).match


def test_a_login_is_right_whatever_token_it_gets() -> None:
    arguments = {"username": "ann", "password": "secret"}
    truth = ExecutedCall(Call("UserLogin", arguments), Outcome({"session_token": "token-1"}))
    again = ExecutedCall(Call("UserLogin", arguments), Outcome({"session_token": "token-2"}))
    assert judge(truth, again).match
    assert not judge(truth, again, "upstream").match
    other = ExecutedCall(Call("UserLogin", {**arguments, "password": "Secret"}), again.outcome)
    assert not judge(truth, other).match


def test_a_registration_may_say_more_than_was_asked() -> None:
    arguments = {"username": "ann", "password": "secret", "email": "a@b.org"}
    truth = ExecutedCall(Call("RegisterUser", arguments), Outcome({"user": {"phone": None}}))
    more = Call("RegisterUser", {**arguments, "phone": "555-555-5555"})
    predicted = ExecutedCall(more, Outcome({"user": {"phone": "555-555-5555"}}))
    assert judge(truth, predicted).match
    assert not judge(truth, predicted, "upstream").match
    assert not judge(predicted, truth).match


@pytest.mark.parametrize("mode", ["default", "upstream"])
def test_an_expected_error_is_matched_by_the_same_error(mode: Mode) -> None:
    truth = made("FindAlarms", {"start_range": "x"}, exception="no time")
    assert judge(truth, made("FindAlarms", {"start_range": "x"}, exception="no time"), mode).match
    assert not judge(truth, made("FindAlarms", {"start_range": "x"}, found()), mode).match
    assert not judge(truth, made("FindAlarms", {"start_range": "x"}, exception="no user"), mode).match


def test_differences_say_what_was_expected() -> None:
    truth, wrong = made("SendMessage", NOTE), made("SendMessage", {**NOTE, "message": "They are dry."})
    (text,) = judge(truth, wrong).differences
    assert text == Difference("message", NOTE["message"], "They are dry.", 0, 1)
    (text,) = judge(truth, wrong, "upstream").differences
    assert text.threshold == 0.8


def test_text_is_only_read_where_all_else_agrees() -> None:
    wrong = made("SendMessage", {"receiver": "cleo", "message": "They are dry."})
    assert [each.what for each in judge(made("SendMessage", NOTE), wrong).differences] == ["receiver"]


def test_an_unknown_mode_is_refused() -> None:
    with pytest.raises(RigError, match="per-turn"):
        Grader("harsh", Exact(), TOOLTALK)  # type: ignore[arg-type]
