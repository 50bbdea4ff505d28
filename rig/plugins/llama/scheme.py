"""GGUF files as models: what a name without a scheme stands for."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from rig.config.options import RunConfig
from rig.config.schemes import AGAIN, EXACT, ArmWeights, Loader, Scheme, Variant
from rig.core.calls import JsonObject
from rig.core.models import Request
from rig.plugins import llama
from rig.plugins.llama.core.options import AUTO, EngineOptions
from rig.plugins.llama.core.settings import EngineSettings


@dataclass(frozen=True, slots=True)
class FileWeights(ArmWeights):
    """The weights of a GGUF file."""

    path: Path

    def kept(self) -> AbstractContextManager[None]:
        return llama.keeping(self.path)

    def has_room(self) -> bool:
        return llama.has_room(self.path)

    def read_ahead(self) -> AbstractContextManager[None]:
        return llama.reading_ahead(self.path)


class GgufFiles(Scheme):
    """Models by the path of a GGUF file, or by a name in the registry.

    What reads files is imported when there is one, so that the oracle starts fast.
    """

    def check(self, config: RunConfig) -> None:
        llama.check(EngineSettings.of(config.part(EngineOptions)))

    def sizes_context(self, config: RunConfig) -> bool:
        return config.part(EngineOptions).n_ctx == AUTO

    def alike(self, config: RunConfig) -> dict[str, RunConfig]:
        own = config.part(EngineOptions)
        # With equal seeds samples would be equal, so the second has another.
        seed = (own.seed + 1) % 2**32 if own.draws else own.seed
        return {AGAIN: config.replace(seed=seed), EXACT: config.replace(exact=True, parallel=None)}

    def names(self) -> Sequence[str]:
        from rig.plugins.llama.files.registry import known_names

        return known_names()

    def narrowed(self, schema: JsonObject, tool: str) -> JsonObject:
        from rig.plugins.llama.grammar.schema import narrow

        return narrow(schema, tool, formats=False)

    def stored(self, text: str) -> str:
        from rig.plugins.llama.files.registry import resolve

        resolved = resolve(text)
        return resolved.name if resolved.entry else str(resolved.path.absolute())

    def stored_adapter(self, text: str) -> str:
        from rig.plugins.llama.files.adapters import Adapter

        adapter = Adapter.parse(text)
        return adapter.text if adapter else text

    def variants(
        self,
        text: str,
        settings: Mapping[str, RunConfig],
        adapters: Sequence[str] = (),
        prompts: Sequence[Request] = (),
    ) -> list[Variant]:
        from rig.plugins.llama.core import llama as _  # noqa: F401 - it says what to do without llama.cpp
        from rig.plugins.llama.files.adapters import adapters_of
        from rig.plugins.llama.files.info import inspect
        from rig.plugins.llama.files.registry import resolve

        resolved = resolve(text)
        inspect(resolved.path)
        loaders: dict[str, Loader] = {
            label: partial(
                llama.load, resolved.path, EngineSettings.of(own.part(EngineOptions), prompts), resolved.base
            )
            for label, own in settings.items()
        }
        return [
            Variant(
                model.name.encode("utf-8", "backslashreplace").decode(),
                loaders,
                partial(llama.apply_adapter, model.adapter),
                FileWeights(resolved.path),
            )
            for model in resolved.with_adapters(adapters_of(adapters))
        ]


FILES = GgufFiles()
