"""`rig export`: a run as files for another tool."""

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import small_talks

from rig.core.models import StepKey
from rig.methods.scripted import Scripted, replied
from rig.store import EXPORTED_VIEWS, Runs
from rig.store.views import described

Rig = Callable[..., Any]


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "runs.sqlite"
    small_talks.play(small_talks.plan(path, small_talks.oracle()))
    monkeypatch.setenv("RIG_RUNS", str(path))
    return path


def test_each_conversation_is_a_file_with_predictions(rig: Rig, store: Path, tmp_path: Path) -> None:
    out = tmp_path / "new" / "out"
    done = rig("export", "latest", "--format", "tooltalk", "--output", out)
    assert (done.code, done.err) == (0, "")
    assert done.out == f"wrote 3 files of run abcde to {out}\n"
    for source in small_talks.sources():
        written = json.loads((out / f"{source['name']}.json").read_text())
        for before, after in zip(source["conversation"], written["conversation"], strict=True):
            predictions = after.pop("predictions", [])
            assert after == before
            calls = [each for each in predictions if each["role"] == "api"]
            truths = before.get("apis", [])
            assert [
                {name: call[name] for name in truth} for call, truth in zip(calls, truths, strict=True)
            ] == truths
            if before["role"] == "assistant":
                assert predictions[-1]["role"] == "assistant"
                assert predictions[-1]["text"] == before["text"]


def test_json_names_the_files(rig: Rig, store: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    found = rig("export", "abcde", "--format", "tooltalk", "--output", out, "--json").json
    assert found["run"] == "abcde"
    assert sorted(found["files"]) == sorted(str(path) for path in out.iterdir())


def test_faults_are_one_line(rig: Rig, store: Path, tmp_path: Path) -> None:
    for run, output, fault in (("nothing", "out", "no run"), ("abcde", ".", "choose a new one")):
        done = rig("export", run, "--format", "tooltalk", "--output", tmp_path / output)
        assert done.code == 2
        assert fault in done.err
        assert done.err.count("\n") == 1
    assert rig("export", "abcde", "--output", tmp_path / "out").code == 2
    assert not (tmp_path / "out").exists()


def test_rows_as_csv_are_the_views_with_its_columns(rig: Rig, store: Path, tmp_path: Path) -> None:
    out = tmp_path / "steps.csv"
    done = rig("export", "latest", "--format", "csv", "--output", out)
    with out.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert done.out == f"wrote {len(rows)} rows (steps) of run abcde to {out}\n"
    with Runs.open(store) as runs:
        expected = list(runs.view("steps", runs.get("abcde")))
    assert [list(row.values()) for row in rows] == [
        ["" if value is None else str(value) for value in row.values()] for row in expected
    ]
    assert list(rows[0]) == list(described()["steps"]["columns"])


@pytest.mark.parametrize("view", EXPORTED_VIEWS)
def test_rows_as_json_lines_are_those_of_csv(rig: Rig, store: Path, view: str) -> None:
    lines = rig("export", "latest", "--format", "jsonl", "--rows", view).out.splitlines()
    rows = [json.loads(line) for line in lines]
    table = list(csv.reader(io.StringIO(rig("export", "latest", "--format", "csv", "--rows", view).out)))
    assert table[0] == list(described()[view]["columns"])
    assert len(table) == len(rows) + 1
    for row, cells in zip(rows, table[1:], strict=True):
        assert list(row) == table[0]
        assert [value is None for value in row.values()] == [
            cell == "" for cell in cells
        ] or "" in row.values()


def test_json_inside_json_lines_is_no_text(rig: Rig, store: Path) -> None:
    lines = rig("export", "latest", "--format", "jsonl", "--rows", "calls").out.splitlines()
    first = json.loads(lines[0])
    assert (first["tool"], first["arguments"]["time"]) == ("AddAlarm", "07:00:00")
    assert isinstance(first["response"], dict | str)


def test_what_models_wrote_comes_back_from_csv_unchanged(tmp_path: Path, rig: Rig) -> None:
    """Quotes, line ends of three kinds, separators, nothing at all, and text that no terminal should see."""
    texts = ['a "b", c', "one\ntwo\r\nthree\rfour", "", "\x1b[31m\u2028\u202e", "=1+1", "\u00e9\U0001f600"]
    script = {
        StepKey(conversation.name, turn, 0): replied(texts[place % len(texts)])
        for place, (conversation, turn) in enumerate(
            (each, turn) for each in small_talks.conversations() for turn in each.known_turns
        )
    }
    path = tmp_path / "texts.sqlite"
    small_talks.play(small_talks.plan(path, Scripted(script)))
    for form, raw in (("csv", ["--raw"]), ("csv", []), ("jsonl", [])):
        out = tmp_path / f"out{len(raw)}.{form}"
        assert rig("export", "latest", "--format", form, *raw, "--output", out, "--runs", path).code == 0
        with out.open(newline="", encoding="utf-8") as file:
            replies = [
                row["reply"] for row in (csv.DictReader(file) if form == "csv" else map(json.loads, file))
            ]
        if form == "csv" and not raw:
            assert "'=1+1" in replies
            replies = [reply.removeprefix("'") for reply in replies]
        assert replies == [texts[place % len(texts)] for place in range(len(script))]


def test_faults_of_rows_are_one_line_and_write_nothing(rig: Rig, store: Path, tmp_path: Path) -> None:
    there = tmp_path / "there.csv"
    there.write_text("mine")
    for arguments, fault in (
        (("--format", "csv", "--output", there), "exists; choose a new file"),
        (("--format", "csv", "--output", tmp_path / "no" / "a.csv"), "cannot be written"),
        (("--format", "csv", "--json"), "name it with --output"),
        (("--format", "tooltalk", "--rows", "calls", "--output", tmp_path / "x"), "goes with --format csv"),
        (("--format", "tooltalk"), "name a directory with --output"),
        (("--format", "cvs"), "there is no --format cvs (did you mean 'csv'?)"),
    ):
        done = rig("export", "latest", *arguments)
        assert (done.code, done.out.count("\n"), done.err.count("\n")) == (2, "--json" in arguments, 1), fault
        assert fault in done.err
    assert there.read_text() == "mine"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["runs.sqlite", "there.csv"]


def test_json_says_what_was_written(rig: Rig, store: Path, tmp_path: Path) -> None:
    out = tmp_path / "calls.jsonl"
    found = rig("export", "latest", "--format", "jsonl", "--rows", "calls", "--output", out, "--json").json
    assert found == {
        "run": "abcde",
        "format": "jsonl",
        "rows": "calls",
        "output": str(out),
        "written": len(out.read_text().splitlines()),
    }
