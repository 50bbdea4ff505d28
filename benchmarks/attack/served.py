"""Servers whose answers are hostile: every case is a run against one, over real HTTP on the loopback."""

import json
from random import Random
from typing import Any

from benchmarks.attack.campaign import Broken, ended, folder, main, rig
from benchmarks.attack.hostile import text
from tests.support.fake_servers import PROPS, Body, FakeServer, Reply, whole

_KINDS = ("application/json", "text/event-stream", "text/html", "text/event-stream; charset=utf-16", "")


def _value(random: Random, depth: int = 0) -> Any:
    """Any JSON value, with the names that an answer has."""
    names = (
        "choices",
        "delta",
        "message",
        "tool_calls",
        "function",
        "arguments",
        "index",
        "id",
        "name",
        "content",
    )
    kind = random.randrange(9 if depth < 5 else 6)
    simple = (None, True, random.randrange(-(2**70), 2**70), random.choice((1e308, -0.0)), text(random), "{}")
    if kind < len(simple):
        return simple[kind]
    if kind == 6:
        return [_value(random, depth + 1) for _ in range(random.randrange(4))]
    return {random.choice(names): _value(random, depth + 1) for _ in range(random.randrange(4))}


def _event(random: Random) -> Any:
    """An event that is nearly one, or anything at all."""
    if random.random() < 0.3:
        return _value(random)
    function = {"name": random.choice(("AddAlarm", text(random))), "arguments": _value(random)}
    call = {"index": random.choice((0, 1, -1, None)), "id": text(random), "function": function}
    delta = random.choice(({"content": _value(random)}, {"tool_calls": [call]}, {"reasoning": text(random)}))
    finish = random.choice((None, "stop", "length", "tool_calls", _value(random)))
    return {"choices": [{"delta": delta, "finish_reason": finish}], "usage": _value(random)}


def _content(random: Random) -> bytes:
    """A stream of events, damaged in some place or other."""
    lines = [json.dumps(_event(random)) for _ in range(random.randrange(6))]
    data = "".join(
        f"{random.choice(('data: ', 'data:', 'error: ', ': '))}{line}\n\n" for line in lines
    ).encode()
    data += random.choice((b"data: [DONE]\n\n", b"", b"[" * 100_000, b"data: " + b"x" * 2**21))
    if data and random.random() < 0.3:
        place = random.randrange(len(data))
        data = data[:place] + random.randbytes(4) + data[place:]
    return data


def _server(random: Random) -> FakeServer:
    """A server that says well who it is, mostly, and never answers well."""
    status = random.choice((200, 200, 200, 200, 201, 302, 400, 404, 500, 599))

    def answer(_body: Body) -> Reply:
        content = _content(random)
        headers = {"Content-Type": random.choice(_KINDS), "Location": "http://192.0.2.1/"}
        if random.random() < 0.2:
            headers["Content-Length"] = str(random.choice((0, 7, len(content) + 9)))
        return Reply([content], status, headers)

    props = PROPS if random.random() < 0.8 else _value(random)
    return FakeServer(answer, {"/props": whole(props)}, answers_probes=False)


def case(random: Random) -> str:
    """One conversation against one server; what is stored of it can be shown."""
    with folder() as place, _server(random).serving() as server:
        store = place / "runs.sqlite"
        short = ("--only", "AddAlarm-easy", "--tools", "exact", "--similarity", "exact", "--display", "none")
        finished = rig("run", server.url, *short, "--max-calls", "2", "--timeout", "5", "--runs", store)
        if store.exists():
            shown = rig("show", "latest", "--runs", store)
            if shown.code == 2 or "\x1b" in shown.out:
                raise Broken(f"what was stored cannot be shown: {shown.err[:200]!r}")
        return ended(finished)


if __name__ == "__main__":
    main("served", case, 200)
