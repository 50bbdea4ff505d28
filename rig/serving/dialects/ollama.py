"""ollama: its API in OpenAI's shape, and what only its own API tells."""

from typing import Any

from rig.calls import JsonObject
from rig.serving.dialects.base import Dialect, Identity, choose_model
from rig.serving.wire.client import HttpClient


class Ollama(Dialect):
    """It ignores `tool_choice` and most settings of sampling, and cuts long prompts without a word."""

    name = "ollama"
    takes_tool_choice = False
    thinking = ({"reasoning_effort": "high"}, {"reasoning_effort": "none"})

    def recognises(self, client: HttpClient) -> bool:
        is_version = isinstance(client.try_get("/api/version").get("version"), str)
        return is_version and isinstance(client.try_get("/api/tags").get("models"), list)

    def identify(self, client: HttpClient, model: str) -> Identity:
        name = str(choose_model(client, model).get("id"))
        about: Any = client.post("/api/show", {"model": name})
        details = about.get("details") or {}
        loaded: Any = client.try_get("/api/ps").get("models") or []
        contexts = [entry.get("context_length") for entry in loaded if entry.get("name") == name]
        return Identity(
            model=name,
            build=str(client.try_get("/api/version").get("version", "")),
            file=str(details.get("quantization_level", "")),
            template=str(about.get("template", "")),
            n_ctx=contexts[0] if contexts else None,
            defaults={"parameters": str(about.get("parameters", ""))},
            takes_tools="tools" in (about.get("capabilities") or []),
        )

    def prompt(self, client: HttpClient, body: JsonObject) -> str | None:
        asked = {**body, "stream": False, "_debug_render_only": True}
        debug = client.ask("/v1/chat/completions", asked).get("_debug_info")
        return str(debug["rendered_template"]) if isinstance(debug, dict) else None
