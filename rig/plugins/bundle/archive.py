"""Tar archives: written so that the same files give the same bytes, and read as if from strangers.

Only plain files with the header of POSIX.1-1988 or GNU's large sizes are read: no links, no devices, and no
extended headers, because an archive could choose their lengths.
"""

import gzip
import hashlib
import lzma
import os
import shutil
import subprocess
import tarfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, cast

from rig.core.errors import RigError

SUFFIXES = (".tar.gz", ".tar.xz", ".tar.zst", ".tar")

_BLOCK = 1 << 20
_RECORD = 512
_TIME = 315532800
"""1980, the earliest year that zip archives can express as well."""
_LONGEST_NAME = 250
_XZ_MEMORY = 256 << 20
_EXPANSION = 200
"""The most times its size that an archive may unpack to; real ones reach 5."""
_SPARE = 64 << 20


@dataclass(frozen=True, slots=True)
class Digest:
    """The SHA-256 in hexadecimal, and the size in bytes."""

    sha256: str
    size: int


@dataclass(frozen=True, slots=True)
class Member:
    """A file of an archive: its name in it, where its content is, and the digest that this must have."""

    name: str
    source: Path
    digest: Digest
    executable: bool = False


def digest_of(path: Path) -> Digest:
    """Return the digest of a file as it is now. Raises RigError."""
    try:
        with path.open("rb") as file:
            return copied(blocks_of(file))
    except OSError as error:
        raise RigError(f"{path}: cannot be read: {error.strerror}") from error


def copied(blocks: Iterable[bytes], write: Callable[[bytes], object] | None = None) -> Digest:
    """Return the digest of some blocks, passing each to `write` as it comes."""
    digest, size = hashlib.sha256(), 0
    for block in blocks:
        digest.update(block)
        size += len(block)
        if write:
            write(block)
    return Digest(digest.hexdigest(), size)


def blocks_of(file: BinaryIO) -> Iterator[bytes]:
    """Return an iterator over the rest of an open file, in blocks."""
    return iter(lambda: file.read(_BLOCK), b"")


def write(target: Path, suffix: str, members: Iterable[Member]) -> None:
    """Write an archive, compressed as its suffix says.

    Raises OSError, and RigError for a file that has changed meanwhile or has a name that is too long.
    """
    with target.open("wb") as file, _compressing(file, suffix) as archive:
        for member in members:
            archive.write(_header(member))
            with member.source.open("rb") as source:
                if copied(blocks_of(source), archive.write) != member.digest:
                    raise RigError(f"{member.source}: changed while it was packed; pack again")
            archive.write(bytes(-member.digest.size % _RECORD))
        archive.write(bytes(2 * _RECORD))


def _header(member: Member) -> bytes:
    info = tarfile.TarInfo(member.name)
    info.size, info.mtime, info.mode = member.digest.size, _TIME, 0o755 if member.executable else 0o644
    # GNU's form has sizes above 8 GiB, the older one has names above 100 bytes.
    try:
        length = len(member.name.encode())
        if length > _LONGEST_NAME:
            raise ValueError("name is too long")
        if length > tarfile.LENGTH_NAME:
            return info.tobuf(tarfile.USTAR_FORMAT, "utf-8", "strict")
        return info.tobuf(tarfile.GNU_FORMAT, "utf-8", "strict")
    except ValueError as error:
        raise RigError(f"{member.source}: cannot be packed as {member.name}: {error}") from error


@contextmanager
def _compressing(file: BinaryIO, suffix: str) -> Iterator[Any]:
    if suffix == ".tar.zst":
        options = ["-q", "-6", "-T0", "-c"]
        with _zstd(options, subprocess.PIPE, file) as process, cast(BinaryIO, process.stdin) as archive:
            yield archive
    elif suffix == ".tar.xz":
        with lzma.LZMAFile(file, "wb", preset=2) as archive:
            yield archive
    else:
        with (
            gzip.GzipFile("", "wb", 6, file, mtime=0) if suffix == ".tar.gz" else nullcontext(file) as archive
        ):
            yield archive


@contextmanager
def _zstd(
    options: list[str], stdin: int | BinaryIO, stdout: int | BinaryIO
) -> Iterator[subprocess.Popen[bytes]]:
    program = shutil.which("zstd")
    if program is None:
        raise RigError(".tar.zst needs the program zstd, which is not installed; .tar.gz and .tar.xz do not")
    with subprocess.Popen([program, *options], stdin=stdin, stdout=stdout, stderr=subprocess.PIPE) as process:
        try:
            yield process
        except BaseException:
            process.kill()
            raise
        assert process.stderr is not None
        fault = process.stderr.read(1000).decode("utf-8", "replace").strip()
        if process.wait():
            raise OSError(None, fault or f"zstd ended with {process.returncode}")


@contextmanager
def reading(path: Path) -> Iterator["Stream"]:
    """A context with the content of an archive, decompressed as its first bytes say. Raises RigError."""
    try:
        size = path.stat().st_size
        with path.open("rb") as file, _blocks(file) as blocks:
            yield Stream(path, blocks, _EXPANSION * size + _SPARE)
    except (OSError, EOFError, zlib.error, lzma.LZMAError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise RigError(f"{path}: cannot be read to its end: {reason}") from error


@contextmanager
def _blocks(file: BinaryIO) -> Iterator[Iterator[bytes]]:
    magic = file.read(6)
    file.seek(0)
    if magic.startswith(b"\x1f\x8b"):
        with gzip.GzipFile(fileobj=file) as archive:
            yield blocks_of(cast(BinaryIO, archive))
    elif magic == b"\xfd7zXZ\0":
        yield _xz(file)
    elif magic.startswith(b"\x28\xb5\x2f\xfd"):
        os.lseek(file.fileno(), 0, os.SEEK_SET)  # where zstd reads; Python may be past it
        with _zstd(["-qdc"], stdin=file, stdout=subprocess.PIPE) as process:
            yield blocks_of(cast(BinaryIO, process.stdout))
    else:
        yield blocks_of(file)


def _xz(file: BinaryIO) -> Iterator[bytes]:
    """Decompress an xz file with limited memory; Python's own reader takes as much as the file asks for."""
    reader = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_XZ_MEMORY)
    while not reader.eof:
        block = file.read(_BLOCK) if reader.needs_input else b""
        if reader.needs_input and not block:
            raise EOFError("it is cut off")
        yield reader.decompress(block, _BLOCK)


class Stream:
    """The bytes of an archive in order, and the files in it."""

    def __init__(self, path: Path, blocks: Iterator[bytes], limit: int) -> None:
        self._path = path
        self._blocks = blocks
        self._limit = limit
        self._left = b""

    def _fault(self, what: str) -> RigError:
        return RigError(f"{self._path}: {what}")

    def _pieces(self, size: int) -> Iterator[bytes]:
        """Yield the next `size` bytes. Raises RigError if there are fewer."""
        while size:
            if not (self._left or self._more()):
                raise self._fault("ends too early; it is no bundle of rig, or a part of one")
            piece, self._left = self._left[:size], self._left[size:]
            size -= len(piece)
            yield piece

    def _more(self) -> bool:
        """Read the next block. Return False at the end."""
        self._left = next(filter(None, self._blocks), b"")
        self._limit -= len(self._left)
        if self._limit < 0:
            raise self._fault(f"unpacks to more than {_EXPANSION} times its size; not read further")
        return bool(self._left)

    def members(self) -> Iterator[tuple[str, int, Iterator[bytes]]]:
        """Yield each file's name, size in bytes, and content, which is skipped if you do not read it.

        Raises RigError for anything but plain files, for names that lead elsewhere, and for data after the
        end.
        """
        while (header := b"".join(self._pieces(_RECORD))).strip(b"\0"):
            try:
                info = tarfile.TarInfo.frombuf(header, "utf-8", "strict")
            except (tarfile.HeaderError, ValueError) as error:
                raise self._fault(f"is not a tar archive: {error}") from error
            if info.type not in (tarfile.REGTYPE, tarfile.AREGTYPE) or info.size < 0:
                raise self._fault(f"{info.name!a} is not a plain file; not read further")
            if leads_elsewhere(info.name):
                raise self._fault(f"{info.name!a} leads out of its folder; not read further")
            content = self._pieces(info.size)
            yield info.name, info.size, content
            for _ in chain(content, self._pieces(-info.size % _RECORD)):
                pass
        padding = 0
        while self._left or self._more():
            padding += len(self._left)
            if padding > 2 * _BLOCK or self._left.strip(b"\0"):
                raise self._fault("continues after its end")
            self._left = b""


def leads_elsewhere(name: str) -> bool:
    """Return whether a name in an archive could mean a place outside the folder it is unpacked in."""
    parts = name.split("/")
    return any(part in ("", ".", "..") for part in parts) or "\\" in name or "\0" in name or ":" in parts[0]
