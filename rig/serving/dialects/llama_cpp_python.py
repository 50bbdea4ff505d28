"""The server of llama-cpp-python: `python -m llama_cpp.server`."""

from collections.abc import Mapping
from pathlib import PurePath
from typing import Any, ClassVar

from rig.serving.dialects.base import OPENAI, Dialect, Identity, choose_model
from rig.serving.wire.client import HttpClient


class LlamaCppPython(Dialect):
    """It shows tools to the model, and leaves calls in the text. A second request interrupts the first."""

    name = "llama-cpp-python"
    samplers: ClassVar[Mapping[str, str]] = {
        **OPENAI,
        **{name: name for name in ("top_k", "min_p", "repeat_penalty")},
    }

    def recognises(self, client: HttpClient) -> bool:
        info = client.try_get("/openapi.json").get("info")
        return isinstance(info, dict) and "llama.cpp Python" in str(info.get("title"))

    def identify(self, client: HttpClient, model: str) -> Identity:
        entry = choose_model(client, model)
        info: Any = client.try_get("/openapi.json").get("info")
        return Identity(
            model=str(entry.get("id")),
            build=str(info.get("version", "")) if isinstance(info, dict) else "",
            file=PurePath(str(entry.get("id"))).name,
            slots=1,
            takes_tools=False,
        )
