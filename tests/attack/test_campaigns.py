"""A slice of each campaign of benchmarks/attack: nothing breaks, and what is broken would be seen."""

import json
import os
import shutil
from importlib import import_module
from pathlib import Path
from random import Random
from typing import Any

import click
import pytest
from loopback import opened

from benchmarks.attack import campaign, hostile, options, strays
from benchmarks.attack.campaign import Broken, Finished, main, rig

CHECKOUT = Path(__file__).resolve().parents[2]

SLICES = {
    "calls": 60,
    "salvaged": 300,
    "templates": 2,
    "patterns": 3,
    "models": 60,
    "conversations": 4,
    "stores": 5,
    "foreign": 4,
    "journals": 6,
    "outputs": 1,
    "injections": 300,
    "killed": 1,
    "disks": 1,
    "writes": 4,
    "allocations": 8,
    "servers": 6,
    "served": 8,
    "authored": 8,
    "calibrated": 8,
    "stopped": 4,
    "options": 8,
    "strays": 8,
    "documents": 12,
}


def test_every_campaign_has_a_slice_and_a_line_in_the_documentation() -> None:
    folder = CHECKOUT / "benchmarks" / "attack"
    campaigns = {path.stem for path in folder.glob("*.py")} - {
        "__init__",
        "campaign",
        "hostile",
        "scenes",
        "splices",
    }
    assert campaigns == SLICES.keys()
    page = (CHECKOUT / "docs" / "lab" / "reliability.md").read_text(encoding="utf-8")
    assert {name for name in campaigns if f"`{name}`" not in page} == set()


@pytest.mark.slow
@pytest.mark.parametrize("name", SLICES)
def test_a_slice_is_survived(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    if name == "disks" and not shutil.which("strace"):
        pytest.skip("strace is not installed")
    if name == "allocations":
        pytest.importorskip("_testcapi", reason="this Python cannot make allocations fail")
    if name == "served":
        opened(monkeypatch)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(CHECKOUT), os.environ.get("PYTHONPATH", "")]))
    case = import_module(f"benchmarks.attack.{name}").case
    with pytest.raises(SystemExit) as end:
        main(name, case, SLICES[name], ["--seed", "19"])
    said = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (end.value.code, said["broken"]) == (0, 0), said["first"]
    assert sum(said["outcomes"].values()) == SLICES[name]


def test_what_breaks_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    def case(random: Random) -> str:
        if random.random() < 0.5:
            raise Broken("it did")
        return "fine"

    with pytest.raises(SystemExit) as end:
        main("toy", case, 40, ["--seed", "1"])
    said = json.loads(capsys.readouterr().out)
    assert end.value.code == 1
    assert said["broken"] + said["outcomes"]["fine"] == said["count"] == 40
    assert 0 < said["broken"] < 40
    assert said["first"][0]["said"] == "Broken: it did"


def test_the_same_seed_gives_the_same_cases() -> None:
    drawn = [[hostile.value(Random(f"{seed} {n}")) for n in range(20)] for seed in (1, 1, 2)]
    assert repr(drawn[0]) == repr(drawn[1]) != repr(drawn[2])


def test_rig_in_this_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert rig("runs", "--runs", tmp_path / "no" / "runs.sqlite").code in (0, 2)
    assert "rig, version" in rig("--version").out

    def bug(arguments: Any) -> None:
        raise KeyError("a bug")

    monkeypatch.setattr(campaign, "rig_main", bug)
    with pytest.raises(KeyError):
        rig("runs")
    monkeypatch.setattr(campaign, "rig_main", lambda arguments: __import__("sys").exit(2))
    with pytest.raises(Broken, match="exit code 2"):
        rig("runs")


def test_values_are_changed_in_every_way() -> None:
    given = {"a": [1, {"b": "text"}], "c": {"d": None}}
    made = [hostile.changed(Random(n), given) for n in range(200)]
    assert given == {"a": [1, {"b": "text"}], "c": {"d": None}}
    assert sum(each == given for each in made) < 20
    assert any("a" not in each for each in made if isinstance(each, dict))
    assert {len(hostile.damaged(Random(n), bytes(9000))) for n in range(60)} > {9000}


def test_what_a_verb_does_is_watched(tmp_path: Path) -> None:
    def opened(event: str, arguments: tuple[Any, ...]) -> str | None:
        is_read = event in ("open", "sqlite3.connect") and "runs.sqlite" in str(arguments[0])
        return "it read that" if is_read else None

    (tmp_path / "runs.sqlite").write_bytes(b"none")
    assert campaign.apart("runs", "--runs", tmp_path / "runs.sqlite").code == 2
    with pytest.raises(Broken, match="it read that"):
        campaign.apart("runs", "--runs", tmp_path / "runs.sqlite", watch=opened)


@pytest.mark.slow
def test_memory_is_counted_from_the_fork(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(campaign, "MEMORY", 256 << 20)
    held = bytearray(os.urandom(1 << 20)) * 300
    assert campaign.apart("runs", "--runs", tmp_path / "runs.sqlite").code == 2
    monkeypatch.setattr(campaign, "rig_main", lambda arguments: print(len(held * 2)))
    with pytest.raises(Broken, match="GiB of memory"):
        campaign.apart("runs")


def test_every_command_is_tried_with_odd_values_or_said_why_not() -> None:
    names = {name for name, _ in options.commands()}
    assert options.UNPLAYED.keys() <= names
    assert options._ARGUMENTS.keys() >= {
        argument.name
        for name, command in options.commands()
        for argument in command.params
        if isinstance(argument, click.Argument) and argument.required and name not in options.UNPLAYED
    }


@pytest.mark.parametrize(
    ("event", "address", "is_wrong"),
    [
        ("socket.bind", ("127.0.0.1", 80), True),
        ("socket.connect", ("127.0.0.1", 80), False),
        ("socket.connect", "/run/socket", False),
        ("socket.connect", ("10.0.0.1", 80), True),
    ],
)
def test_sockets_are_seen(event: str, address: Any, is_wrong: bool) -> None:
    assert (options.sockets(event, (None, address)) is not None) == is_wrong
    assert strays._programs("subprocess.Popen", ("/bin/sh", ["sh"])) == "started sh"


def test_endings() -> None:
    assert [campaign.ended(Finished(code, "", "")) for code in range(3)] == ["done", "found", "refused"]
