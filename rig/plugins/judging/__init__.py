"""Judges over finished answers: whether they pass, which of two wins, and how far a judge can be trusted."""

from typing import Any, Literal, TypeAlias

from rig.core.registry import Registry, registered

REQUIRES = (
    "documents",
    "llama",
    "rescore",
    "solutions",
)

PASS, WIN = "judge-pass", "judge-win"
"""The names of the two methods."""
DEFAULT = "default"
"""The evaluator that is used if none is named."""

ReasonPlace: TypeAlias = Literal["first", "last", "none"]
"""Whether a judge gives its reason before the verdict, after it as upstream has it, or not at all."""

Orders: TypeAlias = Literal["both", "one"]
"""Whether two answers are shown in both orders, or as upstream in one that changes from vote to vote."""


def register(registry: Registry) -> None:
    """Offer judging as two methods."""
    registry.verbs.later(
        "judge", "rig.plugins.judging.verb:command", does="Let a model judge whole answers.", group="Results"
    )
    registry.methods.later(
        PASS, "rig.plugins.judging.method:PASSES", roles=("judge",), explained=(), shipped=()
    )
    registry.methods.later(WIN, "rig.plugins.judging.method:WINS", roles=("judge",), explained=(), shipped=())


def toolbench_paper() -> Any:
    """Return the paper whose answers and results judges read and write (`rig.plugins.papers.toolbench`)."""
    return registered().papers["toolbench"]
