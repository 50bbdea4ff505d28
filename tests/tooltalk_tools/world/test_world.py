import threading
import time
from datetime import datetime
from pathlib import Path

import pytest
import small_world

from rig.core.errors import RigError
from rig.plugins.tooltalk_tools import TOOLTALK
from rig.plugins.tooltalk_tools.seeds import build_world
from rig.plugins.tooltalk_tools.world import ToolTalkWorld


def test_records_come_in_the_order_of_their_file(world: ToolTalkWorld) -> None:
    assert world.alarms.all("mara") == list(small_world.ALARMS)
    assert world.events.all("mara") == list(small_world.EVENTS)
    assert world.emails.all("mara") == list(small_world.EMAILS)
    assert world.messages.all("mara") == list(small_world.MESSAGES)
    assert world.reminders.all("mara") == list(small_world.REMINDERS)
    assert [account.username for account in world.accounts.all()] == list(small_world.SEEDS["Account"])


def test_no_entry_is_not_an_empty_entry(world: ToolTalkWorld) -> None:
    for records in world.records:
        assert (records.knows("mara"), records.knows("theo"), records.knows("newton")) == (True, True, False)
        assert records.all("theo") == records.all("newton") == []


def test_numbers_keep_their_type(world: ToolTalkWorld) -> None:
    world.set_clock(datetime.fromisoformat("2024-03-07"))
    today = TOOLTALK.tools["CurrentWeather"].function(world, location="springfield")
    assert repr(today["weather"]) == repr(small_world.SEEDS["Weather"]["springfield"]["2024-03-07"])
    month = TOOLTALK.tools["HistoricWeather"].function(world, location="springfield", month="march")
    assert repr(month["weather"]) == repr(small_world.MARCH)


def test_a_record_of_the_same_id_is_replaced_where_it_stands(world: ToolTalkWorld) -> None:
    world.alarms.put("mara", {"alarm_id": "0001-0002", "time": "09:00:00"})
    world.alarms.put("mara", {"alarm_id": "0001-0004", "time": "10:00:00"})
    assert [alarm["time"] for alarm in world.alarms.all("mara")] == [
        "18:00:00",
        "09:00:00",
        "6:05:00",
        "10:00:00",
    ]


def test_a_record_put_after_the_last_was_removed_comes_last(world: ToolTalkWorld) -> None:
    world.alarms.remove("mara", "0001-0003")
    world.alarms.put("mara", {"alarm_id": "0000-0000", "time": "10:00:00"})
    assert world.alarms.all("mara")[-1]["alarm_id"] == "0000-0000"


@pytest.mark.parametrize("attendees", [None, [], ["x"], ["x", None, ["y"], 1], "mara", {"mara": 1}, "", 0])
def test_attendees_of_any_kind_are_kept(world: ToolTalkWorld, attendees: object) -> None:
    world.events.change("mara", "00000001-0001", "attendees", attendees)
    assert world.events.all("mara")[0]["attendees"] == attendees
    world.events.put("mara", {**small_world.EVENTS[1], "event_id": "new", "attendees": attendees})
    assert world.events.all("mara")[-1]["attendees"] == attendees


def test_deleting_an_event_deletes_its_attendees(world: ToolTalkWorld) -> None:
    world.events.remove("mara", "00000001-0001")
    assert world.database.table("event_attendees").count == 0
    assert not world.events.remove("mara", "00000001-0001")


def test_restoring_is_exact(world: ToolTalkWorld) -> None:
    world.set_clock(datetime.fromisoformat("2024-03-05"))
    snapshot, dump = world.snapshot(), world.dump()
    world.set_clock(datetime.fromisoformat("2025-01-01"))
    world.set_session_token("t")
    world.accounts.add(username="new", password="x")
    world.reminders.put("mara", {"reminder_id": "r", "task": ["x"], "due_date": None, "status": "pending"})
    world.alarms.remove("mara", "0001-0001")
    assert world.dump() != dump
    world.restore(snapshot)
    assert world.dump() == dump
    assert world.snapshot() == snapshot
    assert world.now == datetime.fromisoformat("2024-03-05")


def test_a_snapshot_outlives_its_world(world: ToolTalkWorld) -> None:
    snapshot, dump = world.snapshot(), world.dump()
    world.close()
    other = ToolTalkWorld()
    other.restore(snapshot)
    assert other.dump() == dump


def test_a_failed_block_is_undone_and_an_inner_one_alone(world: ToolTalkWorld) -> None:
    def remove_and_fail(alarm_id: str) -> None:
        with world.atomic():
            world.alarms.remove("mara", alarm_id)
            raise ZeroDivisionError

    def alarm_ids() -> list[str]:
        return [alarm["alarm_id"] for alarm in world.alarms.all("mara")]

    with world.atomic():
        world.alarms.remove("mara", "0001-0001")
        with pytest.raises(ZeroDivisionError):
            remove_and_fail("0001-0002")
    assert alarm_ids() == ["0001-0002", "0001-0003"]
    with pytest.raises(ZeroDivisionError):
        remove_and_fail("0001-0003")
    assert alarm_ids() == ["0001-0002", "0001-0003"]


def test_a_world_can_be_used_from_another_thread(world: ToolTalkWorld) -> None:
    seen: list[int] = []
    thread = threading.Thread(target=lambda: seen.append(len(world.alarms.all("mara"))))
    thread.start()
    thread.join()
    assert seen == [3]


def test_the_clock_has_to_be_set(world: ToolTalkWorld) -> None:
    with pytest.raises(RuntimeError):
        _ = world.now


@pytest.mark.parametrize("text", ["0001-01-01 00:00:00", "0999-12-31 23:59:59", "9999-12-31 23:59:59"])
def test_the_clock_can_show_every_year(world: ToolTalkWorld, text: str) -> None:
    world.set_clock(datetime.fromisoformat(text))
    assert world.now == datetime.fromisoformat(text)


def test_restoring_the_world_that_ships_takes_less_than_a_millisecond() -> None:
    world = ToolTalkWorld.open()
    snapshot = world.snapshot()
    username = world.accounts.all()[0].username
    taken = []
    for _ in range(50):
        world.reminders.open("someone")
        started = time.perf_counter()
        world.restore(snapshot)
        world.accounts.find(username)
        taken.append(time.perf_counter() - started)
    assert min(taken) < 0.001


def test_what_was_built_can_be_opened(tmp_path: Path, world: ToolTalkWorld) -> None:
    build_world(small_world.write(tmp_path / "seed"), tmp_path / "world.sqlite")
    assert ToolTalkWorld.open(tmp_path / "world.sqlite").dump() == world.dump()


@pytest.mark.parametrize("content", [b"", b"no database", b"SQLite format 3\0" + bytes(200)])
def test_a_file_that_is_no_world_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "world.sqlite").write_bytes(content)
    with pytest.raises(RigError, match="not a world of this version"):
        ToolTalkWorld.open(tmp_path / "world.sqlite")


@pytest.mark.parametrize("size", [100, 5000, -4096])
def test_a_truncated_world_is_refused(tmp_path: Path, size: int) -> None:
    small_world.write(tmp_path / "seed")
    build_world(tmp_path / "seed", tmp_path / "world.sqlite")
    (tmp_path / "world.sqlite").write_bytes((tmp_path / "world.sqlite").read_bytes()[:size])
    with pytest.raises(RigError, match="not a world of this version"):
        ToolTalkWorld.open(tmp_path / "world.sqlite")


def test_another_database_is_refused(tmp_path: Path) -> None:
    world = ToolTalkWorld()
    world.database.execute("ALTER TABLE users ADD COLUMN shoe_size")
    (tmp_path / "world.sqlite").write_bytes(world.snapshot().image)
    with pytest.raises(RigError, match="not a world of this version"):
        ToolTalkWorld.open(tmp_path / "world.sqlite")


def test_a_missing_file_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(RigError, match=r"cannot be read: No such file.*rig world build"):
        ToolTalkWorld.open(tmp_path / "none.sqlite")
