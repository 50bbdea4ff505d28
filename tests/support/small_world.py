"""A world small enough to hold in mind, in the shape of the seed files, and helpers to act in it."""

import json
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rig.core.calls import Call, ExecutedCall
from rig.plugins.tooltalk.conversations import Metadata
from rig.plugins.tooltalk_tools.seeds import world_from
from rig.plugins.tooltalk_tools.world import ToolTalkWorld
from rig.world.toolbox import Simulator
from rig.world.world import Snapshot

NOW = "2024-03-05 09:00:00"
TOKEN = "0f0f0f0f-1111-2222"
METADATA = Metadata(location="Springfield", timestamp=NOW)


def _account(username: str, email: str, name: str) -> dict[str, Any]:
    number = sum(map(ord, username))
    return {
        "username": username,
        "email": email,
        "phone": f"555-000-{number:04}",
        "name": name,
        "password": f"pw-{username}",
        "session_token": None,
    }


def _email(email_id: str, date: str, sender: str, subject: str, body: str) -> dict[str, Any]:
    return {
        "email_id": email_id,
        "date": date,
        "sender": sender,
        "receivers": ["mara@post.example"],
        "subject": subject,
        "body": body,
    }


def _message(message_id: str, timestamp: str, sender: str, message: str) -> dict[str, Any]:
    return {"message_id": message_id, "timestamp": timestamp, "sender": sender, "message": message}


def _event(event_id: str, name: str, start: str, end: str, **others: Any) -> dict[str, Any]:
    return {
        "event_id": event_id,
        "name": name,
        "event_type": "meeting" if others.get("attendees") else "event",
        "start_time": start,
        "end_time": end,
        "location": None,
        "description": None,
        "attendees": None,
        **others,
    }


def _by(key: str, *records: dict[str, Any]) -> dict[str, Any]:
    return {record[key]: record for record in records}


def _day(date: str, high: float, conditions: str) -> dict[str, Any]:
    return {"date": date, "high": high, "low": 30, "conditions": conditions}


EVENTS = (
    _event(
        "00000001-0001", "Standup", "2024-03-06 09:00:00", "2024-03-06 09:15:00", attendees=["mara", "theo"]
    ),
    _event("00000001-0002", "Dentist", "2024-03-07 14:00:00", "2024-03-07 15:00:00", location="Main St"),
    _event("00000001-0003", "Retreat", "2024-03-01 00:00:00", "2024-03-31 00:00:00"),
)
EMAILS = (
    _email("00-0000-00000001", "2024-03-01 08:00:00", "theo@post.example", "Lunch?", "Noodles on Friday"),
    _email("00-0000-00000002", "2024-03-04 08:00:00", "shop@store.example", "Your order", "It has shipped"),
    _email("00-0000-00000003", "2024-03-06 08:00:00", "theo@post.example", "Later", "Not sent yet"),
    _email("00-0000-00000004", "2024-03-02 08:00:00", "theo@post.example", "Noodles", "Friday it is"),
    _email("00-0000-00000005", "2024-03-04 08:00:00", "theo@post.example", "Order in?", "Same minute"),
    _email("00-0000-00000006", "2024-02-01 08:00:00", "ines@post.example", "Hello", "Long ago"),
    _email("00-0000-00000007", "2024-02-02 08:00:00", "ines@post.example", "Hello again", "Less long ago"),
)
MESSAGES = (
    _message("00000000-00000001", "2024-03-03 10:00:00", "theo", "The Key is under the mat"),
    _message("00000000-00000002", "2024-03-04 10:00:00", "ines", "Which mat?"),
    _message("00000000-00000003", "2024-03-05 09:00:01", "theo", "Sent a second from now"),
)
REMINDERS = (
    {"reminder_id": "00-0001", "task": "Water the plants", "due_date": None, "status": "pending"},
    {"reminder_id": "00-0002", "task": "Pay rent", "due_date": "2024-03-01 00:00:00", "status": "complete"},
)
ALARMS = (
    {"alarm_id": "0001-0001", "time": "18:00:00"},
    {"alarm_id": "0001-0002", "time": "07:30:00"},
    {"alarm_id": "0001-0003", "time": "6:05:00"},
)
MARCH = {
    "min_temp": 31,
    "max_temp": 48.5,
    "record_min_temp": 2,
    "record_max_temp": 77,
    "avg_rainfall": 3.25,
    "snow_days": 4,
}

SEEDS: dict[str, dict[str, Any]] = {
    "Account": _by(
        "username",
        _account("mara", "mara@post.example", "Mara Lind"),
        _account("theo", "theo@post.example", "Theo Park"),
        _account("ines", "theo@post.example", "Ines Park"),
        _account("newton", "newton@post.example", "Newton Roe"),
    ),
    "Alarm": {"mara": _by("alarm_id", *ALARMS), "theo": {}},
    "Calendar": {"mara": _by("event_id", *EVENTS), "theo": {}},
    "Email": {"mara": _by("email_id", *EMAILS), "theo": {}},
    "Message": {"mara": _by("message_id", *MESSAGES), "theo": {}},
    "Reminder": {"mara": _by("reminder_id", *REMINDERS), "theo": {}},
    "Weather": {
        "springfield": _by(
            "date",
            _day("2024-03-05", 50, "Sunny"),
            _day("2024-03-06", 51.5, "Cloudy"),
            _day("2024-03-07", 52.0, "Rain"),
            _day("2024-03-08", 53, "Sunny"),
        ),
        "lakeside": _by("date", _day("2024-03-04", 40, "Fog"), _day("2024-03-06", 42, "Fog")),
    },
    "HistoricWeather": {"springfield": {"march": MARCH}},
}


def write(directory: Path, seeds: dict[str, Any] | None = None) -> Path:
    """Write seed files into a directory."""
    directory.mkdir(parents=True, exist_ok=True)
    for name, content in (SEEDS if seeds is None else seeds).items():
        (directory / f"{name}.json").write_text(json.dumps(content), encoding="utf-8")
    return directory


def public(username: str) -> dict[str, Any]:
    """What QueryUser tells of one of the small world's users."""
    account = SEEDS["Account"][username]
    return {name: account[name] for name in ("username", "email", "phone", "name")}


def log_in(simulator: Simulator, username: str = "mara") -> None:
    """Start a conversation as this user."""
    simulator.start(METADATA.now, username, {"session_token": TOKEN})


def log_out(simulator: Simulator) -> None:
    """Start a conversation with nobody logged in."""
    simulator.start(METADATA.now, "mara")


def call(simulator: Simulator, name: str, /, **arguments: Any) -> ExecutedCall:
    """Execute a call."""
    return simulator.execute(Call(name, arguments))


def respond(simulator: Simulator, name: str, /, **arguments: Any) -> Any:
    """Execute a call that has to succeed, and give its response."""
    executed = call(simulator, name, **arguments)
    assert executed.exception is None, executed
    return executed.response


def fail(simulator: Simulator, name: str, /, **arguments: Any) -> str:
    """Execute a call that has to fail, and give its error text."""
    executed = call(simulator, name, **arguments)
    assert executed.exception is not None, executed
    assert executed.response is None
    return executed.exception


def new_world() -> ToolTalkWorld:
    """A small world of one's own."""
    world = ToolTalkWorld()
    world.restore(_snapshot())
    return world


@cache
def _snapshot() -> Snapshot:
    with TemporaryDirectory() as directory:
        return world_from(write(Path(directory))).snapshot()
