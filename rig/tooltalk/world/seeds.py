"""The JSON files a world is made from, in the shape of ToolTalk's `data/databases`.

One file per database (`Account.json`, `Alarm.json`, …), each an object by username or place. Only
`Account.json` has to be there.
"""

import json
from pathlib import Path
from types import GenericAlias, NoneType
from typing import Annotated, Any, TypeAlias, get_args

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, create_model
from sqlite_utils import Database

from rig import times
from rig.calls import JsonObject
from rig.errors import RigError
from rig.files import read_text
from rig.tooltalk.world.accounts import Accounts
from rig.tooltalk.world.records import ALARMS, EMAILS, EVENTS, MESSAGES, REMINDERS, Layout, Records

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


class _Day(_Record):
    date: Date
    high: Number
    low: Number
    conditions: str


class _Month(_Record):
    min_temp: Number
    max_temp: Number
    record_min_temp: Number
    record_max_temp: Number
    avg_rainfall: Number
    snow_days: Number


_RECORDS = {
    "Alarm": ("_Alarm", ALARMS),
    "Calendar": ("_Event", EVENTS),
    "Email": ("_Email", EMAILS),
    "Message": ("_Message", MESSAGES),
    "Reminder": ("_Reminder", REMINDERS),
}


def _shape(name: str, layout: Layout) -> Any:
    """Records by user and id. A field that can be null can be left out."""
    fields: dict[str, Any] = {
        field: (kind, None if NoneType in get_args(kind) else ...) for field, kind in layout.fields.items()
    }
    record = create_model(name, __base__=_Record, **fields)
    return GenericAlias(dict, (str, GenericAlias(dict, (str, record))))


_FILES: dict[str, tuple[Any, str | None]] = {
    "Account": (dict[str, _User], "username"),
    **{file: (_shape(name, layout), layout.id_field) for file, (name, layout) in _RECORDS.items()},
    "Weather": (dict[str, dict[str, _Day]], "date"),
    "HistoricWeather": (dict[str, dict[str, _Month]], None),
}
"""Each file's shape, and the field of a record that repeats its key."""

Seeds: TypeAlias = dict[str, JsonObject]
"""The checked content of each file that is there."""


def read_seeds(directory: Path) -> Seeds:
    """Read and check the JSON files of a directory. Raises RigError, naming file and place."""
    if not (directory / "Account.json").is_file():
        raise RigError(f"{directory}: holds no world: Account.json is missing")
    return {name: _read(path, name) for name in _FILES if (path := directory / f"{name}.json").is_file()}


def fill(database: Database, seeds: Seeds) -> None:
    """Put seeds into an empty world, each record after the one before it in its file."""
    with database.atomic():
        accounts = Accounts(database)
        for user in seeds["Account"].values():
            accounts.add(**user)
        for name, (_, layout) in _RECORDS.items():
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


def _read(path: Path, name: str) -> JsonObject:
    shape, repeated = _FILES[name]
    try:
        data = json.loads(read_text(path, MAX_FILE_BYTES), object_pairs_hook=_unique)
        adapter: TypeAdapter[JsonObject] = TypeAdapter(shape)
        content: JsonObject = adapter.dump_python(adapter.validate_python(data))
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"]) or "top level"
        raise RigError(f"{path}: not a part of a world: {place}: {first['msg']}") from error
    except (ValueError, RecursionError) as error:
        raise RigError(f"{path}: not JSON: {error}") from error
    for owner, records in ({"": content} if name == "Account" else content).items():
        for key, record in records.items() if repeated is not None else ():
            if record[repeated] != key:
                where = f"{owner}.{key}" if owner else key
                raise RigError(f"{path}: {where}: the record's {repeated} is {record[repeated]!r}")
    return content


def _unique(pairs: list[tuple[str, Any]]) -> JsonObject:
    content: JsonObject = {}
    for name, value in pairs:
        if name in content:
            raise ValueError(f"the key {name!r} occurs twice in one object")
        content[name] = value
    return content
