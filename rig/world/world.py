"""A mock world that tools act in: an in-memory SQLite database, restored from a snapshot at each turn.

Its columns hold JSON values: text as TEXT, null as NULL, anything else as a BLOB of JSON. In a well-formed
world every value is text or null and reads as such. ToolTalk's tools check no types, so with its behaviour a
model can store any JSON value; a BLOB keeps those apart from text that looks the same.
"""

import hashlib
import json
import sqlite3
import weakref
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from random import Random
from typing import Any, ClassVar, Self, TypeAlias

from rig.core import times
from rig.core.budget import parse_json
from rig.core.calls import SESSION_TOKEN, Json
from rig.core.databases import in_memory
from rig.core.errors import RigError
from rig.core.files import read_bytes
from rig.core.sqlite_import import Database
from rig.world.rules import TrueCall

Stored: TypeAlias = str | bytes | None


def encode(value: Json) -> Stored:
    """Return the stored form of a JSON value. Injective: `decode` restores an equal value of its type."""
    if value is None:
        return None
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            # It has lone surrogates, which JSON can spell and UTF-8 cannot.
            return json.dumps(value).encode()
        return value
    return json.dumps(value).encode()


def decode(stored: Stored) -> Json:
    """Return the JSON value of a stored form."""
    return parse_json(stored) if isinstance(stored, bytes) else stored


def value_of(stored: Any) -> Json:
    """Return the JSON value of a stored one; a tuple of stored values becomes a list."""
    return list(map(decode, stored)) if isinstance(stored, tuple) else decode(stored)


def encode_name(name: Json) -> str | bytes:
    """Like `encode`, but null is not NULL, so that a column of names can refuse NULL."""
    stored = encode(name)
    return b"null" if stored is None else stored


def key(name: Json) -> str | bytes:
    """Return the key to look a name up by, equal for equal Python dictionary keys (1, 1.0, true).

    Raises TypeError for lists and objects, which cannot be dictionary keys.
    """
    hash(name)
    if isinstance(name, bool) or (isinstance(name, float) and name.is_integer()):
        name = int(name)
    return encode_name(name)


_SEED = 489
"""The seed that ToolTalk uses."""


class Identifiers:
    """An endless sequence of ids of one kind, computed once and indexed from 0."""

    def __init__(self, draw: Callable[[Random], str]) -> None:
        self._draw = draw
        self._random = Random(_SEED)
        self._drawn: list[str] = []

    def __getitem__(self, position: int) -> str:
        while len(self._drawn) <= position:
            self._drawn.append(self._draw(self._random))
        return self._drawn[position]


def hexadecimal(*widths: int) -> Identifiers:
    """Return ids of hexadecimal groups of these lengths, joined by dashes and drawn from left to right."""

    def draw(random: Random) -> str:
        return "-".join(f"{random.randint(0, 16**width - 1):0{width}x}" for width in widths)

    return Identifiers(draw)


RECORDED_CALLS = "recorded_calls"
"""The table with the recorded answers of tools without code."""
SERVER_TABLES = ("server_state", "server_calls")
"""The tables with the state that servers are brought to; the contents of their files are records as well."""

_SESSION = """\
CREATE TABLE id_generators (
    tool TEXT PRIMARY KEY NOT NULL,
    drawn INTEGER NOT NULL
);
CREATE TABLE session (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    clock TEXT,
    session_token TEXT
);
INSERT INTO session (id) VALUES (1);
"""

_PRAGMAS = (
    "page_size = 4096",
    "encoding = 'UTF-8'",
    "auto_vacuum = NONE",
    "secure_delete = ON",
    "foreign_keys = ON",
)
"""The first four keep a library's defaults from showing in the bytes of an image."""


_PAGE = 4096
"""The bytes of a page of SQLite's, the unit in which an image changes."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A world at one moment: the image of its database. Equal images are equal worlds."""

    image: bytes = field(repr=False)


class Snapshots:
    """The snapshots of one world as it changes, stored so that equal parts are held once.

    So the worlds of a conversation of 20,000 turns take megabytes instead of gigabytes.
    """

    def __init__(self) -> None:
        self._parts: dict[bytes, bytes] = {}
        self._images: list[tuple[bytes, ...]] = []
        self._last: Snapshot | None = None

    def add(self, snapshot: Snapshot) -> int:
        """Keep a snapshot and return its number, which is the last one again if it was just added."""
        if snapshot is not self._last:
            image = snapshot.image
            parts = (image[start : start + _PAGE] for start in range(0, len(image), _PAGE))
            self._images.append(tuple(self._parts.setdefault(part, part) for part in parts))
            self._last = snapshot
        return len(self._images) - 1

    def __getitem__(self, number: int) -> Snapshot:
        return Snapshot(b"".join(self._images[number]))


@dataclass(frozen=True, slots=True)
class Elements:
    """A field whose value is a list, kept in its own table: `(parent, position, column)`."""

    field: str
    table: str
    parent: str
    column: str


def stored_lists(database: Any, elements: Elements) -> dict[int, Any]:
    """Return the stored values of such a field as tuples, by the row they belong to.

    A row at a position below 0 holds, in one piece, a value that is an empty list or not a list.
    """
    lists: dict[int, list[Any]] = defaultdict(list)
    whole: dict[int, Any] = {}
    rows = database.execute(
        f"SELECT {elements.parent}, position, {elements.column} FROM {elements.table} ORDER BY position"
    )
    for parent, position, stored in rows.fetchall():
        if position < 0:
            whole[parent] = stored
        else:
            lists[parent].append(stored)
    return {**whole, **{parent: tuple(values) for parent, values in lists.items()}}


@dataclass(frozen=True, slots=True)
class Tables:
    """How the records of a world are told apart when two snapshots are compared.

    `keys` are the columns that identify a table's records, where the primary key does not. `lists` are the
    fields of a table's records that are lists, and so have a table of their own. `drawn` are the columns
    whose values tools make up, such as ids and tokens.
    """

    keys: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    lists: Mapping[str, Elements] = field(default_factory=dict)
    drawn: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: {"session": (SESSION_TOKEN,)})


class World:
    """The clock, who is logged in, how many ids each tool has drawn, and a toolbox's own tables.

    All of it is rows, so a snapshot holds all of it. A world may be used from any thread, but only by one at
    a time. A toolbox whose tools have something to change extends this class with a `schema`; without
    arguments it makes an empty world. `tables` says how people know its records.
    """

    schema: ClassVar[str] = ""
    version: ClassVar[int] = 1
    """`PRAGMA user_version`: the number of the schema."""
    application_id: ClassVar[int] = 0x72696777
    """`PRAGMA application_id`: the letters "rigw"."""
    tables: ClassVar[Tables] = Tables()
    hint: ClassVar[str] = ""
    """What a user can do about a file that cannot be opened."""

    def __init__(self) -> None:
        self._connect()
        self.database.executescript(self.schema + _SESSION)
        self.database.execute(f"PRAGMA application_id = {self.application_id}")
        self.database.execute(f"PRAGMA user_version = {self.version}")

    def _connect(self) -> None:
        self._connection = in_memory(autocommit=True)
        # From Python 3.13 on a connection that is not closed before it is collected is a ResourceWarning.
        weakref.finalize(self, self._connection.close)
        self.database = Database(self._connection, execute_plugins=False)
        for pragma in _PRAGMAS:
            self.database.execute(f"PRAGMA {pragma}")

    @classmethod
    def open(cls, path: Path) -> Self:
        """Load a copy of a world file. Raises RigError if it is missing or not a world of this version."""
        try:
            image = read_bytes(path)
        except RigError as error:
            raise RigError(f"{error}{cls.hint}") from error
        world = cls()
        schema = world._schema()
        sound = False
        with suppress(sqlite3.Error):
            if image:
                world.restore(Snapshot(image))
                sound = world._schema() == schema and world._pragma("quick_check") == "ok"
        if not sound:
            raise RigError(f"{path}: not a world of this version of rig{cls.hint}")
        return world

    def begin(self, now: datetime, username: str = "", credentials: Mapping[str, Json] | None = None) -> None:
        """Set the clock, and the session's token if `credentials` has one.

        A world with users overrides this, so that the credentials are `username`'s. Raises RigError if no
        user of that name can have them.
        """
        self.set_clock(now)
        self.set_session_token((credentials or {}).get(SESSION_TOKEN))

    def remember(self, recorded: Iterable[TrueCall]) -> None:
        """Note the outcomes of a task's true calls, for a world that cannot answer without them."""

    def renew(self) -> None:
        """Continue with a copy of the database, and leave the old one to others that may still hold it."""
        image = self.snapshot().image
        self._connect()
        self._connection.deserialize(image)

    def interrupt(self) -> None:
        """Interrupt what the database is doing."""
        self._connection.interrupt()

    def snapshot(self) -> Snapshot:
        """Return the world as it is now."""
        return Snapshot(self._connection.serialize())

    def restore(self, snapshot: Snapshot) -> None:
        """Restore the world to a snapshot."""
        self._connection.deserialize(snapshot.image)

    def dump(self) -> str:
        """Return the whole content as SQL, for comparing worlds."""
        return "\n".join(self._connection.iterdump())

    def sha256(self) -> str:
        """Return a hash of the whole content, equal for equal worlds with any version of SQLite."""
        return hashlib.sha256(self.dump().encode()).hexdigest()

    def atomic(self) -> AbstractContextManager[object]:
        """A block that is undone when an exception leaves it. Blocks can be nested."""
        return self.database.atomic()

    def close(self) -> None:
        """Free the database."""
        self._connection.close()

    @property
    def now(self) -> datetime:
        """The clock. Raises RuntimeError if it was never set."""
        clock = self._session("clock")
        if clock is None:
            raise RuntimeError("the world's clock is not set")
        return times.read(clock, times.INSTANT)

    def set_clock(self, now: datetime) -> None:
        """Set the clock, to the second."""
        # Not strftime, which leaves years before 1000 unpadded, so that they cannot be read back.
        clock = now.isoformat(sep=" ", timespec="seconds")
        self.database.table("session").update(1, {"clock": clock})

    @property
    def session_token(self) -> str | None:
        """The token of the user who is logged in."""
        return self._session("session_token")

    def set_session_token(self, token: str | None) -> None:
        """Set the token of who is logged in; None for nobody."""
        self.database.table("session").update(1, {"session_token": token})

    @property
    def username(self) -> str | None:
        """Who is logged in, if the world knows its users."""
        return None

    def draw(self, tool: str, identifiers: Identifiers) -> str:
        """Draw the next id from a tool's own generator."""
        rows = self.database.execute("SELECT drawn FROM id_generators WHERE tool = ?", [tool]).fetchall()
        drawn: int = rows[0][0] if rows else 0
        self.database.table("id_generators").insert({"tool": tool, "drawn": drawn + 1}, replace=True)
        return identifiers[drawn]

    def _pragma(self, name: str) -> object:
        return self.database.execute(f"PRAGMA {name}").fetchone()[0]

    def _schema(self) -> list[object]:
        tables = self.database.execute("SELECT name, sql FROM sqlite_schema ORDER BY name").fetchall()
        return [self._pragma("application_id"), self._pragma("user_version"), *tables]

    def _session(self, column: str) -> str | None:
        value: str | None = self.database.execute(f"SELECT {column} FROM session").fetchone()[0]
        return value
