"""Tools of your own: folders with tools as data or Python functions, and files of tools from anywhere."""

from rig.core.registry import Registry

REQUIRES = ("documents", "matching")


def register(registry: Registry) -> None:
    """Offer the toolboxes of folders (`rig.world.toolbox.find_toolbox`)."""
    registry.schemes.later("folder", "rig.plugins.own_tools.folder:FOLDERS", marker="", is_place=False)
