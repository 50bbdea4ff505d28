"""LM Studio: its API in OpenAI's shape, and its REST API (`/api/v0`) for what it tells of models."""

from collections.abc import Mapping
from typing import Any, ClassVar

from rig.errors import RigError
from rig.serving.dialects.base import OPENAI, Dialect, Identity
from rig.serving.wire.client import HttpClient


class LmStudio(Dialect):
    """It tells neither prompts nor tokens, and renames tools to snake case."""

    name = "lm-studio"
    tells_logprobs = False
    samplers: ClassVar[Mapping[str, str]] = {**OPENAI, "top_k": "top_k", "repeat_penalty": "repeat_penalty"}

    def recognises(self, client: HttpClient) -> bool:
        return any("quantization" in entry for entry in self._listed(client))

    def identify(self, client: HttpClient, model: str) -> Identity:
        usable = [entry for entry in self._listed(client) if entry.get("type") in ("llm", "vlm", None)]
        loaded = [entry for entry in usable if entry.get("state") == "loaded"]
        fitting = [entry for entry in usable if entry.get("id") == model] if model else loaded
        if len(fitting) != 1:
            names = ", ".join(str(entry.get("id")) for entry in loaded or usable) or "none"
            origin = client.address.origin
            raise RigError(f"{origin}: which model? Give {origin}#NAME; it serves {names}")
        [entry] = fitting
        n_ctx = entry.get("loaded_context_length")
        return Identity(
            model=str(entry.get("id")),
            build=str(entry.get("compatibility_type", "")),
            file=str(entry.get("quantization", "")),
            n_ctx=n_ctx if isinstance(n_ctx, int) else None,
        )

    def _listed(self, client: HttpClient) -> list[dict[str, Any]]:
        listed = client.try_get("/api/v0/models").get("data")
        return [entry for entry in listed if isinstance(entry, dict)] if isinstance(listed, list) else []
