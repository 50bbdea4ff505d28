"""What is kept on disk: as it was, or not there."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from rig.core.files import temporary_path
from rig.plugins.llama.files.caches import Damaged, DiskCache


def cache_in(directory: Path, max_bytes: int = 1 << 20) -> DiskCache:
    return DiskCache(directory, "index", max_bytes)


CONTENT = bytes(range(256)) * 4


def test_what_is_kept_is_the_same(tmp_path: Path) -> None:
    cache = cache_in(tmp_path / "deep" / "folder")
    assert cache.load("key") is None
    cache.save("key", CONTENT)
    assert cache.load("key") == CONTENT
    assert [path.name for path in (tmp_path / "deep" / "folder").iterdir()] == ["key.index"]


@pytest.mark.parametrize("harm", ["cut", "flipped", "grown", "empty", "other key"])
def test_a_damaged_file_is_not_there(tmp_path: Path, harm: str) -> None:
    cache = cache_in(tmp_path)
    cache.save("key", CONTENT)
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
    with pytest.raises(Damaged):
        cache.load(name)
    cache.save(name, CONTENT)
    assert cache.load(name) == CONTENT


def test_the_least_recently_used_go_first(tmp_path: Path) -> None:
    cache_in(tmp_path).save("one", CONTENT)
    size = (tmp_path / "one.index").stat().st_size
    cache = cache_in(tmp_path, max_bytes=2 * size + size // 2)
    cache.save("two", CONTENT)
    os.utime(tmp_path / "one.index", (1, 1))
    os.utime(tmp_path / "two.index", (2, 2))
    assert cache.load("one") is not None  # used, and so no longer the oldest
    cache.save("three", CONTENT)
    assert sorted(path.stem for path in tmp_path.iterdir()) == ["one", "three"]


def test_what_killed_writers_left_behind_is_swept(tmp_path: Path) -> None:
    died = "import sys; from pathlib import Path; from rig.core.files import temporary_path\n"
    died += "for suffix in ('index', 'other'): temporary_path(Path(sys.argv[1]), suffix).write_bytes(b'half')"
    subprocess.run([sys.executable, "-c", died, tmp_path], check=True)
    at_work = temporary_path(tmp_path, "index")
    at_work.write_bytes(b"half")
    cache_in(tmp_path).save("key", CONTENT)
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == sorted([at_work.name, "key.index", *(name for name in names if ".other." in name)])
    assert len(names) == 3


def test_what_is_too_large_or_cannot_be_written_is_not_kept(tmp_path: Path) -> None:
    cache_in(tmp_path / "small", max_bytes=10).save("key", CONTENT)
    assert not (tmp_path / "small").exists()
    (tmp_path / "file").write_text("")
    cache = cache_in(tmp_path / "file")
    for attempt in (lambda: cache.save("key", CONTENT), lambda: cache.load("key")):
        with pytest.raises(OSError, match="file"):
            attempt()
