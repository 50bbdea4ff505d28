"""ToolTalk's mock world: SQLite in memory, restored from a snapshot at each turn."""

from rig.tooltalk.world.accounts import Account
from rig.tooltalk.world.world import TOKEN, World

__all__ = ["TOKEN", "Account", "World"]
