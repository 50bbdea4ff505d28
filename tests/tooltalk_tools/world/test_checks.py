from collections.abc import Callable

import pytest

from rig.plugins.tooltalk_tools.seeds import check_world
from rig.plugins.tooltalk_tools.world import ToolTalkWorld


def _sql(statement: str) -> Callable[[ToolTalkWorld], object]:
    return lambda world: world.database.execute(statement)


@pytest.fixture
def sound(world: ToolTalkWorld) -> ToolTalkWorld:
    """The small world without the shared address that it has on purpose."""
    world.database.execute("UPDATE users SET email = 'ines@post.example' WHERE username = 'ines'")
    return world


def test_the_world_that_ships_is_sound() -> None:
    assert check_world(ToolTalkWorld.open()) == []


def test_users_who_share_an_address_are_reported(world: ToolTalkWorld) -> None:
    assert check_world(world) == ["users: 'ines': email 'theo@post.example' is also that of 'theo'"]


def test_a_sound_world_has_no_faults(sound: ToolTalkWorld) -> None:
    assert check_world(sound) == []


@pytest.mark.parametrize(
    ("break_it", "fault"),
    [
        (_sql("INSERT INTO calendars VALUES ('nobody')"), "calendars: 'nobody' is no user"),
        (_sql("UPDATE users SET email = 'x' WHERE id = 1"), "users: 'mara': email 'x' is not an address"),
        (_sql("UPDATE users SET phone = '1' WHERE id = 1"), "users: 'mara': phone '1' is not of the form"),
        (_sql("UPDATE users SET name = NULL WHERE id = 1"), "users: 'mara': has no name"),
        (_sql("UPDATE users SET session_token = 't' WHERE id = 1"), "users: 'mara': is logged in"),
        (_sql("UPDATE alarms SET alarm_id = 'x' WHERE id = 1"), "alarms: mara x: the alarm_id is malformed"),
        (_sql("UPDATE events SET event_type = 'x' WHERE id = 2"), "event_type is 'x'"),
        (_sql("UPDATE events SET start_time = '2025-01-01 00:00:00' WHERE id = 2"), "ends before it starts"),
        (_sql("DELETE FROM event_attendees"), "a meeting without attendees"),
        (_sql("DELETE FROM event_attendees WHERE username = 'mara'"), "the owner does not attend"),
        (_sql("UPDATE event_attendees SET username = 'x' WHERE position = 1"), "attendee 'x' is no user"),
        (_sql("UPDATE messages SET sender = 'x' WHERE id = 1"), "sender 'x' is no user"),
        (_sql("UPDATE emails SET sender = 'x' WHERE id = 1"), "'x' is not an address"),
        (_sql("UPDATE email_receivers SET address = 'x' WHERE email = 1"), "'x' is not an address"),
        (_sql("UPDATE reminders SET status = 'completed' WHERE id = 1"), "status is 'completed'"),
        (
            _sql("UPDATE weather SET location = 'Lakeside' WHERE location = 'lakeside'"),
            "'Lakeside' can never",
        ),
        (_sql("UPDATE weather SET low = 99 WHERE date = '2024-03-05'"), "the low is above the high"),
        (_sql("UPDATE historic_weather SET month = 'mar'"), "'mar' is no month"),
    ],
)
def test_faults_are_reported(
    sound: ToolTalkWorld, break_it: Callable[[ToolTalkWorld], object], fault: str
) -> None:
    break_it(sound)
    faults = check_world(sound)
    assert any(fault in each for each in faults), faults


def test_a_dangling_reference_is_reported(sound: ToolTalkWorld) -> None:
    sound.database.execute("PRAGMA foreign_keys = OFF")
    sound.database.execute("DELETE FROM calendars WHERE username = 'mara'")
    assert any("refers to a missing row of calendars" in fault for fault in check_world(sound))
