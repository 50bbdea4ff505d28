"""Bytes that are no UTF-8, in whatever a person can name: one line that can be printed, never a traceback."""

import json
import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import small_talks
import small_world

from rig.core.errors import RigError
from rig.core.events import Event, TurnFinished
from rig.plugins.llama.files.derived import local_registry
from rig.plugins.tooltalk_tools.seeds import world_from
from rig.running.control import Control
from rig.running.runner import run
from rig.scoring.answers import Answer, add_answers, read_answers
from rig.scoring.similarity import load
from rig.store import Runs

Rig = Callable[..., Any]
ODD = "\udcff\udc80x"
"""How Python has the bytes FF 80 78 of a command line or a path."""


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "runs.sqlite"
    small_talks.play(small_talks.plan(path, small_talks.oracle()))
    monkeypatch.setenv("RIG_RUNS", str(path))
    return path


@pytest.mark.parametrize(
    "arguments",
    [
        ("show", ODD),
        ("show", "latest", ODD),
        ("show", "latest", "alarms", "--arm", ODD),
        ("watch", ODD),
        ("watch", "latest", "--from", ODD),
        ("compare", ODD, "latest"),
        ("compare", f"latest/{ODD}"),
        ("report", ODD, "-o", "r.html"),
        ("score", ODD),
        ("score", f"{ODD}.json"),
        ("export", ODD),
        ("adjudicate", ODD),
        ("run", "--resume", ODD),
        ("run", ODD),
        ("run", f"{ODD}.gguf"),
        ("run", "oracle", "--name", ODD, "--limit", "1"),
        ("run", "oracle", "--suite", ODD),
        ("run", "oracle", "--conversations", ODD),
        ("run", "oracle", "--only", ODD),
        ("run", "oracle", "--world", ODD),
        ("run", "oracle", "--set", f"{ODD}=1"),
        ("run", "oracle", "--similarity", ODD),
        ("runs", "--runs", f"{ODD}/runs.sqlite"),
        ("check", ODD),
        ("models", "info", ODD),
        (ODD,),
        ("show", f"--{ODD}"),
    ],
    ids=ascii,
)
def test_what_is_no_text_is_one_line(store: Path, rig: Rig, arguments: tuple[str, ...]) -> None:
    before = store.read_bytes()
    done = rig(*arguments)
    assert done.code == 2, done.err
    assert done.err.startswith("rig: ")
    assert done.err.count("\n") == 1
    done.err.encode()
    assert store.read_bytes() == before


def test_a_store_may_lie_at_any_path(tmp_path: Path, rig: Rig) -> None:
    path = tmp_path / ODD / f"{ODD}.sqlite"
    path.parent.mkdir()
    common = ("--limit", 1, "--similarity", "exact", "--display", "plain", "--runs", path)
    done = rig("run", "oracle", *common)
    assert done.code == 0, done.err
    assert path.is_file()
    for verb in (("runs",), ("show", "latest"), ("watch", "--display", "plain"), ("runs", "--json")):
        shown = rig(*verb, "--runs", path)
        assert shown.code == 0, shown.err
        shown.out.encode()
    copy = path.with_name(f"copy{ODD}")
    assert rig("runs", "--runs", path, "--backup", copy).code == 0
    with Runs.open(copy) as runs:
        assert runs.get("latest").state == "finished"


def test_conversations_may_lie_at_any_path(tmp_path: Path, rig: Rig) -> None:
    folder = tmp_path / ODD
    folder.mkdir()
    for each in small_talks.conversations():
        (folder / f"{each.name}{ODD}.json").write_text(json.dumps(each.source))
    small_world.write(tmp_path / f"world{ODD}")
    place = ("--conversations", folder, "--world", tmp_path / f"world{ODD}", "--similarity", "exact")
    done = rig("run", "oracle", *place, "--runs", tmp_path / "runs.sqlite", "--display", "plain", "--json")
    assert done.code == 0, done.err
    shown = rig("show", "latest", "--runs", tmp_path / "runs.sqlite")
    assert shown.code == 0
    shown.out.encode()


def test_a_run_that_another_program_deletes_while_it_is_written_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    turns = []

    def delete(event: Event) -> None:
        turns.append(isinstance(event, TurnFinished))
        if sum(turns) == 2 and turns[-1]:
            with closing(sqlite3.connect(path)) as database, database:
                database.execute("PRAGMA foreign_keys = ON")
                database.execute("DELETE FROM runs")

    with pytest.raises(RigError, match="run abcde was deleted while it was written"):
        run(small_talks.plan(path, small_talks.oracle()), delete, Control())


def pipe_at(path: Path) -> Path:
    os.mkfifo(path)
    return path


def endless_at(path: Path) -> Path:
    path.symlink_to("/dev/zero")
    return path


@pytest.mark.parametrize("put", [pipe_at, endless_at])
def test_what_is_no_file_is_refused_unread_wherever_rig_reads(
    tmp_path: Path, put: Callable[[Path], Path], rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody writes to the pipe, and the device has no end: whoever read them would not come back."""
    answers = put(tmp_path / "runs.answers.jsonl")
    with pytest.raises(RigError, match="is not a regular file"):
        read_answers(answers)
    with pytest.raises(RigError, match="is not a regular file"):
        add_answers(answers, [Answer.now("a", "b", same=True)])
    small_world.write(tmp_path / "world")
    part = min((tmp_path / "world").glob("*.json"))
    part.unlink()
    put(part)
    with pytest.raises(RigError, match=part.name):
        world_from(tmp_path / "world")
    (tmp_path / "similar").mkdir()
    put(tmp_path / "similar" / "modules.json")
    with pytest.raises(RigError, match="is not a regular file"):
        load(str(tmp_path / "similar"))
    (tmp_path / "talks").mkdir()
    put(tmp_path / "talks" / "a.json")
    done = rig("run", "oracle", "--conversations", tmp_path / "talks", "--runs", tmp_path / "r.sqlite")
    assert (done.code, done.err.count("\n")) == (2, 1)
    (tmp_path / "models").mkdir()
    put(tmp_path / "models" / "local.toml")
    monkeypatch.setenv("RIG_MODELS", str(tmp_path / "models"))
    with pytest.raises(RigError, match="is not a regular file"):
        local_registry()


@pytest.mark.slow
@pytest.mark.parametrize("depth", [60, 100, 450, 900])
def test_values_nested_deep_are_played_and_shown_or_refused(tmp_path: Path, rig: Rig, depth: int) -> None:
    source = json.loads(json.dumps(small_talks.conversations()[0].source))
    value: Any = "x"
    for _ in range(depth - 6):
        value = [value]
    call = next(turn for turn in source["conversation"] if turn.get("apis"))["apis"][0]
    call["response"] = {"deep": value}
    small_world.write(tmp_path / "world")
    (tmp_path / "talks").mkdir()
    (tmp_path / "talks" / "alarms.json").write_text(json.dumps(source))
    store = tmp_path / "runs.sqlite"
    place = ("--conversations", tmp_path / "talks", "--world", tmp_path / "world", "--similarity", "exact")
    done = rig("run", "oracle", *place, "--runs", store, "--display", "plain")
    if depth > 500:
        assert (done.code, done.err.count("\n")) == (2, 1)
        assert "nested deeper than 500 levels" in done.err
        return
    assert done.code == 0, done.err
    for verb in (
        ("show", "latest", "alarms"),
        ("show", "latest", "alarms", "--json"),
        ("score", "latest", "--json"),
        ("watch", "--display", "log"),
        ("export", "latest", "--format", "jsonl"),
        ("report", "latest", "--format", "json"),
        ("report", "latest", "--format", "html"),
    ):
        shown = rig(*verb, "--runs", store)
        assert shown.code == 0, shown.err
