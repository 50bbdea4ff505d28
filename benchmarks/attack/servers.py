"""MCP servers that keep to no rule: still, calls have an outcome in time, and worlds are restored."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from random import Random
from typing import Any

import psutil

from benchmarks.attack.campaign import Broken, folder, main
from benchmarks.attack.hostile import text, value
from rig.config.schemes import LIVE
from rig.core.calls import Call
from rig.core.errors import RigError
from rig.plugins.matching import worlds
from rig.plugins.mcp.servers import load_servers
from rig.world.toolbox import Simulator

SLOWEST_S = 25.0
_SERVER = """
import json, os, random, sys, time
from pathlib import Path
seed, modern = sys.argv[1], sys.argv[2] == "modern"
chance = random.Random(seed)

def put(message):
    sys.stdout.buffer.write(json.dumps(message).encode() + b"\\n")
    sys.stdout.buffer.flush()

def raw(data):
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()

def anything(depth=0):
    kind = chance.randrange(9 if depth < 4 else 6)
    if kind == 6: return [anything(depth + 1) for _ in range(chance.randrange(4))]
    if kind > 6: return {chance.choice(KEYS): anything(depth + 1) for _ in range(chance.randrange(5))}
    plain = [None, True, -1, 1e308, float("nan"), 2**70, "", "x" * 3000, "\\ud800", "\\x1b[2J", "{", "[1]"]
    return chance.choice(plain)

KEYS = "content type text isError structuredContent resultType data resource blob mimeType".split()

def files():
    for _ in range(chance.randrange(4)):
        path = Path("data") / chance.choice(["a", "b", "c/d", "x" * 200, "\\u00e9", "shop.db", "\\n"])
        try:
            kind = chance.randrange(8)
            if kind == 0: path.mkdir(parents=True, exist_ok=True)
            elif kind == 1: os.symlink(chance.choice(["/", "..", "a", "/etc/passwd"]), path)
            elif kind == 2: os.mkfifo(path)
            elif kind == 3: os.remove(path)
            elif kind == 4: os.link("data/a", path)
            elif kind == 5: os.chmod("data", chance.choice([0, 0o777]))
            elif kind == 6: path.write_bytes(b"SQLite format 3\\0" + chance.randbytes(chance.randrange(5000)))
            else: path.write_bytes(chance.randbytes(chance.randrange(200_000)))
        except (OSError, ValueError): pass

def misbehave(number):
    kind = chance.randrange(16)
    if kind == 0: os._exit(chance.randrange(256))
    elif kind == 1: time.sleep(60)
    elif kind == 2: raw(chance.randbytes(3000) + b"\\n")
    elif kind == 3: raw(b"{" * 20000 + b"\\n")
    elif kind == 4: put({"id": chance.choice([number + 1, str(number), None, [number]]), "result": {}})
    elif kind == 5: put({"id": "s", "method": chance.choice(["sampling/createMessage", "ping", 3, None])})
    elif kind == 6: put({"method": "notifications/tools/list_changed"})
    elif kind == 7: os.close(1)
    elif kind == 8: raw(b"z" * (1 << 20) * chance.choice([1, 17]))
    elif kind == 9: sys.stderr.write("\\x1b[31m" + "e" * 200_000); sys.stderr.flush()

for line in sys.stdin.buffer:
    message = json.loads(line)
    number, method = message.get("id"), message.get("method")
    if number is None or method is None: continue
    if method == "initialize" and modern:
        put({"id": number, "error": {"code": -32022, "message": "no", "data": anything()}})
    elif method in ("initialize", "server/discover"):
        versions = {"protocolVersion": "2025-11-25", "supportedVersions": ["2026-07-28"]}
        put({"id": number, "result": {**versions, "serverInfo": {}}})
    elif method == "tools/list":
        schema = {"type": "object", "properties": {"x": {}}}
        tools = [{"name": name, "inputSchema": schema} for name in ("one", "get-two", "3")]
        odd = [{"name": anything(), "inputSchema": anything(), "description": anything()} for _ in range(2)]
        put({"id": number, "result": {"tools": tools + (odd if seed[-1] in "13579" else [])}})
    else:
        files()
        for _ in range(chance.randrange(3)): misbehave(number)
        text = {"type": "text", "text": "ok"}
        results = [anything(), {"content": anything()}, {"content": [anything(), text]}]
        results.append({"content": [anything()], "structuredContent": anything()})
        put({"id": number, chance.choice(["result"] * 4 + ["error"]): chance.choice(results)})
"""


@contextmanager
def _toolbox(random: Random) -> Iterator[Any]:
    """A toolbox of such a server."""
    with folder() as place:
        (place / "data").mkdir()
        (place / "data" / "a").write_text("a")
        (place / "server.py").write_text(_SERVER)
        era, restart = random.choice(["legacy", "modern"]), random.choice(["turn", "never", "replay"])
        words = f'"server.py", "{random.randrange(10**6)}", "{era}"'
        (place / "mcp.json").write_text(
            f'{{"mcpServers": {{"s": {{"command": "{sys.executable}", "args": [{words}], "seconds": 1,'
            f' "state": ["data"], "restart": "{restart}"}}}}}}'
        )
        yield load_servers(place, LIVE, (), "", place / "tools.json")


def case(random: Random) -> str:
    """Some calls of a server, a world that is restored, and nothing that outlives it."""
    try:
        with _toolbox(random) as toolbox:
            return _play(random, Simulator(toolbox.world(), toolbox))
    except RigError:
        return "refused"


def _play(random: Random, simulator: Simulator) -> str:
    world: Any = simulator.world
    tools = list(simulator.toolbox.tools)
    simulator.start(datetime.fromisoformat("2025-03-03 09:00"))
    start = simulator.snapshot()
    went = 0
    try:
        for _ in range(random.randrange(2, 6)):
            arguments = random.choice([{}, {"x": text(random)}, value(random)])
            began = time.monotonic()
            executed = simulator.execute(Call(random.choice(tools), arguments))
            if time.monotonic() - began > SLOWEST_S:
                raise Broken(f"a call took {time.monotonic() - began:.0f} s")
            went += executed.exception is None
        simulator.restore(start)
        if worlds.compare(simulator, start, simulator.snapshot()):
            raise Broken("a world that was restored is another one")
        world._settle()
        if (Path(world._place) / "state" / "data" / "a").read_text() != "a":
            raise Broken("a file that was restored is another one")
        return "went through" if went else "failed"
    finally:
        processes = [psutil.Process(client._process.pid) for client in world._clients.values()]
        family = [inner for process in processes for inner in (process, *process.children(recursive=True))]
        world.close()
        if psutil.wait_procs(family, 5)[1]:
            raise Broken("a process is left of a server")


if __name__ == "__main__":
    main("servers", case, 200)
