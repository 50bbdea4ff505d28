"""rig: an offline evaluation rig for local tool-calling models.

From Python, `rig.open` reads a run store and `rig.run` evaluates models; docs/reference/api.md has all of it.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    # Nothing is imported before `rig.__main__` can handle Ctrl-C.
    from typing import Any

__version__ = "0.1.0"

DISTRIBUTION = "rig-eval"
"""The name to install it by. The package `rig` on the index is a different project."""

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


def __getattr__(name: str) -> "Any":
    # Every process of rig imports this package, so the API is only loaded on its first use.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module("rig.api"), name)


def __dir__() -> list[str]:
    return __all__
