"""Servers as the field has them: each oddity is read as it is meant, or refused with the server's reason."""

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import Finished

from rig.plugins.mcp.client import McpClient, McpServerFault
from rig.plugins.mcp.server_world import response_of
from rig.world.spec import ToolError

SCRIPT = Path(__file__).parents[1] / "support" / "odd_mcp_server.py"
Odd = Callable[..., McpClient]


@pytest.fixture
def odd(tmp_path: Path) -> Iterator[Odd]:
    clients: list[McpClient] = []

    def start(mode: str, seconds: float = 20.0, start_seconds: float = 60.0) -> McpClient:
        command = [sys.executable, "-I", "-S", str(SCRIPT), mode]
        clients.append(McpClient(command, tmp_path, {}, seconds, start_seconds))
        return clients[-1]

    yield start
    for client in clients:
        client.end()


@pytest.mark.parametrize(
    "mode",
    [
        *("plain", "bom", "boms", "crlf", "dribbles", "talks_first", "logs", "slow", "changes_at_once"),
        *("empty_cursor", "null_cursor", "still_cursor", "circling_cursors", "cursor_without_tools"),
        *("odd_cursor", "no_server", "no_version", "nulls_in_tool", "no_schema"),
        *("pretty", "logged", "padded", "as_events", "two_on_a_line", "bytes_before", "empty_error"),
        *("batches", "text_ids", "float_ids", "null_error", "notifies", "answers_another"),
    ],
)
@pytest.mark.slow
def test_what_is_odd_and_clear(odd: Odd, mode: str) -> None:
    client = odd(mode)
    assert [tool["name"] for tool in client.listing().tools] == ["answer"]
    assert response_of(client.call("answer", {})) == "done"
    assert response_of(client.call("answer", {})) == "done"


@pytest.mark.parametrize(
    ("mode", "version"),
    [
        ("plain", "2025-11-25"),
        ("no_version", "2025-11-25"),
        ("older", "2024-11-05"),
        ("refuses_with_data", "2024-11-05"),
        ("refuses_in_words", "2025-03-26"),
        ("refuses_without_a_word", "2024-11-05"),
        ("refuses_and_ends", "2025-06-18"),
    ],
)
def test_a_version_is_agreed_upon(odd: Odd, mode: str, version: str) -> None:
    client = odd(mode)
    assert client.listing().protocol == version
    assert response_of(client.call("answer", {})) == "done"


@pytest.mark.parametrize(
    ("mode", "text"),
    [
        ("refuses_all", "does not speak a version of MCP that rig knows: ask my sister"),
        ("future", "does not speak a version of MCP that rig knows: it answers with version 2031-01-01"),
    ],
)
def test_a_server_without_a_common_version_says_why(odd: Odd, mode: str, text: str) -> None:
    with pytest.raises(McpServerFault, match=text):
        odd(mode)


def test_an_endless_listing_ends(odd: Odd) -> None:
    with pytest.raises(McpServerFault, match="lists its tools without an end"):
        odd("endless").listing()


def test_the_time_to_start_is_a_setting(odd: Odd) -> None:
    with pytest.raises(
        McpServerFault, match=r"within 0\.2 s; if it needs longer, set `start_seconds` in mcp\.json"
    ):
        odd("slow", start_seconds=0.2)


@pytest.mark.parametrize(
    ("mode", "response"),
    [
        ("nan", {"a": "nan", "b": ["inf", "-inf"]}),
        ("overflow", {"a": "inf"}),
        ("half", "a\ufffd b \U0001f600"),
        ("half_name", {"\ufffd": 1}),
        ("nan_in_text", {"a": "NaN"}),
        ("no_content", None),
        ("null_content", [1, 2]),
        ("structured_text", "plain"),
        ("odd_parts", ["plain", "x"]),
        ("text_for_content", "plain"),
        ("part_for_content", "plain"),
        ("old_result", {"a": 1}),
        ("no_parts", {"result": 1}),
        ("link", {"type": "resource_link", "uri": "file:///x", "name": "x"}),
    ],
)
def test_every_answer_can_be_stored(odd: Odd, mode: str, response: Any) -> None:
    answer = odd(mode).call("answer", {})
    assert response_of(answer) == response
    for value in (answer, response_of(answer)):
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
        assert json.loads(text.encode()) == value


@pytest.mark.parametrize(
    ("mode", "text"), [("silent_error", "does not say why"), ("error_without_text", "image")]
)
def test_failures_without_words(odd: Odd, mode: str, text: str) -> None:
    with pytest.raises(ToolError, match=text):
        response_of(odd(mode).call("answer", {}))


def test_depth_is_bounded(odd: Odd) -> None:
    value, depth = response_of(odd("deep").call("answer", {})), 0
    while value:
        assert isinstance(value, list)
        value, depth = value[0], depth + 1
    assert depth == 149
    with pytest.raises(McpServerFault, match="sent 1 line that rig cannot read"):
        odd("too_deep", seconds=0.5).call("answer", {})


def test_what_is_no_tool_is_left_out(rig: Callable[..., Finished]) -> None:
    command = f"mcp:{sys.executable} {SCRIPT} no_tools_beside"
    listed = rig("tools", "list", command)
    assert listed.code == 0, listed.err
    assert "answer" in listed.out
    said = rig("tools", "check", command)
    assert [f"tools.{number}: needs names with values" in said.out + said.err for number in (1, 2, 4, 5)] == [
        True
    ] * 4
