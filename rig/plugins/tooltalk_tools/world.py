"""ToolTalk's mock world: its users and their records, the weather, and the kinds of free text in it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self, TypeAlias

from pydantic import AfterValidator

from rig.core import times
from rig.core.calls import SESSION_TOKEN, Json, JsonObject
from rig.core.errors import RigError
from rig.core.paths import WORLD_DATABASE
from rig.core.sqlite_import import Database
from rig.world import world as worlds
from rig.world.spec import Text, ToolError, quoted
from rig.world.world import decode, encode, hexadecimal, key

EVENT = Text("event", like="event")
"""Event names and descriptions."""
LOCATION = Text("location", like="location", place=True, personal=True)
"""Event locations."""
TASK = Text("task", like="task")
"""Reminder tasks."""
SUBJECT = Text("subject", like="subject")
"""Email subjects."""
BODY = Text("body", like="body", cosine=0.8, personal=True)
"""Email bodies and messages."""

KINDS = {kind.name: kind for kind in (EVENT, LOCATION, TASK, SUBJECT, BODY)}
"""All kinds of text by name."""


SESSION_TOKENS = hexadecimal(8, 4, 4)
ALARM_IDS = hexadecimal(4, 4)
EVENT_IDS = hexadecimal(8, 4)
REMINDER_IDS = hexadecimal(2, 4)
EMAIL_IDS = hexadecimal(2, 4, 8)
MESSAGE_IDS = hexadecimal(8, 8)
VERIFICATION_CODES = worlds.Identifiers(lambda random: f"{random.randint(0, 999_999):06d}")


@dataclass(frozen=True, slots=True)
class Account:
    """One row of `users`. `session_token` is set while the user is logged in."""

    id: int
    username: Json
    email: Json
    phone: Json
    name: Json
    password: Json
    session_token: str | None
    verification_code: str | None

    def public(self) -> JsonObject:
        """Return the fields that other users may see."""
        return {"username": self.username, "email": self.email, "phone": self.phone, "name": self.name}


class Accounts:
    """The table `users`, in order of registration."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def all(self) -> list[Account]:
        """Return every account."""
        return self._where("1")

    def find(self, username: Json) -> Account | None:
        """Return the account with exactly this name. Raises TypeError for names that cannot be dict keys."""
        if isinstance(username, str):
            return next(iter(self._where("username = ?", worlds.encode_name(username))), None)
        hash(username)
        same = (
            account for account in self.all() if account.username is username or account.username == username
        )
        return next(same, None)

    def with_token(self, token: str) -> Account | None:
        """Return the account that is logged in with this session token, or None."""
        return next(iter(self._where("session_token = ?", encode(token))), None)

    def add(self, *, username: Json, **columns: Json) -> None:
        """Add an account; columns not given are null."""
        row = {name: encode(value) for name, value in columns.items()}
        self._database.table("users").insert({"username": worlds.encode_name(username), **row})

    def change(self, account: Account, **columns: Json) -> None:
        """Set columns of an account other than its username."""
        row = {name: encode(value) for name, value in columns.items()}
        self._database.table("users").update(account.id, row)

    def remove(self, account: Account) -> None:
        """Delete an account. The user's records in the plugins stay."""
        self._database.table("users").delete(account.id)

    def _where(self, condition: str, *parameters: Any) -> list[Account]:
        columns = ", ".join(Account.__slots__)
        query = f"SELECT {columns} FROM users WHERE {condition} ORDER BY id"
        rows = self._database.execute(query, parameters).fetchall()
        return [Account(row[0], *map(decode, row[1:])) for row in rows]


def _formatted(pattern: str) -> Callable[[str], str]:
    def check(text: str) -> str:
        times.read(text, pattern)
        return text

    return check


Time: TypeAlias = Annotated[str, AfterValidator(_formatted(times.TIME))]
Instant: TypeAlias = Annotated[str, AfterValidator(_formatted(times.INSTANT))]

_WHOLE = -1
"""The position of a value that is kept in one piece: neither null nor a list with elements."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The tables of one plugin's records. `owners` lists the users who have an entry, even an empty one.

    `fields` are the fields of a record with their types in the files that a world is made from; the first is
    its id. Tools can store null in the `nullable` fields, even if the files must not.
    """

    owners: str
    records: str
    fields: Mapping[str, Any]
    nullable: tuple[str, ...] = ()
    elements: worlds.Elements | None = None

    @property
    def id_field(self) -> str:
        """The field with a record's id, unique for one user."""
        return next(iter(self.fields))

    @property
    def columns(self) -> tuple[str, ...]:
        """The fields that are columns of the table of records."""
        elsewhere = () if self.elements is None else (self.elements.field,)
        return tuple(name for name in self.fields if name not in elsewhere)

    @property
    def schema(self) -> str:
        """The SQL that creates its tables."""
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
    worlds.Elements("attendees", "event_attendees", "event", "username"),
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
    elements=worlds.Elements("receivers", "email_receivers", "email", "address"),
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
LAYOUTS = {"Alarm": ALARMS, "Calendar": EVENTS, "Email": EMAILS, "Message": MESSAGES, "Reminder": REMINDERS}
"""The layouts, by the name of the file that a plugin's records come from."""


class Records:
    """The records of one plugin, by user. A record is a JSON object; records keep their order of insertion.

    Users are named by any JSON value that can be a dictionary key; other values raise TypeError.
    """

    def __init__(self, database: Database, layout: Layout) -> None:
        self._database = database
        self._layout = layout

    def knows(self, username: Json) -> bool:
        """Return whether the plugin has an entry for this user."""
        return bool(self._database.table(self._layout.owners).count_where("username = ?", [key(username)]))

    def open(self, username: Json) -> None:
        """Add an entry for this user, if there is none yet."""
        self._database.table(self._layout.owners).insert({"username": key(username)}, ignore=True)

    def all(self, username: Json) -> list[JsonObject]:
        """Return the user's records in order."""
        names, table = self._layout.columns, self._layout.records
        query = f"SELECT id, {', '.join(names)} FROM {table} WHERE username = ? ORDER BY id"
        rows = self._database.execute(query, [key(username)]).fetchall()
        records = {row[0]: dict(zip(names, map(decode, row[1:]), strict=True)) for row in rows}
        if (elements := self._layout.elements) is not None:
            lists = worlds.stored_lists(self._database, elements)
            for row_id, record in records.items():
                record[elements.field] = worlds.value_of(lists.get(row_id))
        return list(records.values())

    def get(self, username: Json, record_id: Json) -> JsonObject | None:
        """Return the record with this id, or None if there is none."""
        same = (record for record in self.all(username) if record[self._layout.id_field] == record_id)
        return next(same, None)

    def put(self, username: Json, record: JsonObject) -> None:
        """Add a record at the end, or replace the one with the same id in its place, as in a dictionary."""
        row: dict[str, worlds.Stored] = {name: encode(record[name]) for name in self._layout.columns}
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
        """Set one field of an existing record."""
        (row_id,) = self._row_ids(username, record_id)
        elements = self._layout.elements
        if elements is not None and field == elements.field:
            self._set_elements(row_id, elements, value)
        else:
            self._database.table(self._layout.records).update(row_id, {field: encode(value)})

    def remove(self, username: Json, record_id: Json) -> bool:
        """Delete the record with this id, and return whether there was one."""
        ids = self._row_ids(username, record_id)
        for row_id in ids:
            self._database.table(self._layout.records).delete(row_id)
        return bool(ids)

    def _row_ids(self, username: Json, record_id: Json) -> list[int]:
        """Return the rows with this record id: one or none."""
        query = f"SELECT id FROM {self._layout.records} WHERE username = ? AND {self._layout.id_field} = ?"
        return [row[0] for row in self._database.execute(query, [key(username), encode(record_id)])]

    def _set_elements(self, row_id: int, elements: worlds.Elements, value: Json) -> None:
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


_USERS = """\
CREATE TABLE users (
    id INTEGER PRIMARY KEY,
    username TEXT NOT NULL UNIQUE,
    email TEXT,
    phone TEXT,
    name TEXT,
    password TEXT,
    session_token TEXT,
    verification_code TEXT
);
"""
_WEATHER = """\
CREATE TABLE weather (
    location TEXT NOT NULL,
    date TEXT NOT NULL,
    high NOT NULL,
    low NOT NULL,
    conditions TEXT NOT NULL,
    PRIMARY KEY (location, date)
);
CREATE TABLE historic_weather (
    location TEXT NOT NULL,
    month TEXT NOT NULL,
    min_temp NOT NULL,
    max_temp NOT NULL,
    record_min_temp NOT NULL,
    record_max_temp NOT NULL,
    avg_rainfall NOT NULL,
    snow_days NOT NULL,
    PRIMARY KEY (location, month)
);
"""

TOKEN = (SESSION_TOKEN,)
"""What the simulator injects into calls of tools that need a login."""


# The tools call it World: a run knows them by a hash of their code, which would be another with this name.
class ToolTalkWorld(worlds.World):
    """A world of users and their records and the weather, with what every world has.

    Rows keep the order of insertion by their integer `id`, since ToolTalk lists records in that order.
    Each plugin knows which users it has an entry for (`calendars`, `inboxes`, …): a user without an entry is
    not the same as one with an empty one. Those tables do not refer to `users`, because an account can be
    deleted while its records stay. Record ids (`alarm_id`, …) are unique for one user only.
    """

    schema: ClassVar[str] = f"\n{_USERS}{''.join(layout.schema for layout in LAYOUTS.values())}{_WEATHER}"
    hint: ClassVar[str] = "; `rig world build` makes it"
    tables: ClassVar[worlds.Tables] = worlds.Tables(
        keys={"users": ("username",), **{at.records: ("username", at.id_field) for at in LAYOUTS.values()}},
        drawn={
            "session": (SESSION_TOKEN,),
            "users": (SESSION_TOKEN, "verification_code"),
            **{layout.records: (layout.id_field,) for layout in LAYOUTS.values()},
        },
        lists={at.records: at.elements for at in LAYOUTS.values() if at.elements is not None},
    )

    def __init__(self) -> None:
        super().__init__()
        self.accounts = Accounts(self.database)
        self.records = tuple(Records(self.database, layout) for layout in LAYOUTS.values())
        self.alarms, self.events, self.emails, self.messages, self.reminders = self.records

    @classmethod
    def open(cls, path: Path = WORLD_DATABASE) -> Self:
        """Open a copy of a world file, by default of the one that ships. Raises RigError if that fails."""
        return super().open(path)

    def begin(self, now: datetime, username: str = "", credentials: Mapping[str, Json] | None = None) -> None:
        """Set the clock, and give the user's account its `credentials`: a session token, a verification code.

        Raises RigError if there are credentials and the user has no account.
        """
        super().begin(now, username, credentials)
        if not credentials:
            return
        account = self.accounts.find(username)
        if account is None:
            raise RigError(
                f"the world has no account {quoted(username)}, whom the conversation gives a"
                f" {next(iter(credentials))}"
            )
        self.accounts.change(account, **credentials)

    @property
    def _account(self) -> Account | None:
        """The account that is logged in."""
        token = self.session_token
        return None if token is None else self.accounts.with_token(token)

    @property
    def username(self) -> str | None:
        account = self._account
        return None if account is None else str(account.username)

    def caller(self) -> Account:
        """Return the account that is logged in. Raises ToolError if the session belongs to no account."""
        account = self._account
        if account is None:
            raise ToolError("The session has no account any more.")
        return account
