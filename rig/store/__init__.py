"""The run store: runs, arms, conversations, turns, predictions and scores in one SQLite file."""

from rig.store.connect import StoreError, check_writable
from rig.store.deletion import delete_run
from rig.store.follower import Follower, TurnEntry
from rig.store.reader import Runs
from rig.store.records import (
    Cell,
    ConversationScore,
    GraderInfo,
    NewRun,
    StoredArm,
    StoredRun,
    StoredScore,
    Transcript,
)
from rig.store.writer import RunWriter

__all__ = [
    "Cell",
    "ConversationScore",
    "Follower",
    "GraderInfo",
    "NewRun",
    "RunWriter",
    "Runs",
    "StoreError",
    "StoredArm",
    "StoredRun",
    "StoredScore",
    "Transcript",
    "TurnEntry",
    "check_writable",
    "delete_run",
]
