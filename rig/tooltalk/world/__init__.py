"""ToolTalk's mock world: SQLite in memory, restored from a snapshot at each turn."""

from rig.tooltalk.world.accounts import Account
from rig.tooltalk.world.build import build_world
from rig.tooltalk.world.checks import check_world
from rig.tooltalk.world.world import World

__all__ = ["Account", "World", "build_world", "check_world"]
