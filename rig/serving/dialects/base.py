"""How servers are spoken to: what all have in common, and what a dialect says in its own way.

All answer `POST /v1/chat/completions` with tools, as OpenAI's API does. A dialect is one class and one
registration (`rig.plugins`); the defaults are what a server does not offer.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from rig.calls import Json, JsonObject
from rig.engine.core.settings import Sampling
from rig.errors import RigError
from rig.serving.wire.client import HttpClient

OPENAI: Mapping[str, str] = {
    "temp": "temperature",
    "top_p": "top_p",
    "presence_penalty": "presence_penalty",
    "frequency_penalty": "frequency_penalty",
}
"""Settings of sampling (`Sampling`), by what requests call them."""


@dataclass(frozen=True, slots=True)
class Identity:
    """What a server says of itself and of one model. What it does not say is empty or None.

    `n_ctx` is the context of one request, `slots` how many requests are answered at once. `defaults` are the
    settings of sampling that hold where a request says nothing. `takes_tools`: whether requests may have
    tools, and answers have calls.
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
    """How one program that serves models is spoken to."""

    name: ClassVar[str]
    samplers: ClassVar[Mapping[str, str]] = OPENAI
    takes_tool_choice: ClassVar[bool] = True
    thinking: ClassVar[tuple[JsonObject, JsonObject] | None] = None
    """What a request says to have the model think, and to have it not."""
    by_template: ClassVar[tuple[JsonObject, JsonObject]] = (
        {"chat_template_kwargs": {"enable_thinking": True}},
        {"chat_template_kwargs": {"enable_thinking": False}},
    )
    """The same where chat templates are told."""
    tells_logprobs: ClassVar[bool] = True
    insight: ClassVar[JsonObject] = {}
    """What a request says for the answer to have an inside."""
    extras: ClassVar[JsonObject] = {}
    """What every request says besides."""

    @abstractmethod
    def recognises(self, client: HttpClient) -> bool:
        """Whether a server is of this kind."""

    @abstractmethod
    def identify(self, client: HttpClient, model: str) -> Identity:
        """What the server says of itself now. Raises ServerFault."""

    def prompt(self, client: HttpClient, body: JsonObject) -> str | None:
        """The prompt that a request becomes, as text; None if the server does not tell."""
        return None

    def tokens(self, client: HttpClient, body: JsonObject) -> Sequence[int] | None:
        """The same as token ids."""
        return None

    def scored(
        self, client: HttpClient, body: JsonObject, prompt: Sequence[int], count: int
    ) -> list["ScoredToken"]:
        """The likeliest tokens at the first `count` places of a greedy answer; empty if it tells none.

        A dialect that can takes the prompt's tokens as they are instead of the request.
        """
        asked = {**body, "stream": False, "logprobs": True, "top_logprobs": 10, "max_tokens": count}
        # Some have to be started with an option for that.
        answer = client.ask("/v1/chat/completions", asked) if self.tells_logprobs else {}
        return scored_content((answer.get("choices") or [{}])[0])

    def inside(self, answer: JsonObject) -> JsonObject:
        """How a whole answer came about: its `prompt`, `content`, `truncated`, `tokens`, `settings`.

        The text of the prompt and of the answer are those before any parsing; `settings` are of sampling.
        """
        return {}

    def sampling(self, sampling: Sampling) -> JsonObject:
        """The settings of sampling as a request has them. Raises RigError for one that would be ignored."""
        ignored = sorted(sampling.model_fields_set & sampling.changed.keys() - self.samplers.keys())
        if ignored:
            names = ", ".join(ignored)
            raise RigError(f"{self.name} ignores {names} in requests; leave it out of --sampling")
        return {own: getattr(sampling, name) for name, own in self.samplers.items()}


@dataclass(frozen=True, slots=True)
class ScoredToken:
    """A place of an answer: the token there, and the likeliest ones with natural logarithms of probability.

    Tokens are ids where the server tells them, else their bytes.
    """

    token: int | bytes
    likeliest: Mapping[int | bytes, float]


def models(client: HttpClient) -> list[JsonObject]:
    """What `/v1/models` lists. Raises ServerFault."""
    return listed(client.get("/v1/models"))


def listed(answer: Json) -> list[JsonObject]:
    """The objects of the list that such an answer holds; none if it holds no list."""
    entries = answer.get("data") if isinstance(answer, dict) else None
    return [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []


def choose_model(client: HttpClient, name: str) -> JsonObject:
    """The entry of `/v1/models` that is meant. Raises RigError if that is not clear."""
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
    """The places of an answer in OpenAI's `logprobs`."""
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
