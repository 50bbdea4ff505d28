"""How a server's model is run."""

from dataclasses import dataclass

from rig.plugins.llama.core.settings import EngineSettings
from rig.plugins.served.options import ServerOptions


@dataclass(frozen=True, kw_only=True)
class ServedSettings(EngineSettings, ServerOptions):
    """The options of the engine that servers have, too, and those of servers."""
