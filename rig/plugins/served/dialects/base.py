"""The dialects of servers: what all servers have in common, and what each program does in its own way.

All answer `POST /v1/chat/completions` with tools, as OpenAI's API does. A dialect is one class and one
registration (`rig.core.registry`). The defaults suit a server that offers nothing more.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from rig.core.calls import Json, JsonObject
from rig.core.errors import RigError
from rig.plugins.llama.core.settings import Sampling
from rig.plugins.served.wire.client import HttpClient

OPENAI: Mapping[str, str] = {
    "temp": "temperature",
    "top_p": "top_p",
    "presence_penalty": "presence_penalty",
    "frequency_penalty": "frequency_penalty",
}
"""The names that requests have for settings of sampling (`Sampling`)."""


@dataclass(frozen=True, slots=True)
class Identity:
    """What a server says about itself and one model. What it does not say is empty or None.

    `n_ctx` is the context of one request in tokens, and `slots` the number of requests answered at once.
    `defaults` are the settings of sampling that apply if a request does not set them. `takes_tools` is
    whether requests may have tools, and answers calls.
    """

    model: str = ""
    build: str = ""
    file: str = ""
    template: str = ""
    n_ctx: int | None = None
    slots: int | None = None
    defaults: JsonObject = field(default_factory=dict)
    takes_tools: bool = True


class Dialect(ABC):
    """The way to talk to one program that serves models."""

    name: ClassVar[str]
    samplers: ClassVar[Mapping[str, str]] = OPENAI
    takes_tool_choice: ClassVar[bool] = True
    takes_tool_name: ClassVar[bool] = True
    """Whether `tool_choice` can be the one function to call."""
    thinking: ClassVar[tuple[JsonObject, JsonObject] | None] = None
    """The members of a request that switch thinking on, and those that switch it off."""
    by_template: ClassVar[tuple[JsonObject, JsonObject]] = (
        {"chat_template_kwargs": {"enable_thinking": True}},
        {"chat_template_kwargs": {"enable_thinking": False}},
    )
    """The same for servers that pass the switch to the chat template."""
    tells_logprobs: ClassVar[bool] = True
    insight: ClassVar[JsonObject] = {}
    """The members of a request that make the answer carry what `inside` reads."""
    extras: ClassVar[JsonObject] = {}
    """Further members of every request."""

    @abstractmethod
    def recognises(self, client: HttpClient) -> bool:
        """Return whether a server is of this kind."""

    @abstractmethod
    def identify(self, client: HttpClient, model: str) -> Identity:
        """Ask the server what it is now. Raises ServerFault."""

    def prompt(self, client: HttpClient, body: JsonObject) -> str | None:
        """Return the text of the prompt that a request becomes; None if the server does not say."""
        return None

    def tokens(self, client: HttpClient, body: JsonObject) -> Sequence[int] | None:
        """Return the token ids of the prompt that a request becomes; None if the server does not say."""
        return None

    def scored(
        self, client: HttpClient, body: JsonObject, prompt: Sequence[int], count: int
    ) -> list["ScoredToken"]:
        """Return the likeliest tokens at the first `count` places of a greedy answer; empty if not available.

        Dialects that can send the tokens of the `prompt` do so, instead of the request's messages.
        """
        asked = {**body, "stream": False, "logprobs": True, "top_logprobs": 10, "max_tokens": count}
        # Some servers have to be started with an option for log probabilities.
        answer = client.ask("/v1/chat/completions", asked) if self.tells_logprobs else {}
        return scored_content((answer.get("choices") or [{}])[0])

    def inside(self, answer: JsonObject) -> JsonObject:
        """Return how an answer was made: its `prompt`, `content`, `truncated`, `tokens` and `settings`.

        `prompt` and `content` are the texts before any parsing; `settings` are those of sampling.
        """
        return {}

    def sampling(self, sampling: Sampling) -> JsonObject:
        """Return the settings of sampling as members of a request. Raises RigError for an ignored one."""
        ignored = sorted(sampling.model_fields_set & sampling.changed.keys() - self.samplers.keys())
        if ignored:
            names = ", ".join(ignored)
            raise RigError(f"{self.name} ignores {names} in requests; leave it out of --sampling")
        return {own: getattr(sampling, name) for name, own in self.samplers.items()}


@dataclass(frozen=True, slots=True)
class ScoredToken:
    """A place of an answer: the token there, and the likeliest ones with their natural log probabilities.

    Tokens are ids if the server sends them, else their bytes.
    """

    token: int | bytes
    likeliest: Mapping[int | bytes, float]


def positive(value: Json) -> int | None:
    """Return a number that a server says, such as the size of its context; None if it is no positive one."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def models(client: HttpClient) -> list[JsonObject]:
    """Return the entries of `/v1/models`. Raises ServerFault."""
    return listed(client.get("/v1/models"))


def listed(answer: Json) -> list[JsonObject]:
    """Return the objects in the `data` list of an answer; none if it has no such list."""
    entries = answer.get("data") if isinstance(answer, dict) else None
    return [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []


def choose_model(client: HttpClient, name: str) -> JsonObject:
    """Return the entry of `/v1/models` with this name, or the only one. Raises RigError if none is clear."""
    entries = models(client)
    names = [str(entry.get("id")) for entry in entries]
    pairs = zip(names, entries, strict=True)
    fitting = [entry for own, entry in pairs if not name or name in (own, own.removesuffix(":latest"))]
    if len(fitting) == 1:
        return fitting[0]
    origin = client.address.origin
    served = ", ".join(names[:20]) or "none"
    if not entries:
        raise RigError(f"{origin}: it serves no model; load one there first")
    raise RigError(f"{origin}: which model? Give {origin}#NAME; it serves {served}")


def scored_content(choice: Json) -> list[ScoredToken]:
    """Read the places of an answer from OpenAI's `logprobs`."""
    logprobs = choice.get("logprobs") if isinstance(choice, dict) else None
    content = logprobs.get("content") if isinstance(logprobs, dict) else None
    return [
        ScoredToken(
            _token(place), {_token(other): float(other["logprob"]) for other in place["top_logprobs"]}
        )
        for place in content or []
        if isinstance(place, dict) and isinstance(place.get("top_logprobs"), list)
    ]


def _token(entry: JsonObject) -> int | bytes:
    if isinstance(entry.get("id"), int):
        return int(entry["id"])
    raw = entry.get("bytes")
    return bytes(raw) if isinstance(raw, list) else str(entry.get("token", "")).encode()
