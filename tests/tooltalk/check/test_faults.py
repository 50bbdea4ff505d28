"""One deliberately broken file for every kind of fault."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from rig.plugins.tooltalk.check import DirectoryReport

Source = dict[str, Any]
Change = Callable[[Source], object]


def call(source: Source, turn: int, number: int = 0) -> Source:
    found: Source = source["conversation"][turn]["apis"][number]
    return found


def arguments(source: Source, turn: int) -> Source:
    found: Source = call(source, turn)["request"]["parameters"]
    return found


BROKEN: dict[str, tuple[str, Change, str, str]] = {
    # what is wrong: (shipped conversation, what to change, kind of fault, part of its text)
    "no scenario": ("AddAlarm", lambda s: s.pop("scenario"), "missing", "scenario"),
    "other name": ("AddAlarm", lambda s: s.update(__stem__="Another"), "name", "is not the file's"),
    "id": ("AddAlarm", lambda s: s.update(conversation_id="7"), "id", "not a UUID"),
    "no index": ("AddAlarm", lambda s: s["conversation"][2].pop("index"), "index", "none"),
    "wrong index": ("AddAlarm", lambda s: s["conversation"][2].update(index=3), "index", "it is 3"),
    "true is no index": ("AddAlarm", lambda s: s["conversation"][1].update(index=True), "index", "True"),
    "roles": ("AddAlarm", lambda s: s["conversation"].pop(1), "role", "twice in a row"),
    "first role": ("AddAlarm", lambda s: s["conversation"].pop(0), "role", "speaks first"),
    "silence": ("AddAlarm", lambda s: s["conversation"][0].update(text="  "), "text", "nothing is said"),
    "user's call": (
        "AddAlarm",
        lambda s: s["conversation"][2].update(apis=[call(s, 3)]),
        "apis",
        "user's turn has calls",
    ),
    "empty calls": ("AddAlarm", lambda s: s["conversation"][1].update(apis=[]), "apis", "empty"),
    "unknown tool": (
        "AddAlarm",
        lambda s: call(s, 3)["request"].update(api_name="Snooze"),
        "tool",
        "no tool 'Snooze'",
    ),
    "missing argument": (
        "AddAlarm",
        lambda s: arguments(s, 3).pop("time"),
        "arguments",
        "needs the argument",
    ),
    "unknown argument": ("AddAlarm", lambda s: arguments(s, 3).update(day="x"), "arguments", "'day'"),
    "wrong type": ("AddAlarm", lambda s: arguments(s, 3).update(time=5), "arguments", "must be a string"),
    "null": ("AddReminder", lambda s: arguments(s, 3).update(due_date=None), "arguments", "leave it out"),
    "unpadded": ("AddAlarm", lambda s: arguments(s, 3).update(time="4:50:00"), "arguments", "not written as"),
    "token where none belongs": (
        "CurrentWeather",
        lambda s: arguments(s, 1).update(session_token="x"),
        "arguments",
        "session_token",
    ),
    "nothing recorded": ("AddAlarm", lambda s: call(s, 3).update(response=None), "outcome", "nothing is"),
    "both outcomes": ("AddAlarm", lambda s: call(s, 3).update(exception="no"), "outcome", "and an exception"),
    "unused tool": ("AddAlarm", lambda s: s["apis_used"].append("QueryUser"), "apis_used", "QueryUser"),
    "unlisted tool": ("AddAlarm", lambda s: s["apis_used"].clear(), "apis_used", "lacks AddAlarm"),
    "repeated tool": ("AddAlarm", lambda s: s["apis_used"].append("AddAlarm"), "apis_used", "repeats"),
    "unused plugin": ("AddAlarm", lambda s: s["suites_used"].append("Email"), "suites_used", "Email"),
    "unlisted plugin": ("AddAlarm", lambda s: s["suites_used"].clear(), "suites_used", "lacks Alarm"),
    "unknown user": ("AddAlarm", lambda s: s["user"].update(username="nobody"), "user", "not in the world"),
    "other phone": ("AddAlarm", lambda s: s["user"].update(phone="1"), "user", "phone is '1'"),
    "token disagrees": (
        "AddAlarm",
        lambda s: s["metadata"].update(session_token="1"),
        "token",
        "metadata has",
    ),
    "username disagrees": (
        "AddAlarm",
        lambda s: s["metadata"].update(username="sam_ito"),
        "token",
        "username",
    ),
    "name without login": ("UserLogin", lambda s: s["metadata"].update(username="sam_ito"), "token", "None"),
    "recorded token": (
        "AddAlarm",
        lambda s: arguments(s, 3).update(session_token="98"),
        "token",
        "the recorded session_token is '98'",
    ),
    "timestamp": (
        "AddAlarm",
        lambda s: s["metadata"].update(timestamp="2025-12-30 9:00:00"),
        "timestamp",
        "'2025-12-30 9:00:00'",
    ),
    "generated id": (
        "AddAlarm",
        lambda s: call(s, 3)["response"].update(alarm_id="0"),
        "replay",
        "random id",
    ),
    "other exception": (
        "AddAlarm",
        lambda s: call(s, 3).update(response=None, exception="Out of ink."),
        "replay",
        "exception: recorded Out of ink.",
    ),
    "record missing": (
        "FindAlarms",
        lambda s: call(s, 3)["response"]["alarms"].pop(),
        "replay",
        "returns more",
    ),
    "record invented": (
        "FindAlarms",
        lambda s: call(s, 3)["response"]["alarms"].append({"alarm_id": "0", "time": "02:00:00"}),
        "replay",
        "returns less",
    ),
    "order": ("FindAlarms", lambda s: call(s, 3)["response"]["alarms"].reverse(), "replay", "other order"),
    "field": (
        "FindAlarms",
        lambda s: call(s, 3)["response"]["alarms"][0].update(time="02:16:00"),
        "replay",
        "field values: time of",
    ),
    "junk for records": ("FindAlarms", lambda s: call(s, 3).update(response=[1]), "replay", "field values"),
    "value": (
        "CurrentWeather",
        lambda s: call(s, 1)["response"]["weather"].update(high=0),
        "replay",
        "field",
    ),
    "no shape": ("AddAlarm", lambda s: s["conversation"][0].update(role="system"), "unreadable", "role"),
}


@pytest.mark.parametrize(("tool", "change", "kind", "text"), BROKEN.values(), ids=BROKEN)
def test_is_reported(
    tool: str,
    change: Change,
    kind: str,
    text: str,
    shipped: Callable[[str], Source],
    checked: Callable[..., DirectoryReport],
) -> None:
    source = shipped(tool)
    change(source)
    found = [fault for fault in checked(source).faults if fault.kind == kind]
    assert found, kind
    assert any(text in fault.text for fault in found), [str(fault) for fault in found]


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"name": 1}', "nul\x00l", "[" * 100_000])
def test_unreadable_files_do_not_hide_others(
    text: str, shipped: Callable[[str], Source], checked: Callable[..., DirectoryReport]
) -> None:
    report = checked(text, shipped("AddAlarm"))
    assert [fault.kind for fault in report.faults] == ["unreadable"]
    assert report.tasks == 2
    assert report.reproduced == len(report.calls) == 1


def test_ids_and_names_are_unique(
    shipped: Callable[[str], Source], checked: Callable[..., DirectoryReport]
) -> None:
    first, second = shipped("AddAlarm"), shipped("UserLogin")
    second["conversation_id"] = first["conversation_id"]
    second.update(name=first["name"], __stem__="UserLogin-easy")
    found = [fault.text for fault in checked(first, second).faults]
    assert sum("is also that of AddAlarm-easy" in text for text in found) == 2


def test_a_conversation_that_cannot_start(
    shipped: Callable[[str], Source], checked: Callable[..., DirectoryReport]
) -> None:
    source = shipped("AddAlarm")
    source["user"]["username"] = source["metadata"]["username"] = "nobody"
    kinds = [fault.kind for fault in checked(source).faults]
    assert kinds == ["user", "replay"]


def test_nothing_wrong(shipped: Callable[[str], Source], checked: Callable[..., DirectoryReport]) -> None:
    report = checked(shipped("AddAlarm"), shipped("RegisterUser"), shipped("ResetPassword"))
    assert report.faults == ()
    assert report.reproduced == 3
    assert report.differences == {}


def test_reading_a_report(
    checked: Callable[..., DirectoryReport], shipped: Callable[[str], dict[str, Any]]
) -> None:
    source = shipped("AddAlarm")
    source["conversation"][3]["apis"][0]["response"] = {"alarm_id": "0"}
    report = json.loads(json.dumps(checked(source).as_json()))
    assert report["calls"] == 1
    assert report["reproduced"] == 0
    assert report["differences"] == {"random id only": 1}
    (fault,) = report["faults"]
    assert (fault["file"], fault["kind"]) == ("AddAlarm-easy.json", "replay")
    assert (fault["turn"], fault["position"], fault["call"]) == (2, 3, 0)


def test_turns_are_counted_as_everywhere_and_messages_of_the_user_as_such(
    checked: Callable[..., DirectoryReport], shipped: Callable[[str], Source]
) -> None:
    source = shipped("AddAlarm")
    arguments(source, 3)["time"] = "8"
    source["conversation"][2]["text"] = " "
    said = [str(fault) for fault in checked(source).faults if fault.kind in ("arguments", "text")]
    assert sorted(each.partition(": ")[0] for each in said) == [
        "AddAlarm-easy.json message 3",
        "AddAlarm-easy.json turn 2 call 1",
    ]


def test_a_field_of_no_value_that_has_another_name(
    shipped: Callable[[str], Source], checked: Callable[..., DirectoryReport]
) -> None:
    source = shipped("QueryCalendar")
    calls = [call for message in source["conversation"] for call in message.get("apis", ())]
    (records, *_) = [
        call["response"]["events"] for call in calls if call["request"]["api_name"] == "QueryCalendar"
    ]
    records[0]["another"] = None
    (fault, *_) = checked(source).faults
    assert "another of " in fault.text
    assert "no such field" in fault.text
