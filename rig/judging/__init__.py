"""Judges over finished answers: whether they pass, which of two wins, and how far a judge can be trusted."""

from rig.plugins import Registry


def register(registry: Registry) -> None:
    """Offer judging as two methods, and ToolBench's files: taken in as runs, and written of any run."""
    registry.methods.later("judge-pass", "rig.judging.method:PASSES", roles=("judge",))
    registry.methods.later("judge-win", "rig.judging.method:WINS", roles=("judge",))
    registry.methods.later("toolbench", "rig.judging.toolbench.recorded:TOOLBENCH", roles=("assistant",))
    registry.exports.later("toolbench", "rig.judging.toolbench.exporting:TOOLBENCH")
