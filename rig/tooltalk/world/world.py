"""ToolTalk's mock world: its users and their things, and the weather."""

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import ClassVar, Self

from rig.calls import SESSION_TOKEN, Json
from rig.errors import RigError
from rig.paths import WORLD_DATABASE
from rig.toolbox.errors import ToolError, quoted
from rig.toolbox.world import Tables
from rig.toolbox.world import World as AnyWorld
from rig.tooltalk.world.accounts import Account, Accounts
from rig.tooltalk.world.records import LAYOUTS, Records

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


class World(AnyWorld):
    """Users and their things, the weather, and what every world has.

    Rows keep the order of insertion through their integer `id`, since ToolTalk lists records in that order.
    Each plugin knows which users it has an entry for (`calendars`, `inboxes`, …): a user without an entry is
    not the same as one with an empty one. Those tables do not refer to `users`, because an account can be
    deleted while its records stay. Record ids (`alarm_id`, …) are unique for one user only.
    """

    schema: ClassVar[str] = f"\n{_USERS}{''.join(layout.schema for layout in LAYOUTS)}{_WEATHER}"
    hint: ClassVar[str] = "; `rig world build` makes it"
    tables: ClassVar[Tables] = Tables(
        keys={"users": ("username",), **{at.records: ("username", at.id_field) for at in LAYOUTS}},
        drawn={
            "session": (SESSION_TOKEN,),
            "users": (SESSION_TOKEN, "verification_code"),
            **{layout.records: (layout.id_field,) for layout in LAYOUTS},
        },
        lists={layout.records: layout.elements for layout in LAYOUTS if layout.elements is not None},
    )

    def __init__(self) -> None:
        super().__init__()
        self.accounts = Accounts(self.database)
        self.records = tuple(Records(self.database, layout) for layout in LAYOUTS)
        self.alarms, self.events, self.emails, self.messages, self.reminders = self.records

    @classmethod
    def open(cls, path: Path = WORLD_DATABASE) -> Self:
        """A copy of a world file, else of the one that ships. Raises RigError as every world does."""
        return super().open(path)

    @classmethod
    def from_json_directory(cls, directory: Path) -> Self:
        """A world from JSON files shaped like ToolTalk's `data/databases`. Raises RigError on bad ones."""
        # Kept from runs in the world that ships: the shapes of the files take a moment to be made.
        from rig.tooltalk.world.seeds import fill, read_seeds

        seeds = read_seeds(directory)
        world = cls()
        fill(world.database, seeds)
        return world

    def begin(self, now: datetime, username: str = "", credentials: Mapping[str, Json] | None = None) -> None:
        """Set the clock, and give the user's account what it starts with: a login, a verification code.

        Raises RigError when the user is given something and has no account.
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
        """The account that is logged in. Raises ToolError where the session belongs to no account."""
        account = self._account
        if account is None:
            raise ToolError("The session has no account any more.")
        return account
