"""Servers that people use: listed, called, restored, recorded and replayed, if they are installed."""

import json
import os
import shutil
import sqlite3
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from rig.config.schemes import ServerUse
from rig.core.calls import Call
from rig.plugins.matching import worlds
from rig.plugins.mcp.servers import CASSETTE, record_into, servers_of
from rig.world.toolbox import Simulator, find_toolbox

HERE = Path(__file__).parent
PLACE = Path(os.environ.get("RIG_MCP", ""))
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not os.environ.get("RIG_MCP"),
        reason="needs servers from npm and PyPI: python tests/support/mcp_install.py DIR, then RIG_MCP=DIR",
    ),
]
Play = Callable[..., Simulator]


def npm(name: str, *words: str) -> dict[str, Any]:
    script = PLACE / "node_modules" / "@modelcontextprotocol" / f"server-{name}" / "dist" / "index.js"
    return {"command": "node", "args": [str(script), *words]}


def pypi(name: str, *words: str) -> dict[str, Any]:
    return {"command": str(PLACE / name / "bin" / f"mcp-server-{name}"), "args": list(words)}


NOTES = "/state/notes"
SERVERS: dict[str, tuple[dict[str, Any], int, list[tuple[str, dict[str, Any]]]]] = {
    "filesystem": (
        {**npm("filesystem", "notes"), "state": ["notes"], "volatile": {"get_file_info": ["/content"]}},
        14,
        [
            ("list_directory", {"path": NOTES}),
            ("write_file", {"path": f"{NOTES}/new.txt", "content": "new"}),
            ("read_text_file", {"path": f"{NOTES}/new.txt"}),
            ("create_directory", {"path": f"{NOTES}/deep/er"}),
            ("move_file", {"source": f"{NOTES}/new.txt", "destination": f"{NOTES}/deep/er/x"}),
            ("read_text_file", {"path": f"{NOTES}/new.txt"}),
        ],
    ),
    "memory": (
        {**npm("memory"), "env": {"MEMORY_FILE_PATH": "$STATE/memory.jsonl"}},
        9,
        [
            (
                "create_entities",
                {"entities": [{"name": "Ana", "entityType": "person", "observations": ["tall"]}]},
            ),
            ("add_observations", {"observations": [{"entityName": "Ana", "contents": ["left-handed"]}]}),
            ("read_graph", {}),
            ("search_nodes", {"query": "left"}),
            ("delete_entities", {"entityNames": ["Ana"]}),
            ("open_nodes", {"names": ["Ana"]}),
        ],
    ),
    "everything": (
        npm("everything"),
        13,
        [
            ("echo", {"message": "hello"}),
            ("get-sum", {"a": 1, "b": 2}),
            ("get-tiny-image", {}),
            ("get-structured-content", {"location": "Chicago"}),
            ("get-env", {}),
            ("get-sum", {"a": 1, "b": 0.5}),
        ],
    ),
    "sequential-thinking": (
        {**npm("sequential-thinking"), "env": {"DISABLE_THOUGHT_LOGGING": "true"}, "restart": "replay"},
        1,
        [
            (
                "sequentialthinking",
                {"thought": f"{n}", "nextThoughtNeeded": True, "thoughtNumber": n, "totalThoughts": 6},
            )
            for n in range(1, 7)
        ],
    ),
    "git": (
        {
            **pypi("git", "--repository", "repo"),
            "state": ["repo"],
            "env": {
                f"GIT_{who}_{what}": "a@b.c" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
            },
        },
        12,
        [
            ("git_status", {"repo_path": "/state/repo"}),
            ("git_add", {"repo_path": "/state/repo", "files": ["new.txt"]}),
            ("git_commit", {"repo_path": "/state/repo", "message": "Add a file"}),
            ("git_log", {"repo_path": "/state/repo"}),
            ("git_create_branch", {"repo_path": "/state/repo", "branch_name": "side"}),
            ("git_branch", {"repo_path": "/state/repo", "branch_type": "local"}),
        ],
    ),
    "time": (
        pypi("time", "--local-timezone", "UTC"),
        2,
        [
            (
                "convert_time",
                {"source_timezone": "Europe/Paris", "time": f"{hour:02}:30", "target_timezone": "Asia/Tokyo"},
            )
            for hour in range(6)
        ],
    ),
    "sqlite": (
        {**pypi("sqlite", "--db-path", "shop.db"), "state": ["shop.db"], "restart": "replay"},
        6,
        [
            ("list_tables", {}),
            ("write_query", {"query": "INSERT INTO pens (name, price) VALUES ('green', 9)"}),
            ("read_query", {"query": "SELECT * FROM pens"}),
            ("append_insight", {"insight": "green is new"}),
            ("read_query", {"query": "SELECT nonsense"}),
            ("write_query", {"query": "DELETE FROM pens"}),
        ],
    ),
}


def make(folder: Path, name: str, **more: Any) -> Path:
    """A folder with a server and its state."""
    folder.mkdir()
    shutil.copytree(HERE / "filesystem" / "notes", folder / "notes")
    with sqlite3.connect(folder / "shop.db") as database:
        database.executescript((HERE / "sqlite" / "shop.sql").read_text())
    database.close()
    subprocess.run(["git", "init", "-q", folder / "repo"], check=True)
    (folder / "repo" / "new.txt").write_text("new\n")
    config = {**SERVERS[name][0], **more}
    (folder / "mcp.json").write_text(json.dumps({"mcpServers": {name: config}}))
    return folder


def calls(name: str, count: int = 30) -> list[Call]:
    some = SERVERS[name][2]
    return [Call(*some[number % len(some)]) for number in range(count)]


def outcomes(simulator: Simulator, made: list[Call]) -> list[Any]:
    return [simulator.execute(call).outcome for call in made]


@pytest.mark.parametrize("name", SERVERS)
def test_a_server_is_listed_called_restored_recorded_and_replayed(
    tmp_path: Path, play: Play, name: str
) -> None:
    folder = make(tmp_path / "box", name)
    toolbox = find_toolbox(str(folder))
    assert len(toolbox.tools) == SERVERS[name][1]
    servers = servers_of(toolbox)
    assert servers is not None
    cassette = record_into(servers)
    simulator = play(folder)
    start = simulator.snapshot()
    first = outcomes(simulator, calls(name))
    assert any(outcome.exception is None for outcome in first)
    end = simulator.snapshot()
    simulator.restore(start)
    assert outcomes(simulator, calls(name)) == first
    assert worlds.compare(simulator, end, simulator.snapshot()).lines == ()
    world: Any = simulator.world
    if world._clients:
        for process in psutil.Process(world._clients[name]._process.pid).children(recursive=True):
            with suppress(psutil.NoSuchProcess):
                process.kill()
    simulator.restore(start)
    assert outcomes(simulator, calls(name, 6)) == first[:6]

    cassette.write(folder / CASSETTE, servers.redact)
    replayed = play(folder, ServerUse("replay"))
    assert json.dumps([o.as_json() for o in outcomes(replayed, calls(name))]) == json.dumps(
        [o.as_json() for o in first]
    )
    tool, arguments = SERVERS[name][2][-1]
    texts = {key: value for key, value in arguments.items() if isinstance(value, str)}
    if texts:
        never = Call(tool, {**arguments, **dict.fromkeys(texts, "never asked")})
        assert replayed.execute(never).outcome.exception == "No answer was recorded for this call."


def test_the_environment_that_a_server_shows_holds_nothing_of_ours(
    tmp_path: Path, play: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_TOKEN", "t0ken-of-mine")
    folder = make(tmp_path / "box", "everything", env={"KEY": "k3y-of-the-server"})
    toolbox = find_toolbox(str(folder))
    servers = servers_of(toolbox)
    assert servers is not None
    cassette = record_into(servers)
    simulator = play(folder)
    shown = simulator.execute(Call("get-env", {})).response
    assert "k3y-of-the-server" in json.dumps(shown)
    assert "t0ken-of-mine" not in json.dumps(shown)
    cassette.write(folder / CASSETTE, servers.redact)
    assert "k3y-of-the-server" not in (folder / CASSETTE).read_text()
    assert "${env:KEY}" in (folder / CASSETTE).read_text()


@pytest.mark.parametrize("name", ["filesystem", "sqlite"])
def test_twenty_conversations(rig: Callable[..., Any], tmp_path: Path, name: str) -> None:
    folder = make(tmp_path / "box", name, restart="never")
    shutil.copytree(HERE / name / "conversations", folder / "conversations")
    store = tmp_path / "runs.sqlite"
    asked = ("--toolbox", folder, "--similarity", "exact", "--display", "none", "--runs", store, "--json")
    for _ in range(2):
        done = rig("run", "oracle", *asked)
        assert done.code == 0, done.err
        [arm] = done.json["arms"]
        assert (arm["conversations"], arm["success_rate"], arm["end_rate"]) == (20, 1, 1)
