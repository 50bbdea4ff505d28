"""One mock world: everything a tool reads or changes, in an in-memory SQLite database."""

import hashlib
import sqlite3
import weakref
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from sqlite_utils import Database

from rig.errors import RigError
from rig.paths import WORLD_DATABASE
from rig.tooltalk.world.accounts import Account, Accounts
from rig.tooltalk.world.climate import Climate
from rig.tooltalk.world.identifiers import Identifiers
from rig.tooltalk.world.records import ALARMS, EMAILS, EVENTS, MESSAGES, REMINDERS, Records
from rig.tooltalk.world.schema import APPLICATION_ID, SCHEMA, VERSION
from rig.tooltalk.world.seeds import fill, read_seeds

_TIMESTAMP = "%Y-%m-%d %H:%M:%S"


_PRAGMAS = (
    "page_size = 4096",
    "encoding = 'UTF-8'",
    "auto_vacuum = NONE",
    "secure_delete = ON",
    "foreign_keys = ON",
)
"""The first four keep a library's defaults from showing in the bytes of an image."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A world at one moment: the image of its database. Equal images are equal worlds."""

    image: bytes = field(repr=False)


class World:
    """Users and their things, the clock, who is logged in, and how many ids each tool has drawn.

    All of it is rows, so a snapshot holds all of it. A world may be used from any thread, by one at a time.
    """

    def __init__(self) -> None:
        self._connection = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
        # From Python 3.13 on a connection that is not closed before it is collected is a ResourceWarning.
        weakref.finalize(self, self._connection.close)
        self.database = Database(self._connection, execute_plugins=False)
        for pragma in _PRAGMAS:
            self.database.execute(f"PRAGMA {pragma}")
        self.database.executescript(SCHEMA)
        self.database.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        self.database.execute(f"PRAGMA user_version = {VERSION}")
        self.accounts = Accounts(self.database)
        self.alarms = Records(self.database, ALARMS)
        self.events = Records(self.database, EVENTS)
        self.emails = Records(self.database, EMAILS)
        self.messages = Records(self.database, MESSAGES)
        self.reminders = Records(self.database, REMINDERS)
        self.records = (self.alarms, self.events, self.emails, self.messages, self.reminders)
        self.climate = Climate(self.database)

    @classmethod
    def open(cls, path: Path = WORLD_DATABASE) -> "World":
        """A copy of a world file. Raises RigError when the file is missing or no world of this version."""
        try:
            image = path.read_bytes()
        except OSError as error:
            raise RigError(f"{path}: cannot be read: {error.strerror}; `rig world build` makes it") from error
        world = cls()
        schema = world._schema()
        try:
            if not image:
                raise sqlite3.DatabaseError("an empty image")
            world.restore(Snapshot(image))
            sound = world._schema() == schema and world._pragma("quick_check") == "ok"
        except sqlite3.Error:
            sound = False
        if not sound:
            raise RigError(f"{path}: not a world of this version of rig; `rig world build` makes it anew")
        return world

    @classmethod
    def from_json_directory(cls, directory: Path) -> "World":
        """A world from JSON files shaped like ToolTalk's `data/databases`. Raises RigError on bad ones."""
        seeds = read_seeds(directory)
        world = cls()
        fill(world.database, seeds)
        return world

    def snapshot(self) -> Snapshot:
        """The world as it is now."""
        return Snapshot(self._connection.serialize())

    def restore(self, snapshot: Snapshot) -> None:
        """Make the world what it was when the snapshot was taken."""
        self._connection.deserialize(snapshot.image)

    def dump(self) -> str:
        """The whole content as SQL, for comparing worlds."""
        return "\n".join(self._connection.iterdump())

    def sha256(self) -> str:
        """A hash of the whole content: equal for equal worlds, whatever the version of SQLite."""
        return hashlib.sha256(self.dump().encode()).hexdigest()

    def atomic(self) -> AbstractContextManager[object]:
        """A block that is undone when an exception leaves it. Blocks can be nested."""
        return self.database.atomic()

    def close(self) -> None:
        """Free the database."""
        self._connection.close()

    @property
    def now(self) -> datetime:
        """The clock. Raises RuntimeError when it was never set."""
        clock = self._session("clock")
        if clock is None:
            raise RuntimeError("the world's clock is not set")
        return datetime.strptime(clock, _TIMESTAMP)  # noqa: DTZ007 - the dataset has no zones

    def set_clock(self, now: datetime) -> None:
        """Set the clock, to the second."""
        # Not strftime, which leaves years before 1000 unpadded, so that they cannot be read back.
        clock = now.isoformat(sep=" ", timespec="seconds")
        self.database.table("session").update(1, {"clock": clock})

    @property
    def session_token(self) -> str | None:
        """The token of whoever is logged in."""
        return self._session("session_token")

    def set_session_token(self, token: str | None) -> None:
        """Note who is logged in, or nobody. The account's own `session_token` is set apart from this."""
        self.database.table("session").update(1, {"session_token": token})

    @property
    def account(self) -> Account | None:
        """The account that is logged in."""
        token = self.session_token
        return None if token is None else self.accounts.with_token(token)

    def draw(self, tool: str, identifiers: Identifiers) -> str:
        """The next id from a tool's own generator."""
        generators = self.database.table("id_generators")
        rows = self.database.execute("SELECT drawn FROM id_generators WHERE tool = ?", [tool]).fetchall()
        drawn: int = rows[0][0] if rows else 0
        generators.insert({"tool": tool, "drawn": drawn + 1}, replace=True)
        return identifiers[drawn]

    def _pragma(self, name: str) -> object:
        return self.database.execute(f"PRAGMA {name}").fetchone()[0]

    def _schema(self) -> list[object]:
        tables = self.database.execute("SELECT name, sql FROM sqlite_schema ORDER BY name").fetchall()
        return [self._pragma("application_id"), self._pragma("user_version"), *tables]

    def _session(self, column: str) -> str | None:
        value: str | None = self.database.execute(f"SELECT {column} FROM session").fetchone()[0]
        return value
