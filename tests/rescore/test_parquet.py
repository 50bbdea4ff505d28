"""Rows as a Parquet file: the same as the JSON lines, column by column."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import Finished
from graded_talks import model, play

from rig.plugins.rescore import flat
from rig.store import EXPORTED_VIEWS

N = 3
JSON = flat._JSON


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("store") / "runs.sqlite"
    play(path, model(N), model(N, {0}), number=N)
    return path


@pytest.mark.parametrize("view", EXPORTED_VIEWS)
def test_rows_are_those_of_json_lines(
    view: str, store: Path, tmp_path: Path, rig: Callable[..., Finished], monkeypatch: pytest.MonkeyPatch
) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    monkeypatch.setattr(flat, "_BATCH", 2)
    common = ("--rows", view, "--runs", store)
    done = rig("export", "abcde", "--format", "parquet", "--output", tmp_path / "rows.parquet", *common)
    assert done.code == 0, done.err
    lines = rig("export", "abcde", "--format", "jsonl", *common).out.splitlines()
    rows: list[dict[str, Any]] = parquet.read_table(tmp_path / "rows.parquet").to_pylist()
    assert len(rows) == len(lines)
    for row, line in zip(rows, map(json.loads, lines), strict=True):
        assert row.keys() == line.keys()
        for name, value in line.items():
            told = json.loads(row[name]) if name in JSON and row[name] is not None else row[name]
            # A column of numbers and texts is one of texts.
            assert told == value or told == str(value)


def test_columns_have_the_types_of_their_values(
    store: Path, tmp_path: Path, rig: Callable[..., Finished]
) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    out = tmp_path / "rows.parquet"
    assert rig("export", "abcde", "--format", "parquet", "--output", out, "--runs", store).code == 0
    types = {field.name: str(field.type) for field in parquet.read_schema(out)}
    assert (types["step"], types["raw"], types["decode_s"]) == ("int64", "string", "double")


@pytest.mark.parametrize(
    ("found", "kind"),
    [
        (set(), str),
        ({int}, int),
        ({int, float}, float),
        ({int, type(None)}, int),
        ({int, str}, str),
        ({bytes}, str),
    ],
)
def test_a_column_is_what_all_its_values_are(found: set[type], kind: type) -> None:
    assert flat._kind(found) is kind


@pytest.mark.parametrize(
    ("value", "text"), [(b"a\xff", "a\\xff"), ("\ud800", "\\ud800"), (3, "3"), (None, None)]
)
def test_texts_are_what_a_file_can_hold(value: object, text: str | None) -> None:
    assert flat._as(str, value) == text


def test_without_pyarrow_it_says_how_to_get_it(
    store: Path, tmp_path: Path, rig: Callable[..., Finished], monkeypatch: pytest.MonkeyPatch
) -> None:
    def absent(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(flat, "import_module", absent)
    done = rig("export", "abcde", "--format", "parquet", "--output", tmp_path / "x", "--runs", store)
    assert done.code == 2
    assert "pip install pyarrow" in done.err
    assert list(tmp_path.iterdir()) == []


def test_a_file_is_named_and_not_written_over(
    store: Path, tmp_path: Path, rig: Callable[..., Finished]
) -> None:
    assert "name it with --output" in rig("export", "abcde", "--format", "parquet", "--runs", store).err
    pytest.importorskip("pyarrow.parquet")
    (tmp_path / "x").write_text("mine")
    done = rig("export", "abcde", "--format", "parquet", "--output", tmp_path / "x", "--runs", store)
    assert done.code == 2
    assert (tmp_path / "x").read_text() == "mine"
    assert [path.name for path in tmp_path.iterdir()] == ["x"]
