"""Files are restored, and nothing else is changed, even if a server swaps its folders for links meanwhile."""

import os
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from rig.plugins.mcp.state import Files, StateFault

STEPS = (
    *("open", "mkdir", "symlink", "unlink", "rmdir", "rename", "chmod", "fchmod", "utime"),
    *("stat", "listdir", "scandir", "readlink"),
)
"""What a folder is read and changed with."""


def picture(folder: Path) -> list[tuple[object, ...]]:
    """Everything that a write below a folder changes."""
    paths = [folder, *sorted(folder.rglob("*"))]
    return [
        (path, path.lstat().st_mode, path.lstat().st_mtime_ns, path.read_bytes() if path.is_file() else b"")
        for path in paths
    ]


class Swapper:
    """Replaces a folder by a link to a victim, just before the system is asked for the nth thing."""

    def __init__(self, folder: Path, victim: Path, number: int) -> None:
        self.folder, self.victim, self.left = folder, victim, number

    def wrapped(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def work(*arguments: Any, **named: Any) -> Any:
            self.left -= 1
            if self.left == 0 and self.folder.is_dir() and not self.folder.is_symlink():
                self.folder.replace(self.folder.with_name("aside"))
                self.folder.symlink_to(self.victim)
            return function(*arguments, **named)

        return work


@pytest.mark.slow
@pytest.mark.parametrize("swapped", ["data", "data/inner"])
def test_a_link_swapped_in_at_any_step_leads_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, swapped: str
) -> None:
    for number in range(1, 400):
        place = tmp_path / str(number)
        root, victim = place / "root", place / "victim"
        (root / "data" / "inner").mkdir(parents=True)
        for name in ("data/a", "data/inner/b", "data/inner/c"):
            (root / name).write_text("before")
        (root / "data" / "link").symlink_to("a")
        files = Files(root, tmp_path / "depot")
        manifest = files.take()
        (victim / "inner").mkdir(parents=True)
        for name in ("a", "b", "inner/b", "inner/c"):
            (victim / name).write_text("mine")
            (victim / name).chmod(0o600)
        before = picture(victim)
        # What a server did: something of each kind is put back.
        (root / "data" / "inner" / "b").write_text("changed")
        (root / "data" / "inner" / "c").unlink()
        (root / "data" / "a").chmod(0o400)
        (root / "data" / "more").mkdir()
        (root / "data" / "more" / "file").write_text("new")
        (root / "data" / "link").unlink()
        swapper = Swapper(root / swapped, victim, number)
        with monkeypatch.context() as patch:
            for name in STEPS:
                patch.setattr(os, name, swapper.wrapped(getattr(os, name)))
            with suppress(StateFault):
                files.put(manifest, 0.0)
        assert picture(victim) == before, number
        if swapper.left > 0:
            assert files.take() == manifest
            assert number > 50
            return
    pytest.fail("a restore of six files takes fewer steps")


def test_a_link_swapped_in_while_files_are_read_shows_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = "a secret of mine"
    for number in range(1, 100):
        root, victim = tmp_path / str(number) / "root", tmp_path / str(number) / "victim"
        (root / "data").mkdir(parents=True)
        victim.mkdir()
        (root / "data" / "a").write_text("plain")
        (victim / "a").write_text(secret)
        swapper = Swapper(root / "data", victim, number)
        depot = tmp_path / str(number) / "depot"
        with monkeypatch.context() as patch:
            for name in STEPS:
                patch.setattr(os, name, swapper.wrapped(getattr(os, name)))
            with suppress(StateFault):
                Files(root, depot).take()
        kept = [path.read_text() for path in depot.iterdir()] if depot.is_dir() else []
        assert secret not in kept
        if swapper.left > 0:
            return
    pytest.fail("reading one file takes fewer steps")


def test_a_file_that_becomes_a_pipe_blocks_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (root / "a").write_text("plain")
    real = os.stat

    def swap(*arguments: Any, **named: Any) -> os.stat_result:
        status = real(*arguments, **named)
        if stat.S_ISREG(status.st_mode) and arguments[0] == "a":
            (root / "a").unlink()
            os.mkfifo(root / "a")
        return status

    monkeypatch.setattr(os, "stat", swap)
    with pytest.raises(StateFault, match="neither a file nor a folder"):
        Files(root, tmp_path / "depot").take()
