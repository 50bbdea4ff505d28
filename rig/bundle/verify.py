"""Check a bundle against its own checksums, without unpacking it."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rig.bundle.archive import Digest, Stream, copied, digest_of, reading
from rig.bundle.contents import MANIFEST, SUMS, TOP, sums
from rig.errors import RigError

_LARGEST_MANIFEST = 16 << 20


@dataclass(frozen=True, slots=True)
class Verified:
    """The bundle's own digest, how many files it lists, and what differs: (name, what is wrong)."""

    digest: Digest
    files: int
    differing: tuple[tuple[str, str], ...]


def verify(path: Path) -> Verified:
    """Read a bundle to the end. Raises RigError if it is not one, or may not be unpacked.

    Nothing is written. A checksum in a bundle shows damage alone: who changes a file can change that, too.
    Whether it is the bundle that somebody made is in the digest, which they can tell you.
    """
    if not path.is_file():
        raise RigError(f"{path}: {'is not a regular file' if path.exists() else 'no such file'}")
    with reading(path) as stream:
        files, differing = _held(path, stream)
    return Verified(digest_of(path), files, tuple(differing))


def _held(path: Path, stream: Stream) -> tuple[int, list[tuple[str, str]]]:
    members = stream.members()
    name, size, content = next(members, ("", 0, iter(())))
    if name != f"{TOP}/{MANIFEST}" or size > _LARGEST_MANIFEST:
        raise RigError(f"{path}: not a rig bundle: it does not begin with {TOP}/{MANIFEST}")
    text = b"".join(content)
    listed = _listed(path, text)
    left = {SUMS: copied([sums(copied([text]), listed).encode()]), **listed}
    count, differing = len(left) + 1, []
    for name, size, content in members:
        inside = name.removeprefix(f"{TOP}/")
        digest = left.pop(inside, None) if inside != name else None
        if digest is None:
            differing.append((name, "is not in the list, or twice in the bundle"))
        elif size != digest.size:
            differing.append((inside, f"{size} bytes instead of {digest.size}"))
        elif copied(content) != digest:
            differing.append((inside, "its SHA-256 is another"))
        if len(differing) > count:
            raise RigError(f"{path}: contains files that it does not list; not read further")
    return count, [*differing, *((name, "is missing") for name in left)]


def _listed(path: Path, text: bytes) -> dict[str, Digest]:
    try:
        files: Any = json.loads(text)["files"]
        return {str(name): Digest(str(file["sha256"]), int(file["size"])) for name, file in files.items()}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError) as error:
        raise RigError(f"{path}: not a rig bundle: its {MANIFEST} cannot be read: {error}") from error
