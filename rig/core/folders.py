"""Folders that somebody else may change meanwhile: opened, changed and removed by handle.

A path can lead elsewhere a moment later, if a folder in it is replaced by a link. A handle cannot, and here a
name never has more than one part, and is never followed if it is a link.
"""

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
_BY_NAME = os.chmod in os.supports_follow_symlinks and os.chmod in os.supports_dir_fd


@contextmanager
def open_folder(name: str | Path, inside: int | None = None, *, unlocked: bool = False) -> Iterator[int]:
    """Open a folder, which may be in an open one. Raises OSError for a link and for whatever else.

    With `unlocked`, its owner may do everything in it afterwards.
    """
    if unlocked:
        with suppress(OSError):
            change_mode(name, 0o700, inside)
    handle = os.open(name, _FOLDER, dir_fd=inside)
    try:
        yield handle
    finally:
        os.close(handle)


@contextmanager
def folder_of(path: str, root: int) -> Iterator[tuple[int, str]]:
    """Open the folder that a path below an open one lies in; give it, and the path's last part."""
    parent, _, rest = path.partition("/")
    if not rest:
        yield root, path
        return
    with open_folder(parent, root) as handle, folder_of(rest, handle) as place:
        yield place


def change_mode(name: str | Path, mode: int, inside: int | None = None) -> None:
    """Set who may read and write a file or folder. Raises OSError, also for a link."""
    if _BY_NAME:
        os.chmod(name, mode, dir_fd=inside, follow_symlinks=False)
        return
    # Linux changes no mode by a name that is not followed. A handle of this kind needs no right.
    handle = os.open(name, os.O_PATH | os.O_NOFOLLOW, dir_fd=inside)
    try:
        os.chmod(f"/proc/self/fd/{handle}", mode)
    finally:
        os.close(handle)


def remove(name: str | Path, inside: int | None = None) -> None:
    """Remove what has this name, or what can be removed of it. It never fails, and never follows a link."""
    with suppress(OSError):
        if not stat.S_ISDIR(os.stat(name, dir_fd=inside, follow_symlinks=False).st_mode):
            os.unlink(name, dir_fd=inside)
            return
        with open_folder(name, inside, unlocked=True) as folder:
            empty(folder)
        os.rmdir(name, dir_fd=inside)


def empty(folder: int) -> None:
    """Remove what is in an open folder.

    Folders may lie deeper than any path, stack or number of handles reaches. Therefore those in the way are
    moved up before they are emptied.
    """
    waiting = _unlink_files(folder, folder)
    while waiting:
        name = waiting.pop()
        with suppress(OSError):
            with open_folder(name, folder, unlocked=True) as inner:
                waiting += _unlink_files(inner, folder)
            os.rmdir(name, dir_fd=folder)


def _unlink_files(folder: int, top: int) -> list[str]:
    """Remove the files in a folder, and move its folders to the top. Return their names there."""
    folders = []
    with os.scandir(folder) as listed:
        entries = list(listed)
    for entry in entries:
        with suppress(OSError):
            if not entry.is_dir(follow_symlinks=False):
                os.unlink(entry.name, dir_fd=folder)
                continue
            name = entry.name
            if folder != top:
                name = secrets.token_hex(16)
                # To move a folder is to write into it, because of its `..`.
                with suppress(OSError):
                    change_mode(entry.name, 0o700, folder)
                os.rename(entry.name, name, src_dir_fd=folder, dst_dir_fd=top)
            folders.append(name)
    return folders
