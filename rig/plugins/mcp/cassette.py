"""Recorded answers of servers, kept as lines of JSON and replayed without a server.

A line is a server with its listing, the state that conversations begin in, or a call: its arguments, the hash
of the state before and after it, and the answer as the server sent it. Values of the environment are replaced
by their names, and restored where the servers' environment is known.
"""

import base64
import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias
from urllib.parse import quote

from pydantic import BaseModel, Field

from rig.core.calls import Json, JsonObject
from rig.core.errors import RigError
from rig.core.files import write
from rig.plugins.documents.documents import lines_of, parsed
from rig.plugins.mcp.client import DEEPEST
from rig.world.schemas import mapped, with_texts

VERSION = 1
REDACTED = "[redacted]"
NOT_RECORDED = "No answer was recorded for this call."
_SHORTEST = 4
"""The fewest characters of a value that is redacted; a shorter one would match everywhere."""

Redact: TypeAlias = Callable[[Json], Json]


class RecordedCall(BaseModel):
    """A call and its answer, `result` or `error`, as the protocol has it.

    `before` and `after` are hashes of the state before and after the call. Without `before`, the answer is
    good for any state; without `after`, the call left the state as it was.
    """

    server: str
    tool: str
    arguments: JsonObject
    before: str | None = None
    after: str | None = None
    result: JsonObject | None = None
    error: JsonObject | None = None

    @property
    def answer(self) -> JsonObject:
        return {"result": self.result} if self.result is not None else {"error": self.error or {}}


class _Header(BaseModel):
    kind: str
    v: int = VERSION
    name: str = ""
    tools: list[Json] = Field(default_factory=list)
    sha256: str = ""


class Cassette:
    """The recorded calls, and the state that each conversation begins in."""

    def __init__(self, listings: Mapping[str, Json], state: str, calls: Iterable[RecordedCall] = ()) -> None:
        self.listings, self.state = dict(listings), state
        self.calls: list[RecordedCall] = []
        self._by_key: dict[str, list[RecordedCall]] = defaultdict(list)
        self._texts: set[str] = set()
        for call in calls:
            self.add(call)

    @classmethod
    def read(cls, path: Path) -> "Cassette":
        """Read a cassette. Raises RigError, with the place."""
        listings: dict[str, Json] = {}
        state, calls = "", []
        for line in lines_of(path):
            where, value = line.where, line.json(DEEPEST)
            if isinstance(value, dict) and value.get("kind") == "call":
                calls.append(parsed(RecordedCall, value, where, "a recorded call"))
                continue
            header = parsed(_Header, value, where, "a line of a cassette")
            if header.v != VERSION:
                raise RigError(f"{where}: version {header.v}; this rig reads version {VERSION}")
            if header.kind == "server":
                listings[header.name] = {**value, "tools": header.tools}
            state = header.sha256 if header.kind == "state" else state
        if not listings:
            raise RigError(f"{path}: not a cassette; `rig tools record` makes one")
        return cls(listings, state, calls)

    def add(self, call: RecordedCall) -> None:
        """Record a call, unless the same one is already recorded."""
        text = json.dumps(mapped(call.model_dump(), _plain), sort_keys=True)
        if text not in self._texts:
            self._texts.add(text)
            self._by_key[key(call.server, call.tool, call.arguments, call.before)].append(call)
            self.calls.append(call)

    def find(
        self, server: str, tool: str, arguments: JsonObject, state: str, again: int
    ) -> RecordedCall | None:
        """Return the call recorded in a state for the `again`th time it is made; None if there is none."""
        for before in (state, None):
            if same := self._by_key.get(key(server, tool, arguments, before)):
                return same[min(again, len(same) - 1)]
        return None

    def write(self, path: Path, redact: Redact) -> None:
        """Write the cassette, replacing the file if it exists. Raises RigError."""
        servers = [{"kind": "server", "v": VERSION, **listing} for listing in self.listings.values()]
        calls = ({"kind": "call", **call.model_dump(exclude_none=True)} for call in self.calls)
        lines = (*servers, {"kind": "state", "sha256": self.state}, *calls)
        texts = (json.dumps(redact(line), ensure_ascii=False) for line in lines)
        write("".join(f"{line}\n" for line in texts), path, force=True)


def _plain(value: Json) -> Json:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def key(server: str, tool: str, arguments: JsonObject, before: str | None) -> str:
    """Return a hash that is equal for equal calls: 1 equals 1.0, and the order of names does not matter."""
    text = json.dumps([server, tool, mapped(arguments, _plain), before], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def normalized(arguments: JsonObject, schema: JsonObject) -> JsonObject:
    """Return the arguments without the optional ones that have the schema's default value."""
    properties = schema.get("properties", {})
    required = schema.get("required", ())
    return {
        name: value
        for name, value in arguments.items()
        if name in required or "default" not in (of := properties.get(name, {})) or of["default"] != value
    }


def redactor(environment: Mapping[str, str], patterns: Sequence[str] = ()) -> Redact:
    """Return a function that replaces values of an environment by their names, and redacts what matches a
    pattern.

    Raises RigError for a pattern that is not a regular expression.
    """
    spelled: dict[str, str] = {}
    for name, value in environment.items():
        if len(value) >= _SHORTEST:
            ways = (value, base64.b64encode(value.encode()).decode(), quote(value, safe=""))
            spelled.update(dict.fromkeys((*ways, json.dumps(value)[1:-1]), _token(name)))
    try:
        compiled = [re.compile(pattern) for pattern in patterns]
    except re.error as error:
        raise RigError(f"--redact: not a regular expression: {error}") from error
    longest_first = sorted(spelled.items(), key=lambda item: -len(item[0]))
    return _replacing(longest_first, compiled)


def restorer(environment: Mapping[str, str]) -> Redact:
    """Return a function that replaces the names of an environment with their values."""
    tokens = [(_token(name), value) for name, value in environment.items() if len(value) >= _SHORTEST]
    return _replacing(tokens)


def _replacing(pairs: Sequence[tuple[str, str]], patterns: Sequence[re.Pattern[str]] = ()) -> Redact:
    def text(value: str) -> str:
        for old, new in pairs:
            value = value.replace(old, new)
        for pattern in patterns:
            value = pattern.sub(REDACTED, value)
        return value

    return lambda value: with_texts(value, text) if pairs or patterns else value


def _token(name: str) -> str:
    return f"${{env:{name}}}"


def from_log(path: Path, server: str) -> list[RecordedCall]:
    """Read the calls in a client's log: a JSON-RPC message per line, or under `msg`, `message` or `data`."""
    requests: dict[Json, JsonObject] = {}
    calls = []
    for line in lines_of(path):
        where, value = line.where, line.json(DEEPEST)
        for name in ("msg", "message", "data"):
            if isinstance(value, dict) and isinstance(value.get(name), dict):
                value = value[name]
        if not isinstance(value, dict) or not isinstance(value.get("id"), int | str):
            continue
        if value.get("method") == "tools/call" and isinstance(value.get("params"), dict):
            requests[value["id"]] = value["params"]
        elif value["id"] in requests and ("result" in value or "error" in value):
            params = requests.pop(value["id"])
            call = {"server": server, "tool": params.get("name"), "arguments": params.get("arguments") or {}}
            call |= {name: value[name] for name in ("result", "error") if name in value}
            calls.append(parsed(RecordedCall, call, where, "a call and its answer"))
    return calls
