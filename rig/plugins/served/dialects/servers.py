"""The dialects of the programs that rig knows to serve models."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import PurePath
from typing import Any, ClassVar

from rig.core.calls import JsonObject
from rig.core.errors import RigError
from rig.plugins.llama.core.settings import Sampling
from rig.plugins.served.dialects import base
from rig.plugins.served.dialects.base import OPENAI, Dialect, Identity, ScoredToken, choose_model
from rig.plugins.served.wire.client import HttpClient, ServerFault


class LlamaServer(Dialect):
    """llama.cpp's server, which shows the prompt, the settings in force, and the text before any parsing."""

    name = "llama-server"
    samplers: ClassVar[Mapping[str, str]] = {
        **OPENAI,
        **{name: name for name in Sampling.model_fields if name not in OPENAI},
        "dry_last_n": "dry_penalty_last_n",
    }
    takes_tool_name = False  # it reads the choice of a tool as auto, silently
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
            n_ctx=base.positive(settings.get("n_ctx")),
            slots=base.positive(props.get("total_slots")),
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
        asked = {"content": prompt, "add_special": True, "parse_special": True}
        return None if prompt is None else _tokenized(client, asked)

    def scored(
        self, client: HttpClient, body: JsonObject, prompt: Sequence[int], count: int
    ) -> list[ScoredToken]:
        options = {"n_predict": count, "n_probs": 10, "temperature": 0, "cache_prompt": False}
        answer: Any = client.post("/completion", {"prompt": list(prompt), **options})
        return base.scored_content({"logprobs": {"content": answer.get("completion_probabilities")}})

    def inside(self, answer: JsonObject) -> JsonObject:
        told = answer.get("__verbose")
        if not isinstance(told, dict):
            return {}
        kinds = {"prompt": str, "content": str, "truncated": bool, "tokens": list}
        inside = {name: told[name] for name, kind in kinds.items() if isinstance(told.get(name), kind)}
        settings = told.get("generation_settings")
        return {**inside, "settings": settings} if isinstance(settings, dict) else inside


class LlamaCppPython(Dialect):
    """llama-cpp-python: shows tools but leaves calls in the text. A second request interrupts the first."""

    name = "llama-cpp-python"
    samplers: ClassVar[Mapping[str, str]] = {
        **OPENAI,
        **{name: name for name in ("top_k", "min_p", "repeat_penalty")},
    }

    def recognises(self, client: HttpClient) -> bool:
        info = client.try_get("/openapi.json").get("info")
        return isinstance(info, dict) and "llama.cpp Python" in str(info.get("title"))

    def identify(self, client: HttpClient, model: str) -> Identity:
        name = str(choose_model(client, model).get("id"))
        info: Any = client.try_get("/openapi.json").get("info")
        return Identity(
            model=name,
            build=str(info.get("version", "")) if isinstance(info, dict) else "",
            file=PurePath(name).name,
            slots=1,
            takes_tools=False,
        )


class Ollama(Dialect):
    """Ollama, which ignores `tool_choice` and most settings of sampling, and cuts long prompts silently."""

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
        if (loaded := self._loaded(client, name)) is None:
            client.ask("/api/generate", {"model": name})  # loads it: only then its context is known
            loaded = self._loaded(client, name) or {}
        return Identity(
            model=name,
            build=str(client.try_get("/api/version").get("version", "")),
            file=str(details.get("quantization_level", "")),
            template=str(about.get("template", "")),
            n_ctx=base.positive(loaded.get("context_length")),
            defaults={"parameters": str(about.get("parameters", ""))},
            takes_tools="tools" in (about.get("capabilities") or []),
        )

    def prompt(self, client: HttpClient, body: JsonObject) -> str | None:
        asked = {**body, "stream": False, "_debug_render_only": True}
        debug = client.ask("/v1/chat/completions", asked).get("_debug_info")
        return str(debug["rendered_template"]) if isinstance(debug, dict) else None

    def _loaded(self, client: HttpClient, name: str) -> JsonObject | None:
        entries: Any = client.try_get("/api/ps").get("models") or []
        return next((entry for entry in entries if entry.get("name") == name), None)


class LmStudio(Dialect):
    """LM Studio, which shows neither prompts nor tokens, and renames tools to snake case."""

    name = "lm-studio"
    takes_tool_name = False
    tells_logprobs = False
    samplers: ClassVar[Mapping[str, str]] = {**OPENAI, "top_k": "top_k", "repeat_penalty": "repeat_penalty"}

    def recognises(self, client: HttpClient) -> bool:
        return any("quantization" in entry for entry in self._listed(client))

    def identify(self, client: HttpClient, model: str) -> Identity:
        entry = self._chosen(client, model)
        if entry.get("state") == "not-loaded":
            # A request loads it: only then its context is known.
            hello = {"messages": [{"role": "user", "content": "Hello."}], "max_tokens": 1}
            client.ask("/v1/chat/completions", {"model": entry.get("id"), **hello})
            entry = self._chosen(client, model)
        return Identity(
            model=str(entry.get("id")),
            build=str(entry.get("compatibility_type", "")),
            file=str(entry.get("quantization", "")),
            n_ctx=base.positive(entry.get("loaded_context_length")),
        )

    def _chosen(self, client: HttpClient, model: str) -> JsonObject:
        usable = [entry for entry in self._listed(client) if entry.get("type") in ("llm", "vlm", None)]
        loaded = [entry for entry in usable if entry.get("state") == "loaded"]
        fitting = [entry for entry in usable if entry.get("id") == model] if model else loaded
        if len(fitting) != 1:
            names = ", ".join(str(entry.get("id")) for entry in loaded or usable) or "none"
            origin = client.address.origin
            raise RigError(f"{origin}: which model? Give {origin}#NAME; it serves {names}")
        return fitting[0]

    def _listed(self, client: HttpClient) -> list[JsonObject]:
        return base.listed(client.try_get("/api/v0/models"))


class Vllm(Dialect):
    """vLLM, which shows the exact tokens of a prompt. Tools need `--enable-auto-tool-choice` and a parser."""

    name = "vllm"
    samplers: ClassVar[Mapping[str, str]] = {
        **OPENAI,
        "top_k": "top_k",
        "min_p": "min_p",
        "repeat_penalty": "repetition_penalty",
    }
    thinking = Dialect.by_template

    def recognises(self, client: HttpClient) -> bool:
        if not isinstance(client.try_get("/version").get("version"), str):
            return False
        with suppress(ServerFault):
            return any(entry.get("owned_by") == "vllm" for entry in base.models(client))
        return False

    def identify(self, client: HttpClient, model: str) -> Identity:
        entry = choose_model(client, model)
        return Identity(
            model=str(entry.get("id")),
            build=str(client.try_get("/version").get("version", "")),
            file=str(entry.get("root", "")).rpartition("/")[2],
            n_ctx=base.positive(entry.get("max_model_len")),
        )

    def tokens(self, client: HttpClient, body: JsonObject) -> Sequence[int] | None:
        names = ("model", "messages", "tools", "chat_template_kwargs")
        asked = {name: body[name] for name in names if name in body}
        return _tokenized(client, {**asked, "add_generation_prompt": True})


def _tokenized(client: HttpClient, asked: JsonObject) -> list[int] | None:
    tokens = client.ask("/tokenize", asked).get("tokens")
    return [int(token) for token in tokens] if isinstance(tokens, list) else None
