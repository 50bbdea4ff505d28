"""Models behind HTTP: how their servers are spoken to, probed, and held against the same file in process.

Importing this package imports no HTTP library and opens nothing; `load` does.
"""

from collections import Counter

from rig.calls import JsonObject
from rig.engine.core.settings import EngineSettings
from rig.errors import RigError, counted
from rig.models import Model, Notify
from rig.plugins import Registry, registered

FAITHFUL = ("grammar", "chance")
"""Why a server that does nothing wrong answers otherwise, too: its own grammar for calls, and ties."""

_DIALECTS = {
    "llama-server": "LlamaServer",
    "llama-cpp-python": "LlamaCppPython",
    "ollama": "Ollama",
    "lm-studio": "LmStudio",
    "vllm": "Vllm",
}


def register(registry: Registry) -> None:
    """Offer rig's own dialects (`rig.plugins`)."""
    for name, kind in _DIALECTS.items():
        registry.dialects.later(name, f"rig.serving.dialects.servers:{kind}")


def check(url: str, settings: EngineSettings) -> str:
    """The address of a server as rig writes it. Raises RigError for one that rig does not connect to.

    Nothing is asked yet.
    """
    from rig.serving.wire.address import Address

    address = Address.parse(url)
    address.targets()
    if settings.dialect is not None and settings.dialect not in registered().dialects:
        names = ", ".join(registered().dialects)
        raise RigError(f"--dialect {settings.dialect}: no such dialect; choose from {names}")
    return str(address)


def in_short(attribution: JsonObject) -> str:
    """How a served arm differs from its reference, in a line."""
    kinds = Counter(cause["cause"] for cause in attribution["causes"])
    differing = sum(kinds.values()) + attribution["others"]
    turns = counted(attribution["alike"] + attribution["follows"] + differing, "turn")
    why = ", ".join(f"{kind} {count}" for kind, count in kinds.most_common())
    faults = kinds.keys() - set(FAITHFUL)
    verdict = "not faithful" if faults or attribution["others"] else "faithful"
    beside = f", {attribution['follows']} follow" if attribution["follows"] else ""
    return (
        f"{verdict} to {attribution['reference']}: {attribution['alike']} of {turns} alike"
        f"{f'; differing: {why}' if why else ''}{beside}"
    )


def load(url: str, settings: EngineSettings, notify: Notify, *, probing: bool = False) -> Model:
    """A served model. Raises RigError if nobody answers there, or not as any dialect has it.

    With `probing`, a few small requests show what is wrong there, and `notify` is told.
    """
    from rig.serving.probes import load as load_over_http

    return load_over_http(url, settings, notify, probing=probing)
