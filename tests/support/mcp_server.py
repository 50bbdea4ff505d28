"""An MCP server that does whatever a test needs, by the rules or against them. It needs nothing but Python.

python mcp_server.py [--era legacy|modern|none] [--tools a,b] [--at-start hang|die|rubbish]
"""

import argparse
import ctypes
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

TEXT = {"type": "string"}
NUMBER = {"type": "integer"}
TOOLS: dict[str, dict[str, Any]] = {
    "echo": {"text": TEXT},
    "count": {},
    "read": {"path": TEXT},
    "write": {"path": TEXT, "text": TEXT},
    "link": {"path": TEXT, "target": TEXT},
    "fill": {"files": NUMBER},
    "environment": {},
    "connect": {},
    "where": {},
    "clock": {},
    "fail": {"text": TEXT},
    "refuse": {},
    "picture": {},
    "nothing": {},
    "structured": {},
    "ask": {},
    "move": {},
    "die": {"code": NUMBER},
    "die_once": {},
    "hang": {},
    "close": {},
    "flood": {},
    "chatter": {"lines": NUMBER},
    "giant": {"bytes": NUMBER},
    "wrong_id": {},
    "twice": {},
    "late": {"seconds": {"type": "number"}},
    "not_utf8": {},
    "deep": {},
    "no_result": {},
    "child": {},
    "log": {"bytes": NUMBER},
    "input": {},
    "null": {},
    "attack": {"way": TEXT, "target": TEXT},
    "dig": {"levels": NUMBER},
}
READS = ("echo", "read", "environment", "connect", "where", "clock")


def put(message: Any) -> None:
    sys.stdout.buffer.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
    sys.stdout.buffer.flush()


def raw(line: bytes) -> None:
    sys.stdout.buffer.write(line)
    sys.stdout.buffer.flush()


class Server:
    """Its tools are functions; what one returns is the text of the answer, or the whole result."""

    def __init__(self, asked: argparse.Namespace) -> None:
        self.modern = asked.era != "legacy"
        self.versions = ["2026-07-28"] if asked.era == "modern" else 5
        self.names = asked.tools.split(",") if asked.tools else list(TOOLS)
        self.calls = 0
        self.id: Any = None

    def answer(self, message: dict[str, Any]) -> None:
        self.id, method, params = message.get("id"), message.get("method"), message.get("params") or {}
        if self.id is None or method is None:
            return
        is_known = "io.modelcontextprotocol/protocolVersion" in params.get("_meta", {})
        if method == "initialize" and not self.modern:
            version = params["protocolVersion"]
            self.result({"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": INFO})
        elif method == "server/discover" and self.modern and is_known:
            self.result({"supportedVersions": self.versions, "capabilities": {}, "serverInfo": INFO})
        elif self.modern and not is_known:
            data = {"supported": ["2026-07-28"]}
            put({"id": self.id, "error": {"code": -32022, "message": "unsupported version", "data": data}})
        elif method == "tools/list":
            self.list(params.get("cursor"))
        elif method == "tools/call":
            self.call(params["name"], params.get("arguments") or {})
        else:
            put({"id": self.id, "error": {"code": -32601, "message": f"no method {method}"}})

    def list(self, cursor: str | None) -> None:
        """A page of five."""
        start = int(cursor or 0)
        tools = [tool(name) for name in self.names[start : start + 5]]
        more = {"nextCursor": str(start + 5)} if start + 5 < len(self.names) else {}
        self.result({"tools": tools, **more})

    def call(self, name: str, arguments: dict[str, Any]) -> None:
        self.calls += 1
        work: Callable[..., Any] | None = getattr(self, f"do_{name}", None)
        if work is None or name not in self.names:
            put({"id": self.id, "error": {"code": -32602, "message": f"Unknown tool: {name}"}})
            return
        try:
            value = work(**arguments)
        except OSError as error:
            value = {"isError": True, "content": [{"type": "text", "text": str(error)}]}
        if value is not None:
            self.result(value if isinstance(value, dict) else text(value))

    def result(self, value: Any) -> None:
        put({"id": self.id, "result": {**value, **({"resultType": "complete"} if self.modern else {})}})

    def do_echo(self, text: str = "") -> Any:
        return text

    def do_count(self) -> Any:
        return self.calls

    def do_read(self, path: str) -> Any:
        return Path(path).read_text()

    def do_write(self, path: str, text: str) -> Any:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_text(text)
        return f"wrote {path}"

    def do_link(self, path: str, target: str) -> Any:
        os.symlink(target, path)
        return "linked"

    def do_fill(self, files: int) -> Any:
        for number in range(files):
            Path(f"filler-{number}").touch()
        return files

    def do_environment(self) -> Any:
        return {"content": [], "structuredContent": dict(os.environ)}

    def do_connect(self) -> Any:
        return sorted(name for _, name in socket.if_nameindex())

    def do_where(self) -> Any:
        return os.getcwd()

    def do_clock(self) -> Any:
        return {"content": [], "structuredContent": {"now": time.time(), "zone": "UTC"}}

    def do_fail(self, text: str) -> Any:
        return {"isError": True, "content": [{"type": "text", "text": text}]}

    def do_refuse(self) -> None:
        put({"id": self.id, "error": {"code": -32000, "message": "not today"}})

    def do_picture(self) -> Any:
        return {
            "content": [
                {"type": "text", "text": "here"},
                {"type": "image", "data": "aGk=", "mimeType": "a/b"},
            ]
        }

    def do_nothing(self) -> Any:
        return {"content": []}

    def do_structured(self) -> Any:
        return text('{"a": [1, 2]}')

    def do_ask(self) -> Any:
        for number, method in enumerate(
            ("sampling/createMessage", "elicitation/create", "roots/list", "ping")
        ):
            put({"id": f"s{number}", "method": method, "params": {}})
        answers = [json.loads(sys.stdin.buffer.readline()) for _ in range(4)]
        return [answer.get("error", {}).get("code") for answer in answers]

    def do_move(self) -> Any:
        self.names = self.names[1:]
        put({"method": "notifications/tools/list_changed"})
        return "moved"

    def do_die(self, code: int = 3) -> None:
        print("a last word", file=sys.stderr, flush=True)
        os._exit(code)

    def do_die_once(self) -> Any:
        if Path(__file__).with_name("deadly").exists():
            os._exit(1)
        return "alive"

    def do_hang(self) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        while True:
            time.sleep(60)

    def do_close(self) -> None:
        os.close(1)
        time.sleep(60)

    def do_flood(self) -> None:
        while True:
            raw(
                json.dumps(
                    {"jsonrpc": "2.0", "method": "notifications/message", "params": "x" * 9000}
                ).encode()
                + b"\n"
            )

    def do_chatter(self, lines: int) -> Any:
        raw(b"this is no message\n{]\n\xff\xfe\n[1]\n\n" * lines)
        return "heard"

    def do_giant(self, bytes: int) -> Any:
        return "g" * bytes

    def do_wrong_id(self) -> None:
        put({"id": 10**9, "result": text("not for you")})
        put({"id": f"x{self.id}", "result": text("nor this")})
        put({"id": True, "result": text("nor this")})

    def do_null(self) -> None:
        put({"id": self.id, "error": None, "result": text("no error")})

    def do_twice(self) -> Any:
        self.result(text("first"))
        return "second"

    def do_late(self, seconds: float) -> Any:
        time.sleep(seconds)
        return "late"

    def do_not_utf8(self) -> None:
        raw(b'{"jsonrpc": "2.0", "id": %d, "result": {"content": "\xff"}}\n' % self.id)

    def do_deep(self) -> None:
        raw(b'{"jsonrpc": "2.0", "id": %d, "result": %s}\n' % (self.id, b"[" * 100_000))

    def do_no_result(self) -> None:
        put({"id": self.id, "result": [1]})

    def do_child(self) -> Any:
        return subprocess.Popen(["sleep", "600"], start_new_session=True).pid

    def do_log(self, bytes: int) -> Any:
        sys.stderr.write("l" * bytes)
        sys.stderr.flush()
        return "logged"

    def do_dig(self, levels: int) -> Any:
        """Folders in folders, deeper than any path can name."""
        home = os.open(".", os.O_RDONLY)
        for _ in range(levels):
            os.mkdir("d")
            os.chdir("d")
        os.fchdir(home)
        return levels

    def do_attack(self, way: str, target: str) -> Any:
        """Whether something works that no server should be able to do."""
        try:
            getattr(self, f"attack_{way}")(target)
        except OSError as error:
            return f"{type(error).__name__}: {error.strerror}"
        return "it works"

    def attack_network(self, target: str) -> None:
        socket.create_connection(("127.0.0.1", int(target)), 2).close()

    def attack_machine(self, target: str) -> None:
        socket.socket(socket.AF_VSOCK).close()

    def attack_sockets(self, target: str) -> None:
        with socket.socket(socket.AF_UNIX) as own:
            own.connect(target.replace("@", "\0"))

    attack_abstract = attack_sockets

    def attack_writes(self, target: str) -> None:
        with open(target, "r+") as file:
            file.write("x")

    def attack_reads(self, target: str) -> None:
        with open(target) as file:
            file.read()

    def attack_modes(self, target: str) -> None:
        os.utime(target, (0, 0))

    def attack_services(self, target: str) -> None:
        library = ctypes.CDLL(None, use_errno=True)
        library.shmat.restype = ctypes.c_ssize_t
        self.checked(library.shmat(int(target), None, 0))

    def attack_keys(self, target: str) -> None:
        call, key = map(int, target.split())
        self.checked(ctypes.CDLL(None, use_errno=True).syscall(call, 11, key, bytes(8), 8))

    def checked(self, result: int) -> None:
        if result < 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))

    def attack_terminal(self, target: str) -> None:
        os.write(os.open(target, os.O_WRONLY | os.O_NOCTTY), b"\x1b]0;mine\a")

    def attack_kernel(self, target: str) -> None:
        os.close(os.open(target, os.O_WRONLY))

    attack_processes = attack_reads

    def attack_signals(self, target: str) -> None:
        os.kill(int(target), 0)

    def do_input(self) -> None:
        put({"id": self.id, "result": {"resultType": "input_required", "inputRequests": {}}})


INFO = {"name": "scripted", "version": "1"}


def text(value: Any) -> dict[str, Any]:
    told = value if isinstance(value, str) else json.dumps(value)
    return {"content": [{"type": "text", "text": told}]}


def tool(name: str) -> dict[str, Any]:
    properties = TOOLS[name]
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return {
        "name": name,
        "title": name.title(),
        "description": f"It does {name}.",
        "inputSchema": schema,
        "annotations": {"readOnlyHint": name in READS},
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--era", default="legacy")
    parser.add_argument("--tools", default="")
    parser.add_argument("--at-start", default="")
    asked, _ = parser.parse_known_args()
    if asked.at_start == "hang":
        time.sleep(600)
    if asked.at_start == "die":
        sys.exit("no such thing")
    if asked.at_start == "rubbish":
        raw(b"Welcome!\n" * 3)
    server = Server(asked)
    for line in sys.stdin.buffer:
        server.answer(json.loads(line))


if __name__ == "__main__":
    main()
