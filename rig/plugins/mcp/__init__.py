"""MCP servers as toolboxes (`rig.plugins.mcp.servers`), registered as the scheme `mcp:`."""

from rig.core.registry import Registry

REQUIRES = (
    "documents",
    "own_tools",
)


def register(registry: Registry) -> None:
    """Offer the tools of MCP servers (`rig.core.registry`)."""
    registry.schemes.later("mcp", "rig.plugins.mcp.servers:MCP", marker="mcp.json", is_place=False)
