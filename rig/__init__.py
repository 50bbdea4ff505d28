"""rig: an offline evaluation rig for local tool-calling models.

From Python, `rig.open` reads a run store and `rig.run` evaluates models; docs/reference/api.md has all of it.
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

DISTRIBUTION = "rig-eval"
"""The name to install it by. `rig` on the package index is somebody else's."""

__all__ = [
    "ArmVerdict",
    "Comparison",
    "ConversationScore",
    "PlayedArm",
    "PlayedConversation",
    "PlayedStep",
    "RecordTable",
    "RigError",
    "Run",
    "Store",
    "VerdictKind",
    "__version__",
    "open",
    "run",
]


def __getattr__(name: str) -> Any:
    # `import rig` is in every process that rig starts, so the API is loaded when somebody asks for it.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("rig.api"), name)


def __dir__() -> list[str]:
    return __all__
