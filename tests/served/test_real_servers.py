"""The taught model in process, and the same file behind real servers: they answer alike but for ties."""

import json
import shlex
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from real_servers import (
    Server,
    fault_proxy,
    free_port,
    llama_cpp_server,
    llama_server,
    rig_environment,
    rig_process,
    vendored_by,
    vendored_llama_server,
)
from terminals import RIG, Terminal

from rig.plugins.served import FAITHFUL
from rig.plugins.twins.notes import in_short

pytestmark = [pytest.mark.slow, pytest.mark.model]

SHORT = (
    *("--limit", "6", "--tools", "exact", "--max-calls", "3", "--max-tokens", "96", "--threads", "1"),
    *("--similarity", "exact", "--display", "none"),
)


@pytest.fixture
def served(taught_tools: Path, tmp_path: Path) -> Iterator[Server]:
    with llama_server(taught_tools, tmp_path) as server:
        yield server


def by_step(store: Path) -> dict[tuple[Any, ...], dict[int, tuple[Any, ...]]]:
    """What each arm answered at each step, by conversation, turn and step, with the tokens of its prompt."""
    query = (
        "SELECT conversations.name, turn.turn, step, arms.position,"
        " tool, arguments, reply, predictions.error, prompt_tokens"
        " FROM predictions JOIN turns AS turn ON turn.id = predictions.turn JOIN arms ON arms.id = turn.arm"
        " JOIN conversations ON conversations.id = turn.conversation"
    )
    steps: dict[tuple[Any, ...], dict[int, tuple[Any, ...]]] = {}
    with sqlite3.connect(store) as database:
        for name, turn, step, position, *answer in database.execute(query):
            steps.setdefault((name, turn, step), {})[position] = tuple(answer)
    return steps


def test_llama_cpp_pythons_server_answers_as_the_file_does(taught: Path, tmp_path: Path) -> None:
    with llama_cpp_server(taught, tmp_path) as server:
        run = rig_process("run", taught, server.url, *SHORT, "--json", folder=tmp_path)
    assert run.returncode == 0, run.stderr
    steps = by_step(tmp_path / "runs.sqlite")
    assert len(steps) >= 12
    assert all(answers[0][:4] == answers[1][:4] for answers in steps.values())


def test_llama_server_gets_the_very_tokens_and_answers_alike(
    taught_tools: Path, served: Server, tmp_path: Path
) -> None:
    on = ("--flash-attention", "on")
    run = rig_process("run", taught_tools, served.url, *SHORT, *on, "--json", folder=tmp_path)
    assert run.returncode == 0, run.stderr
    steps = by_step(tmp_path / "runs.sqlite")
    first = {key: answers for key, answers in steps.items() if key[2] == 0 and len(answers) == 2}
    assert len(first) == 12
    assert all(answers[0][4] == answers[1][4] > 200 for answers in first.values())
    alike = sum(answers[0][:4] == answers[1][:4] for answers in first.values())
    assert alike >= 10  # another build of llama.cpp, whose grammar holds calls to the tools


def test_the_same_library_behind_a_server_is_faithful(taught_tools: Path, tmp_path: Path) -> None:
    with vendored_llama_server(taught_tools, tmp_path) as server:
        on = ("--flash-attention", "on", "--json")
        run = rig_process("run", taught_tools, server.url, *SHORT, *on, folder=tmp_path)
    assert run.returncode == 0, run.stderr
    (told,) = attributions(tmp_path / "runs.sqlite")
    assert {cause["cause"] for cause in told["causes"]} <= set(FAITHFUL)
    assert told["alike"] >= 9
    assert in_short(told).startswith("faithful to ")


def test_the_command_that_rig_prints_serves_the_file_as_it_was_tested(
    taught_tools: Path, tmp_path: Path
) -> None:
    played = rig_process("run", taught_tools, *SHORT, folder=tmp_path)
    assert played.returncode == 0, played.stderr
    printed = json.loads(rig_process("serve-command", "latest", "--json", folder=tmp_path).stdout)
    program, *words = shlex.split(" ".join(printed["llama_server"]["lines"]))
    assert program == "llama-server"
    with vendored_by(words, taught_tools.parent) as server:
        run = rig_process("run", taught_tools, server.url, *SHORT, folder=tmp_path)
    assert run.returncode == 0, run.stderr
    (told,) = attributions(tmp_path / "runs.sqlite")
    assert {cause["cause"] for cause in told["causes"]} <= set(FAITHFUL)
    assert in_short(told).startswith("faithful to ")


def attributions(store: Path) -> list[dict[str, Any]]:
    with sqlite3.connect(store) as database:
        query = "SELECT notes -> 'attribution' FROM arms WHERE notes IS NOT NULL ORDER BY position"
        return [json.loads(text) for (text,) in database.execute(query)]


def test_a_killed_server_ends_the_arm_and_the_run_goes_on_later(taught_tools: Path, tmp_path: Path) -> None:
    store, port = tmp_path / "runs.sqlite", free_port()
    with llama_server(taught_tools, tmp_path, port=port) as server:
        command = [sys.executable, "-m", "rig", "run", server.url, *SHORT, "--runs", str(store)]
        env = rig_environment(tmp_path)
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=tmp_path, env=env) as process:
            until = time.monotonic() + 120
            while not (store.exists() and _turns(store) >= 2):
                assert time.monotonic() < until
                time.sleep(0.1)
            server.kill()
            _, err = process.communicate(timeout=60)
        assert process.returncode == 1
    assert "nobody answers there any more; what is stored stays" in err
    assert len(err.strip().splitlines()) <= 2
    kept = _turns(store)
    assert 2 <= kept < 12
    with llama_server(taught_tools, tmp_path, port=port):
        again = rig_process("run", "--resume", "latest", "--display", "none", "--json", folder=tmp_path)
    assert again.returncode == 0, again.stderr
    assert _turns(store) == 12
    result = json.loads(again.stdout.splitlines()[-1])
    assert result["arms"][0]["errors"].keys() <= {"invalid", "call_cap", "truncated"}


@pytest.mark.terminal
@pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")
def test_the_live_view_shows_causes_by_turns(
    taught_tools: Path, served: Server, terminal: Terminal, tmp_path: Path
) -> None:
    one = ("--only", "AddAlarm-easy", *SHORT[2:-2], "--runs", "runs.sqlite")
    with fault_proxy(served.url, "tools_dropped", tmp_path) as proxy:
        command = " ".join(map(str, (RIG, "run", taught_tools, proxy.url, *one)))
        terminal.resize(160, 50)
        terminal.type(f"clear; {command}; echo code $?")
        for text in ("1/2", "2/2", "turns alike"):
            terminal.wait(text)
        screen = terminal.wait("differing", "AddAlarm-easy, turn 2: the tools are missing: AddAlarm")
        terminal.press("Enter", "q")
        terminal.wait("code 0")
    (row,) = (line.split() for line in screen.splitlines() if line.lstrip().startswith("prompt "))
    assert int(row[1]) == sum(int(cell) for cell in row[2:4] if cell.isdigit()) >= 1


def _turns(store: Path) -> int:
    with sqlite3.connect(store) as database:
        try:
            ((count,),) = database.execute("SELECT count(*) FROM turns")
        except sqlite3.OperationalError:
            return 0
        return int(count)


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
def test_no_other_place_is_connected_to(served: Server, tmp_path: Path) -> None:
    log = tmp_path / "connects"
    run = [
        "-m",
        "rig",
        "run",
        served.url,
        *SHORT,
        "--only",
        "AddAlarm-easy",
        "--runs",
        str(tmp_path / "x.sqlite"),
    ]
    command = ["strace", "-f", "-qq", "-e", "trace=connect,sendto", "-o", str(log), sys.executable, *run]
    subprocess.run(command, check=True, cwd=tmp_path)
    lines = [line for line in log.read_text().splitlines() if "AF_INET" in line]
    port = served.url.rpartition(":")[2]
    assert lines
    assert all(f"sin_port=htons({port})" in line and '"127.0.0.1"' in line for line in lines)
