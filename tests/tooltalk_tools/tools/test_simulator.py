import json
from datetime import datetime
from typing import Any

import pytest
import small_world
from small_world import METADATA, TOKEN, call, fail, log_in, log_out, respond

from rig.core.calls import Call, ExecutedCall, Outcome
from rig.core.errors import RigError
from rig.plugins.tooltalk_tools import TOOLTALK
from rig.plugins.tooltalk_tools.world import ToolTalkWorld
from rig.world.toolbox import Simulator

FIRST_TOKEN = "e149636f-d9ca-0792"
SECOND_TOKEN = "5c5373e0-fa69-84c3"


def test_a_tool_that_needs_a_login_is_given_the_session_token(both: Simulator) -> None:
    given = {"time": "07:00:00"}
    executed = both.execute(Call("AddAlarm", given))
    assert executed == ExecutedCall(
        Call("AddAlarm", {"time": "07:00:00", "session_token": TOKEN}), executed.outcome, "mara"
    )
    assert given == {"time": "07:00:00"}


def test_a_token_the_model_made_up_is_overwritten(both: Simulator) -> None:
    executed = call(both, "AddAlarm", session_token="bogus", time="07:00:00")
    assert executed.exception is None
    assert list(executed.arguments.items()) == [("session_token", TOKEN), ("time", "07:00:00")]


def test_a_token_for_a_tool_that_needs_none_is_an_unknown_argument(both: Simulator) -> None:
    assert "session_token" in fail(both, "CurrentWeather", location="Springfield", session_token=TOKEN)


def test_nobody_logged_in(both: Simulator) -> None:
    log_out(both)
    for name, tool in TOOLTALK.tools.items():
        executed = call(both, name)
        assert (executed.exception == "User is not logged in") == tool.auth
        assert executed.arguments == {}
        assert executed.username is None


def test_an_unknown_tool(both: Simulator) -> None:
    assert call(both, "Foo", x=1) == ExecutedCall(
        Call("Foo", {"x": 1}), Outcome(exception="API Foo not found"), "mara"
    )


def test_text_that_was_no_json(default: Simulator) -> None:
    executed = default.execute(Call("AddAlarm", None))
    assert executed.exception == "The arguments are not valid JSON."
    assert executed.arguments is None


def test_text_that_was_no_json_upstream(upstream: Simulator) -> None:
    assert upstream.execute(Call("Foo", None)).exception == "Failed to parse API call"


@pytest.mark.parametrize("arguments", [[], ["time"], "time", "", 5, 0, True, 1.5])
@pytest.mark.parametrize("name", ["AddAlarm", "CurrentWeather", "UserLogin"])
def test_arguments_that_are_no_object(both: Simulator, name: str, arguments: Any) -> None:
    executed = both.execute(Call(name, arguments))
    assert executed.exception
    assert executed.arguments == arguments


@pytest.mark.parametrize("argument", ["self", "world", "urgent", "kwargs", ""])
def test_an_argument_that_is_not_the_tools(both: Simulator, argument: str) -> None:
    for name in TOOLTALK.tools:
        assert fail(both, name, **{argument: 1}), name


def test_error_texts_for_arguments_by_default(default: Simulator) -> None:
    assert fail(default, "SendMessage", receiver="theo", message="Hi", urgent=True) == (
        "SendMessage has no argument 'urgent'; it takes receiver, message."
    )
    assert fail(default, "GetReminders", status="pending") == (
        "GetReminders has no argument 'status'; it takes none."
    )
    assert fail(default, "SendMessage", receiver="theo") == "SendMessage needs the argument message."
    assert (
        fail(default, "SendMessage", receiver="theo", message=5) == "message must be a string, not a number."
    )
    assert fail(default, "AddReminder", task=None) == "task must be a string, not null."
    assert fail(default, "SendEmail", to="a@b", subject="", body="") == (
        "to must be a list of strings, not a string."
    )
    assert fail(default, "SendEmail", to=["a@b", {}], subject="", body="") == (
        "to must be a list of strings; it holds an object."
    )
    assert fail(default, "SearchInbox", query="x", match_type="ANY") == (
        "match_type must be any or all, not 'ANY'."
    )


def test_error_texts_for_arguments_upstream(upstream: Simulator) -> None:
    assert fail(upstream, "SendMessage", receiver="theo", message="Hi", urgent=True) == (
        "SendMessage.call() got an unexpected keyword argument 'urgent'"
    )
    assert fail(upstream, "SendMessage", receiver="theo") == (
        "SendMessage.call() missing 1 required positional argument: 'message'"
    )
    assert fail(upstream, "SendMessage") == (
        "SendMessage.call() missing 2 required positional arguments: 'receiver' and 'message'"
    )


def test_errors_are_bounded(both: Simulator) -> None:
    huge = "x" * 1_000_000
    for executed in (
        call(both, huge),
        call(both, "AddAlarm", **{huge: 1}),
        call(both, "AddAlarm", time=huge),
        call(both, "DeleteEvent", event_id=huge),
        call(both, "SendEmail", to=[huge + "@"], subject="", body=""),
        call(both, "CurrentWeather", location=huge),
        call(both, "SearchInbox", query="x", match_type=huge),
    ):
        assert executed.exception is not None
        assert len(executed.exception) < 600


def test_a_long_text_is_no_error(both: Simulator) -> None:
    huge = "x" * 1_000_000
    respond(both, "AddReminder", task=huge)
    assert respond(both, "GetReminders")["reminders"][-1]["task"] == huge


def test_null_for_an_optional_argument_means_not_given(default: Simulator) -> None:
    found = respond(default, "SearchInbox", query="noodles", match_type=None, sender=None)
    assert found == respond(default, "SearchInbox", query="noodles")


def test_upstream_takes_null_as_it_is(upstream: Simulator) -> None:
    assert fail(upstream, "SearchInbox", query="noodles", match_type=None)
    respond(upstream, "SendMessage", receiver="theo", message=None)


def test_only_one_user_at_a_time(both: Simulator) -> None:
    assert "mara" in fail(both, "UserLogin", username="theo", password="pw-theo")
    assert "mara" in fail(both, "RegisterUser", username="new", password="x", email="a@b")


def test_logging_out_and_in_again(both: Simulator) -> None:
    respond(both, "LogoutUser")
    assert fail(both, "LogoutUser") == "User is not logged in"
    assert respond(both, "UserLogin", username="theo", password="pw-theo") == {"session_token": FIRST_TOKEN}
    alarm = call(both, "AddAlarm", time="07:00:00")
    assert (alarm.username, alarm.arguments["session_token"]) == ("theo", FIRST_TOKEN)
    logout = call(both, "LogoutUser")
    assert logout.username == "theo"
    assert respond(both, "UserLogin", username="mara", password="pw-mara") == {"session_token": SECOND_TOKEN}


def test_registering_has_token_draws_of_its_own(both: Simulator) -> None:
    log_out(both)
    respond(both, "UserLogin", username="theo", password="pw-theo")
    respond(both, "LogoutUser")
    new = respond(both, "RegisterUser", username="new", password="x", email="a@b")
    assert new["session_token"] == FIRST_TOKEN
    assert call(both, "GetAccountInformation").username == "new"


def test_a_failed_call_draws_no_id(both: Simulator) -> None:
    assert fail(both, "AddAlarm", time="late")
    assert respond(both, "AddAlarm", time="07:00:00") == {"alarm_id": "5bff-dd80"}


def test_starting_resets_everything_but_the_base(both: Simulator) -> None:
    first = respond(both, "AddAlarm", time="07:00:00")
    respond(both, "DeleteAccount", password="pw-mara")
    log_in(both)
    assert len(respond(both, "FindAlarms")["alarms"]) == len(small_world.ALARMS)
    assert respond(both, "AddAlarm", time="07:00:00") == first


def test_starting_sets_the_clock(both: Simulator) -> None:
    both.start(datetime.fromisoformat("2024-03-06 23:59:59"))
    assert respond(both, "CurrentWeather", location="Lakeside")["weather"]["date"] == "2024-03-06"


def test_starting_can_leave_a_verification_code(both: Simulator) -> None:
    both.start(METADATA.now, "theo", {"verification_code": "123456"})
    respond(both, "ResetPassword", username="theo", verification_code="123456", new_password="x")
    respond(both, "UserLogin", username="theo", password="x")


@pytest.mark.parametrize("given", [{"session_token": "t"}, {"verification_code": "1"}])
def test_starting_as_somebody_without_an_account(both: Simulator, given: dict[str, str]) -> None:
    with pytest.raises(RigError, match=f"no account nobody.* {next(iter(given))}"):
        both.start(METADATA.now, "nobody", given)


def test_somebody_unknown_may_start_logged_out(both: Simulator) -> None:
    both.start(METADATA.now, "nobody")
    assert fail(both, "GetReminders") == "User is not logged in"


def test_restoring_brings_back_records_ids_and_login(both: Simulator) -> None:
    snapshot = both.snapshot()
    trail = [
        ("AddReminder", {"task": "x"}),
        ("LogoutUser", {}),
        ("UserLogin", {"username": "theo", "password": "pw-theo"}),
        ("SendMessage", {"receiver": "mara", "message": "Hi"}),
        ("DeleteAccount", {"password": "pw-theo"}),
    ]
    first = [call(both, name, **arguments) for name, arguments in trail]
    both.restore(snapshot)
    assert [call(both, name, **arguments) for name, arguments in trail] == first
    assert all(executed.exception is None for executed in first)


def test_responses_are_json_of_their_own(both: Simulator, world: ToolTalkWorld) -> None:
    found = respond(both, "QueryCalendar", start_time="2024-01-01 00:00:00", end_time="2025-01-01 00:00:00")
    assert json.loads(json.dumps(found)) == found
    found["events"][0]["attendees"].append("x")
    assert world.events.all("mara")[0]["attendees"] == ["mara", "theo"]


def test_a_failed_call_leaves_the_world_as_it_was(default: Simulator, world: ToolTalkWorld) -> None:
    dump = world.dump()
    for name, arguments in PARTIAL:
        assert fail(default, name, **arguments)
        assert world.dump() == dump


def test_memory_that_runs_out_is_no_outcome_of_a_call(
    both: Simulator, world: ToolTalkWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    def short(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(type(world.alarms), "put", short)
    with pytest.raises(MemoryError):
        both.execute(Call("AddAlarm", {"time": "07:00:00"}))


def test_upstream_leaves_behind_what_was_written(upstream: Simulator) -> None:
    for name, arguments in PARTIAL:
        assert fail(upstream, name, **arguments)
    assert respond(upstream, "GetAccountInformation")["user"]["email"] == "new@post.example"
    event = respond(
        upstream, "QueryCalendar", start_time="2024-03-07 14:00:00", end_time="2024-03-07 14:00:00"
    )["events"][0]
    assert (event["name"], event["start_time"]) == ("Renamed", "2024-03-07 14:00:00")


PARTIAL: list[tuple[str, dict[str, Any]]] = [
    (
        "UpdateAccountInformation",
        {"password": "pw-mara", "new_email": "new@post.example", "new_phone_number": "1"},
    ),
    (
        "ModifyEvent",
        {"event_id": "00000001-0002", "new_name": "Renamed", "new_start_time": "2024-03-08 10:00:00"},
    ),
]
