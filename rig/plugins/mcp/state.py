"""The files that a server works on: recorded, put back, and shown as records.

Contents are kept once, by their hash. Links are never followed. Since a model decides what is written here,
anything but a file, folder or link is refused, and so is more than a state may hold.
"""

import fcntl
import hashlib
import os
import re
import shutil
import sqlite3
import stat
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from fnmatch import fnmatchcase
from pathlib import Path
from typing import BinaryIO, NamedTuple, TypeAlias

from rig.core.calls import Json
from rig.core.databases import names_super_journal, open_own
from rig.core.errors import RigError, counted
from rig.core.folders import change_mode, empty, folder_of, open_folder, remove

MOST_ENTRIES = 20_000
MOST_BYTES = 512 << 20
"""The most bytes in all files of a state."""
DEEPEST = 64

_LONGEST_TEXT = 1 << 14
"""The most characters of a text file that are shown; a longer one is shown as a hash."""
_MOST_ROWS = 5_000
_MOST_TEXT = 1 << 26
"""The most characters of a database's rows that are shown; a generated column can be of any length."""
_READ_S = 2.0
_SQLITE = b"SQLite format 3\0"
BESIDE = re.compile(r"-(wal|shm|journal)$")
"""Matches the names of files that SQLite keeps beside a database."""
_FICLONE = 0x40049409
UNSEEN = (".git/index", ".git/logs/*", ".git/COMMIT_EDITMSG", ".git/ORIG_HEAD", ".cache/*", ".npm/*")
"""Patterns of paths, anywhere in a state, that are not compared: they differ without need."""


class PathState(NamedTuple):
    """What lies at a path: a `file` by the hash of its content, a `folder`, or a `link` by its target."""

    kind: str
    content: str = ""
    executable: bool = False


Manifest: TypeAlias = Mapping[str, PathState]
"""What is in a folder, by relative path, parents first."""


class StateFault(Exception):
    """The files are not ones that a state may hold."""


def keep(name: str | Path, depot: Path, folder: int | None = None) -> str:
    """Copy the content of a file into a depot, a folder of contents by hash, and return that hash.

    The file may be changed meanwhile. With `folder`, the name is one in this open folder.
    """
    depot.mkdir(parents=True, exist_ok=True)
    unhashed = depot / f"new-{os.urandom(8).hex()}"
    try:
        # Without waiting, because the file may have become a pipe.
        handle = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
        with open(handle, "rb") as file, unhashed.open("xb") as copy:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                raise StateFault(f"{name} is neither a file nor a folder")
            _copy(file, copy)
    except OSError as error:
        raise StateFault(f"{Path(name).name} cannot be read: {error.strerror}") from error
    with unhashed.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    os.replace(unhashed, depot / digest)
    return digest


class Files:
    """The folder that a server works in, with the hashes of its files as last read.

    A server may change it at any time. So it is read and changed by handle, and no link is ever followed.
    """

    def __init__(self, root: Path, depot: Path) -> None:
        self.root = root
        self._depot = depot
        self._seen: dict[str, tuple[tuple[int, ...], str]] = {}
        self._modes: dict[str, int] = {}

    def take(self) -> Manifest:
        """Return what is in the folder now. Raises StateFault for what no state may hold."""
        try:
            with open_folder(self.root) as root:
                return self._take(root)
        except OSError as error:
            raise StateFault(f"its files cannot be read: {error.strerror}") from error

    def _take(self, root: int) -> Manifest:
        manifest: dict[str, PathState] = {}
        seen: dict[str, tuple[tuple[int, ...], str]] = {}
        left = MOST_BYTES
        self._modes = {}
        for path, folder, status in _walk(root):
            name = path.rpartition("/")[2]
            self._modes[path] = stat.S_IMODE(status.st_mode)
            if len(manifest) >= MOST_ENTRIES:
                raise StateFault(f"there are more than {counted(MOST_ENTRIES, 'file')}")
            if stat.S_ISLNK(status.st_mode):
                manifest[path] = PathState("link", os.readlink(name, dir_fd=folder))
            elif stat.S_ISDIR(status.st_mode):
                manifest[path] = PathState("folder")
            elif stat.S_ISREG(status.st_mode):
                left -= status.st_size
                if left < 0:
                    raise StateFault(f"its files hold more than {MOST_BYTES >> 20} MiB")
                mark = status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino
                before, digest = self._seen.get(path, ((), ""))
                digest = digest if before == mark else keep(name, self._depot, folder)
                seen[path] = mark, digest
                manifest[path] = PathState("file", digest, bool(status.st_mode & stat.S_IXUSR))
            else:
                raise StateFault(f"{path} is neither a file nor a folder")
        self._seen = seen
        return manifest

    def put(self, manifest: Manifest, now: float) -> None:
        """Make the folder hold exactly this, all dated `now`. Raises StateFault if that fails."""
        for attempt in (1, 2):
            try:
                if not self.root.is_dir() or self.root.is_symlink():
                    remove(self.root)
                    self.root.mkdir(parents=True)
                with open_folder(self.root) as root:
                    if attempt == 2:
                        empty(root)
                    self._put(manifest, self._take(root), root)
                    self._age(manifest, now, root)
                    if self._take(root) == manifest:
                        return
            except (OSError, StateFault):
                continue
        raise StateFault("its files cannot be put back as they were")

    def _put(self, manifest: Manifest, current: Manifest, root: int) -> None:
        for path, entry in current.items():
            # Who may read and write is no part of a state, but it can change what calls do.
            mode = 0o755 if entry.executable or entry.kind == "folder" else 0o644
            if entry.kind != "link" and self._modes[path] != mode:
                with folder_of(path, root) as (folder, name):
                    change_mode(name, mode, folder)
        for path, entry in reversed(list(current.items())):
            if manifest.get(path) != entry and not (entry.kind == "folder" and path in manifest):
                with folder_of(path, root) as (folder, name):
                    remove(name, folder)
        for path, entry in manifest.items():
            before = current.get(path)
            if before == entry or (before and before.kind == entry.kind == "folder"):
                continue
            with folder_of(path, root) as (folder, name):
                remove(name, folder)
                if entry.kind == "folder":
                    os.mkdir(name, dir_fd=folder)
                elif entry.kind == "link":
                    os.symlink(entry.content, name, dir_fd=folder)
                else:
                    handle = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, dir_fd=folder)
                    with (self._depot / entry.content).open("rb") as read, open(handle, "wb") as written:
                        os.fchmod(handle, 0o755 if entry.executable else 0o644)
                        _copy(read, written)

    def age(self, manifest: Manifest, now: float) -> None:
        """Date everything in the folder `now`, so that no answer reveals when it was made."""
        with suppress(OSError), open_folder(self.root) as root:
            self._age(manifest, now, root)

    def _age(self, manifest: Manifest, now: float, root: int) -> None:
        for path in reversed(list(manifest)):
            before = self._seen.get(path)
            with suppress(OSError), folder_of(path, root) as (folder, name):
                if abs(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mtime - now) < 1:
                    continue
                os.utime(name, (now, now), dir_fd=folder, follow_symlinks=False)
                after = os.stat(name, dir_fd=folder, follow_symlinks=False)
                if before is not None and before[0][2:] == (after.st_size, after.st_ino):
                    mark = after.st_mtime_ns, after.st_ctime_ns, *before[0][2:]
                    self._seen[path] = mark, before[1]


def sha256_of(manifest: Manifest) -> str:
    """Return a hash of everything in a folder, equal for equal files."""
    lines = "".join(f"{path!a} {tuple(entry)!a}\n" for path, entry in sorted(manifest.items()))
    return hashlib.sha256(lines.encode()).hexdigest()


def _walk(folder: int, inside: str = "", depth: int = 0) -> Iterator[tuple[str, int, os.stat_result]]:
    """Yield each path below an open folder, with the open folder that it lies in, and its status."""
    if depth > DEEPEST:
        raise StateFault(f"its folders lie deeper than {DEEPEST} levels")
    try:
        names = sorted(os.listdir(folder))
    except OSError as error:
        raise StateFault(f"{inside or 'its folder'} cannot be read: {error.strerror}") from error
    for name in names:
        path = f"{inside}/{name}" if inside else name
        try:
            status = os.stat(name, dir_fd=folder, follow_symlinks=False)
        except OSError:
            continue
        yield path, folder, status
        if stat.S_ISDIR(status.st_mode):
            try:
                with open_folder(name, folder) as inner:
                    yield from _walk(inner, path, depth + 1)
            except OSError as error:
                raise StateFault(f"{path} cannot be read: {error.strerror}") from error


def _copy(read: BinaryIO, written: BinaryIO) -> None:
    """Copy a file's content, sharing its blocks if the file system supports that."""
    try:
        fcntl.ioctl(written.fileno(), _FICLONE, read.fileno())
    except OSError:
        shutil.copyfileobj(read, written, 1 << 20)


def initial(folder: Path, names: Sequence[str], depot: Path) -> Manifest:
    """Return the state that a folder holds under these names. Raises RigError, with the place."""
    manifest: dict[str, PathState] = {}
    for name in dict.fromkeys(names):
        place = folder / name
        for parent in reversed(Path(name).parents[:-1]):
            manifest.setdefault(parent.as_posix(), PathState("folder"))
        if place.is_symlink() or not (place.is_dir() or place.is_file()):
            raise RigError(
                f"{place}: no such file or folder; `state` in mcp.json names what a server works on"
            )
        try:
            if place.is_file():
                executable = bool(place.stat().st_mode & stat.S_IXUSR)
                manifest[name] = PathState("file", keep(place, depot), executable)
                continue
            inside = Files(place, depot).take()
        except StateFault as error:
            raise RigError(f"{place}: {error}") from error
        manifest[name] = PathState("folder")
        manifest |= {f"{name}/{path}": entry for path, entry in inside.items()}
        for path, entry in inside.items():
            if entry.kind == "link" and _leaves(path, entry.content):
                raise RigError(f"{place / path}: is a link that leads out of the state")
    return dict(sorted(manifest.items()))


def _leaves(path: str, target: str) -> bool:
    return os.path.isabs(target) or os.path.normpath(Path(path).parent / target).startswith("..")


def records(
    manifest: Manifest, depot: Path, unseen: Sequence[str], only: Sequence[str] | None = None
) -> Iterator[tuple[str, Json, list[tuple[str, str]]]]:
    """Yield what people compare in a state: each path, its content, and a database's rows as (table, row).

    Paths that match an `unseen` pattern are left out, and so is what SQLite keeps beside a database. With
    `only`, just those paths are read.
    """
    databases = {path for path, entry in manifest.items() if _is_database(entry, depot)}
    for path, entry in manifest.items():
        if only is not None and path not in only:
            continue
        main = BESIDE.sub("", path)
        hidden = main != path and main in databases
        if hidden or is_unseen(path, unseen):
            continue
        if entry.kind == "folder":
            yield path, "a folder", []
        elif entry.kind == "link":
            yield path, f"a link to {entry.content}", []
        elif path in databases and (rows := _rows(path, manifest, depot)) is not None:
            yield path, "a database", rows
        else:
            yield path, _text(depot, entry.content), []


def is_unseen(path: str, patterns: Sequence[str]) -> bool:
    """Return whether a path is left out of comparisons."""
    return any(fnmatchcase(path, name) or fnmatchcase(path, f"*/{name}") for name in patterns)


def _is_database(entry: PathState, depot: Path) -> bool:
    if entry.kind != "file":
        return False
    with (depot / entry.content).open("rb") as file:
        return file.read(len(_SQLITE)) == _SQLITE


def _text(depot: Path, digest: str) -> str:
    place = depot / digest
    size = place.stat().st_size
    if size <= _LONGEST_TEXT:
        with suppress(UnicodeDecodeError):
            return place.read_bytes().decode()
    return f"{size:,} bytes, SHA-256 {digest}"


def _rows(path: str, manifest: Manifest, depot: Path) -> list[tuple[str, str]] | None:
    """Return the rows of a database as text; None if unreadable or too many. Runs none of its code."""
    folder = depot / "reading"
    remove(folder)
    folder.mkdir(parents=True)
    for ending in ("", "-wal", "-journal"):
        if (entry := manifest.get(f"{path}{ending}")) is not None and entry.kind == "file":
            copy = folder / f"x{ending}"
            shutil.copyfile(depot / entry.content, copy)
            if ending == "-journal" and names_super_journal(copy):
                # SQLite would delete the file of that name, and what the database holds depends on it.
                remove(folder)
                return None
    until, left = time.monotonic() + _READ_S, _MOST_TEXT
    rows: list[tuple[str, str]] = []
    try:
        with closing(open_own(folder / "x")) as database:
            database.execute("PRAGMA trusted_schema = OFF")
            database.set_progress_handler(lambda: time.monotonic() > until, 10_000)
            database.text_factory = lambda raw: raw.decode("utf-8", "backslashreplace")
            query = "SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name"
            for name, sql in database.execute(query).fetchall():
                rows.append((name, sql))
                if sql.lstrip()[:12].upper() != "CREATE TABLE":
                    continue
                quoted = name.replace('"', '""')
                for row in database.execute(f'SELECT * FROM "{quoted}"'):
                    text = repr(row)
                    left -= len(text)
                    rows.append((name, text))
                    if len(rows) > _MOST_ROWS or left < 0:
                        return None
    except (sqlite3.Error, ValueError, AttributeError):
        return None
    finally:
        remove(folder)
    return rows
