"""llama-server, which comes with llama.cpp (also inside xllamacpp)."""

from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any, ClassVar

from rig.calls import JsonObject
from rig.engine.core.settings import Sampling
from rig.serving.dialects.base import OPENAI, Dialect, Identity, ScoredToken, choose_model, scored_content
from rig.serving.wire.client import HttpClient


class LlamaServer(Dialect):
    """It tells everything: the prompt, the settings in force, and the text before any parsing."""

    name = "llama-server"
    samplers: ClassVar[Mapping[str, str]] = {
        **OPENAI,
        **{name: name for name in Sampling.model_fields if name not in OPENAI},
        "dry_last_n": "dry_penalty_last_n",
    }
    thinking = Dialect.by_template
    insight: ClassVar[JsonObject] = {"verbose": True, "return_tokens": True, "cache_prompt": False}

    def recognises(self, client: HttpClient) -> bool:
        return "default_generation_settings" in client.try_get("/props")

    def identify(self, client: HttpClient, model: str) -> Identity:
        entry = choose_model(client, model)
        props: Any = client.get("/props")
        settings = props.get("default_generation_settings") or {}
        params = settings.get("params") or {}
        caps = props.get("chat_template_caps") or {}
        names = {*self.samplers.values(), "samplers"}
        return Identity(
            model=str(entry.get("id")),
            build=str(props.get("build_info", "")),
            file=PurePath(str(props.get("model_path", ""))).name,
            template=str(props.get("chat_template", "")),
            n_ctx=settings.get("n_ctx"),
            slots=props.get("total_slots"),
            defaults={name: value for name, value in params.items() if name in names},
            takes_tools=bool(caps.get("supports_tools", True)),
        )

    def sampling(self, sampling: Sampling) -> JsonObject:
        return {**super().sampling(sampling), "samplers": sampling.samplers.split(";")}

    def prompt(self, client: HttpClient, body: JsonObject) -> str | None:
        answer = client.ask("/apply-template", body)
        return str(answer["prompt"]) if "prompt" in answer else None

    def tokens(self, client: HttpClient, body: JsonObject) -> Sequence[int] | None:
        prompt = self.prompt(client, body)
        if prompt is None:
            return None
        asked = {"content": prompt, "add_special": True, "parse_special": True}
        tokens = client.ask("/tokenize", asked).get("tokens")
        return [int(token) for token in tokens] if isinstance(tokens, list) else None

    def scored(
        self, client: HttpClient, body: JsonObject, prompt: Sequence[int], count: int
    ) -> list[ScoredToken]:
        options = {"n_predict": count, "n_probs": 10, "temperature": 0, "cache_prompt": False}
        answer: Any = client.post("/completion", {"prompt": list(prompt), **options})
        return scored_content({"logprobs": {"content": answer.get("completion_probabilities")}})

    def inside(self, answer: JsonObject) -> JsonObject:
        told = answer.get("__verbose")
        if not isinstance(told, dict):
            return {}
        kinds = {"prompt": str, "content": str, "truncated": bool, "tokens": list}
        inside = {name: told[name] for name, kind in kinds.items() if isinstance(told.get(name), kind)}
        settings = told.get("generation_settings")
        return {**inside, "settings": settings} if isinstance(settings, dict) else inside
