"""MCP servers as toolboxes (`rig.toolbox.servers`), registered as the scheme `mcp:`."""

from rig.plugins import Registry


def register(registry: Registry) -> None:
    """Offer the tools of MCP servers (`rig.plugins`)."""
    registry.schemes.later("mcp", "rig.toolbox.servers:MCP", marker="mcp.json", is_place=False)
