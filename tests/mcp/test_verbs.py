"""Servers from the command line: imported, checked, recorded, run, killed, and never started unasked."""

import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from rig.core import opening
from rig.core.calls import Call, ExecutedCall, FaultKind, Outcome
from rig.core.errors import RigError
from rig.core.tasks import PlayedTurn, Step
from rig.methods.scripted import called, replied
from rig.plugins.mcp.cassette import NOT_RECORDED
from rig.plugins.mcp.servers import servers_of
from rig.plugins.tooltalk.method import METHOD
from rig.world.toolbox import find_toolbox

SCRIPT = Path(__file__).parents[1] / "support" / "mcp_server.py"
Box = Callable[..., Path]
Rig = Callable[..., Any]
TALK = """\
- name: list
  turns:
    - user: Write eggs into list.txt.
      calls:
        - write: {path: /state/data/list.txt, text: eggs}
      expect: same
    - user: What is on it?
      calls:
        - read: {path: /state/data/list.txt}
      expect:
        - call: {read: {path: /state/data/list.txt}}
          returns: {$regex: "eggs?"}
        - call: {read: {path: /state/data/none.txt}}
          fails: true
"""


def run(rig: Rig, tmp_path: Path, *arguments: object) -> Any:
    asked = ("--similarity", "exact", "--display", "none", "--runs", tmp_path / "runs.sqlite")
    return rig("run", *arguments, *asked, "--json")


@pytest.mark.slow
def test_from_a_command_to_a_run(rig: Rig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "a.txt").write_text("mine\n")
    command = f"mcp:GREETING=hello {sys.executable} {SCRIPT} --tools read,write,environment ./data"
    listed = rig("tools", "list", command)
    assert listed.code == 0, listed.err
    assert "mcp_server  write" in listed.out
    imported = rig("tools", "import", command, "--output", "box")
    assert imported.code == 0, imported.err
    config = json.loads((tmp_path / "box" / "mcp.json").read_text())["mcpServers"]["mcp_server"]
    assert config["state"] == ["data"]
    assert config["env"] == {"GREETING": "hello"}
    (tmp_path / "box" / "conversations").mkdir()
    (tmp_path / "box" / "conversations" / "list.yaml").write_text(TALK)
    shown = rig("tools", "info", "box")
    assert "network" in shown.out
    recorded = rig("check", "--toolbox", "box", "--record")
    assert recorded.code == 0, recorded.out
    assert "returns" in (tmp_path / "box" / "conversations" / "list.yaml").read_text()
    checked = rig("check", "--toolbox", "box")
    assert checked.code == 0, checked.out
    done = run(rig, tmp_path, "oracle", "--toolbox", "box")
    assert done.code == 0, done.err
    [arm] = done.json["arms"]
    assert (arm["success_rate"], arm["end_rate"]) == (1, 1)
    assert (tmp_path / "data" / "a.txt").read_text() == "mine\n"
    assert not (tmp_path / "data" / "list.txt").exists()
    assert not (tmp_path / "box" / "data" / "list.txt").exists()
    shown = rig(
        "--open", "box", "show", done.json["run"], "list", "--diff", "--runs", tmp_path / "runs.sqlite"
    )
    assert 'files data/list.txt: content "eggs"' in shown.out
    again = rig("--open", "box", "score", done.json["run"], "--runs", tmp_path / "runs.sqlite", "--json")
    assert again.json["arms"][0]["total"]["metrics"]["end_rate"] == 1


@pytest.mark.slow
def test_recorded_and_replayed(rig: Rig, box: Box, tmp_path: Path) -> None:
    folder = box(
        conversations={
            "list": TALK.replace("expect: same", "expect: [{call: {echo: {text: a}}, returns: a}]")
        }
    )
    done = rig("tools", "record", folder)
    assert done.code == 0, done.err
    assert "recorded; play them with --servers replay" in done.out
    again = rig("tools", "record", folder, "--json").json
    assert (again["output"], again["faults"]) == (str(folder / "calls.jsonl"), [])
    (folder / "server.py").unlink()
    for _ in range(2):
        replayed = run(rig, tmp_path, "oracle", "--toolbox", folder, "--servers", "replay")
        assert replayed.code == 0, replayed.err
        assert replayed.json["arms"][0]["success_rate"] == 1


@pytest.mark.slow
def test_what_differs_the_second_time_is_named(rig: Rig, box: Box) -> None:
    talk = "- user: Count.\n  calls: [count]\n- user: And the clock?\n  calls: [count, clock]\n"
    checked = rig("check", "--toolbox", box(conversations={"a": talk}))
    assert checked.code == 1
    assert '"restart": "replay"' in checked.out
    assert '"volatile": {"clock": ["/now"]}' in checked.out
    lines = talk.replace("calls: [count]", "calls:\n    - count").replace(
        "calls: [count, clock]", "calls:\n    - count\n    - clock"
    )
    recorded = rig("check", "--toolbox", box("recorded", conversations={"a": lines}), "--record")
    assert recorded.code == 1
    assert '"volatile": {"clock": ["/now"]}' in recorded.out
    assert "take `returns` out" not in recorded.out
    sound = box("sound", conversations={"a": talk}, restart="replay", volatile={"clock": ["/now"]})
    assert rig("check", "--toolbox", sound).code == 0


def test_what_returns_otherwise_than_written_is_named_by_its_place(rig: Rig, box: Box) -> None:
    talk = "- user: Echo.\n  calls:\n    - echo: {text: '{\"a\": [1, 2]}'}\n      returns: {a: [1, 3]}\n"
    checked = rig("check", "--toolbox", box(conversations={"a": talk}))
    assert checked.code == 1
    assert "returns 2, written is 3, at /a/1 (take `returns` out and record it again)" in checked.out


@pytest.mark.slow
def test_expectations_that_do_not_hold(rig: Rig, box: Box) -> None:
    for expect, text in (
        ("[{call: {read: {path: data/none}}, returns: x}]", "expected is not so: read"),
        (
            "[{call: {echo: {text: ab}}, returns: {$regex: b}}]",
            "in the end: expected {'$regex': 'b'}, got 'ab'",
        ),
        (
            """[{call: {echo: {text: '{"a": {"b": 1}}'}}, returns: {a: {b: 2}}}]""",
            "in the end: expected 2, got 1 at a.b",
        ),
        ("[{call: {write: {path: a, text: b}}, returns: x}]", "expect calls write, which changes things"),
        ("[{call: {absent: {}}, returns: x}]", "which is not a tool"),
        ("[{call: read}]", "either `returns` something, or `fails: true`"),
        ("other", "needs `same`, or a list"),
    ):
        folder = box(
            text[-12:].replace(" ", "-"), conversations={"a": f"- user: Hello.\n  expect: {expect}\n"}
        )
        checked = rig("check", "--toolbox", folder)
        assert (checked.code, text in checked.out) == (1, True), checked.out


@pytest.mark.slow
def test_another_way_to_the_same_end_counts(rig: Rig, box: Box, tmp_path: Path) -> None:
    """The calls are not those of the conversation, and the files are."""
    folder = box(conversations={"list": TALK})
    done = run(rig, tmp_path, "oracle", "--toolbox", folder)
    with closing(sqlite3.connect(tmp_path / "runs.sqlite")) as database, database:
        for column in ("arguments", "executed"):
            database.execute(f"UPDATE predictions SET {column} = replace({column}, '/state/data', 'data')")
    again = rig("--open", folder, "score", done.json["run"], "--runs", tmp_path / "runs.sqlite", "--json")
    assert again.code == 0, again.err
    rates = again.json["arms"][0]["total"]["metrics"]
    assert (rates["success_rate"], rates["end_rate"]) == (0, 1)


def test_a_server_in_a_store_is_not_started_unless_it_is_named(rig: Rig, box: Box, tmp_path: Path) -> None:
    command = f"mcp:{sys.executable} {SCRIPT}"
    folder = box(conversations={"list": TALK})
    done = run(rig, tmp_path, "oracle", "--toolbox", folder)
    asked = ["show", done.json["run"], "list", "--diff", "--runs", str(tmp_path / "runs.sqlite")]
    refused = subprocess.run(
        [sys.executable, "-P", "-m", "rig", *asked],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (refused.returncode, "only if you name it" in refused.stderr) == (2, True), refused.stdout
    opening.forget()
    with pytest.raises(RigError, match="only if you name it"):
        opening.require_named("r", {"toolbox": command})
    opening.name("/")
    opening.name(Path.cwd())
    with pytest.raises(RigError, match="only if you name it"):
        opening.require_named("r", {"toolbox": command})
    opening.name(command)
    opening.require_named("r", {"toolbox": command})
    opening.forget()
    found = rig("check", folder)
    assert (found.code, "run when you name it" in found.err) == (2, True)


@pytest.mark.slow
def test_a_run_that_is_killed_is_resumed_as_if_nothing_had_been(rig: Rig, box: Box, tmp_path: Path) -> None:
    talks = "".join(TALK.replace("name: list", f"name: list-{n}") for n in range(4))
    folder = box(conversations={"list": talks})
    whole = run(rig, tmp_path, "oracle", "--toolbox", folder)
    store = tmp_path / "killed.sqlite"
    asked = [
        "run",
        "oracle",
        "--toolbox",
        folder,
        "--similarity",
        "exact",
        "--display",
        "none",
        "--runs",
        store,
    ]
    command = [sys.executable, "-P", "-m", "rig", *map(str, asked)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL) as process:
        while process.poll() is None and _turns(store) < 3:
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
    assert 0 < _turns(store) < 8
    resumed = rig("run", "--resume", "latest", "--display", "none", "--runs", store, "--json")
    assert resumed.code == 0, resumed.err
    told = ("conversations", "success_rate", "end_rate", "predictions", "ground_truths")
    assert [resumed.json["arms"][0][name] for name in told] == [whole.json["arms"][0][name] for name in told]


def _turns(store: Path) -> int:
    try:
        with closing(sqlite3.connect(f"file:{store}?mode=ro", uri=True)) as database:
            return int(database.execute("SELECT count(*) FROM turns").fetchone()[0])
    except sqlite3.Error:
        return 0


@pytest.mark.slow
def test_calls_without_a_recorded_answer_are_counted_as_that(rig: Rig, box: Box, tmp_path: Path) -> None:
    folder = box(conversations={"list": TALK.replace("expect: same", "order: given")})
    assert rig("tools", "record", folder).code == 0
    defaults = {option.name: option.default for option in METHOD.options}
    asked = {"similarity": "exact", "servers": "replay", "toolbox": str(folder)}
    setup = METHOD.ready({**defaults, **asked})
    [task] = METHOD.load(folder)
    call = Call("read", {"path": "/state/data/never.txt"})
    executed = ExecutedCall(call, Outcome(exception=NOT_RECORDED))
    turn = PlayedTurn(1, (Step(called(call.name, call.arguments), executed), Step(replied("Done."))))
    faults = setup.score(task, [turn], setup.settings).faults
    assert (FaultKind.NOT_RECORDED, 1, 0) in [(fault.kind, fault.turn, fault.step) for fault in faults]

    lines = (folder / "calls.jsonl").read_text().splitlines()
    (folder / "calls.jsonl").write_text("\n".join(line for line in lines if '"tool": "write"' not in line))
    refused = run(rig, tmp_path, "oracle", "--toolbox", folder, "--servers", "replay")
    assert (refused.code, "nobody recorded what write answers" in refused.err) == (2, True)


def test_no_verb_starts_a_command_that_a_store_names(rig: Rig, box: Box, tmp_path: Path) -> None:
    folder = box(conversations={"list": TALK})
    done = run(rig, tmp_path, "oracle", "--toolbox", folder)
    opened = tmp_path / "opened"
    with closing(sqlite3.connect(tmp_path / "runs.sqlite")) as database, database:
        [(settings,)] = database.execute("SELECT settings FROM runs").fetchall()
        named = json.loads(settings) | {"toolbox": f"mcp:/usr/bin/touch {opened}"}
        database.execute("UPDATE runs SET settings = ?, finished = NULL", [json.dumps(named)])
    store = ("--runs", tmp_path / "runs.sqlite")
    for verb in (
        ("show", done.json["run"], "list", "--diff"),
        ("score", done.json["run"]),
        ("score", done.json["run"], "--reexecute"),
        ("run", "--resume", done.json["run"], "--display", "none"),
    ):
        refused = rig(*verb, *store)
        assert (refused.code, "only if you name it" in refused.err) == (2, True), refused.err
    assert not opened.exists()


@pytest.mark.slow
def test_recording_shows_each_answer_and_flags_what_looks_like_an_error(rig: Rig, box: Box) -> None:
    calls = "".join(
        f"    - {call}\n"
        for call in (
            "echo: {text: 'fine'}",
            "echo: {text: 'Access denied - path outside allowed directories'}",
            "echo: {text: 'Error: only SELECT'}",
            'echo: {text: \'{"error": "no such user"}\'}',
            "echo: {text: 'no errors in 3 files'}",
            "fail: {text: 'no luck'}",
            "echo: {text: '\\e[31mred'}",
        )
    )
    folder = box(conversations={"a": f"- user: Do it.\n  calls:\n{calls}"})
    done = rig("check", "--toolbox", folder, "--record")
    lines = done.out.splitlines()
    assert lines[:6] == [
        "a: echo: fine",
        "a: echo: looks like an error: Access denied - path outside allowed directories",
        "a: echo: looks like an error: Error: only SELECT",
        'a: echo: looks like an error: {"error": "no such user"}',
        "a: echo: no errors in 3 files",
        "a: fail: fails: no luck",
    ]
    assert "\x1b" not in lines[6]
    assert lines[7].startswith("recorded ")
    again = rig("check", "--toolbox", folder, "--record")
    assert not again.out.startswith("a: ")
    shown = rig("check", "--toolbox", folder, "--record", "--json").json
    assert isinstance(shown, list)


def test_an_answer_too_deep_to_be_read_again_is_not_recorded(rig: Rig, box: Box) -> None:
    deep = "[" * 100 + "]" * 100
    for ending, text in (
        ("yaml", f"- user: Do it.\n  calls:\n    - echo: {{text: '{deep}'}}\n"),
        ("json", json.dumps([{"user": "Do it.", "calls": [{"echo": {"text": deep}}]}])),
    ):
        folder = box(ending)
        (folder / "conversations").mkdir()
        file = folder / "conversations" / f"a.{ending}"
        file.write_text(text)
        refused = rig("check", "--toolbox", folder, "--record")
        assert refused.code == 2, refused.out
        assert re.fullmatch(r"rig: .*(nested deeper than|cannot be added to).*\n", refused.err), refused.err
        assert file.read_text() == text


def test_the_folder_of_a_server_is_not_hidden(
    box: Box, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some servers refuse every path with a hidden part, and their refusal would be recorded."""
    hidden = tmp_path / ".hidden"
    hidden.mkdir()
    monkeypatch.setattr("rig.plugins.mcp.servers.gettempdir", lambda: str(hidden))
    servers = servers_of(find_toolbox(str(box())))
    assert servers is not None
    assert "/." not in str(servers.own_folder())
