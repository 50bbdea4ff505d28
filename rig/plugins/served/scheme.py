"""Models behind servers: what a name that is a URL stands for."""

from collections.abc import Mapping, Sequence
from functools import partial

from rig.config.options import RunConfig
from rig.config.schemes import AGAIN, Loader, Scheme, Variant
from rig.core.models import Request
from rig.plugins import served
from rig.plugins.llama.core.options import EngineOptions
from rig.plugins.served.options import ServerOptions
from rig.plugins.served.settings import ServedSettings

_OWN = (
    *("max_tokens", "thinking_tokens", "sampling", "temperature", "seed", "parallel", "format"),
    *("tool_choice", "several_calls", "thinking", "template_set"),
)
"""The engine's settings that a served model has as well."""


class Served(Scheme):
    """Models by the address of their server."""

    name = "http"

    def check(self, config: RunConfig) -> None:
        served.check_dialect(config.part(ServerOptions).dialect)

    def adapted(self, config: RunConfig) -> RunConfig:
        # No grammar of rig's holds what a server writes, and prompts are tokenized there in one piece. So it
        # is with a file beside it.
        is_chosen = config.is_changed("grammar")
        return config if is_chosen else config.replace(grammar="none", whole_prompt=True)

    def variants(
        self,
        text: str,
        settings: Mapping[str, RunConfig],
        adapters: Sequence[str] = (),
        prompts: Sequence[Request] = (),
    ) -> list[Variant]:
        # Settings that differ only in what files have are the same for a server.
        loaders: dict[str, Loader] = {}
        distinct: set[tuple[ServedSettings, bool]] = set()
        name = text
        for label, of_label in settings.items():
            engine, server = of_label.part(EngineOptions), of_label.part(ServerOptions)
            own = ServedSettings(**{part: getattr(engine, part) for part in _OWN}, **vars(server))
            name = served.check(text, own)
            kind = own, label.endswith(AGAIN)
            if kind not in distinct:
                distinct.add(kind)
                loaders[label] = partial(served.load, text, own, probing=True)
        return [Variant(name, loaders if len(loaders) > 1 else {"": next(iter(loaders.values()))})]


SERVED = Served()
