"""Folders of files and lines of tables, as people and other programs have them."""

import csv
import io
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from rig.core.errors import RigError
from rig.core.files import temporary_path
from rig.core.folders import remove

MOST_ENTRIES = 50_000
"""The most files and folders in a folder that is searched."""


def files_below(place: Path, ending: str | tuple[str, ...] = ".json") -> list[Path]:
    """Return the regular files below a folder whose names have this ending, sorted. Links are not followed.

    Raises RigError for a folder with too much in it, such as a whole file system.
    """
    files, waiting, seen = [], [place], 0
    try:
        while waiting:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    seen += 1
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(Path(entry.path))
                    elif entry.name.endswith(ending) and entry.is_file():
                        files.append(Path(entry.path))
            if seen > MOST_ENTRIES:
                raise RigError(
                    f"{place}: holds more than {MOST_ENTRIES} files; name the folder with those you mean"
                )
    except OSError as error:
        raise RigError(f"{error.filename or place}: cannot be read: {error.strerror or error}") from error
    return sorted(files)


@contextmanager
def filling(directory: Path) -> Iterator[Path]:
    """Make a folder whose files move into a new or empty directory once all are written, or not at all.

    The folder lies in the directory, so that the move stays within one file system. One that a killed process
    left there is removed first. Raises RigError.
    """
    part = temporary_path(directory, "part")
    try:
        new = [folder for folder in (directory, *directory.parents) if not folder.exists()]
        if not new and (not directory.is_dir() or any(directory.iterdir())):
            raise RigError(f"{directory}: exists and is not an empty directory; choose a new one")
        moved: list[Path] = []
        try:
            part.mkdir(parents=True)
            yield part
            for file in sorted(part.iterdir()):
                moved.append(file.rename(directory / file.name))
            part.rmdir()
        except BaseException:
            with suppress(OSError):
                for file in moved:
                    file.rename(part / file.name)
            remove(part)
            for folder in new:
                with suppress(OSError):
                    folder.rmdir()
            raise
    except OSError as error:
        raise RigError(f"{directory}: cannot be written: {error.strerror or error}") from error
    except RigError as error:
        raise RigError(str(error).replace(str(part), str(directory))) from error


def csv_line(cells: Iterable[object], *, raw: bool = False) -> str:
    """Return a line of CSV without its end, quoted as in RFC 4180.

    A spreadsheet executes a cell that begins like a formula. Such texts get an apostrophe before them,
    unless they are asked for as they are with `raw`; see OWASP, "CSV Injection".
    """
    line = io.StringIO()
    # Cells with a character of the terminator are quoted, so it must be the line ends that texts have.
    csv.writer(line, lineterminator="\r\n").writerow(cells if raw else map(inert, cells))
    return line.getvalue().removesuffix("\r\n")


def inert(cell: object) -> object:
    """Return a cell of a table, with an apostrophe before it if a spreadsheet would execute it."""
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(_FORMULA) else cell


_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
