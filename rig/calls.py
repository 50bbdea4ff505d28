"""Tool calls and their outcomes: the one currency that every room of rig accepts."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, TypeAlias

Json: TypeAlias = Any
"""A value that `json.loads` can return."""

JsonObject: TypeAlias = dict[str, Any]


class ByName:
    """A dataclass that is printed as JSON by the names of its fields."""

    __slots__ = ()

    def as_json(self) -> JsonObject:
        """All of it by name, and so what its fields hold, in tuples and mappings too."""
        # Not `asdict`, which copies values recursively: what a model wrote can be nested deeply.
        return {of.name: _by_name(getattr(self, of.name)) for of in fields(self)}  # type: ignore[arg-type]


def _by_name(value: Any) -> Json:
    if hasattr(value, "as_json"):
        return value.as_json()
    if type(value) is tuple:
        return [_by_name(inner) for inner in value]
    if isinstance(value, Mapping):
        return {name: of.as_json() if hasattr(of, "as_json") else of for name, of in value.items()}
    return value


SESSION_TOKEN = "session_token"
"""The argument that a simulator gives to tools that need a login; no model ever writes it."""


def without_token(arguments: Json) -> Json:
    """Arguments as a model would write them, without the injected session token."""
    if not isinstance(arguments, dict):
        return arguments
    return {name: value for name, value in arguments.items() if name != SESSION_TOKEN}


@dataclass(frozen=True, slots=True)
class Call:
    """One tool call as it was asked for.

    `arguments` is a JSON object in every well-formed call. A model decoded without a grammar can produce
    any JSON value, or text that is not JSON at all; the latter is held as None, as ToolTalk does.
    """

    name: str
    arguments: Json = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a tool gave back: a response, or the text of an exception, never both."""

    response: Json = None
    exception: str | None = None

    def as_json(self) -> JsonObject:
        """The shape a model is shown: `{"response": …, "exception": …}`."""
        return {"response": self.response, "exception": self.exception}


@dataclass(frozen=True, slots=True)
class ExecutedCall:
    """A call together with its outcome.

    `call.arguments` are the arguments as executed: tools that need a login carry the `session_token` that
    was injected. `username` is who was logged in when the call was made, where that is known (it is not part
    of any file; replaying the ground truth establishes it).
    """

    call: Call
    outcome: Outcome
    username: str | None = None

    @property
    def name(self) -> str:
        return self.call.name

    @property
    def arguments(self) -> Json:
        return self.call.arguments

    @property
    def response(self) -> Json:
        return self.outcome.response

    @property
    def exception(self) -> str | None:
        return self.outcome.exception

    def as_json(self) -> JsonObject:
        """ToolTalk's file shape: `{"request": {"api_name", "parameters"}, "response", "exception"}`."""
        return {
            "request": {"api_name": self.name, "parameters": self.arguments},
            **self.outcome.as_json(),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "ExecutedCall":
        """The inverse of `as_json`. Raises KeyError if a part of the request is missing."""
        request = data["request"]
        return cls(
            Call(request["api_name"], request["parameters"]),
            Outcome(data.get("response"), data.get("exception")),
        )
