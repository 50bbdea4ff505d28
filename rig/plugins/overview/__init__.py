"""Overview: all runs of a store on one page, with what changed between any two arms."""

from rig.core.registry import Registry

REQUIRES = ("report",)


def register(registry: Registry) -> None:
    """Offer the page as a view of `rig report` (`rig.core.registry`)."""
    registry.views.later(
        "report --all",
        "rig.plugins.overview.verb:of_all_runs",
        help="Write a page over all runs instead: files, suites, and what changed between any two arms.",
    )
    registry.views.later(
        "report --each",
        "rig.plugins.overview.verb:of_all_runs",
        help="With --all, also write the report of each run into a folder beside the page, and link every"
        " conversation to it.",
    )
