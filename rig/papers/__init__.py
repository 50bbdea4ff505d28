"""Other people's formats, tables and files: a folder for each paper. Nothing imports this room.

Verbs reach it through what is registered (`rig.methods.paper`).
"""

from rig.plugins import Registry


def register(registry: Registry) -> None:
    """Offer the papers, and ToolBench's answers as a method that nobody plays."""
    registry.methods.later("toolbench", "rig.papers.toolbench.method:METHOD", roles=("assistant",))
    for name, methods in {
        "tooltalk": ("tooltalk",),
        "openai-chat": (),
        "autode": ("autode",),
        "bfcl": ("bfcl", "bfcl-turns"),
        "toolbench": ("toolbench",),
    }.items():
        folder = {"openai-chat": "tooltalk.logs"}.get(name, name)
        registry.papers.later(name, f"rig.papers.{folder}:PAPER", methods=methods)
