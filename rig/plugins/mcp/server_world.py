"""A world that MCP servers act in: their files, kept as records in snapshots, and its own processes.

Servers start when they are first called. Before a call, the files and processes are brought to the state in
the records, even if that was restored from a snapshot of another world. A server's folder has a different
path in each world, so `/state` stands for it in arguments and answers.
"""

import hashlib
import json
import re
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from datetime import UTC
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from rig.config.options import Answers
from rig.core import times
from rig.core.budget import parse_json
from rig.core.calls import Json, JsonObject
from rig.core.folders import empty, open_folder
from rig.plugins.mcp import state
from rig.plugins.mcp.cassette import NOT_RECORDED, Cassette, RecordedCall, Redact, normalized
from rig.plugins.mcp.client import McpClient, McpServerFault, ServerListing
from rig.plugins.mcp.isolation import confined, environment, program_of
from rig.plugins.mcp.server_config import Server, own_path
from rig.plugins.mcp.state import BESIDE, UNSEEN, Files, Manifest, PathState, StateFault
from rig.plugins.own_tools.listing import ToolDeclaration
from rig.world.schemas import with_texts
from rig.world.spec import ToolError, Unavailable
from rig.world.world import World, encode

ROOT = "/state"
"""What models call the folder that a server works in."""
LONGEST = 2**20
"""The most characters of an answer. No model reads as much."""


@dataclass(eq=False)
class Servers:
    """The servers of a toolbox and what their worlds share: the initial files, and the recorded answers."""

    folder: Path
    servers: Mapping[str, Server]
    own_folder: Callable[[], Path]
    answers: Answers = "live"
    network: bool = False
    cassette: Cassette | None = None
    redact: Redact = lambda value: value
    restore: Redact = lambda value: value
    recording: Cassette | None = None
    routes: Mapping[str, ToolDeclaration] = field(default_factory=dict)
    """The tools by name, each with its server and its name there."""
    listings: dict[str, ServerListing] = field(default_factory=dict)
    _worlds: int = 0

    @property
    def depot(self) -> Path:
        """The folder that keeps the contents of files by their hash."""
        return self.own_folder() / "contents"

    @cached_property
    def base(self) -> Manifest:
        """The files that conversations begin with. Raises RigError."""
        names = [name for server in self.servers.values() for name in server.state]
        return state.initial(self.folder, names, self.depot)

    @property
    def unseen(self) -> tuple[str, ...]:
        return (*UNSEEN, *(pattern for server in self.servers.values() for pattern in server.unseen))

    @property
    def replays(self) -> bool:
        """Whether processes are brought to a state by repeating the calls that led to it."""
        remembers = any(server.restart == "replay" for server in self.servers.values())
        return remembers or self.answers == "live-misses"

    def place(self) -> Path:
        """Return a new folder for a world."""
        self._worlds += 1
        return self.own_folder() / str(self._worlds)

    def start(self, name: str, place: Path, now: float) -> McpClient:
        """Start a server on the files at `place`. Raises Unavailable if it does not start, or has changed."""
        server, root, temporary = self.servers[name], place / "state", place / "temporary"
        temporary.mkdir(parents=True, exist_ok=True)
        with open_folder(temporary) as handle:
            empty(handle)
        words = [own_path(word, self.folder, server.state, root) for word in server.command[1:]]
        named = {
            key: own_path(value, self.folder, server.state, root) for key, value in server.environment.items()
        }
        program = program_of((server.command[0], *words), self.folder, network=self.network)
        # git takes the clock from here, as do other programs with reproducible results.
        clock = dict.fromkeys(("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"), f"@{now:.0f} +0000")
        dated = {**clock, "SOURCE_DATE_EPOCH": f"{now:.0f}", **named}
        try:
            shared = [self.folder / path for path in server.shared]
            command = confined(program, (root, temporary), network=self.network, shared=shared)
            own = environment(program[0], root, temporary, dated)
            client = McpClient(command, root, own, server.seconds, server.start_seconds)
            if name not in self.listings:
                self.listings[name] = client.listing()
                if server.listing not in ("", sha256_of_listing(self.listings[name])):
                    client.end()
                    raise Unavailable(
                        f"the server {name} is not the one that was imported: its tools or version differ;"
                        " import it again with `rig tools import`"
                    )
        except McpServerFault as fault:
            raise Unavailable(
                f"the server {name} {fault}; try its command: {' '.join(program)} (here it sees its program's"
                " folder and its state; `shared` in mcp.json names more)"
            ) from fault
        return client


def sha256_of_listing(listing: ServerListing) -> str:
    """Return a hash of a server's name, version and tools, regardless of the tools' order."""
    tools = sorted(json.dumps(tool, sort_keys=True) for tool in listing.tools)
    server = {name: listing.server.get(name) for name in ("name", "version")}
    return hashlib.sha256(json.dumps([server, tools], sort_keys=True).encode()).hexdigest()


_SCHEMA = """\
CREATE TABLE files (path TEXT PRIMARY KEY NOT NULL, content TEXT);
CREATE TABLE database_rows (
    file TEXT NOT NULL, in_table TEXT NOT NULL, row TEXT NOT NULL, copies INTEGER NOT NULL,
    PRIMARY KEY (file, in_table, row)
);
CREATE TABLE server_state (
    id INTEGER PRIMARY KEY CHECK (id = 1), manifest TEXT NOT NULL, recorded TEXT, calls_sha256 TEXT NOT NULL
);
CREATE TABLE server_calls (number INTEGER PRIMARY KEY, call TEXT NOT NULL, acts INTEGER NOT NULL);
CREATE INDEX server_calls_by_call ON server_calls (call);
"""


class ServerWorld(World):
    """A world of servers. Calls made and contents of files are rows, as in any other world."""

    schema: ClassVar[str] = _SCHEMA

    def __init__(self, servers: Servers) -> None:
        super().__init__()
        self._servers = servers
        self._clients: dict[str, McpClient] = {}
        self._at: tuple[object, ...] | None = None
        self._place = servers.place()
        weakref.finalize(self, _end_all, self._clients)
        cassette = servers.cassette
        recorded = None if cassette is None else cassette.state
        base = {} if servers.answers == "replay" else servers.base
        self.database.table("server_state").insert(
            {"id": 1, "manifest": "{}", "recorded": recorded, "calls_sha256": ""}
        )
        self._show(base)

    def atomic(self) -> AbstractContextManager[object]:
        """A block that undoes nothing: what a server did before it failed stays done."""
        return nullcontext()

    def renew(self) -> None:
        """Continue with new processes, which remember nothing."""
        super().renew()
        self._drop()

    def close(self) -> None:
        self._drop()
        super().close()

    def call(self, name: str, arguments: JsonObject) -> Json:
        """Return what a tool answers. Raises ToolError if it refuses, Unavailable without its server."""
        servers, route = self._servers, self._servers.routes[name]
        arguments = normalized(arguments, route.parameters)
        request: JsonObject = {"server": route.server, "tool": route.tool, "arguments": arguments}
        again = json.dumps(request, sort_keys=True)
        request["arguments"] = servers.redact(arguments)
        before = self.state
        if servers.cassette is not None:
            done = self.database.execute("SELECT count(*) FROM server_calls WHERE call = ?", [again])
            recorded = servers.cassette.find(**request, state=before, again=done.fetchone()[0])
            if recorded is not None:
                self._note(again, route, recorded.after or before)
                return response_of(servers.restore(recorded.answer))
            if servers.answers == "replay":
                raise ToolError(NOT_RECORDED)
        answer = self._answer(route, arguments)
        if answer is None:
            raise ToolError(f"{name} gave no answer: its server ended, or took too long.")
        self._note(again, route, None)
        if servers.recording is not None:
            fields = {name: servers.redact(value) for name, value in answer.items()}
            servers.recording.add(RecordedCall(**request, before=before, after=self.state, **fields))
        if servers.cassette is not None:
            self._set("recorded", self._live_state())
        return response_of(answer)

    def list_tools(self) -> None:
        """Start all servers so that they list their tools, and end them. Raises Unavailable."""
        self.set_clock(times.read(_LISTING_CLOCK, times.INSTANT))
        self._settle()
        for name in self._servers.servers:
            self._clients[name] = self._servers.start(name, self._place, self._seconds())
        self._drop()

    @property
    def state(self) -> str:
        """A hash of everything besides the call that an answer can depend on."""
        if (recorded := self._row("recorded")) is not None:
            return str(recorded)
        return self._live_state()

    def _live_state(self) -> str:
        unseen = self._servers.unseen
        counting = {path: of for path, of in self._manifest().items() if not state.is_unseen(path, unseen)}
        manifest = state.sha256_of(counting)
        remembers = any(server.restart == "replay" for server in self._servers.servers.values())
        calls = [call for call, acts in self._calls() if acts] if remembers else []
        return hashlib.sha256(json.dumps([manifest, calls]).encode()).hexdigest() if calls else manifest

    def _answer(self, route: ToolDeclaration, arguments: JsonObject) -> JsonObject | None:
        """Return the answer of a running server; None if it fails twice at this call, from the same state."""
        for _ in range(2):
            try:
                self._settle()
                answer = self._call(route.server, route.tool, arguments)
                self._take_in()
            except McpServerFault:
                self._drop()
            except StateFault as fault:
                self._drop()
                raise ToolError(f"Refused, and undone: {fault}.") from fault
            else:
                return answer
        return None

    def _call(self, server: str, tool: str, arguments: JsonObject) -> JsonObject:
        if server not in self._clients:
            self._clients[server] = self._servers.start(server, self._place, self._seconds())
        root, temporary = str(self._place / "state"), str(self._place / "temporary")
        inside = with_texts(
            arguments, lambda text: _VIRTUAL.sub(lambda match: f"{match[1] or ''}{root}", text)
        )
        answer = self._clients[server].call(tool, inside)
        outside: JsonObject = with_texts(
            answer, lambda text: text.replace(root, ROOT).replace(temporary, "/tmp")
        )
        return outside

    def _settle(self) -> None:
        """Bring files and processes to the state in the records."""
        now = self._moment()
        if self._at == now:
            return
        for name in list(self._clients):
            same_clock = self._at is not None and self._at[0] == now[0]
            if self._servers.servers[name].restart != "never" or not same_clock:
                self._clients.pop(name).end()
        if self._servers.replays:
            self._repeat()
        else:
            self._put(self._manifest())
        self._at = self._moment()

    def _repeat(self) -> None:
        """Make the calls that led here again, starting from the initial files."""
        _end_all(self._clients)
        self._put(self._servers.base)
        for call, _ in self._calls():
            request = parse_json(call)
            self._call(request["server"], request["tool"], request["arguments"])
        if self._servers.answers == "live-misses":
            self._take_in()
        else:
            self._put(self._manifest())

    @cached_property
    def _files(self) -> Files:
        return Files(self._place / "state", self._servers.depot)

    @contextmanager
    def _frozen(self) -> Iterator[None]:
        """A block in which no server runs."""
        with ExitStack() as stack:
            for client in self._clients.values():
                stack.enter_context(client.frozen())
            yield

    def _put(self, manifest: Manifest) -> None:
        with self._frozen():
            self._files.put(manifest, self._seconds())

    def _take_in(self) -> None:
        """Record what the files hold now."""
        with self._frozen():
            manifest = self._files.take()
            self._files.age(manifest, self._seconds())
        self._show(manifest)

    def _show(self, manifest: Manifest) -> None:
        """Update the records to those of a manifest."""
        before = self._manifest()
        if before == manifest:
            return
        changed = [path for path in {**before, **manifest} if before.get(path) != manifest.get(path)]
        # What SQLite keeps beside a database belongs to it.
        changed += [BESIDE.sub("", path) for path in changed]
        files, rows = self.database.table("files"), self.database.table("database_rows")
        for path in dict.fromkeys(changed):
            self.database.execute("DELETE FROM files WHERE path = ?", [encode(path)])
            self.database.execute("DELETE FROM database_rows WHERE file = ?", [encode(path)])
        root, unseen = str(self._place / "state"), self._servers.unseen
        for path, content, inside in state.records(manifest, self._servers.depot, unseen, changed):
            files.insert({"path": encode(path), "content": encode(str(content).replace(root, ROOT))})
            for table, row in dict.fromkeys(inside):
                named = {"file": encode(path), "in_table": encode(table), "row": encode(row)}
                rows.insert({**named, "copies": inside.count((table, row))})
        self._set("manifest", json.dumps(manifest))

    def _note(self, call: str, route: ToolDeclaration, after: str | None) -> None:
        self.database.table("server_calls").insert({"call": call, "acts": int(route.action)})
        chain = f"{self._row('calls_sha256')} {call}"
        self._set("calls_sha256", hashlib.sha256(chain.encode()).hexdigest())
        if after is not None:
            self._set("recorded", after)
        else:
            self._at = self._moment()

    def _moment(self) -> tuple[object, ...]:
        """Return what files and processes must agree with: the clock, the files, and the calls so far."""
        return self._seconds(), self._row("manifest"), self._row("calls_sha256")

    def _seconds(self) -> float:
        return self.now.replace(tzinfo=UTC).timestamp()

    def _manifest(self) -> dict[str, PathState]:
        return {path: PathState(*entry) for path, entry in parse_json(self._row("manifest") or "{}").items()}

    def _calls(self) -> Iterator[tuple[str, int]]:
        yield from self.database.execute("SELECT call, acts FROM server_calls ORDER BY number").fetchall()

    def _row(self, column: str) -> Any:
        return self.database.execute(f"SELECT {column} FROM server_state").fetchone()[0]

    def _set(self, column: str, value: str) -> None:
        self.database.table("server_state").update(1, {column: value})

    def _drop(self) -> None:
        _end_all(self._clients)
        self._at = None


_LISTING_CLOCK = "2025-01-15 09:00:00"
_VIRTUAL = re.compile(rf"\A(file://)?{ROOT}(?=/|\Z)")


def _end_all(clients: dict[str, McpClient]) -> None:
    for client in clients.values():
        client.end()
    clients.clear()


def response_of(answer: JsonObject) -> Json:
    """Return what a model reads of an answer: its structured content, else its text, parsed if it is a JSON
    object or list, else its parts. Raises ToolError for a failure, or if it is too long.
    """
    if "error" in answer:
        raise ToolError(str(answer["error"].get("message") or answer["error"]))
    result = answer["result"]
    if result.get("resultType", "complete") != "complete":
        raise ToolError("The tool asks for input, and nobody is there to give it.")
    content = result.get("content", result.get("toolResult"))  # the second is that of 2024-10-07
    contents = [
        {"type": "text", "text": part} if isinstance(part, str) else part
        for part in (content if isinstance(content, list) else [content])
        if isinstance(part, str | dict)
    ]
    parts = [_part(part) for part in contents]
    if result.get("isError") in (True, "true"):
        texts = (part if isinstance(part, str) else json.dumps(part) for part in parts)
        raise ToolError("\n".join(texts) or "It failed, and does not say why.")
    value = result.get("structuredContent")
    # Where a tool returns a text, FastMCP has it as an object as well.
    is_text = isinstance(value, dict) and len(parts) == 1 and value == {"result": contents[0].get("text")}
    if value is None or is_text:
        value = parts[0] if len(parts) == 1 else parts or None
    if (size := len(json.dumps(value))) > LONGEST:
        raise ToolError(f"The answer has {size:,} characters, more than {LONGEST:,}.")
    return value


def _part(part: JsonObject) -> Json:
    kind, text = part.get("type"), part.get("text")
    if kind == "text" and isinstance(text, str):
        if text.lstrip()[:1] in ("{", "["):
            try:
                value = parse_json(text, parse_constant=lambda name: name)
            except (ValueError, RecursionError):
                return text
            return value if isinstance(value, dict | list) else text
        return text
    data = part.get("data")
    inner = part.get("resource")
    if data is None and isinstance(inner, dict):
        data = inner.get("blob")
    if isinstance(data, str):
        about = {name: part.get(name) for name in ("type", "mimeType") if isinstance(part.get(name), str)}
        return {**about, "characters": len(data), "sha256": hashlib.sha256(data.encode()).hexdigest()}
    return {name: value for name, value in part.items() if name not in ("_meta", "annotations")}
