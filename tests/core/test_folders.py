"""Folders are removed whatever lies in them, and nothing that a link in them leads to."""

import os
import resource
from pathlib import Path

import pytest
from deep_folders import nested

from rig.core.files import temporary_folder, temporary_path
from rig.core.folders import change_mode, folder_of, open_folder, remove


@pytest.mark.slow
def test_folders_in_folders_go_however_deep_they_lie(tmp_path: Path) -> None:
    nested(tmp_path / "deep", 3_000)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, hard))
    try:
        remove(tmp_path / "deep")
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_deep_folders_that_a_killed_process_left_block_nobody(tmp_path: Path) -> None:
    left = temporary_path(tmp_path, "work", hidden=False).name.replace(f"-{os.getpid()}-", f"-{2**22 + 1}-")
    nested(tmp_path / left, 3_000)
    with temporary_folder(tmp_path, "work", hidden=False) as folder:
        assert list(tmp_path.iterdir()) == [folder]
        assert not folder.name.startswith(".")
        nested(folder / "deep", 1_500)
    assert list(tmp_path.iterdir()) == []


def test_what_a_link_leads_to_stays(tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.mkdir(mode=0o700)
    (mine / "kept").write_text("kept")
    (tmp_path / "gone" / "inner").mkdir(parents=True)
    for place in (tmp_path / "gone", tmp_path / "gone" / "inner"):
        (place / "link").symlink_to(mine)
    (tmp_path / "alone").symlink_to(mine)
    for name in ("gone", "alone", "never"):
        remove(tmp_path / name)
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]
    assert (mine / "kept").read_text() == "kept"


def test_locked_folders_go(tmp_path: Path) -> None:
    inner = tmp_path / "locked" / "a" / "b"
    inner.mkdir(parents=True)
    (inner / "file").touch()
    for folder in (inner, inner.parent, tmp_path / "locked"):
        folder.chmod(0)
    remove(tmp_path / "locked")
    assert list(tmp_path.iterdir()) == []


def test_no_part_of_a_path_is_followed(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    with open_folder(tmp_path) as root:
        with folder_of("real/x", root) as (handle, name):
            assert (os.fstat(handle).st_ino, name) == ((tmp_path / "real").stat().st_ino, "x")
        with pytest.raises(OSError, match=r"Not a directory|symbolic"), folder_of("link/x", root):
            pass
        before = (tmp_path / "real").stat().st_mode
        with pytest.raises(OSError):  # noqa: PT011 - each system has its own
            change_mode("link", 0o777, root)
        assert (tmp_path / "real").stat().st_mode == before
        change_mode("real", 0o700, root)
        assert (tmp_path / "real").stat().st_mode & 0o777 == 0o700
