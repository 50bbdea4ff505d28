"""vLLM's server in OpenAI's shape."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import ClassVar

from rig.calls import JsonObject
from rig.serving.dialects.base import OPENAI, Dialect, Identity, choose_model, models
from rig.serving.wire.client import HttpClient, ServerFault


class Vllm(Dialect):
    """It tells the exact tokens of a prompt. Tools need `--enable-auto-tool-choice` and a parser."""

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
            return any(entry.get("owned_by") == "vllm" for entry in models(client))
        return False

    def identify(self, client: HttpClient, model: str) -> Identity:
        entry = choose_model(client, model)
        length = entry.get("max_model_len")
        return Identity(
            model=str(entry.get("id")),
            build=str(client.try_get("/version").get("version", "")),
            file=str(entry.get("root", "")).rpartition("/")[2],
            n_ctx=length if isinstance(length, int) else None,
        )

    def tokens(self, client: HttpClient, body: JsonObject) -> Sequence[int] | None:
        names = ("model", "messages", "tools", "chat_template_kwargs")
        asked = {name: body[name] for name in names if name in body}
        tokens = client.ask("/tokenize", {**asked, "add_generation_prompt": True}).get("tokens")
        return [int(token) for token in tokens] if isinstance(tokens, list) else None
