"""The mock world the tools act in: SQLite in memory, restored from a snapshot at each turn."""

from rig.world.accounts import Account
from rig.world.build import build_world
from rig.world.checks import check_world
from rig.world.diff import ColumnChange, RecordChange, WorldDiff, diff
from rig.world.identifiers import Identifiers
from rig.world.world import Snapshot, World

__all__ = [
    "Account",
    "ColumnChange",
    "Identifiers",
    "RecordChange",
    "Snapshot",
    "World",
    "WorldDiff",
    "build_world",
    "check_world",
    "diff",
]
