"""Folders in folders, deeper than any path can name."""

import os
from pathlib import Path


def nested(folder: Path, levels: int) -> None:
    """Make a folder with so many levels in it, and a file and a link on every hundredth."""
    folder.mkdir()
    handle = os.open(folder, os.O_RDONLY)
    for number in range(levels):
        os.mkdir("d", dir_fd=handle)
        if number % 100 == 0:
            os.close(os.open("file", os.O_CREAT | os.O_WRONLY, 0o600, dir_fd=handle))
            os.symlink("/etc", "link", dir_fd=handle)
        inner = os.open("d", os.O_RDONLY, dir_fd=handle)
        os.close(handle)
        handle = inner
    os.close(handle)
