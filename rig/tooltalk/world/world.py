"""ToolTalk's mock world: its users and their things, and the weather."""

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import ClassVar, Self

from rig.calls import SESSION_TOKEN, Json
from rig.errors import RigError
from rig.paths import WORLD_DATABASE
from rig.toolbox.errors import shown
from rig.toolbox.world import Tables
from rig.toolbox.world import World as AnyWorld
from rig.tooltalk.world.accounts import Account, Accounts
from rig.tooltalk.world.climate import Climate
from rig.tooltalk.world.records import ALARMS, EMAILS, EVENTS, LAYOUTS, MESSAGES, REMINDERS, Records
from rig.tooltalk.world.schema import SCHEMA


class World(AnyWorld):
    """Users and their things, the weather, and what every world has."""

    schema: ClassVar[str] = SCHEMA
    hint: ClassVar[str] = "; `rig world build` makes it"
    tables: ClassVar[Tables] = Tables(
        keys={
            "users": ("username",),
            **{layout.records: ("username", layout.id_field) for layout in LAYOUTS},
        },
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
        self.alarms = Records(self.database, ALARMS)
        self.events = Records(self.database, EVENTS)
        self.emails = Records(self.database, EMAILS)
        self.messages = Records(self.database, MESSAGES)
        self.reminders = Records(self.database, REMINDERS)
        self.records = (self.alarms, self.events, self.emails, self.messages, self.reminders)
        self.climate = Climate(self.database)

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

    def begin(self, now: datetime, username: str = "", given: Mapping[str, Json] | None = None) -> None:
        """Set the clock, and give the user's account what it starts with: a login, a verification code.

        Raises RigError when the user is given something and has no account.
        """
        super().begin(now, username, given)
        if not given:
            return
        account = self.accounts.find(username)
        if account is None:
            raise RigError(
                f"the world has no account {shown(username)}, whom the conversation gives a"
                f" {next(iter(given))}"
            )
        self.accounts.change(account, **given)

    @property
    def account(self) -> Account | None:
        """The account that is logged in."""
        token = self.session_token
        return None if token is None else self.accounts.with_token(token)

    @property
    def username(self) -> str | None:
        account = self.account
        return None if account is None else str(account.username)
