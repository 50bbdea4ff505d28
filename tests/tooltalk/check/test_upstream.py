"""The public data, irregular as it is: what is reported must be what was measured of it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rig.plugins.tooltalk.check import DirectoryReport, ResponseDifference, check_directory
from rig.plugins.tooltalk_tools import TOOLTALK
from rig.plugins.tooltalk_tools.seeds import world_from

MEASURED: dict[str, dict[tuple[int, int], ResponseDifference]] = {
    "Alarm-Messages-Reminder-GetReminder-2": {
        (1, 0): ResponseDifference.MORE,
        (5, 0): ResponseDifference.RANDOM_ID,
    },
    "Alarm-Reminder-Weather-AddReminder-1": {
        (1, 0): ResponseDifference.RANDOM_ID,
        (1, 1): ResponseDifference.RANDOM_ID,
    },
    "Alarm-Reminder-Weather-DeleteAlarm-2": {(5, 0): ResponseDifference.RANDOM_ID},
    "Alarm-Reminder-Weather-FindAlarm-2": {(3, 1): ResponseDifference.RANDOM_ID},
    "Calendar-Messages-Weather-SendMessage-1": {
        (3, 1): ResponseDifference.RANDOM_ID,
        (3, 2): ResponseDifference.RANDOM_ID,
        (3, 3): ResponseDifference.RANDOM_ID,
    },
    "Alarm-Calendar-Email-DeleteAlarm-1": {(3, 0): ResponseDifference.MORE},
    "Calendar-Messages-Reminder-QueryCalendar-2": {(1, 0): ResponseDifference.MORE},
    "Calendar-Messages-Weather-DeleteEvent-0": {(1, 0): ResponseDifference.MORE},
    "Calendar-Reminder-Weather-DeleteEvent-0": {
        (1, 0): ResponseDifference.MORE,
        (1, 4): ResponseDifference.MORE,
    },
    "golden_conversation_1": {(3, 1): ResponseDifference.MORE},
    "golden_conversation_2": {(1, 0): ResponseDifference.MORE},
    "Calendar-Reminder-Weather-CompleteReminder-1": {(1, 0): ResponseDifference.MORE},
    "Calendar-Reminder-Weather-CreateEvent-1": {(5, 0): ResponseDifference.MORE},
    "Calendar-Reminder-Weather-DeleteReminder-1": {(3, 0): ResponseDifference.MORE},
    "Email-Messages-Reminder-DeleteReminder-1": {(1, 0): ResponseDifference.MORE},
    "Email-Messages-Reminder-SendEmail-2": {(1, 0): ResponseDifference.MORE},
    "Email-Reminder-Weather-CompleteReminder-2": {(1, 0): ResponseDifference.MORE},
    "Email-Reminder-Weather-DeleteReminder-0": {
        (1, 0): ResponseDifference.ORDER,
        (3, 0): ResponseDifference.MORE,
    },
    "Email-Reminder-Weather-SendEmail-2": {(1, 0): ResponseDifference.MORE},
    "Messages-Reminder-Weather-AddReminder-1": {(3, 0): ResponseDifference.MORE},
    "Messages-Reminder-Weather-CompleteReminder-1": {(3, 0): ResponseDifference.MORE},
    "Messages-Reminder-Weather-ForecastWeather-1": {(5, 1): ResponseDifference.MORE},
    "Messages-Reminder-Weather-GetReminder-0": {(1, 0): ResponseDifference.MORE},
    "AccountTools-Alarm-Messages-FindAlarm-0": {(5, 0): ResponseDifference.ORDER},
    "Calendar-Email-Reminder-GetReminder-1": {(1, 0): ResponseDifference.ORDER},
    "Email-Reminder-Weather-SearchInbox-1": {(3, 0): ResponseDifference.ORDER},
    "Email-Messages-Reminder-SearchMessage-1": {(1, 0): ResponseDifference.ORDER},
    "Email-Messages-Weather-SendMessage-2": {(5, 0): ResponseDifference.ORDER},
    "Calendar-Messages-Reminder-ModifyEvent-0": {(1, 0): ResponseDifference.FIELDS},
    "Email-Messages-Reminder-SendMessage-2": {(1, 0): ResponseDifference.FIELDS},
    "Email-Reminder-Weather-GetReminder-0": {(3, 1): ResponseDifference.FIELDS},
}


@pytest.fixture(scope="module")
def easy(tooltalk: Path) -> DirectoryReport:
    world = world_from(tooltalk / "data" / "databases")
    return check_directory(tooltalk / "data" / "easy", world, TOOLTALK)


@pytest.fixture(scope="module")
def hard(tooltalk: Path) -> DirectoryReport:
    world = world_from(tooltalk / "data" / "databases")
    return check_directory(tooltalk / "data" / "tooltalk", world, TOOLTALK)


def test_the_table_is_complete() -> None:
    counts = [difference for places in MEASURED.values() for difference in places.values()]
    assert len(counts) == 37
    assert {each: counts.count(each) for each in set(counts)} == {
        ResponseDifference.RANDOM_ID: 8,
        ResponseDifference.MORE: 20,
        ResponseDifference.ORDER: 6,
        ResponseDifference.FIELDS: 3,
    }


def test_the_easy_conversations_are_reproduced(easy: DirectoryReport) -> None:
    assert (easy.tasks, len(easy.calls), easy.reproduced) == (28, 28, 28)
    assert easy.faults == ()


def test_the_hard_conversations_differ_as_measured(hard: DirectoryReport, tooltalk: Path) -> None:
    there = {path.stem for path in (tooltalk / "data" / "tooltalk").glob("*.json")}
    expected = {
        (f"{name}.json", turn, call, difference)
        for name, places in MEASURED.items()
        if name in there
        for (turn, call), difference in places.items()
    }
    found = {
        (fault.file, fault.position, fault.call, ResponseDifference(fault.text.split(":")[0]))
        for fault in hard.faults
        if fault.kind == "replay"
    }
    assert found == expected
    assert len(hard.calls) - hard.reproduced == len(expected)
    assert sum(hard.differences.values()) == len(expected)


def test_the_irregular_files_are_named(hard: DirectoryReport) -> None:
    found = {(fault.file, fault.kind) for fault in hard.faults if fault.kind != "replay"}
    assert {
        ("Alarm-Messages-Reminder-GetReminder-2.json", "index"),
        ("AccountTools-Calendar-Weather-RegisterUser-0.json", "role"),
        ("golden_conversation_1.json", "index"),
        ("golden_conversation_1.json", "missing"),
    } <= found
    assert not {kind for _, kind in found} & {"token", "user", "arguments", "tool", "apis_used", "outcome"}


def test_the_command(tooltalk: Path, rig: Callable[..., Any]) -> None:
    data = tooltalk / "data"
    assert rig("check", data / "easy", "--world", data / "databases").code == 0
    done = rig("check", data / "tooltalk", "--world", data / "databases", "--json")
    assert done.code == 1
    (report,) = done.json
    assert set(report["differences"]) == {
        "random id only",
        "simulator returns more",
        "other order",
        "field values",
    }
