"""Models behind HTTP: talking to their servers, probing them, and comparing them with a file in process.

Importing this package imports no HTTP library and opens no connection; `load` does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rig.core.errors import RigError
from rig.core.models import Model, Notify
from rig.core.registry import Registry, registered
from rig.plugins.served.options import ServerOptions

REQUIRES = ("llama",)

if TYPE_CHECKING:
    from rig.plugins.served.settings import ServedSettings

FAITHFUL = ("grammar", "chance")
"""The causes of difference that are no fault of a server: its own grammar for calls, and ties."""

_DIALECTS = {
    "llama-server": "LlamaServer",
    "llama-cpp-python": "LlamaCppPython",
    "ollama": "Ollama",
    "lm-studio": "LmStudio",
    "vllm": "Vllm",
}


def register(registry: Registry) -> None:
    """Register rig's own dialects (`rig.core.registry`)."""
    registry.add_options("Servers", ServerOptions)
    for scheme in ("http", "https"):
        registry.schemes.later(scheme, "rig.plugins.served.scheme:SERVED", marker="", is_place=False)
    for name, kind in _DIALECTS.items():
        registry.dialects.later(name, f"rig.plugins.served.dialects.servers:{kind}")


def check(url: str, settings: ServedSettings) -> str:
    """Return the address of a server as rig writes it. Raises RigError if rig does not connect to it.

    This sends no request.
    """
    from rig.plugins.served.wire.address import Address

    address = Address.parse(url)
    address.targets()
    check_dialect(settings.dialect)
    return str(address)


def check_dialect(name: str | None) -> None:
    """Raise RigError for a dialect that is not known."""
    if name is not None and name not in registered().dialects:
        raise RigError(f"--dialect {name}: no such dialect; choose from {', '.join(registered().dialects)}")


def load(url: str, settings: ServedSettings, notify: Notify, *, probing: bool = False) -> Model:
    """Connect to a served model. Raises RigError if no server answers, or none of a known dialect.

    With `probing`, a few small requests look for faults of the server, which are passed to `notify`.
    """
    from rig.plugins.served.probes import load as load_over_http

    return load_over_http(url, settings, notify, probing=probing)
