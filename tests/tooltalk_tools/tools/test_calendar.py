from typing import Any

import pytest
from small_world import EVENTS, NOW, fail, log_in, respond

from rig.world.toolbox import Simulator

NEW = {
    "name": "Tea",
    "event_type": "event",
    "start_time": "2024-03-08 16:00:00",
    "end_time": "2024-03-08 17:00:00",
}
ALWAYS = {"start_time": "2000-01-01 00:00:00", "end_time": "2100-01-01 00:00:00"}


def events(simulator: Simulator, **span: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = respond(simulator, "QueryCalendar", **(span or ALWAYS))["events"]
    return found


def test_create_event(both: Simulator) -> None:
    assert respond(both, "CreateEvent", **NEW) == {"event_id": "e149636f-d9ca"}
    nothing = {"description": None, "location": None, "attendees": None}
    assert events(both)[-1] == {"event_id": "e149636f-d9ca", **NEW, **nothing}


def test_create_the_first_event_of_a_user(both: Simulator) -> None:
    log_in(both, "newton")
    respond(both, "CreateEvent", **NEW)
    assert len(events(both)) == 1


@pytest.mark.parametrize(
    ("given", "kept"),
    [(["theo"], ["theo", "mara"]), (["mara", "theo"], ["mara", "theo"]), (["nobody"], ["nobody", "mara"])],
)
def test_the_caller_attends(both: Simulator, given: list[str], kept: list[str]) -> None:
    respond(both, "CreateEvent", **{**NEW, "event_type": "meeting", "attendees": given})
    assert events(both)[-1]["attendees"] == kept
    respond(both, "ModifyEvent", event_id="00000001-0002", new_attendees=given)
    assert events(both)[1]["attendees"] == kept


def test_an_event_with_a_list_of_nobody(both: Simulator) -> None:
    respond(both, "CreateEvent", **NEW, attendees=[])
    assert events(both)[-1]["attendees"] == ["mara"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"event_type": "Meeting"},
        {"event_type": "meeting"},
        {"event_type": "meeting", "attendees": []},
        {"start_time": "tomorrow"},
        {"end_time": "2024-03-08"},
        {"end_time": "2024-03-08 15:00:00"},
        {"start_time": "2024-03-05 08:59:59"},
        {"start_time": "2024-03-01 10:00:00", "end_time": "2024-03-01 11:00:00"},
    ],
)
def test_create_event_is_refused(both: Simulator, wrong: dict[str, Any]) -> None:
    assert fail(both, "CreateEvent", **{**NEW, **wrong})
    assert events(both) == list(EVENTS)
    assert respond(both, "CreateEvent", **NEW) == {"event_id": "e149636f-d9ca"}


def test_an_event_may_start_now_and_end_as_it_starts(both: Simulator) -> None:
    respond(both, "CreateEvent", **{**NEW, "start_time": NOW, "end_time": NOW})


def test_times_need_no_zeros_in_front(both: Simulator) -> None:
    respond(both, "CreateEvent", **{**NEW, "start_time": "2024-3-8 9:0:0"})
    assert events(both)[-1]["start_time"] == "2024-3-8 9:0:0"


def test_delete_event(both: Simulator) -> None:
    assert respond(both, "DeleteEvent", event_id="00000001-0002") == {"status": "success"}
    assert fail(both, "DeleteEvent", event_id="00000001-0002")
    assert events(both) == [EVENTS[0], EVENTS[2]]
    log_in(both, "newton")
    assert fail(both, "DeleteEvent", event_id="00000001-0001")


def test_modify_event(both: Simulator) -> None:
    change = {
        "new_name": "Check-up",
        "new_start_time": "2024-03-08 10:00:00",
        "new_end_time": "2024-03-08 11:00:00",
        "new_description": "Teeth",
        "new_location": "High St",
        "new_attendees": ["theo"],
    }
    assert respond(both, "ModifyEvent", event_id="00000001-0002", **change) == {"status": "success"}
    assert events(both)[1] == {
        "event_id": "00000001-0002",
        "name": "Check-up",
        "event_type": "event",
        "start_time": "2024-03-08 10:00:00",
        "end_time": "2024-03-08 11:00:00",
        "description": "Teeth",
        "location": "High St",
        "attendees": ["theo", "mara"],
    }


def test_modify_event_with_nothing_to_change(both: Simulator) -> None:
    assert respond(both, "ModifyEvent", event_id="00000001-0002") == {"status": "success"}
    assert events(both) == list(EVENTS)


@pytest.mark.parametrize(
    "wrong",
    [
        {"event_id": "none", "new_name": "x"},
        {"new_start_time": "2024-03-08 10:00:00"},
        {"new_end_time": "2024-03-08 10:00:00"},
        {"new_start_time": "2024-03-08 10:00:00", "new_end_time": "2024-03-08 09:00:00"},
        {"new_start_time": "2024-03-01 10:00:00", "new_end_time": "2024-03-08 09:00:00"},
        {"new_start_time": "noon", "new_end_time": "2024-03-08 09:00:00"},
    ],
)
def test_modify_event_is_refused(both: Simulator, wrong: dict[str, str]) -> None:
    assert fail(both, "ModifyEvent", **{"event_id": "00000001-0002", **wrong})
    assert events(both) == list(EVENTS)


@pytest.mark.parametrize(
    ("start", "end", "numbers"),
    [
        ("2024-03-06 09:15:00", "2024-03-06 09:30:00", [0, 2]),
        ("2024-03-06 08:00:00", "2024-03-06 09:00:00", [0, 2]),
        ("2024-03-06 09:05:00", "2024-03-06 09:10:00", [0, 2]),
        ("2024-03-06 09:15:01", "2024-03-07 13:59:59", [2]),
        ("2024-04-01 00:00:00", "2024-04-30 00:00:00", []),
    ],
)
def test_query_calendar_finds_what_overlaps(
    both: Simulator, start: str, end: str, numbers: list[int]
) -> None:
    assert events(both, start_time=start, end_time=end) == [EVENTS[number] for number in numbers]


def test_query_calendar_is_refused(both: Simulator) -> None:
    assert fail(both, "QueryCalendar", start_time="2024-03-07 00:00:00", end_time="2024-03-06 00:00:00")
    assert fail(both, "QueryCalendar", start_time="2024-03-07", end_time="2024-03-08")
    log_in(both, "theo")
    assert events(both) == []
    log_in(both, "newton")
    assert fail(both, "QueryCalendar", **ALWAYS)


@pytest.mark.parametrize("attendees", ["with mara", {"mara": 1}, ["mara", 5], [["mara"], "mara"]])
def test_upstream_attendees_can_be_anything_that_holds_the_caller(
    upstream: Simulator, attendees: Any
) -> None:
    respond(upstream, "CreateEvent", **NEW, attendees=attendees)
    respond(upstream, "ModifyEvent", event_id="00000001-0002", new_attendees=attendees)
    assert [events(upstream)[number]["attendees"] for number in (1, 3)] == [attendees, attendees]


@pytest.mark.parametrize("attendees", ["theo", {"theo": 1}, 5, True])
def test_upstream_attendees_that_the_caller_cannot_be_added_to(upstream: Simulator, attendees: Any) -> None:
    assert fail(upstream, "CreateEvent", **NEW, attendees=attendees)
    assert respond(upstream, "CreateEvent", **NEW) == {"event_id": "e149636f-d9ca"}
