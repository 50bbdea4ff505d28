"""The accounts of the world's users."""

from dataclasses import dataclass
from typing import Any

from sqlite_utils import Database

from rig.calls import Json, JsonObject
from rig.toolbox.values import decode, encode, encode_name


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
        """What other users may see."""
        return {"username": self.username, "email": self.email, "phone": self.phone, "name": self.name}


class Accounts:
    """The table `users`, in order of registration."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def all(self) -> list[Account]:
        """Every account."""
        return self._where("1")

    def find(self, username: Json) -> Account | None:
        """The account of that exact name. Raises TypeError for names that cannot be dictionary keys."""
        if isinstance(username, str):
            return next(iter(self._where("username = ?", encode_name(username))), None)
        hash(username)
        same = (
            account for account in self.all() if account.username is username or account.username == username
        )
        return next(same, None)

    def with_token(self, token: str) -> Account | None:
        """The account that is logged in with this session token."""
        return next(iter(self._where("session_token = ?", encode(token))), None)

    def add(self, *, username: Json, **columns: Json) -> None:
        """Add an account; columns not given are null."""
        row = {name: encode(value) for name, value in columns.items()}
        self._database.table("users").insert({"username": encode_name(username), **row})

    def change(self, account: Account, **columns: Json) -> None:
        """Set columns of an account other than its username."""
        row = {name: encode(value) for name, value in columns.items()}
        self._database.table("users").update(account.id, row)

    def remove(self, account: Account) -> None:
        """Delete an account. What the user has in the plugins stays."""
        self._database.table("users").delete(account.id)

    def _where(self, condition: str, *parameters: Any) -> list[Account]:
        rows = self._database.execute(
            "SELECT id, username, email, phone, name, password, session_token, verification_code"
            f" FROM users WHERE {condition} ORDER BY id",
            parameters,
        )
        return [Account(row[0], *map(decode, row[1:])) for row in rows.fetchall()]
