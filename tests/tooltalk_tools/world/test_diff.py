"""Diffs of worlds hold every change to anybody's things, and nothing else."""

from typing import Any

import pytest
import small_world
from hypothesis import given
from hypothesis import strategies as st

from rig.plugins.matching.worlds import ColumnChange, RecordChange, WorldDiff
from rig.plugins.matching.worlds import diff as any_diff
from rig.plugins.tooltalk_tools import TOOLTALK
from rig.plugins.tooltalk_tools.world import ToolTalkWorld
from rig.world.toolbox import Simulator
from rig.world.world import Snapshot


def diff(before: Snapshot, after: Snapshot, limit: int = 50) -> WorldDiff:
    return any_diff(Simulator(ToolTalkWorld(), TOOLTALK), before, after, limit)


def changed(world: ToolTalkWorld, before: Snapshot) -> list[RecordChange]:
    found = diff(before, world.snapshot())
    assert found.omitted == 0
    return list(found.changes)


def test_equal_worlds_do_not_differ(world: ToolTalkWorld) -> None:
    assert diff(world.snapshot(), world.snapshot()) == WorldDiff()
    other = small_world.new_world()
    other.alarms.put("mara", {"alarm_id": "x", "time": "09:00:00"})
    other.alarms.remove("mara", "x")
    assert diff(world.snapshot(), other.snapshot()) == WorldDiff()


def test_a_record_that_is_added(world: ToolTalkWorld) -> None:
    before = world.snapshot()
    world.alarms.put("mara", {"alarm_id": "0001-0004", "time": "09:00:00"})
    assert changed(world, before) == [
        RecordChange(
            "alarms",
            (("username", "mara"), ("alarm_id", "0001-0004")),
            "added",
            (ColumnChange("time", None, "09:00:00"),),
        )
    ]


def test_a_record_that_is_removed_goes_with_its_parts(world: ToolTalkWorld) -> None:
    before = world.snapshot()
    world.events.remove("mara", "00000001-0001")
    [change] = changed(world, before)
    assert (change.table, change.kind) == ("events", "removed")
    assert change.key == (("username", "mara"), ("event_id", "00000001-0001"))
    values = {column.name: column.before for column in change.columns}
    assert values["attendees"] == ["mara", "theo"]
    assert all(column.after is None for column in change.columns)
    # What was null before is no part of what is gone.
    assert "location" not in values


def test_columns_that_change_are_named_with_what_they_were(world: ToolTalkWorld) -> None:
    before = world.snapshot()
    world.events.change("mara", "00000001-0001", "attendees", ["mara", None, 3])
    world.events.change("mara", "00000001-0001", "name", "Sit-down")
    [change] = changed(world, before)
    assert change.kind == "changed"
    assert {column.name: (column.before, column.after) for column in change.columns} == {
        "name": ("Standup", "Sit-down"),
        "attendees": (["mara", "theo"], ["mara", None, 3]),
    }


def test_the_simulators_own_state_comes_last_and_says_so() -> None:
    world = small_world.new_world()
    simulator = Simulator(world, TOOLTALK)
    small_world.log_out(simulator)
    before = world.snapshot()
    small_world.respond(simulator, "UserLogin", username="mara", password="pw-mara")
    small_world.respond(simulator, "AddAlarm", time="07:00:00")
    changes = changed(world, before)
    assert [change.table for change in changes] == [
        "users",
        "alarms",
        "id_generators",
        "id_generators",
        "session",
    ]
    assert [change.is_bookkeeping for change in changes] == [False, False, True, True, True]
    assert changes[0].key == (("username", "mara"),)
    assert [column.name for column in changes[0].columns] == ["session_token"]


def test_a_diff_has_a_bound_and_counts_what_is_beyond_it(world: ToolTalkWorld) -> None:
    before = world.snapshot()
    for number in range(30):
        world.reminders.put(
            "mara", {"reminder_id": str(number), "task": "t", "due_date": None, "status": "pending"}
        )
    found = diff(before, world.snapshot(), limit=10)
    assert (len(found.changes), found.omitted) == (10, 20)


def test_a_world_of_other_seeds_differs_everywhere(world: ToolTalkWorld) -> None:
    before, after = ToolTalkWorld().snapshot(), world.snapshot()
    found = diff(before, after, limit=10_000)
    tables = {change.table for change in found.changes}
    assert tables >= {"users", "alarms", "events", "emails", "messages", "reminders", "weather"}
    assert {change.kind for change in found.changes if change.table != "session"} == {"added"}


VALUES = (
    st.none()
    | st.text(max_size=3)
    | st.integers(0, 2)
    | st.lists(st.none() | st.text(max_size=2), max_size=2)
)
OPERATIONS = st.one_of(
    st.tuples(st.just("put"), st.sampled_from(["mara", "theo"]), st.sampled_from("abc"), VALUES),
    st.tuples(st.just("remove"), st.just("mara"), st.sampled_from(["00000001-0001", "00000001-0002", "a"])),
    st.tuples(
        st.just("change"),
        st.just("mara"),
        st.just("00000001-0003"),
        st.sampled_from(["name", "location", "attendees"]),
        VALUES,
    ),
)


def act(world: ToolTalkWorld, operation: tuple[Any, ...]) -> None:
    kind, username, record, *values = operation
    if kind == "put":
        event = {**small_world.EVENTS[1], "event_id": record, "name": values[0], "attendees": values[0]}
        world.events.put(username, event)
    elif kind == "remove":
        world.events.remove(username, record)
    else:
        world.events.change(username, record, *values)


def events_of(world: ToolTalkWorld) -> dict[tuple[str, str], dict[str, Any]]:
    return {(name, event["event_id"]): event for name in ("mara", "theo") for event in world.events.all(name)}


@given(st.lists(OPERATIONS, max_size=6))
def test_a_diff_is_what_turns_one_world_into_the_other(operations: list[tuple[Any, ...]]) -> None:
    world = small_world.new_world()
    before, expected = world.snapshot(), events_of(world)
    for operation in operations:
        act(world, operation)
    after = events_of(world)
    forward, backward = diff(before, world.snapshot()), diff(world.snapshot(), before)
    for change in forward.changes:
        key = (change.key[0][1], change.key[1][1])
        if change.kind == "removed":
            del expected[key]
            continue
        if change.kind == "added":
            expected[key] = {**dict.fromkeys(after[key]), "event_id": key[1]}
        for column in change.columns:
            assert expected[key][column.name] == column.before
            expected[key][column.name] = column.after
    assert {key: repr(event) for key, event in expected.items()} == {
        key: repr(event) for key, event in after.items()
    }
    opposite = {"added": "removed", "removed": "added", "changed": "changed"}
    assert {(each.key, opposite[each.kind]) for each in forward.changes} == {
        (each.key, each.kind) for each in backward.changes
    }


@pytest.mark.parametrize("username", ["\ud800", "[red]x[/]"])
def test_names_no_file_would_have_are_kept(world: ToolTalkWorld, username: str) -> None:
    before = world.snapshot()
    world.accounts.add(username=username, name={"not": ["text"]})
    [change] = changed(world, before)
    assert change.key == (("username", username),)
    assert change.columns == (ColumnChange("name", None, {"not": ["text"]}),)
    assert change.as_json()["columns"] == {"name": [None, {"not": ["text"]}]}
