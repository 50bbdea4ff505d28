"""SHA-256 of model files, remembered between runs: a 10 GB file takes most of a minute to read."""

import hashlib
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from rig.errors import RigError
from rig.files import json_text, read_json, write
from rig.paths import cache_directory, real

_FILE = "sha256.json"


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
        # Two processes at once may lose an entry, which costs a reading, but never leave half a file.
        text = json_text({**_load(), _key(path, after): digest}, indent=0)
        with suppress(RigError):
            write(text, cache_directory() / _FILE, force=True, folders=True)
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


def _load() -> Mapping[str, object]:
    with suppress(RigError):
        digests = read_json(cache_directory() / _FILE)
        return digests if isinstance(digests, dict) else {}
    return {}
