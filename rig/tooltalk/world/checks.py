"""What a well-made world has to hold beyond what loading it already demands."""

import calendar
import re
from collections.abc import Iterator

from rig.calls import JsonObject
from rig.tooltalk.world.records import ALARMS, EMAILS, EVENTS, LAYOUTS, MESSAGES, REMINDERS
from rig.tooltalk.world.world import World

_ID_FORMATS = {
    ALARMS.id_field: r"[0-9a-f]{4}-[0-9a-f]{4}",
    EVENTS.id_field: r"[0-9a-f]{8}-[0-9a-f]{4}",
    EMAILS.id_field: r"[0-9a-f]{2}-[0-9a-f]{4}-[0-9a-f]{8}",
    MESSAGES.id_field: r"[0-9a-f]{8}-[0-9a-f]{8}",
    REMINDERS.id_field: r"[0-9a-f]{2}-[0-9a-f]{4}",
}
_EMAIL = r"[\w.-]+@[\w.-]+"
_PHONE = r"\d{3}-\d{3}-\d{4}"
_MONTHS = [name.lower() for name in calendar.month_name[1:]]


def check_world(world: World) -> list[str]:
    """Faults of a world, one line each: dangling references, bad formats, contradictory records."""
    return [*_references(world), *_users(world), *_records(world), *_climate(world)]


def _references(world: World) -> Iterator[str]:
    for table, row, parent, _ in world.database.execute("PRAGMA foreign_key_check").fetchall():
        yield f"{table} row {row}: refers to a missing row of {parent}"
    for layout in LAYOUTS:
        strangers = world.database.execute(
            f"SELECT username FROM {layout.owners} WHERE username NOT IN (SELECT username FROM users)"
        ).fetchall()
        for (username,) in strangers:
            yield f"{layout.owners}: {username!r} is no user"


def _users(world: World) -> Iterator[str]:
    addresses: dict[str, str] = {}
    for account in world.accounts.all():
        where = f"users: {account.username!r}"
        if not re.fullmatch(_EMAIL, account.email or ""):
            yield f"{where}: email {account.email!r} is not an address"
        elif account.email in addresses:
            yield f"{where}: email {account.email!r} is also that of {addresses[account.email]!r}"
        if not re.fullmatch(_PHONE, account.phone or ""):
            yield f"{where}: phone {account.phone!r} is not of the form 555-555-5555"
        if not account.name or not account.password:
            yield f"{where}: has no name or no password"
        if account.session_token is not None:
            yield f"{where}: is logged in"
        addresses[account.email] = account.username


def _records(world: World) -> Iterator[str]:
    usernames = [account.username for account in world.accounts.all()]
    for records, layout in zip(world.records, LAYOUTS, strict=True):
        for username in usernames:
            for record in records.all(username):
                record_id = record[layout.id_field]
                where = f"{layout.records}: {username} {record_id}"
                if not re.fullmatch(_ID_FORMATS[layout.id_field], record_id):
                    yield f"{where}: the {layout.id_field} is malformed"
                for fault in _content(layout.records, username, record, usernames):
                    yield f"{where}: {fault}"


def _content(records: str, username: str, record: JsonObject, usernames: list[str]) -> Iterator[str]:
    match records:
        case "events":
            if record["event_type"] not in ("meeting", "event"):
                yield f"event_type is {record['event_type']!r}"
            if record["start_time"] > record["end_time"]:
                yield "ends before it starts"
            attendees = record["attendees"] or []
            if record["event_type"] == "meeting" and not attendees:
                yield "a meeting without attendees"
            if attendees and username not in attendees:
                yield "the owner does not attend"
            for attendee in attendees:
                if attendee not in usernames:
                    yield f"attendee {attendee!r} is no user"
        case "messages":
            if record["sender"] not in usernames:
                yield f"sender {record['sender']!r} is no user"
        case "emails":
            for address in (record["sender"], *record["receivers"]):
                if not re.fullmatch(_EMAIL, address):
                    yield f"{address!r} is not an address"
        case "reminders":
            if record["status"] not in ("pending", "complete"):
                yield f"status is {record['status']!r}"


def _climate(world: World) -> Iterator[str]:
    for table in ("weather", "historic_weather"):
        for (location,) in world.database.execute(f"SELECT DISTINCT location FROM {table}").fetchall():
            if location != location.lower().strip():
                yield f"{table}: {location!r} can never be asked for; places are in lower case"
    for location, month in world.database.execute("SELECT location, month FROM historic_weather").fetchall():
        if month not in _MONTHS:
            yield f"historic_weather: {location}: {month!r} is no month"
    for location, day in world.database.execute(
        "SELECT location, date FROM weather WHERE low > high"
    ).fetchall():
        yield f"weather: {location} {day}: the low is above the high"
