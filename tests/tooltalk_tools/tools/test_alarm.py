import pytest
from small_world import ALARMS, fail, log_in, respond

from rig.world.toolbox import Simulator


@pytest.mark.parametrize("time", ["07:00:00", "7:0:0", "00:00:00", "23:59:59"])
def test_add_alarm_keeps_the_time_as_written(both: Simulator, time: str) -> None:
    assert respond(both, "AddAlarm", time=time) == {"alarm_id": "5bff-dd80"}
    assert respond(both, "FindAlarms")["alarms"][-1] == {"alarm_id": "5bff-dd80", "time": time}


@pytest.mark.parametrize(
    "time", ["", "7am", "07:00", "24:00:00", "07:00:00 ", "07:00:61", "2024-03-05 07:00:00"]
)
def test_add_alarm_refuses_what_is_no_time(both: Simulator, time: str) -> None:
    assert fail(both, "AddAlarm", time=time)
    assert len(respond(both, "FindAlarms")["alarms"]) == len(ALARMS)


def test_the_error_says_what_a_time_looks_like(default: Simulator, upstream: Simulator) -> None:
    text = "time must have the form HH:MM:SS (24-hour), such as 18:30:00; got '7am'."
    assert fail(default, "AddAlarm", time="7am") == text
    assert fail(upstream, "AddAlarm", time="7am") == "time data '7am' does not match format '%H:%M:%S'"


def test_the_first_alarm_of_a_user(both: Simulator) -> None:
    log_in(both, "newton")
    assert respond(both, "FindAlarms") == {"alarms": []}
    respond(both, "AddAlarm", time="07:00:00")
    assert len(respond(both, "FindAlarms")["alarms"]) == 1


def test_delete_alarm(both: Simulator) -> None:
    assert respond(both, "DeleteAlarm", alarm_id="0001-0001") == {"status": "success"}
    assert fail(both, "DeleteAlarm", alarm_id="0001-0001")
    assert [alarm["alarm_id"] for alarm in respond(both, "FindAlarms")["alarms"]] == [
        "0001-0002",
        "0001-0003",
    ]


def test_alarms_of_others_are_out_of_reach(both: Simulator) -> None:
    log_in(both, "theo")
    assert fail(both, "DeleteAlarm", alarm_id="0001-0001")
    assert respond(both, "FindAlarms") == {"alarms": []}


@pytest.mark.parametrize(
    ("arguments", "numbers"),
    [
        ({}, [0, 1, 2]),
        ({"start_range": "07:30:00"}, [0, 1]),
        ({"end_range": "07:30:00"}, [1, 2]),
        ({"start_range": "6:5:0", "end_range": "07:30:00"}, [1, 2]),
        ({"start_range": "18:00:00", "end_range": "18:00:00"}, [0]),
        ({"start_range": "18:15:00"}, []),
    ],
)
def test_find_alarms_in_a_range_in_the_order_they_were_set(
    both: Simulator, arguments: dict[str, str], numbers: list[int]
) -> None:
    assert respond(both, "FindAlarms", **arguments) == {"alarms": [ALARMS[number] for number in numbers]}


@pytest.mark.parametrize(
    "arguments", [{"start_range": "x"}, {"start_range": "09:00:00", "end_range": "08:00:00"}]
)
def test_find_alarms_refuses_a_bad_range(both: Simulator, arguments: dict[str, str]) -> None:
    assert fail(both, "FindAlarms", **arguments)
    log_in(both, "theo")
    assert fail(both, "FindAlarms", **arguments)
    log_in(both, "newton")
    assert respond(both, "FindAlarms", **arguments) == {"alarms": []}
