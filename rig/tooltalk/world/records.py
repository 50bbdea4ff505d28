"""Records that belong to one user each: alarms, events, emails, messages and reminders."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, TypeAlias

from pydantic import AfterValidator
from sqlite_utils import Database

from rig import times
from rig.calls import Json, JsonObject
from rig.toolbox.values import Stored, decode, encode, key, value_of
from rig.toolbox.world import Elements, stored_lists


def _formatted(pattern: str) -> Callable[[str], str]:
    def check(text: str) -> str:
        times.read(text, pattern)
        return text

    return check


Time: TypeAlias = Annotated[str, AfterValidator(_formatted(times.TIME))]
Instant: TypeAlias = Annotated[str, AfterValidator(_formatted(times.INSTANT))]

_WHOLE = -1
"""The position of a value that is neither null nor a list with elements, kept in one piece."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Where the records of one plugin lie. `owners` lists the users who have an entry, if an empty one.

    `fields` are those of a record, by the types that they have in the files that a world is made from; the
    first is its id. Tools can store null in those that are `nullable`, whatever the files have to hold.
    """

    owners: str
    records: str
    fields: Mapping[str, Any]
    nullable: tuple[str, ...] = ()
    elements: Elements | None = None

    @property
    def id_field(self) -> str:
        """The field that names a record of a user."""
        return next(iter(self.fields))

    @property
    def columns(self) -> tuple[str, ...]:
        """The fields that lie in the table of the records."""
        elsewhere = () if self.elements is None else (self.elements.field,)
        return tuple(name for name in self.fields if name not in elsewhere)

    @property
    def schema(self) -> str:
        """Its tables, in SQL."""
        types = ((name, "TEXT" if name in self.nullable else "TEXT NOT NULL") for name in self.columns)
        columns = (f"    {name} {kind},\n" for name, kind in types)
        sql = (
            f"CREATE TABLE {self.owners} (username TEXT PRIMARY KEY NOT NULL);\n"
            f"CREATE TABLE {self.records} (\n    id INTEGER PRIMARY KEY,\n"
            f"    username TEXT NOT NULL REFERENCES {self.owners}(username),\n{''.join(columns)}"
            f"    UNIQUE (username, {self.id_field})\n);\n"
        )
        if (elements := self.elements) is None:
            return sql
        return sql + (
            f"CREATE TABLE {elements.table} (\n"
            f"    {elements.parent} INTEGER NOT NULL REFERENCES {self.records}(id) ON DELETE CASCADE,\n"
            f"    position INTEGER NOT NULL,\n    {elements.column} TEXT,\n"
            f"    PRIMARY KEY ({elements.parent}, position)\n);\n"
        )


ALARMS = Layout("alarm_clocks", "alarms", {"alarm_id": str, "time": Time})
EVENTS = Layout(
    "calendars",
    "events",
    {
        "event_id": str,
        "name": str,
        "event_type": str,
        "start_time": Instant,
        "end_time": Instant,
        "location": str | None,
        "description": str | None,
        "attendees": list[str] | None,
    },
    ("name", "location", "description"),
    Elements("attendees", "event_attendees", "event", "username"),
)
EMAILS = Layout(
    "inboxes",
    "emails",
    {
        "email_id": str,
        "date": Instant,
        "sender": str,
        "receivers": list[str],
        "subject": str,
        "body": str,
    },
    elements=Elements("receivers", "email_receivers", "email", "address"),
)
MESSAGES = Layout(
    "message_boxes",
    "messages",
    {"message_id": str, "timestamp": Instant, "sender": str, "message": str},
)
REMINDERS = Layout(
    "reminder_lists",
    "reminders",
    {"reminder_id": str, "task": str, "due_date": Instant | None, "status": str},
    ("task", "due_date"),
)
LAYOUTS = (ALARMS, EVENTS, EMAILS, MESSAGES, REMINDERS)


class Records:
    """The records of one plugin, by user. A record is a JSON object; records keep the order they came in.

    Users are named by any JSON value that can be a dictionary key; other values raise TypeError.
    """

    def __init__(self, database: Database, layout: Layout) -> None:
        self._database = database
        self._layout = layout

    def knows(self, username: Json) -> bool:
        """Whether the plugin has an entry for this user."""
        return bool(self._database.table(self._layout.owners).count_where("username = ?", [key(username)]))

    def open(self, username: Json) -> None:
        """Make sure that there is an entry for this user."""
        self._database.table(self._layout.owners).insert({"username": key(username)}, ignore=True)

    def all(self, username: Json) -> list[JsonObject]:
        """The user's records in order."""
        columns = ", ".join(self._layout.columns)
        rows = self._database.execute(
            f"SELECT id, {columns} FROM {self._layout.records} WHERE username = ? ORDER BY id",
            [key(username)],
        ).fetchall()
        records = {row[0]: dict(zip(self._layout.columns, map(decode, row[1:]), strict=True)) for row in rows}
        if (elements := self._layout.elements) is not None:
            lists = stored_lists(self._database, elements)
            for row_id, record in records.items():
                record[elements.field] = value_of(lists.get(row_id))
        return list(records.values())

    def get(self, username: Json, record_id: Json) -> JsonObject | None:
        """The record of that id, None where there is none."""
        same = (record for record in self.all(username) if record[self._layout.id_field] == record_id)
        return next(same, None)

    def put(self, username: Json, record: JsonObject) -> None:
        """Add a record at the end. One of the same id is replaced where it stands, as in a dictionary."""
        row: dict[str, Stored] = {name: encode(record[name]) for name in self._layout.columns}
        table = self._database.table(self._layout.records)
        ids = self._row_ids(username, record[self._layout.id_field])
        if ids:
            table.update(ids[0], row)
        else:
            table.insert({"username": key(username), **row})
            ids = self._row_ids(username, record[self._layout.id_field])
        if self._layout.elements is not None:
            self._set_elements(ids[0], self._layout.elements, record[self._layout.elements.field])

    def change(self, username: Json, record_id: Json, field: str, value: Json) -> None:
        """Set one field of a record that exists."""
        (row_id,) = self._row_ids(username, record_id)
        elements = self._layout.elements
        if elements is not None and field == elements.field:
            self._set_elements(row_id, elements, value)
        else:
            self._database.table(self._layout.records).update(row_id, {field: encode(value)})

    def remove(self, username: Json, record_id: Json) -> bool:
        """Delete a record; False where there is none of that id."""
        ids = self._row_ids(username, record_id)
        for row_id in ids:
            self._database.table(self._layout.records).delete(row_id)
        return bool(ids)

    def _row_ids(self, username: Json, record_id: Json) -> list[int]:
        """The row of that id: one or none."""
        rows = self._database.execute(
            f"SELECT id FROM {self._layout.records} WHERE username = ? AND {self._layout.id_field} = ?",
            [key(username), encode(record_id)],
        ).fetchall()
        return [row[0] for row in rows]

    def _set_elements(self, row_id: int, elements: Elements, value: Json) -> None:
        table = self._database.table(elements.table)
        table.delete_where(f"{elements.parent} = ?", [row_id])
        if isinstance(value, list) and value:
            rows = list(enumerate(value))
        else:
            rows = [] if value is None else [(_WHOLE, value)]
        table.insert_all(
            {elements.parent: row_id, "position": position, elements.column: encode(element)}
            for position, element in rows
        )
