"""Read one stored run repeatedly while another process may be writing it."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rig.core.events import Where
from rig.core.metrics import Counts
from rig.core.sqlite_import import Database
from rig.core.tasks import PlayedTurn
from rig.store.connect import connect_unnoticed, faults, understood
from rig.store.holder import held_by
from rig.store.reader import Row, Runs
from rig.store.records import StoredRun


@dataclass(frozen=True, slots=True)
class TurnEntry:
    """A stored turn without its steps. Ids increase in the order in which turns were stored."""

    id: int
    where: Where
    turn: int
    wall_s: float


class Follower(Runs):
    """Reads one run without disturbing its writer: it never writes, and holds no lock between two calls.

    Within a `snapshot` it holds a reader's lock, which no writer waits for.
    """

    def __init__(self, database: Database, path: Path, run: str) -> None:
        super().__init__(database, path)
        self._id = run
        self._version: int | None = None

    @classmethod
    @contextmanager
    def follow(cls, path: Path, run: str) -> "Iterator[Follower]":
        """Follow the run of this id. Raises StoreError when the store cannot be read."""
        with connect_unnoticed(path) as database, understood(path), faults(path):
            yield cls(database, path, run)

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """A context in which everything is read as of one moment, even if more is stored meanwhile."""
        self._database.execute("BEGIN")
        try:
            yield
        finally:
            self._database.rollback()

    def changed(self) -> bool:
        """Return whether anyone has stored anything since the last call. Costs next to nothing."""
        version: int = self._rows("PRAGMA data_version")[0]["data_version"]
        changed, self._version = version != self._version, version
        return changed

    def run(self) -> StoredRun:
        """Return the run as it is now, with its arms' numbers. Raises RigError once it is deleted."""
        return self.get(self._id)

    def is_written(self) -> bool:
        """Return whether a live process is writing the run."""
        return any(held_by(row, self.path) for row in self._claims())

    def is_abandoned(self) -> bool:
        """Return whether the process that was writing the run is gone without releasing it."""
        return any(row["writer"] is not None and not held_by(row, self.path) for row in self._claims())

    def _claims(self) -> list[Row]:
        return self._rows("SELECT id, writer, heartbeat FROM runs WHERE id = ?", self._id)

    def entries(self, after: int = 0) -> list[TurnEntry]:
        """Return the turns stored after the one with this id, in the order in which they were stored."""
        rows = self._database.execute(
            "SELECT turns.id, arms.position, conversations.name, repeat, turn, wall_s FROM turns"
            " JOIN arms ON arms.id = arm JOIN conversations ON conversations.id = conversation"
            " WHERE arms.run = ? AND turns.id > ? ORDER BY turns.id",
            [self._id, after],
        )
        return [
            TurnEntry(entry, Where(arm, name, repeat), turn, wall_s)
            for entry, arm, name, repeat, turn, wall_s in rows
        ]

    def played(self, entry: TurnEntry) -> PlayedTurn:
        """Return a turn with its steps."""
        steps = self._rows("SELECT * FROM predictions WHERE turn = ? ORDER BY step", entry.id)
        return self._turn(self._rows("SELECT * FROM turns WHERE id = ?", entry.id)[0], steps)

    def is_last(self, entry: TurnEntry) -> bool:
        """Return whether no later turn of its conversation is stored."""
        later = self._rows(
            "SELECT 1 FROM turns AS entry JOIN turns AS later"
            " USING (arm, conversation, repeat) WHERE entry.id = ? AND later.turn > entry.turn LIMIT 1",
            entry.id,
        )
        return not later

    def counts(self, where: Where) -> Counts | None:
        """Return the run's own score of a conversation; None until it is finished."""
        rows = self._rows(
            "SELECT id FROM scores WHERE own AND repeat = ?"
            " AND arm = (SELECT id FROM arms WHERE run = ? AND position = ?)"
            " AND conversation = (SELECT id FROM conversations WHERE run = ? AND name = ?)",
            where.repeat,
            self._id,
            where.arm,
            self._id,
            where.conversation,
        )
        return next((self._counts([row["id"]])[row["id"]] for row in rows), None)
