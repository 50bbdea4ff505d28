"""The client of one server, against a server that keeps to the protocol of either era, or to none."""

import json
import os
import selectors
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from rig.plugins.mcp.client import McpClient, McpServerFault
from rig.plugins.mcp.server_world import response_of
from rig.world.spec import ToolError

Start = Callable[..., McpClient]


def answered(client: McpClient, tool: str, **arguments: Any) -> Any:
    return response_of(client.call(tool, arguments))


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_both_eras_of_the_protocol(client: Start, era: str) -> None:
    server = client("--era", era)
    listing = server.listing()
    assert listing.protocol == {"legacy": "2025-11-25", "modern": "2026-07-28"}[era]
    assert listing.server["name"] == "scripted"
    assert [tool["name"] for tool in listing.tools][:3] == ["echo", "count", "read"]
    assert len(listing.tools) == 36  # of eight pages
    assert answered(server, "echo", text="hé\n") == "hé\n"
    assert answered(server, "count") == "2"
    assert answered(server, "structured") == {"a": [1, 2]}


def test_what_a_model_reads_of_an_answer(client: Start) -> None:
    server = client()
    picture = answered(server, "picture")
    assert picture[0] == "here"
    assert picture[1].keys() == {"type", "mimeType", "characters", "sha256"}
    assert answered(server, "nothing") is None
    for tool, arguments, text in (
        ("fail", {"text": "no luck"}, "no luck"),
        ("refuse", {}, "not today"),
        ("unknown", {}, "Unknown tool: unknown"),
        ("input", {}, "asks for input"),
    ):
        with pytest.raises(ToolError, match=text):
            answered(server, tool, **arguments)
    with pytest.raises(ToolError, match="2,000,002 characters, more than 1,048,576"):
        answered(server, "giant", bytes=2_000_000)


def test_nothing_that_a_server_asks_for_is_given(client: Start) -> None:
    server = client()
    assert answered(server, "ask") == [-32601, -32601, -32601, None]
    assert answered(server, "echo", text="on it goes") == "on it goes"


def test_rubbish_between_messages_is_passed_over(client: Start) -> None:
    server = client("--at-start", "rubbish")
    assert answered(server, "chatter", lines=200) == "heard"
    assert answered(server, "log", bytes=300_000) == "logged"
    assert len(server.log) <= 1 << 16
    assert answered(server, "twice") == "first"
    assert answered(server, "null") == "no error"
    assert answered(server, "echo", text="mine") == "mine"


def test_bytes_of_no_character_are_replaced(client: Start) -> None:
    assert client().call("not_utf8", {}) == {"result": {"content": "\N{REPLACEMENT CHARACTER}"}}


@pytest.mark.parametrize(
    ("tool", "arguments", "text"),
    [
        ("die", {"code": 3}, r"ended with exit code 3 \(a last word\)"),
        ("hang", {}, "did not answer tools/call within 1 s"),
        ("close", {}, "closed its output"),
        ("wrong_id", {}, "did not answer"),
        ("late", {"seconds": 5}, "did not answer"),
        ("deep", {}, "did not answer"),
        ("no_result", {}, "neither a result nor an error"),
        ("chatter", {"lines": 2_000}, "floods"),
    ],
)
@pytest.mark.slow
def test_a_server_that_gives_no_answer(client: Start, tool: str, arguments: Any, text: str) -> None:
    server = client(seconds=1.0)
    server.listing()
    began = time.monotonic()
    with pytest.raises(McpServerFault, match=text):
        server.call(tool, arguments)
    assert time.monotonic() - began < 8
    assert server._process.poll() is not None
    with pytest.raises(McpServerFault):
        server.call("echo", {"text": "?"})


@pytest.mark.slow
def test_floods_and_giant_lines_are_bounded(client: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    before = psutil.Process().memory_info().rss
    for tool, arguments, text in (
        ("flood", {}, "floods"),
        ("giant", {"bytes": 40 << 20}, "a line of more than 16 MiB"),
    ):
        server = client()
        with pytest.raises(McpServerFault, match=text):
            server.call(tool, arguments)
    assert psutil.Process().memory_info().rss - before < 400 << 20


def test_a_server_that_changes_its_tools(client: Start) -> None:
    server = client()
    server.listing()
    assert answered(server, "move") == "moved"
    with pytest.raises(McpServerFault, match="changed its tools"):
        server.call("echo", {"text": ""})


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("--at-start", "die"), r"ended with exit code 1 \(no such thing\)"),
        (
            ("--at-start", "hang"),
            "did not answer initialize within 1 s; if it needs longer, set `start_seconds`",
        ),
        (("--era", "none"), "a version of MCP that rig knows: it has 5"),
    ],
)
def test_a_server_that_does_not_start(client: Start, words: tuple[str, ...], text: str) -> None:
    with pytest.raises(McpServerFault, match=text):
        client(*words, start_seconds=1.0)


def test_no_program_and_no_server(tmp_path: Path) -> None:
    with pytest.raises(McpServerFault, match="does not start"):
        McpClient([str(tmp_path / "none")], tmp_path, {})
    with pytest.raises(McpServerFault, match="ended with exit code 0"):
        McpClient(["/bin/echo", json.dumps({"jsonrpc": "2.0"})], tmp_path, {})


def test_a_server_that_does_not_read(client: Start, tmp_path: Path) -> None:
    server = client(seconds=1.0)
    server.call("echo", {"text": ""})
    os.kill(server._process.pid, 19)
    with pytest.raises(McpServerFault, match=r"does not read|did not answer"):
        server.call("echo", {"text": "x" * 5_000_000})


class Hasty(selectors.DefaultSelector):
    """It says of every pipe that it is ready."""

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        super().select(0.001)
        return [(key, key.events) for key in self.get_map().values()]


def test_a_pipe_that_is_not_ready_has_not_ended(client: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selectors, "DefaultSelector", Hasty)
    server = client()
    assert answered(server, "echo", text="soon") == "soon"
    assert not server._pipes[2].closed
