"""SHA-256 of model files, remembered between runs: a 10 GB file takes most of a minute to read."""

import hashlib
import json
import os
import tempfile
from contextlib import suppress
from pathlib import Path

from rig.errors import RigError
from rig.paths import cache_directory, real


def sha256_of(path: Path, *, fresh: bool = False) -> str:
    """The SHA-256 of a file in hexadecimal. Raises RigError when it cannot be read.

    An earlier answer is used while path, size and times are those it was given for, unless `fresh` asks for
    the file to be read. One of these times is the kernel's own, of the last change of any kind: nobody who
    writes to a file can set it back.
    """
    remembered = None if fresh else remembered_sha256(path)
    if remembered:
        return remembered
    try:
        with path.open("rb") as file:
            before = os.fstat(file.fileno())
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            after = os.fstat(file.fileno())
    except OSError as error:
        raise RigError(f"{path}: cannot be read: {error.strerror}") from error
    if _key(path, before) == _key(path, after):
        _remember(_key(path, after), digest)
    return digest


def remembered_sha256(path: Path) -> str | None:
    """The SHA-256 of a file if it is known without reading the file."""
    try:
        digest = _load().get(_key(path, path.stat()))
    except OSError:
        return None
    return digest if isinstance(digest, str) else None


def _key(path: Path, status: os.stat_result) -> str:
    return f"{real(path)}|{status.st_size}|{status.st_mtime_ns}|{status.st_ctime_ns}"


def _file() -> Path:
    return cache_directory() / "sha256.json"


def _load() -> dict[str, object]:
    try:
        digests = json.loads(_file().read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return digests if isinstance(digests, dict) else {}


def _remember(key: str, digest: str) -> None:
    """Two processes at once may lose an entry, which costs a reading, but never leave half a file."""
    with suppress(OSError):
        _file().parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=_file().parent, prefix="sha256-")
        try:
            with open(handle, "w", encoding="utf-8") as file:
                json.dump({**_load(), key: digest}, file, indent=0)
            os.replace(temporary, _file())
        except OSError:
            os.unlink(temporary)
