"""The displays that write lines: words, JSON for each event, those of a notebook's cell, or none at all."""

from rig.core.registry import Registry


def register(registry: Registry) -> None:
    """Offer the displays. Each is imported when it is chosen."""
    registry.displays.later("plain", "rig.plugins.lines.displays:PlainDisplay")
    registry.displays.later("log", "rig.plugins.lines.displays:LogDisplay")
    registry.displays.later("notebook", "rig.plugins.lines.displays:NotebookDisplay")
    registry.displays.later("none", "rig.show.base:NoDisplay")
