"""The displays of runs, and the verbs that show a stored run as it went."""

from rig.core.registry import Registry

REQUIRES = (
    "replay",
    "tui",
)


def register(registry: Registry) -> None:
    """Offer the displays, and the verbs that show stored runs. Each is imported when it is chosen."""
    registry.displays.later("tui", "tui.display:on_terminal")
    registry.views.later(
        "runs --tui",
        "rig.plugins.displays.verb:browse",
        help="Browse the runs in the terminal: open, watch, resume, compare and delete them.",
    )
    registry.verbs.later(
        "watch",
        "rig.plugins.displays.verb:watch",
        does="Watch a run in progress, or replay one.",
        group="Play",
    )
    registry.verbs.later(
        "demo",
        "rig.plugins.displays.verb:demo",
        does="Watch a recorded run for half a minute; needs no model.",
        group="Play",
    )
    registry.verbs.later(
        "tour",
        "rig.plugins.displays.verb:tour",
        does="Learn the keys of the live view in a minute.",
        group="Play",
    )
