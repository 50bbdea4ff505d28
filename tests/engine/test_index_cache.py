"""Automata on disk: as they were, or not there."""

import os
from pathlib import Path
from typing import Any

import pytest
from outlines_core import Guide, Index, Vocabulary

from rig.engine.grammar.automaton.index_cache import IndexCache


@pytest.fixture(scope="module")
def index() -> Any:
    return Index("ab|cd", Vocabulary(9, {b"a": [0], b"b": [1], b"c": [2], b"d": [3], b"ab": [4, 5]}))


def tokens(index: Any) -> list[int]:
    return sorted(Guide(index).get_tokens())


def test_what_is_kept_is_the_same_automaton(tmp_path: Path, index: Any) -> None:
    cache = IndexCache(tmp_path / "deep" / "folder")
    assert cache.load("key") is None
    cache.save("key", index)
    assert tokens(cache.load("key")) == tokens(index) == [0, 2, 4, 5]
    assert [path.name for path in (tmp_path / "deep" / "folder").iterdir()] == ["key.index"]


@pytest.mark.parametrize("harm", ["cut", "flipped", "grown", "empty", "other key"])
def test_a_damaged_file_is_not_there(tmp_path: Path, index: Any, harm: str) -> None:
    cache = IndexCache(tmp_path)
    cache.save("key", index)
    path = tmp_path / "key.index"
    data = path.read_bytes()
    harmed = {
        "cut": data[:-1],
        "flipped": data[:60] + bytes([data[60] ^ 1]) + data[61:],
        "grown": data + b"\0",
        "empty": b"",
        "other key": data,
    }[harm]
    name = "another" if harm == "other key" else "key"
    (tmp_path / f"{name}.index").write_bytes(harmed)
    assert cache.load(name) is None
    cache.save(name, index)
    assert tokens(cache.load(name)) == tokens(index)


def test_the_least_recently_used_go_first(tmp_path: Path, index: Any) -> None:
    IndexCache(tmp_path).save("one", index)
    size = (tmp_path / "one.index").stat().st_size
    cache = IndexCache(tmp_path, max_bytes=2 * size + size // 2)
    cache.save("two", index)
    os.utime(tmp_path / "one.index", (1, 1))
    os.utime(tmp_path / "two.index", (2, 2))
    assert cache.load("one") is not None  # used, and so no longer the oldest
    cache.save("three", index)
    assert sorted(path.stem for path in tmp_path.iterdir()) == ["one", "three"]


def test_what_killed_writers_left_behind_is_swept(tmp_path: Path, index: Any) -> None:
    for name in (".old.index", ".new.index", ".old.other"):
        (tmp_path / name).write_bytes(b"half")
    for name in (".old.index", ".old.other"):
        os.utime(tmp_path / name, (1, 1))
    IndexCache(tmp_path).save("key", index)
    assert sorted(path.name for path in tmp_path.iterdir()) == [".new.index", ".old.other", "key.index"]


def test_what_is_too_large_or_cannot_be_written_is_not_kept(tmp_path: Path, index: Any) -> None:
    IndexCache(tmp_path / "small", max_bytes=10).save("key", index)
    assert not (tmp_path / "small").exists()
    (tmp_path / "file").write_text("")
    cache = IndexCache(tmp_path / "file")
    cache.save("key", index)
    assert cache.load("key") is None
