"""Arms of many runs beside one another: the leaderboard of a suite, the history of a model file, and the
tables of a paper.
"""

from rig.core.registry import Registry

REQUIRES = (
    "judging",
    "llama",
    "papers",
)


def register(registry: Registry) -> None:
    """Offer the verbs, and the tables of papers as views of others (`rig.core.registry`)."""
    registry.verbs.later(
        "leaderboard",
        "rig.plugins.ranking.verb:rank",
        does="Rank the models of all runs on a suite.",
        group="Results",
    )
    registry.verbs.later(
        "history",
        "rig.plugins.ranking.history_verb:history_of_model",
        does="Show every run of one model file, over time.",
        group="Results",
    )
    registry.views.later(
        "show --tables",
        "rig.plugins.ranking.tables_verb:of_run",
        help="Print the tables of the method's paper instead, as Markdown.",
    )
    registry.views.later(
        "compare --tables",
        "rig.plugins.ranking.tables_verb:of_arms",
        help="Print the tables of the method's paper for these arms instead, as Markdown.",
    )
