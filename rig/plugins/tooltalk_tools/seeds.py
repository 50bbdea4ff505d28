"""Making a world from JSON files, and checking a world for faults.

The files have the shape of ToolTalk's `data/databases`: one per database (`Account.json`, `Alarm.json`, …),
each an object by username or place. Only `Account.json` is required.
"""

import calendar
import re
import sqlite3
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import GenericAlias, NoneType
from typing import Annotated, Any, TypeAlias, get_args

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, create_model

from rig.core import times
from rig.core.budget import parse_json
from rig.core.calls import Json, JsonObject
from rig.core.errors import RigError
from rig.core.files import put_in_place, read_text, temporary_path
from rig.core.paths import WORLD_DATABASE, WORLD_SEED
from rig.core.sqlite_import import Database
from rig.plugins.documents.documents import adapter, parsed
from rig.plugins.tooltalk_tools.world import LAYOUTS, Accounts, Records, ToolTalkWorld

MAX_FILE_BYTES = 64 * 1024 * 1024


def _iso_date(text: str) -> str:
    if times.read(text, times.DATE).strftime(times.DATE) != text:
        raise ValueError("not of the form YYYY-MM-DD")
    return text


Date: TypeAlias = Annotated[str, AfterValidator(_iso_date)]
Number: TypeAlias = Annotated[int | float, Field(ge=-1_000_000, le=1_000_000)]


class _Record(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")


class _User(_Record):
    username: str
    email: str | None
    phone: str | None
    name: str | None
    password: str
    session_token: str | None = None
    verification_code: str | None = None


def _shape(name: str, fields: Mapping[str, Any]) -> Any:
    """Return the type of records with these fields, by owner and by key. Nullable fields are optional."""
    parts: dict[str, Any] = {
        field: (kind, None if NoneType in get_args(kind) else ...) for field, kind in fields.items()
    }
    record = create_model(f"_{name}", __base__=_Record, **parts)
    return GenericAlias(dict, (str, GenericAlias(dict, (str, record))))


_DAY = {"date": Date, "high": Number, "low": Number, "conditions": str}
_AVERAGES = ("min_temp", "max_temp", "record_min_temp", "record_max_temp", "avg_rainfall", "snow_days")

_FILES: dict[str, tuple[Any, str | None]] = {
    "Account": (dict[str, _User], "username"),
    **{name: (_shape(name, layout.fields), layout.id_field) for name, layout in LAYOUTS.items()},
    "Weather": (_shape("Weather", _DAY), "date"),
    "HistoricWeather": (_shape("HistoricWeather", dict.fromkeys(_AVERAGES, Number)), None),
    "Drawn": (dict[str, int], None),
}
"""Each file's type, and the field of a record that repeats its key."""

Seeds: TypeAlias = dict[str, JsonObject]
"""The checked content of each file that exists."""


def world_from(directory: Path) -> ToolTalkWorld:
    """Make a world from JSON files shaped like ToolTalk's `data/databases`.

    Raises RigError on bad files, naming file and place.
    """
    if not directory.exists():
        raise RigError(f"{directory}: no such world; give a file that `rig world build` made, or its folder")
    if not (directory / "Account.json").is_file():
        raise RigError(f"{directory}: holds no world: Account.json is missing")
    paths = {name: path for name in _FILES if (path := directory / f"{name}.json").is_file()}
    world = ToolTalkWorld()
    fill(world.database, {name: _read(path, name) for name, path in paths.items()})
    return world


def fill(database: Database, seeds: Seeds) -> None:
    """Put seeds into an empty world, with records in the order of their files."""
    with database.atomic():
        accounts = Accounts(database)
        for user in seeds["Account"].values():
            accounts.add(**user)
        for name, layout in LAYOUTS.items():
            kept = Records(database, layout)
            for username, records in seeds.get(name, {}).items():
                kept.open(username)
                for record in records.values():
                    kept.put(username, record)
        database.table("weather").insert_all(
            {"location": location, **day}
            for location, days in seeds.get("Weather", {}).items()
            for day in days.values()
        )
        database.table("historic_weather").insert_all(
            {"location": location, "month": month, **averages}
            for location, months in seeds.get("HistoricWeather", {}).items()
            for month, averages in months.items()
        )
        database.table("id_generators").insert_all(
            {"tool": tool, "drawn": number} for tool, number in seeds.get("Drawn", {}).items()
        )


def _read(path: Path, name: str) -> JsonObject:
    try:
        data = parse_json(read_text(path, MAX_FILE_BYTES), object_pairs_hook=_unique)
    except (ValueError, RecursionError) as error:
        raise RigError(f"{path}: not JSON: {error}") from error
    return _checked(data, name, str(path))


def checked(seeds: JsonObject) -> Seeds:
    """Check the seeds that a conversation has in place of files. Raises RigError on bad content."""
    unknown = next((name for name in seeds if name not in _FILES), None)
    if unknown is not None or "Account" not in seeds:
        text = "Account is missing" if unknown is None else f"there is no {unknown}"
        raise RigError(f"world: {text}; it has: {', '.join(_FILES)}")
    return {name: _checked(data, name, f"world.{name}") for name, data in seeds.items()}


def _checked(data: Json, name: str, where: str) -> JsonObject:
    kind, repeated = _FILES[name]
    content: JsonObject = adapter(kind).dump_python(parsed(kind, data, where, "a part of a world"))
    for owner, records in ({"": content} if name == "Account" else content).items():
        for key, record in records.items() if repeated is not None else ():
            if record[repeated] != key:
                place = f"{owner}.{key}" if owner else key
                raise RigError(f"{where}: {place}: the record's {repeated} is {record[repeated]!r}")
    return content


def _unique(pairs: list[tuple[str, Any]]) -> JsonObject:
    content: JsonObject = {}
    for name, value in pairs:
        if name in content:
            raise ValueError(f"the key {name!r} occurs twice in one object")
        content[name] = value
    return content


_CHANGE_COUNTER = 24
_VERSION_VALID_FOR = 92
_LIBRARY_VERSION = 96


def build_world(seed: Path = WORLD_SEED, target: Path = WORLD_DATABASE) -> None:
    """Make the world file from a directory of JSON files, with the same bytes every time.

    Another version of SQLite makes a file of equal content, with that version in the header as in every
    SQLite file. Raises RigError on bad seeds, or if the target cannot be written, which leaves it unchanged.
    """
    image = bytearray(world_from(seed).snapshot().image)
    major, minor, patch = sqlite3.sqlite_version_info
    library = major * 1_000_000 + minor * 1_000 + patch
    # In an image of a database in memory, these fields can have any value.
    for offset, value in ((_CHANGE_COUNTER, 1), (_VERSION_VALID_FOR, 1), (_LIBRARY_VERSION, library)):
        struct.pack_into(">I", image, offset, value)
    part = temporary_path(target.parent, target.name)
    try:
        part.write_bytes(image)
        part.chmod(0o644)
        put_in_place(part, target)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise RigError(f"{target}: cannot be written: {error.strerror}") from error


_ID_FORMATS = {
    "alarms": r"[0-9a-f]{4}-[0-9a-f]{4}",
    "events": r"[0-9a-f]{8}-[0-9a-f]{4}",
    "emails": r"[0-9a-f]{2}-[0-9a-f]{4}-[0-9a-f]{8}",
    "messages": r"[0-9a-f]{8}-[0-9a-f]{8}",
    "reminders": r"[0-9a-f]{2}-[0-9a-f]{4}",
}
_EMAIL = r"[\w.-]+@[\w.-]+"
_PHONE = r"\d{3}-\d{3}-\d{4}"
_MONTHS = [name.lower() for name in calendar.month_name[1:]]


def check_world(world: ToolTalkWorld) -> list[str]:
    """Return the faults of a world, one line each: dangling references, bad formats, contradictions."""
    return [*_references(world), *_users(world), *_records(world), *_climate(world)]


def _references(world: ToolTalkWorld) -> Iterator[str]:
    for table, row, parent, _ in world.database.execute("PRAGMA foreign_key_check").fetchall():
        yield f"{table} row {row}: refers to a missing row of {parent}"
    for layout in LAYOUTS.values():
        strangers = world.database.table(layout.owners).rows_where(
            "username NOT IN (SELECT username FROM users)"
        )
        for row in strangers:
            yield f"{layout.owners}: {row['username']!r} is no user"


def _users(world: ToolTalkWorld) -> Iterator[str]:
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


def _records(world: ToolTalkWorld) -> Iterator[str]:
    usernames = [account.username for account in world.accounts.all()]
    for records, layout in zip(world.records, LAYOUTS.values(), strict=True):
        for username in usernames:
            for record in records.all(username):
                record_id = record[layout.id_field]
                where = f"{layout.records}: {username} {record_id}"
                if not re.fullmatch(_ID_FORMATS[layout.records], record_id):
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


def _climate(world: ToolTalkWorld) -> Iterator[str]:
    query = world.database.query
    for table in ("weather", "historic_weather"):
        for row in query(f"SELECT DISTINCT location FROM {table}"):
            if row["location"] != row["location"].lower().strip():
                yield f"{table}: {row['location']!r} can never be asked for; places are in lower case"
    for row in query("SELECT location, month FROM historic_weather"):
        if row["month"] not in _MONTHS:
            yield f"historic_weather: {row['location']}: {row['month']!r} is no month"
    for row in query("SELECT location, date FROM weather WHERE low > high"):
        yield f"weather: {row['location']} {row['date']}: the low is above the high"
