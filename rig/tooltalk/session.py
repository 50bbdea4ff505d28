"""Who calls a tool."""

from rig.calls import SESSION_TOKEN
from rig.toolbox.errors import ToolError
from rig.tooltalk.world import Account, World

TOKEN = (SESSION_TOKEN,)
"""What the simulator injects into calls of tools that need a login."""


def caller(world: World) -> Account:
    """The account that is logged in. Raises ToolError where the session belongs to no account."""
    account = world.account
    if account is None:
        raise ToolError("The session has no account any more.")
    return account
