"""Who calls a tool."""

from rig.toolbox.errors import ToolError
from rig.tooltalk.world import Account, World


def caller(world: World) -> Account:
    """The account that is logged in. Raises ToolError where the session belongs to no account."""
    account = world.account
    if account is None:
        raise ToolError("The session has no account any more.")
    return account
