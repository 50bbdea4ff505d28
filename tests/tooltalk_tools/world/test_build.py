import sqlite3
import struct
from pathlib import Path

import pytest
import small_world

from rig.core.errors import RigError
from rig.core.paths import WORLD_DATABASE, WORLD_SEED
from rig.plugins.tooltalk_tools.seeds import build_world
from rig.plugins.tooltalk_tools.world import ToolTalkWorld


def test_building_twice_gives_the_same_bytes(tmp_path: Path) -> None:
    build_world(WORLD_SEED, tmp_path / "one.sqlite")
    build_world(WORLD_SEED, tmp_path / "other.sqlite")
    assert (tmp_path / "one.sqlite").read_bytes() == (tmp_path / "other.sqlite").read_bytes()


def test_the_committed_world_is_what_its_seeds_make(tmp_path: Path) -> None:
    build_world(WORLD_SEED, tmp_path / "world.sqlite")
    committed, built = WORLD_DATABASE.read_bytes(), (tmp_path / "world.sqlite").read_bytes()
    assert ToolTalkWorld.open(WORLD_DATABASE).dump() == ToolTalkWorld.open(tmp_path / "world.sqlite").dump()
    if _library(committed) == _library(built):
        assert committed == built


def test_the_file_is_an_ordinary_database(tmp_path: Path) -> None:
    target = tmp_path / "world.sqlite"
    build_world(small_world.write(tmp_path / "seed"), target)
    connection = sqlite3.connect(target)
    assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert connection.execute("SELECT username FROM users ORDER BY id").fetchall()[0] == ("mara",)
    people = connection.execute(
        "SELECT a.username FROM events JOIN event_attendees a ON a.event = events.id ORDER BY a.position"
    )
    assert people.fetchall() == [("mara",), ("theo",)]
    connection.close()
    assert _library(target.read_bytes()) == sqlite3.sqlite_version_info


def test_bad_seeds_leave_the_old_file(tmp_path: Path) -> None:
    target = tmp_path / "world.sqlite"
    target.write_bytes(b"old")
    with pytest.raises(RigError):
        build_world(tmp_path, target)
    assert target.read_bytes() == b"old"


def test_a_target_that_cannot_be_written_is_one_clear_line(tmp_path: Path) -> None:
    small_world.write(tmp_path / "seed")
    with pytest.raises(RigError, match="cannot be written"):
        build_world(tmp_path / "seed", tmp_path / "none" / "world.sqlite")
    (tmp_path / "folder").mkdir()
    with pytest.raises(RigError, match="cannot be written"):
        build_world(tmp_path / "seed", tmp_path / "folder")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "seed"]


def _library(image: bytes) -> tuple[int, int, int]:
    (number,) = struct.unpack_from(">I", image, 96)
    return number // 1_000_000, number // 1_000 % 1_000, number % 1_000
