"""Remembered checksums: right when the file changed, harmless when the cache cannot be used."""

import hashlib
import os
from pathlib import Path

import pytest

from rig.core.errors import RigError
from rig.plugins.llama.files.caches import remembered_sha256, sha256_of


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    directory = tmp_path / "cache"
    monkeypatch.setenv("RIG_CACHE", str(directory))
    return directory


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "weights"
    path.write_bytes(b"weights")
    return path


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def overwrite_unnoticed(path: Path, content: bytes) -> None:
    """Other bytes, but the same size and modification time."""
    before = path.stat()
    assert len(content) == before.st_size
    path.write_bytes(content)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def test_an_answer_is_remembered(file: Path) -> None:
    assert remembered_sha256(file) is None
    assert sha256_of(file) == sha256(b"weights") == remembered_sha256(file)


def test_fresh_reads_the_file_again(file: Path) -> None:
    sha256_of(file)
    overwrite_unnoticed(file, b"changed")
    assert sha256_of(file, fresh=True) == sha256(b"changed")


def test_other_weights_of_the_same_size_and_time_are_noticed(file: Path) -> None:
    sha256_of(file)
    overwrite_unnoticed(file, b"changed")
    assert remembered_sha256(file) is None
    assert sha256_of(file) == sha256(b"changed") == remembered_sha256(file)


def test_a_changed_file_is_read_again(file: Path) -> None:
    sha256_of(file)
    file.write_bytes(b"changed content")
    assert remembered_sha256(file) is None
    assert sha256_of(file) == sha256(b"changed content")


@pytest.mark.parametrize("content", [b"{", b"[]", b'{"x": 1}', b"\xff\xfe"])
def test_a_damaged_cache_is_replaced(file: Path, cache: Path, content: bytes) -> None:
    cache.mkdir()
    (cache / "sha256.json").write_bytes(content)
    assert sha256_of(file) == sha256(b"weights") == remembered_sha256(file)


def test_a_cache_that_cannot_be_written_costs_only_time(file: Path, cache: Path) -> None:
    cache.write_text("a file where the folder should be")
    assert sha256_of(file) == sha256(b"weights")
    assert remembered_sha256(file) is None


def test_nothing_but_the_cache_is_left_behind(file: Path, cache: Path) -> None:
    sha256_of(file)
    assert [path.name for path in cache.iterdir()] == ["sha256.json"]


def test_a_missing_file_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(RigError, match="none: cannot be read: No such file"):
        sha256_of(tmp_path / "none")
