"""The run store: runs, arms, conversations, turns, predictions and scores in one SQLite file."""

from rig.store.connect import StoreError, backup, check_writable
from rig.store.deletion import delete_run
from rig.store.reader import Runs
from rig.store.records import (
    FAILED_ARM,
    FITS,
    ArmSums,
    Cell,
    FailedTurn,
    GraderInfo,
    NewRun,
    ScoredCell,
    StoredArm,
    StoredRun,
    StoredScore,
    Transcript,
    TurnSpeed,
    last_note,
)
from rig.store.scores import OWN
from rig.store.views import EXPORTED as EXPORTED_VIEWS
from rig.store.views import datasette_metadata
from rig.store.writer import RunWriter

__all__ = [
    "EXPORTED_VIEWS",
    "FAILED_ARM",
    "FITS",
    "OWN",
    "ArmSums",
    "Cell",
    "FailedTurn",
    "GraderInfo",
    "NewRun",
    "RunWriter",
    "Runs",
    "ScoredCell",
    "StoreError",
    "StoredArm",
    "StoredRun",
    "StoredScore",
    "Transcript",
    "TurnSpeed",
    "backup",
    "check_writable",
    "datasette_metadata",
    "delete_run",
    "last_note",
]
