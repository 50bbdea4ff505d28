"""Judges over finished answers: whether they pass, which of two wins, and how far a judge can be trusted."""

from rig.plugins import Registry


def register(registry: Registry) -> None:
    """Offer judging as two methods."""
    registry.methods.later(
        "judge-pass", "rig.judging.method:PASSES", roles=("judge",), explained=(), shipped=()
    )
    registry.methods.later("judge-win", "rig.judging.method:WINS", roles=("judge",), explained=(), shipped=())
