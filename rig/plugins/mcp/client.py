"""A client of one MCP server, which runs in its own process and is spoken to over pipes.

It speaks both eras of the protocol: up to 2025-11-25, a session begins with `initialize`; from 2026-07-28 on,
each request says what it needs. Whatever a server sends is bounded in time and size, and only an answer with
the number of the request counts.

The official SDK (mcp 2.3.0) listed the same tools of seven servers. It is not used: it brings 30 packages of
70 MB, runs only under asyncio, refuses answers that do not fit a server's own schema, and hides the bytes and
the process, which cassettes, confined folders and kills in the middle of a call need.
"""

import json
import math
import os
import re
import selectors
import signal
import subprocess
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from rig import __version__
from rig.core.calls import Json, JsonObject
from rig.core.errors import RigError, counted
from rig.plugins.documents.documents import json_of
from rig.world.schemas import mapped

LEGACY = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
"""The versions that begin with a handshake; the first is the one requested."""
MODERN = "2026-07-28"
_NO_METHOD, _NO_VERSION = -32601, -32022
"""How a server of the later era refuses `initialize`."""

DEEPEST = 200
"""Levels of lists and objects in a message. What works on answers later takes several calls for a level."""
LONGEST_LINE = 16 << 20
MOST_BYTES = 64 << 20
"""The most bytes that a server may send before it answers a request."""
MOST_NOISE = 1_000
"""The most lines that are not messages that a server may send before it answers a request."""
_MOST_PAGES = 100
_MOST_LOG = 1 << 16
_SETTLING_S = 0.2
"""The seconds after the first listing in which a server may still change it, as some do at the start."""


class McpServerFault(Exception):
    """A server ended, did not answer in time, or broke the protocol. Its process has been ended."""


class RequestRefused(Exception):
    """A server answered a request with an error of the protocol."""

    def __init__(self, error: Json) -> None:
        fields = error if isinstance(error, dict) else {}
        super().__init__(str(fields.get("message") or error))
        self.error = fields


class ServerListing(NamedTuple):
    """What a server says about itself, and its tools as it sent them."""

    protocol: str
    server: JsonObject
    tools: list[Json]


class McpClient:
    """A running server. Raises McpServerFault if it does not start.

    `folder` is its working directory, `environment` its whole environment, and `seconds` how long a call may
    take; `start_seconds` is how long it may take to answer before that, while it loads a runtime.
    """

    def __init__(
        self,
        command: Sequence[str],
        folder: Path,
        environment: Mapping[str, str],
        seconds: float = 30.0,
        start_seconds: float = 60.0,
    ) -> None:
        self._seconds, self._start_seconds = seconds, start_seconds
        self._command, self._folder, self._environment = command, folder, environment
        self._number = self._noise = 0
        self._moved = False
        self._listing: ServerListing | None = None
        self._meta: JsonObject = {}
        self._launch()
        try:
            self._protocol, self._server = self._begin()
        except RequestRefused as refusal:
            self.end()
            raise McpServerFault(f"does not speak a version of MCP that rig knows: {refusal}") from refusal

    def _launch(self) -> None:
        self._received = self._log = self._open = b""
        pipes: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        environment = dict(self._environment)
        try:
            self._process = subprocess.Popen(
                self._command, cwd=self._folder, env=environment, start_new_session=True, bufsize=0, **pipes
            )
        except (OSError, ValueError) as error:
            raise McpServerFault(f"does not start: {getattr(error, 'strerror', None) or error}") from error
        process = self._process
        self._pipes = [pipe for pipe in (process.stdin, process.stdout, process.stderr) if pipe is not None]
        for pipe in self._pipes:
            os.set_blocking(pipe.fileno(), False)

    @property
    def log(self) -> str:
        """The end of what the server wrote to its standard error."""
        return self._log.decode("utf-8", "replace")

    def _begin(self) -> tuple[str, JsonObject]:
        """Begin a session. Return the version of the protocol, and what the server says about itself.

        Versions are offered until the server accepts one. Raises RequestRefused with its first reason.
        """
        about = {"name": "rig", "version": __version__}
        offers = list(LEGACY)
        first: RequestRefused | None = None
        while offers:
            offer = {"protocolVersion": offers.pop(0), "capabilities": {}, "clientInfo": about}
            try:
                result = self._greet(offer, again=first is not None)
            except RequestRefused as refusal:
                first = first or refusal
                if refusal.error.get("code") in (_NO_METHOD, _NO_VERSION):
                    break
                supported = [version for version in offers if version in _versions_in(refusal)]
                offers = supported or offers
                continue
            except McpServerFault as fault:
                if first is None:
                    raise
                raise McpServerFault(f"refuses the offered versions ({first}), and {fault}") from fault
            protocol = str(result.get("protocolVersion", offer["protocolVersion"]))
            if protocol in LEGACY:
                until = time.monotonic() + self._start_seconds
                self._send({"jsonrpc": "2.0", "method": "notifications/initialized"}, until)
                return protocol, _object(result.get("serverInfo"))
            first = first or RequestRefused(f"it answers with version {protocol[:40]}")
        names = ("protocolVersion", "clientCapabilities", "clientInfo")
        fields = zip(names, (MODERN, {}, about), strict=True)
        self._meta = {"_meta": {f"io.modelcontextprotocol/{name}": value for name, value in fields}}
        try:
            result = self._request("server/discover", {}, self._start_seconds)
        except RequestRefused as refusal:
            raise first or refusal from refusal
        except McpServerFault as fault:
            raise McpServerFault(f"refuses the offered versions ({first}), and {fault}") from fault
        versions = result.get("supportedVersions")
        if not isinstance(versions, list) or MODERN not in versions:
            raise RequestRefused(f"it has {str(versions)[:100]}")
        return MODERN, _object(result.get("serverInfo"))

    def _greet(self, offer: JsonObject, *, again: bool) -> JsonObject:
        """Offer a version. A server that ended because it refused one is started `again`."""
        if again and self._has_ended():
            self.end()
            self._launch()
        try:
            return self._request("initialize", offer, self._start_seconds)
        except McpServerFault:
            if not again:
                raise
            self._launch()
            return self._request("initialize", offer, self._start_seconds)

    def _has_ended(self) -> bool:
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_SETTLING_S)
        return self._process.poll() is not None

    def listing(self) -> ServerListing:
        """Return the server's tools. Raises McpServerFault if the listing is endless or malformed."""
        if self._listing is None:
            tools = self._tools()
            self._receive(None, time.monotonic() + _SETTLING_S)
            if self._moved:
                tools, self._moved = self._tools(), False
            self._listing = ServerListing(self._protocol, self._server, tools)
        return self._listing

    def _tools(self) -> list[Json]:
        """Return the tools on all pages. A page that is sent again adds none, and is the last one."""
        tools: dict[str, Json] = {}
        cursors: list[Json] = []
        size = 0
        for _ in range(_MOST_PAGES):
            params = {"cursor": cursors[-1]} if cursors else {}
            try:
                page = self._request("tools/list", params, self._start_seconds)
            except RequestRefused as refusal:
                self._give_up(f"does not list its tools: {refusal}")
            listed = page.get("tools")
            if not isinstance(listed, list):
                self._give_up("answers tools/list without a list of tools")
            before = len(tools)
            for tool in listed:
                text = json.dumps(tool, sort_keys=True)
                size += len(text)
                tools.setdefault(text, tool)
            cursor = page.get("nextCursor")
            if not cursor or (cursor in cursors and len(tools) == before):
                return list(tools.values())
            if size > MOST_BYTES:
                break
            cursors.append(cursor)
        self._give_up("lists its tools without an end")

    def call(self, tool: str, arguments: JsonObject) -> JsonObject:
        """Call a tool and return the protocol's `{"result": …}` or `{"error": …}`.

        Raises McpServerFault if there is no answer, or if the server has changed its tools meanwhile.
        """
        if self._moved:
            self._moved = False
            if self._listing is not None and self._tools() != self._listing.tools:
                self._give_up("changed its tools")
        try:
            params = {"name": tool, "arguments": arguments}
            return {"result": self._request("tools/call", params, self._seconds)}
        except RequestRefused as refusal:
            return {"error": refusal.error or {"message": str(refusal)}}

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """A block in which the server does not run, so that it changes no file meanwhile."""
        self._signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self._signal(signal.SIGCONT)

    def _signal(self, number: int) -> None:
        with suppress(OSError):
            os.killpg(self._process.pid, number)

    def end(self) -> None:
        """End the process and everything that it started. What it held in memory is lost."""
        self._signal(signal.SIGKILL)
        self._process.wait()
        for pipe in self._pipes:
            with suppress(OSError):
                pipe.close()

    def _give_up(self, text: str) -> NoReturn:
        """End a server that breaks the protocol. Always raises McpServerFault."""
        self.end()
        lines = self.log.strip().splitlines()
        raise McpServerFault(f"{text} ({lines[-1].strip()[:200]})" if lines else text)

    def _request(self, method: str, params: JsonObject, seconds: float) -> JsonObject:
        """Send a request and return its result. Raises RequestRefused if the server answers with an error."""
        self._number += 1
        until = time.monotonic() + seconds
        message = {"jsonrpc": "2.0", "id": self._number, "method": method, "params": {**params, **self._meta}}
        self._send(message, until)
        answer = self._receive(self._number, until)
        if answer is None:
            noise = f", and sent {counted(self._noise, 'line')} that rig cannot read" if self._noise else ""
            name = "seconds" if method == "tools/call" else "start_seconds"
            remedy = f"; if it needs longer, set `{name}` in mcp.json"
            self._give_up(f"did not answer {method} within {seconds:g} s{noise}{remedy}")
        has_result = isinstance(answer.get("result"), dict)
        if answer.get("error") or ("error" in answer and not has_result):  # null beside a result is no error
            raise RequestRefused(answer["error"])
        if not has_result:
            self._give_up(f"answered {method} with neither a result nor an error")
        return dict(answer["result"])

    def _send(self, message: JsonObject, until: float) -> None:
        left = f"{json.dumps(message)}\n".encode()
        pipe, *_ = self._pipes
        while left:
            try:
                left = left[pipe.write(left) or 0 :]
            except BlockingIOError:
                pass
            except (OSError, ValueError):
                self._give_up(self._ending())
            if left:
                self._read(until, pipe)
                if time.monotonic() > until:
                    self._give_up("does not read what it is sent")

    def _receive(self, number: int | None, until: float) -> JsonObject | None:
        """Return the answer with this number; None if it does not come. Handles or drops other messages."""
        self._noise = size = 0
        while True:
            line, newline, rest = self._received.partition(b"\n")
            if newline:
                self._received = rest
                message = _message(self._joined(line))
                if isinstance(message, list):  # a batch, which the version of 2025-03-26 has
                    lines = (f"{json.dumps(part)}\n".encode() for part in message)
                    self._received = b"".join(lines) + rest
                    continue
                self._noise += message is None and bool(line.strip())
                if message is not None and "method" in message:
                    self._heed(message, until)
                elif message is not None and number is not None and _answers(message, number):
                    return message
            elif not (chunk := self._read(until)):
                return None
            else:
                size += chunk
            if self._noise > MOST_NOISE or size > MOST_BYTES or len(self._received) > MOST_BYTES:
                self._give_up("floods its output with what is no answer")
            if not newline and len(self._received) > LONGEST_LINE:
                self._give_up(f"sends a line of more than {LONGEST_LINE >> 20} MiB")

    def _joined(self, line: bytes) -> bytes:
        """Return a line; nothing within a message that goes over several lines, and all of it at its end."""
        if not self._open and line.rstrip() != b"{":
            return line
        self._open += line + b"\n"
        if line.rstrip() != b"}" and len(self._open) <= LONGEST_LINE:
            return b""
        whole, self._open = self._open, b""
        return whole

    def _heed(self, message: JsonObject, until: float) -> None:
        """Handle a request or notification from the server. The only request that gets a result is a ping."""
        if "id" not in message:
            self._moved |= message["method"] == "notifications/tools/list_changed"
        elif message["method"] == "ping":
            self._send({"jsonrpc": "2.0", "id": message["id"], "result": {}}, until)
        else:
            error = {"code": -32601, "message": "rig has no sampling, no elicitation and no roots"}
            self._send({"jsonrpc": "2.0", "id": message["id"], "error": error}, until)

    def _read(self, until: float, writing: Any = None) -> int:
        """Wait for output or, if `writing` is given, until that takes more. Return the number of bytes read.

        Returns 1 when `writing` is ready, and 0 when time is up. The server's log is read as well, so that
        the server never blocks on it.
        """
        _, out, log = self._pipes
        with selectors.DefaultSelector() as selector:
            selector.register(out, selectors.EVENT_READ)
            if not log.closed:
                selector.register(log, selectors.EVENT_READ)
            if writing is not None:
                selector.register(writing, selectors.EVENT_WRITE)
            while (left := until - time.monotonic()) > 0:
                ready = {key.fileobj for key, _ in selector.select(left)}
                # A read gives None where a pipe was said to be ready and is not.
                if log in ready and (text := log.read(1 << 16)) is not None:
                    self._log = (self._log + text)[-_MOST_LOG:]
                    if not text:
                        selector.unregister(log)
                        log.close()
                if out in ready and (chunk := out.read(1 << 18)) is not None:
                    if not chunk:
                        self._give_up(self._ending())
                    self._received += chunk
                    return len(chunk)
                if writing in ready:
                    return 1
        return 0

    def _ending(self) -> str:
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(1)
        code = self._process.poll()
        return "closed its output" if code is None else f"ended with exit code {code}"


def _answers(message: JsonObject, number: int) -> bool:
    """Return whether a message has the number of a request, which some servers send back as a text."""
    of = message.get("id")
    return not isinstance(of, bool) and of in (number, str(number))


def _versions_in(refusal: RequestRefused) -> Collection[str]:
    """Return the versions that a refusal names, in its data or its text."""
    return re.findall(r"\b\d{4}-\d\d-\d\d\b", f"{refusal} {json.dumps(refusal.error)}"[:10_000])


def _object(value: Json) -> JsonObject:
    return value if isinstance(value, dict) else {}


def _message(line: bytes) -> JsonObject | list[Json] | None:
    """Return the JSON-RPC message in a line, or several; None if it holds none.

    What JSON or UTF-8 cannot express is replaced here, since answers are stored: an infinite number by its
    name, and half of a surrogate pair or a byte of no character by the replacement character.
    """
    text = line.decode("utf-8-sig", "replace")
    try:
        message = json_of(text, "a server", DEEPEST)
    except RigError:
        message = list(_among(text)) or None
    return mapped(message, _expressible) if isinstance(message, dict | list) else None


def _among(text: str) -> Iterator[Json]:
    """Yield the messages in a line that also holds something else, such as the prefix of a log."""
    at, left = 0, _MOST_TRIES if '"jsonrpc"' in text else 0
    while left and (at := text.find("{", at)) >= 0:
        left -= 1
        end = at + 1
        with suppress(ValueError, RecursionError, RigError):
            _, end = json.JSONDecoder().raw_decode(text, at)
            message = json_of(text[at:end], "a server", DEEPEST)
            if isinstance(message, dict) and "jsonrpc" in message:
                yield message
        at = end


_MOST_TRIES = 8


def _expressible(value: Json) -> Json:
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, str) and _HALF.search(value):
        return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return value


_HALF = re.compile("[\ud800-\udfff]")
