"""Records that belong to one user each: alarms, events, emails, messages and reminders."""

from collections import defaultdict
from dataclasses import dataclass

from sqlite_utils import Database

from rig.calls import Json, JsonObject
from rig.toolbox.values import Stored, decode, encode, key
from rig.toolbox.world import Elements

_WHOLE = -1
"""The position of a value that is neither null nor a list with elements, kept in one piece."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Where the records of one plugin lie. `owners` lists the users who have an entry, if an empty one."""

    owners: str
    records: str
    id_field: str
    columns: tuple[str, ...]
    elements: Elements | None = None


ALARMS = Layout("alarm_clocks", "alarms", "alarm_id", ("alarm_id", "time"))
EVENTS = Layout(
    "calendars",
    "events",
    "event_id",
    ("event_id", "name", "event_type", "start_time", "end_time", "location", "description"),
    Elements("attendees", "event_attendees", "event", "username"),
)
EMAILS = Layout(
    "inboxes",
    "emails",
    "email_id",
    ("email_id", "date", "sender", "subject", "body"),
    Elements("receivers", "email_receivers", "email", "address"),
)
MESSAGES = Layout("message_boxes", "messages", "message_id", ("message_id", "timestamp", "sender", "message"))
REMINDERS = Layout(
    "reminder_lists", "reminders", "reminder_id", ("reminder_id", "task", "due_date", "status")
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
        found = self._database.execute(
            f"SELECT 1 FROM {self._layout.owners} WHERE username = ?", [key(username)]
        )
        return bool(found.fetchall())

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
        if self._layout.elements is not None:
            self._add_elements(records, self._layout.elements, username)
        return list(records.values())

    def get(self, username: Json, record_id: Json) -> JsonObject | None:
        """The record of that id, None where there is none."""
        same = (each for each in self.all(username) if each[self._layout.id_field] == record_id)
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

    def _add_elements(self, records: dict[int, JsonObject], elements: Elements, username: Json) -> None:
        lists: dict[int, list[Json]] = defaultdict(list)
        whole: dict[int, Json] = {}
        rows = self._database.execute(
            f"SELECT {elements.parent}, position, {elements.column} FROM {elements.table}"
            f" WHERE {elements.parent} IN (SELECT id FROM {self._layout.records} WHERE username = ?)"
            " ORDER BY position",
            [key(username)],
        ).fetchall()
        for parent, position, stored in rows:
            if position == _WHOLE:
                whole[parent] = decode(stored)
            else:
                lists[parent].append(decode(stored))
        for row_id, record in records.items():
            record[elements.field] = lists.get(row_id, whole.get(row_id))

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
