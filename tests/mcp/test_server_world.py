"""Worlds that servers act in: restored whatever happened, apart from each other, and without a network."""

import json
import random
import re
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from rig.config.schemes import ServerUse
from rig.core.calls import Call, Outcome
from rig.core.errors import RigError
from rig.plugins.matching import worlds
from rig.plugins.mcp import state
from rig.plugins.mcp.isolation import confined, sandbox
from rig.plugins.mcp.server_world import Servers
from rig.plugins.mcp.servers import _declared, servers_of
from rig.world.spec import Unavailable
from rig.world.toolbox import Simulator, find_toolbox

Box = Callable[..., Path]
Play = Callable[..., Simulator]


def does(simulator: Simulator, tool: str, **arguments: Any) -> Any:
    """The response of a call that has to go through."""
    outcome = simulator.execute(Call(tool, arguments)).outcome
    assert outcome.exception is None, outcome
    return outcome.response


def fails(simulator: Simulator, tool: str, **arguments: Any) -> str:
    outcome: Outcome = simulator.execute(Call(tool, arguments)).outcome
    assert outcome.exception is not None, outcome
    return outcome.exception


def place(simulator: Simulator) -> Path:
    world: Any = simulator.world
    return Path(world._place)


def test_files_are_records_and_are_restored(play: Play) -> None:
    simulator = play()
    start = simulator.snapshot()
    assert does(simulator, "read", path="/state/data/a.txt") == "hello\n"
    assert does(simulator, "write", path="/state/data/new/b.txt", text="b") == "wrote /state/data/new/b.txt"
    does(simulator, "write", path="data/a.txt", text="changed")
    changed = simulator.snapshot()
    lines = worlds.compare(simulator, start, changed).lines
    assert 'the world should have files: path "data/a.txt", content "hello\\n"' in lines
    assert 'the world should not have files: path "data/new/b.txt", content "b"' in lines
    simulator.restore(start)
    assert does(simulator, "read", path="/state/data/a.txt") == "hello\n"
    assert "No such file" in fails(simulator, "read", path="/state/data/new/b.txt")
    simulator.restore(changed)
    assert does(simulator, "read", path="/state/data/new/b.txt") == "b"
    assert worlds.compare(simulator, changed, simulator.snapshot()).lines == ()


def test_answers_are_the_same_wherever_a_world_lies(play: Play) -> None:
    simulator = play()
    other = simulator.twin()
    other.start(__import__("datetime").datetime(2025, 3, 3, 9))
    assert does(simulator, "where") == does(other, "where") == "/state"
    does(simulator, "write", path="/state/data/a.txt", text="mine")
    assert does(other, "read", path="/state/data/a.txt") == "hello\n"
    assert place(simulator) != place(other)


@pytest.mark.parametrize(("restart", "counts"), [("turn", "1"), ("never", "4"), ("replay", "3")])
def test_what_a_process_remembers(play: Play, restart: str, counts: str) -> None:
    simulator = play(restart=restart)
    does(simulator, "count")
    does(simulator, "count")
    middle = simulator.snapshot()
    assert does(simulator, "count") == "3"
    simulator.restore(middle)
    assert does(simulator, "count") == counts


def test_what_was_not_changed_meanwhile_goes_on(play: Play) -> None:
    simulator = play()
    does(simulator, "count")
    simulator.restore(simulator.snapshot())
    assert does(simulator, "count") == "2"


def test_a_call_at_which_a_server_dies_changes_nothing(play: Play) -> None:
    simulator = play()
    does(simulator, "write", path="data/a.txt", text="before")
    assert fails(simulator, "die") == "die needs the argument code."
    assert "gave no answer" in fails(simulator, "die", code=1)
    assert does(simulator, "read", path="data/a.txt") == "before"


def test_a_server_that_dies_once_is_asked_again(
    box: Box, play: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    deadly = box() / "deadly"
    deadly.touch()
    start, starts = Servers.start, []

    def counted(self: Servers, *arguments: Any) -> Any:
        starts.append(arguments)
        if len(starts) == 3:  # after the one that lists the tools
            deadly.unlink()
        return start(self, *arguments)

    monkeypatch.setattr(Servers, "start", counted)
    assert does(play(deadly.parent), "die_once") == "alive"
    assert len(starts) == 3


def test_a_killed_server_is_started_again(play: Play) -> None:
    simulator = play()
    does(simulator, "write", path="data/a.txt", text="before")
    world: Any = simulator.world
    for child in psutil.Process(world._clients["scripted"]._process.pid).children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            child.kill()
    assert does(simulator, "read", path="data/a.txt") == "before"


@pytest.mark.slow
def test_a_server_that_never_answers_ends(play: Play) -> None:
    simulator = play(seconds=0.5)
    simulator.execute(Call("echo", {"text": ""}))
    began = time.monotonic()
    assert "took too long" in fails(simulator, "hang")
    assert time.monotonic() - began < 8
    assert does(simulator, "echo", text="again") == "again"


def test_who_may_read_and_write_is_put_back(tmp_path: Path) -> None:
    folder, files = tmp_path / "root" / "a", state.Files(tmp_path / "root", tmp_path / "depot")
    folder.mkdir(parents=True)
    (folder / "b").write_text("x")
    files.put(manifest := files.take(), 0.0)
    (folder / "b").chmod(0o400)
    folder.chmod(0o500)
    files.put(manifest, 0.0)
    assert [path.stat().st_mode & 0o777 for path in (folder, folder / "b")] == [0o755, 0o644]


def test_more_than_a_state_may_hold_is_refused(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state, "MOST_ENTRIES", 50)
    simulator = play()
    start = simulator.snapshot()
    assert "Refused, and undone: there are more than 50 files" in fails(simulator, "fill", files=100)
    assert does(simulator, "fill", files=5) == "5"
    assert "filler-4" in str(worlds.compare(simulator, start, simulator.snapshot()))
    assert not (place(simulator) / "state" / "filler-5").exists()


@pytest.mark.slow
@pytest.mark.parametrize("restart", ["turn", "never"])
def test_a_server_that_digs_blocks_nobody(play: Play, restart: str) -> None:
    simulator = play(restart=restart)
    start = simulator.snapshot()
    for _ in range(2):
        assert "Refused, and undone: its folders lie deeper than 64 levels" in fails(
            simulator, "dig", levels=3_000
        )
        assert does(simulator, "read", path="data/a.txt") == "hello\n"
    assert does(simulator, "dig", levels=10) == "10"
    simulator.restore(start)
    does(simulator, "echo", text="")
    assert [path.name for path in (place(simulator) / "state").iterdir()] == ["data"]


def test_links_are_kept_and_never_followed(play: Play, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept.txt").write_text("kept")
    simulator = play()
    start = simulator.snapshot()
    does(simulator, "link", path="data/away", target=str(outside))
    does(simulator, "link", path="loop", target="loop")
    linked = simulator.snapshot()
    simulator.restore(start)
    does(simulator, "echo", text="")
    assert sorted(path.name for path in (place(simulator) / "state").iterdir()) == ["data"]
    simulator.restore(linked)
    does(simulator, "echo", text="")
    assert (place(simulator) / "state" / "data" / "away").is_symlink()
    simulator.restore(start)
    does(simulator, "echo", text="")
    assert (outside / "kept.txt").read_text() == "kept"


def test_a_server_has_its_own_environment_and_no_network(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_OF_MINE", "s3cret")
    monkeypatch.setenv("NAMED", "by name")
    simulator = play(env={"GIVEN": "yes", "FROM": "${NAMED}", "PLACE": "$STATE/data"})
    found = does(simulator, "environment")
    assert "SECRET_OF_MINE" not in found
    assert (found["GIVEN"], found["FROM"], found["PLACE"]) == ("yes", "by name", "/state/data")
    assert found["GIT_AUTHOR_DATE"] == "@1740992400 +0000"
    assert found["HOME"] == "/state"
    if "network" not in sandbox(network=False)[1]:
        assert does(simulator, "connect") == ["lo"]


def test_limits_hold_in_whatever_shell_there_is(tmp_path: Path) -> None:
    command = confined(("/bin/sh", "-c", "ulimit -f; ulimit -c"), (tmp_path,), network=True)
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
    assert (done.stdout.split()[1], done.stderr) == ("0", "")
    assert done.stdout.split()[0] in ("2097152", "1048576")


def test_a_server_writes_to_its_own_files_alone(play: Play, tmp_path: Path) -> None:
    if "writes" in sandbox(network=False)[1]:
        pytest.skip("this system does not keep servers from writing elsewhere")
    simulator = play()
    outside = tmp_path / "outside.txt"
    for path in ("/outside.txt", "/etc/outside.txt", f"{Path.home()}/outside.txt", "/proc/sys/vm/swappiness"):
        failure = fails(simulator, "write", path=path, text="x")
        assert re.search("Read-only|No such file|denied", failure), path
    simulator.execute(Call("write", {"path": str(outside), "text": "x"}))
    assert does(simulator, "write", path="/state/data/in.txt", text="x")
    assert not outside.exists()


@pytest.mark.slow
def test_nothing_is_left_of_a_server(play: Play) -> None:
    simulator = play()
    does(simulator, "child")
    world: Any = simulator.world
    process = psutil.Process(world._clients["scripted"]._process.pid)
    family = [process, *process.children(recursive=True)]
    world.close()
    _, alive = psutil.wait_procs(family, 5)
    assert "processes" in sandbox(network=False)[1] or alive == []


def _vandal(simulator: Simulator, calls: int, seed: int) -> None:
    """Calls that write, link, fill, kill and ask for what is not there."""
    chance = random.Random(seed)
    for number in range(calls):
        path = chance.choice(
            ["/state/data/a.txt", f"data/{number % 40}/x", "a.txt", "/state/../up", "data", "\0", "é" * 90]
        )
        name, arguments = chance.choice(
            [
                ("write", {"path": path, "text": "vandal" * chance.randrange(50)}),
                ("write", {"path": path, "text": "\ud800"}),
                ("link", {"path": f"link-{number % 7}", "target": chance.choice(["/", "data", "../.."])}),
                ("read", {"path": path}),
                ("fill", {"files": number % 5}),
                ("count", {}),
                ("echo", {"text": 3}),
                ("nothing", {"much": [1]}),
                *([("die", {"code": 1})] if number % 50 == 0 else []),
            ]
        )
        simulator.execute(Call(name, arguments))


@pytest.mark.parametrize("calls", [120, pytest.param(800, marks=pytest.mark.slow)])
def test_a_vandal_leaks_nothing_into_the_next_turn(play: Play, calls: int) -> None:
    simulator = play()
    other = simulator.twin()
    other.start(__import__("datetime").datetime(2025, 3, 3, 9))
    start = simulator.snapshot()
    _vandal(simulator, calls, 7)
    assert worlds.compare(simulator, start, simulator.snapshot())
    simulator.restore(start)
    for world in (simulator, other):
        assert does(world, "read", path="/state/data/a.txt") == "hello\n"
        assert does(world, "count") == "2"
        assert worlds.compare(world, start, world.snapshot()).lines == ()
        files = sorted(path.name for path in (place(world) / "state").rglob("*"))
        assert files == ["a.txt", "data"]


def test_a_name_that_rig_gave_can_be_a_tools_own() -> None:
    listed = {"one": [{"name": name, "inputSchema": {}} for name in ("a b", "a\tb", "a_b_2", "a_b")]}
    tools = _declared(Path("here"), listed).tools
    assert [(tool.name, tool.tool) for tool in tools] == [
        ("a_b", "a b"),
        ("a_b_2", "a\tb"),
        ("a_b_2_2", "a_b_2"),
        ("a_b_3", "a_b"),
    ]


def test_several_servers_and_names_that_clash(box: Box, play: Play) -> None:
    folder = box()
    config = json.loads((folder / "mcp.json").read_text())
    entry = config["mcpServers"]["scripted"]
    config["mcpServers"] = {
        "one": {**entry, "args": ["server.py", "--tools", "echo,write,count"]},
        "two": {**entry, "args": ["server.py", "--era", "modern", "--tools", "echo,read"]},
        "off": {"command": "nothing", "disabled": True},
    }
    (folder / "mcp.json").write_text(json.dumps(config))
    simulator = play(folder)
    assert list(simulator.toolbox.tools) == ["one.echo", "write", "count", "two.echo", "read"]
    assert does(simulator, "one.echo", text="1") + does(simulator, "two.echo", text="2") == "12"
    does(simulator, "write", path="data/a.txt", text="by one")
    assert does(simulator, "read", path="data/a.txt") == "by one"
    assert [simulator.toolbox.is_action(name) for name in ("write", "read", "two.echo")] == [
        True,
        False,
        False,
    ]


def test_a_server_that_is_not_what_was_imported(box: Box, play: Play) -> None:
    with pytest.raises(RigError, match="not the one that was imported"):
        play(box(listing="0" * 64))


def test_a_server_that_cannot_be_had_is_no_outcome(box: Box, play: Play) -> None:
    folder = box()
    simulator = play(folder)
    does(simulator, "echo", text="")
    (folder / "server.py").unlink()
    simulator.restore(simulator.snapshot())
    simulator.world.renew()
    with pytest.raises(Unavailable, match="the server scripted ended with exit code 2"):
        simulator.execute(Call("echo", {"text": ""}))


@pytest.mark.parametrize(
    ("more", "text"),
    [
        ({"state": ["../up"]}, "`state` has paths in this folder"),
        ({"state": ["nothing"]}, "no such file or folder"),
        ({"restart": "sometimes"}, "is one of turn, never, replay"),
        ({"seconds": 0}, "needs a number of seconds"),
        ({"command": "no-such-program"}, "no such program"),
        ({"env": {"A": "${NOT_SET_AT_ALL}"}}, "is not set in your environment"),
        ({"args": ["server.py", "."]}, "works on"),
        ({"args": ["server.py", "--db=mcp.json"]}, "works on"),
        (
            {"args": ["server.py", "--db=mcp.json"], "state": ["data"], "url": "x", "command": 3},
            "no such program",
        ),
    ],
)
def test_faults_of_mcp_json(box: Box, play: Play, more: Any, text: str) -> None:
    if text == "no such program" and more["command"] == 3:
        more = {**more, "args": ["server.py"]}
    with pytest.raises(RigError, match=text):
        play(box(**more))


def test_a_link_in_the_state_that_leads_out(box: Box, play: Play) -> None:
    folder = box()
    (folder / "data" / "out").symlink_to("/etc")
    with pytest.raises(RigError, match="a link that leads out of the state"):
        play(folder)


def test_other_peoples_forms_of_mcp_json(box: Box) -> None:
    folder = box()
    entry = json.loads((folder / "mcp.json").read_text())["mcpServers"]["scripted"]
    entry["args"] = ["${workspaceFolder}/server.py"]
    (folder / "mcp.json").write_text(
        json.dumps({"servers": {"it": {"type": "stdio", **entry}}, "inputs": []})
    )
    assert "echo" in find_toolbox(str(folder)).tools
    (folder / "mcp.json").write_text(
        json.dumps({"servers": {"it": {"url": "https://x"}}, "x": {"command": 1}})
    )
    with pytest.raises(RigError, match="needs a command and speaks over stdio"):
        find_toolbox(str(folder))


def test_what_can_change_an_answer_is_in_the_fingerprint(box: Box) -> None:
    folder = box()
    first = find_toolbox(str(folder))
    assert first.fingerprint.keys() == {
        *("servers", "server_network", "server_writes", "server_reads", "listing_sha256", "state_sha256")
    }
    (folder / "data" / "b.txt").write_text("more")
    second = find_toolbox(str(folder))
    assert second.fingerprint["state_sha256"] != first.fingerprint["state_sha256"]
    assert second.sha256 == first.sha256
    opened = find_toolbox(str(folder), ServerUse("live", True))
    assert opened.fingerprint["server_network"] == "open"
    assert servers_of(opened) is not None


def test_rows_of_a_database_are_records(box: Box, play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    from sqlite_utils import Database

    folder = box()
    Database(folder / "data" / "shop.db").table("pens").insert_all(
        [{"id": 1, "name": "red"}, {"id": 2, "name": "blue"}]
    )
    simulator = play(folder)
    start = simulator.snapshot()
    with Database(folder / "data" / "shop.db").conn as connection:
        connection.execute("UPDATE pens SET name = 'green' WHERE id = 2")
    other = play(folder)
    lines = worlds.compare(simulator, start, other.snapshot()).lines
    assert len(lines) == 2
    assert "(2, 'blue')" in lines[0]
    assert "(2, 'green')" in lines[1]
    assert sys.executable
