"""The mock world the tools act in: SQLite in memory, restored from a snapshot at each turn."""

from rig.tooltalk.world.accounts import Account
from rig.tooltalk.world.build import build_world
from rig.tooltalk.world.checks import check_world
from rig.tooltalk.world.diff import ColumnChange, RecordChange, WorldDiff, diff
from rig.tooltalk.world.identifiers import Identifiers
from rig.tooltalk.world.world import Snapshot, World

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
