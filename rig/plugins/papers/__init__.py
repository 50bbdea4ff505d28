"""Other people's formats, tables and files: a module or folder for each paper.

Verbs reach them through the registry (`rig.plugins.papers.paper`).
"""

from rig.core.registry import Registry

REQUIRES = (
    "autode",
    "bfcl",
    "documents",
    "own_tools",
    "solutions",
    "tooltalk",
)


def register(registry: Registry) -> None:
    """Register the papers, and ToolBench's answers as a method that is never played."""
    registry.methods.later(
        "toolbench",
        "rig.plugins.papers.toolbench.method:METHOD",
        roles=("assistant",),
        explained=(),
        shipped=(),
    )
    registry.papers.later("tooltalk", "rig.plugins.papers.tooltalk:PAPER", methods=("tooltalk",))
    registry.papers.later("openai-chat", "rig.plugins.papers.openai_chat:PAPER", methods=())
    registry.papers.later("autode", "rig.plugins.papers.autode:PAPER", methods=("autode",))
    registry.papers.later("bfcl", "rig.plugins.papers.bfcl:PAPER", methods=("bfcl", "bfcl-turns"))
    registry.papers.later("toolbench", "rig.plugins.papers.toolbench.results:PAPER", methods=("toolbench",))
