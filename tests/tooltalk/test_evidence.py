"""Which values a model can have had from somewhere, and which it made up."""

from typing import Any

import pytest

from rig.core.calls import Call, ExecutedCall, Outcome
from rig.plugins.matching.seen import Seen
from rig.plugins.tooltalk.conversations import Metadata
from rig.plugins.tooltalk_tools import TOOLTALK

METADATA = Metadata("Springfield", "2024-03-05 09:00:00", "mara")


def speaks(said: str, tool: str, name: str, value: Any) -> bool:
    seen = Seen(*METADATA.facts)
    seen.say(said)
    return seen.speaks_for(TOOLTALK.tools[tool], name, value)


CASES: list[tuple[str, str, str, Any, bool]] = [
    ("wake me", "AddAlarm", "time", "07:30:00", False),
    ("wake me at 7", "AddAlarm", "time", "07:00:00", True),
    ("wake me at seven thirty", "AddAlarm", "time", "07:30:00", True),
    ("wake me at 730", "AddAlarm", "time", "07:30:00", True),
    ("wake me at 7 pm", "AddAlarm", "time", "19:00:00", True),
    ("ten to five, sadly", "AddAlarm", "time", "04:50:00", True),
    ("in half an hour", "AddAlarm", "time", "09:30:00", True),
    ("wake me now", "AddAlarm", "time", "09:00:00", True),
    ("an alarm for my flight", "AddAlarm", "time", "05:15:00", False),
    ("remind me to call Ana", "AddReminder", "due_date", "2024-04-17 00:00:00", False),
    ("remind me on the 17th", "AddReminder", "due_date", "2024-04-17 00:00:00", True),
    ("remind me next Friday", "AddReminder", "due_date", "2024-03-15 00:00:00", True),
    ("remind me on Friday", "AddReminder", "due_date", "2024-03-08 14:00:00", False),
    ("remind me on Friday at 2", "AddReminder", "due_date", "2024-03-08 14:00:00", True),
    ("dinner on Friday at 7", "CreateEvent", "end_time", "2024-03-08 21:00:00", True),
    ("remind me to call Ana", "AddReminder", "task", "buy milk", True),
    ("text Ana", "SendMessage", "receiver", "ana_k", False),
    ("text ana_k", "SendMessage", "receiver", "Ana_K", True),
    ("who am I", "QueryUser", "username", "mara", True),
    ("mail them", "SendEmail", "to", ["ana@post.example"], False),
    ("mail ana@post.example and bo@post.example", "SendEmail", "to", ["bo@post.example"], True),
    ("mail ana@post.example", "SendEmail", "to", ["ana@post.example", "bo@post.example"], False),
    ("cancel it", "DeleteAlarm", "alarm_id", "1a2b-3c4d", False),
    ("log me in", "UserLogin", "password", "hunter2", False),
    ("it's hunter2", "UserLogin", "password", "hunter2", True),
    ("change my password", "ChangePassword", "new_password", "s3cret", True),
    ("call me at (555) 000-1234", "RegisterUser", "phone", "555-000-1234", True),
    ("register me", "RegisterUser", "phone", "555-000-1234", False),
    ("how is the weather", "CurrentWeather", "location", "Springfield", True),
    ("how is the weather", "CurrentWeather", "location", "Boston", False),
    ("how is NYC", "CurrentWeather", "location", "New York", True),
    ("how is San Fran", "CurrentWeather", "location", "San Francisco", True),
    ("how wet is Paris", "HistoricWeather", "month", "July", False),
    ("how wet is Paris in jul", "HistoricWeather", "month", "July", True),
    ("how wet is Paris this month", "HistoricWeather", "month", "March", True),
    ("what is on", "QueryCalendar", "start_time", "1999-01-01 00:00:00", True),
    ("anything", "SendMessage", "receiver", None, True),
    ("anything", "SendMessage", "receiver", 5, True),
    ("anything", "SendMessage", "no such argument", "x", True),
    ("anything", "AddAlarm", "time", "not a time", True),
    ("anything", "AddReminder", "due_date", "not a date", True),
]


@pytest.mark.parametrize(("said", "tool", "name", "value", "expected"), CASES)
def test_evidence(said: str, tool: str, name: str, value: Any, expected: bool) -> None:
    assert speaks(said, tool, name, value) is expected


def test_responses_are_evidence_and_errors_are_not() -> None:
    seen = Seen(*METADATA.facts)
    call = Call("DeleteAlarm", {"alarm_id": "1a2b-3c4d"})
    seen.answer(ExecutedCall(call, Outcome(exception="There is no alarm 1a2b-3c4d.")))
    assert not seen.speaks_for(TOOLTALK.tools["DeleteAlarm"], "alarm_id", "1a2b-3c4d")
    found = {"alarms": [{"alarm_id": "1a2b-3c4d", "time": "06:15:00"}]}
    seen.answer(ExecutedCall(Call("FindAlarms"), Outcome(found)))
    assert seen.speaks_for(TOOLTALK.tools["DeleteAlarm"], "alarm_id", "1a2b-3c4d")
    assert seen.speaks_for(TOOLTALK.tools["AddAlarm"], "time", "06:15:00")
    assert not seen.speaks_for(TOOLTALK.tools["AddAlarm"], "time", "06:45:00")


def test_the_true_history_is_evidence_with_its_arguments() -> None:
    seen = Seen(*METADATA.facts)
    seen.note(ExecutedCall(Call("SendMessage", {"receiver": "ana_k"}), Outcome({"message_id": "1"})))
    assert seen.speaks_for(TOOLTALK.tools["SendMessage"], "receiver", "ana_k")


def test_a_copy_goes_its_own_way() -> None:
    seen = Seen(*METADATA.facts)
    copy = seen.copy()
    copy.say("text ana_k at 6")
    assert copy.speaks_for(TOOLTALK.tools["SendMessage"], "receiver", "ana_k")
    assert not seen.speaks_for(TOOLTALK.tools["SendMessage"], "receiver", "ana_k")
    assert not seen.speaks_for(TOOLTALK.tools["AddAlarm"], "time", "06:00:00")


def test_deep_nesting_is_no_trouble() -> None:
    nested: Any = "1a2b-3c4d"
    for _ in range(5000):
        nested = [nested]
    seen = Seen(*METADATA.facts)
    seen.answer(ExecutedCall(Call("FindAlarms"), Outcome(nested)))
    assert seen.speaks_for(TOOLTALK.tools["DeleteAlarm"], "alarm_id", "1a2b-3c4d")
