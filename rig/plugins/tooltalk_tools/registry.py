"""All tools, in ToolTalk's order, and the toolbox they make."""

from pathlib import Path

from rig.core.calls import JsonObject
from rig.core.paths import CONVERSATIONS
from rig.plugins.tooltalk_tools import account, mail, planner, weather
from rig.plugins.tooltalk_tools.world import ToolTalkWorld
from rig.world.spec import Tool
from rig.world.toolbox import Toolbox
from rig.world.world import World


def open_world(place: Path | None) -> ToolTalkWorld:
    """Open the world that ships with rig, or make one from a folder of JSON databases. Raises RigError."""
    if place is None:
        return ToolTalkWorld.open()
    # Imported here, because the models of the files take a moment to build and most runs need none.
    from rig.plugins.tooltalk_tools.seeds import world_from

    return world_from(place)


def _fill(world: World, seeds: JsonObject) -> None:
    # Imported here for the same reason.
    from rig.plugins.tooltalk_tools.seeds import checked, fill

    fill(world.database, checked(seeds))


_TOOLS = [
    tool
    for module in (account, mail, planner, weather)
    for tool in vars(module).values()
    if isinstance(tool, Tool)
]

_SHA256 = "b8c9df0fc5c55abc9b465fc26d569276fa2848dc2ac5bbbb075a57b3fd8d35c8"
"""Identifies the tools in fingerprints. A test checks that it changes with any change of the tools."""

TOOLTALK = Toolbox(
    "tooltalk",
    sorted(_TOOLS, key=lambda tool: tool.plugin),
    new_world=ToolTalkWorld,
    open_world=open_world,
    fill_world=_fill,
    suites=(CONVERSATIONS / "easy", CONVERSATIONS / "hard"),
    sha256=_SHA256,
    ignores_extras=True,
)
"""The 28 tools and their world. Tools are in the order in which ToolTalk documents them: by plugin."""
