"""The header of a GGUF file, read with every count checked against the size of the file first.

`gguf.GGUFReader` trusts the counts it finds and makes an array for each vocabulary entry. A hostile header
makes it allocate without end, and an honest one takes 1.8 s for 49,152 tokens (9 ms here). So only the
constants of that package are used.
"""

import math
import mmap
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from struct import Struct, unpack_from
from typing import TypeAlias, TypeVar

import gguf.constants as gguf

from rig.core.errors import RigError

SUPPORTED_VERSIONS = (2, 3)

MAX_HEADER = 128 * 2**20
MAX_ENTRIES = 65_536
MAX_DIMENSIONS = 4
MAX_STRINGS = 2**22
MAX_TEXT = 16 * 2**20
"""Limits far above any real model; without them a sparse file could back any count that it claims."""

_FORMATS = {
    "UINT8": "B",
    "INT8": "b",
    "UINT16": "H",
    "INT16": "h",
    "UINT32": "I",
    "INT32": "i",
    "UINT64": "Q",
    "INT64": "q",
    "FLOAT32": "f",
    "FLOAT64": "d",
    "BOOL": "?",
}
_SCALARS = {gguf.GGUFValueType[name]: Struct(f"<{code}") for name, code in _FORMATS.items()}
_U32, _U64 = _SCALARS[gguf.GGUFValueType.UINT32], _SCALARS[gguf.GGUFValueType.UINT64]
_DECODED_NUMBERS = 4_096
"""The longest numeric array that is decoded: per-layer values are shorter, token types and scores longer."""
_MOST_DECODED = 65_536
"""The most numbers decoded over all arrays; arrays beyond that are skipped."""
_SMALLEST_ENTRY = 8 + 4 + 1
_SMALLEST_TENSOR = 8 + 4 + 4 + 8


@dataclass(frozen=True, slots=True)
class Array:
    """An array that was skipped: the type and number of its values."""

    type: str
    length: int


Scalar: TypeAlias = str | int | float | bool
Value: TypeAlias = Scalar | tuple[Scalar, ...] | Array
PerLayer: TypeAlias = int | tuple[int, ...]
"""A number for all layers, or one for each."""
Kind = TypeVar("Kind")


@dataclass(frozen=True, slots=True)
class Tensor:
    """One tensor: its shape (fastest dimension first), its GGML type and the bytes it takes."""

    name: str
    shape: tuple[int, ...]
    type: gguf.GGMLQuantizationType
    bytes: int

    @property
    def elements(self) -> int:
        return math.prod(self.shape)


@dataclass(frozen=True, slots=True)
class Header:
    """Everything before the weights, and the size of the whole file in bytes."""

    size: int
    metadata: Mapping[str, Value]
    tensors: tuple[Tensor, ...]

    def get(self, key: str, kind: type[Kind]) -> Kind | None:
        """Return a metadata value; None if it is missing or of another type."""
        value = self.metadata.get(key)
        return value if type(value) is kind else None

    @property
    def architecture(self) -> str:
        return self.get("general.architecture", str) or ""

    @property
    def is_adapter(self) -> bool:
        """Whether the file declares itself an adapter rather than a model."""
        return self.get("general.type", str) == "adapter"

    def number(self, key: str, default: int | None = None) -> int | None:
        value = self.get(key, int)
        return value if value is not None and value >= 0 else default

    def own(self, key: str, default: int | None = None) -> int | None:
        """Return a number under the architecture's own name."""
        return self.number(f"{self.architecture}.{key}", default)

    def per_layer(self, key: str) -> PerLayer | None:
        """Return a number under the architecture's own name, or a tuple of one number per layer."""
        value = self.get(f"{self.architecture}.{key}", tuple)
        if value is not None and all(isinstance(item, int) and item >= 0 for item in value):
            return tuple(int(item) for item in value)
        return self.own(key)


def read_header(path: Path) -> Header:
    """Read and check a GGUF header: structure, bounds, and that the weights it lists are all there.

    Raises RigError if the file cannot be read, is not GGUF, is truncated or makes no sense.
    """
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise RigError(f"{path}: not a file; give the path of a .gguf file")
        with path.open("rb") as file:
            if file.read(4) != _U32.pack(gguf.GGUF_MAGIC):
                raise RigError(f"{path}: not a GGUF file (it does not begin with the letters GGUF)")
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
                return _HeaderReader(data).header()
    except OSError as error:
        raise RigError(f"{path}: cannot be read: {error.strerror}") from error
    except _Broken as broken:
        raise RigError(f"{path}: {broken}") from broken


class _Broken(Exception):
    """What is wrong with the file; the message does not name its path."""


class _HeaderReader:
    """A cursor over the mapped file that never steps beyond its end."""

    def __init__(self, data: mmap.mmap) -> None:
        self._data = data
        self._end = min(len(data), MAX_HEADER)
        self._at = 4
        self._numbers = _MOST_DECODED
        self._strings, self._text = MAX_STRINGS, MAX_TEXT

    def header(self) -> Header:
        version = self._unpack(_U32)
        if version not in SUPPORTED_VERSIONS:
            swapped = int.from_bytes(_U32.pack(version), "big")
            if swapped in SUPPORTED_VERSIONS:
                raise _Broken("a big-endian GGUF file; convert it for this machine")
            supported = " and ".join(map(str, SUPPORTED_VERSIONS))
            raise _Broken(
                f"GGUF version {version} is not supported (only {supported}); convert the model again"
            )
        tensors = self._count(_SMALLEST_TENSOR, MAX_ENTRIES)
        entries = self._count(_SMALLEST_ENTRY, MAX_ENTRIES)
        metadata: dict[str, Value] = {}
        for _ in range(entries):
            key = self._string()
            if key in metadata:
                raise _Broken(f"damaged: metadata key {_shown(key)} appears twice")
            metadata[key] = self._value(self._type(key), key)
        infos = [self._tensor() for _ in range(tensors)]
        alignment = metadata.get("general.alignment", gguf.GGUF_DEFAULT_ALIGNMENT)
        if not isinstance(alignment, int) or alignment < 1 or alignment & (alignment - 1):
            raise _Broken("damaged: general.alignment is not a power of two")
        start = -(-self._at // alignment) * alignment
        end = max((start + offset + tensor.bytes for tensor, offset in infos), default=0)
        if end > len(self._data):
            raise _Broken(
                f"truncated: {len(self._data):,} bytes of at least {end:,}; copy or download the file again"
            )
        return Header(len(self._data), metadata, tuple(tensor for tensor, _ in infos))

    def _tensor(self) -> tuple[Tensor, int]:
        name = self._string()
        dimensions = self._unpack(_U32)
        if dimensions > MAX_DIMENSIONS:
            raise _Broken(f"damaged: tensor {_shown(name)} claims {dimensions} dimensions")
        shape = tuple(self._unpack(_U64) for _ in range(dimensions))
        code = self._unpack(_U32)
        offset = self._unpack(_U64)
        try:
            kind = gguf.GGMLQuantizationType(code)
        except ValueError as error:
            raise _Broken(
                f"tensor {_shown(name)} has type {code}, unknown to this version of the gguf package"
            ) from error
        block, block_bytes = gguf.GGML_QUANT_SIZES[kind]
        elements = math.prod(shape)
        if (shape[0] if shape else 1) % block:
            raise _Broken(f"damaged: the rows of tensor {_shown(name)} are not whole blocks of {kind.name}")
        return Tensor(name, shape, kind, elements // block * block_bytes), offset

    def _value(self, kind: gguf.GGUFValueType, key: str) -> Value:
        if kind == gguf.GGUFValueType.STRING:
            return self._string()
        if kind != gguf.GGUFValueType.ARRAY:
            scalar: Scalar = self._unpack(_SCALARS[kind])
            return scalar
        kind = self._type(key)
        if kind == gguf.GGUFValueType.ARRAY:
            raise _Broken(f"damaged: {_shown(key)} is an array of arrays, which llama.cpp cannot read")
        if kind == gguf.GGUFValueType.STRING:
            length = self._count(8)
            self._skip_strings(length)
            return Array(kind.name, length)
        size = _SCALARS[kind].size
        length = self._count(size)
        start, self._at = self._at, self._at + length * size
        if length > min(_DECODED_NUMBERS, self._numbers):
            return Array(kind.name, length)
        self._numbers -= length
        return unpack_from(f"<{length}{_SCALARS[kind].format[1:]}", self._data, start)

    def _skip_strings(self, length: int) -> None:
        self._strings -= length
        if self._strings < 0:
            raise _Broken(f"damaged: its header claims more than {MAX_STRINGS:,} texts")
        # The one hot loop: a vocabulary and its merges are some 100,000 to 1,000,000 strings.
        data, at, last, unpack = self._data, self._at, self._end - 8, _U64.unpack_from
        for _ in range(length):
            if at > last:
                raise self._ends_early()
            at += 8 + unpack(data, at)[0]
        if at > self._end:
            raise self._ends_early()
        self._at = at

    def _type(self, key: str) -> gguf.GGUFValueType:
        code = self._unpack(_U32)
        try:
            return gguf.GGUFValueType(code)
        except ValueError as error:
            raise _Broken(f"damaged: {_shown(key)} has value type {code}, which does not exist") from error

    def _string(self) -> str:
        length = self._count(1)
        self._text -= length
        if self._text < 0:
            raise _Broken(f"damaged: its header claims texts of more than {MAX_TEXT // 2**20} MiB")
        start, self._at = self._at, self._at + length
        return self._data[start : self._at].decode("utf-8", errors="replace")

    def _count(self, smallest: int, most: int | None = None) -> int:
        """Read a count of things that take at least `smallest` bytes each and number at most `most`."""
        count = self._unpack(_U64)
        if count * smallest > self._end - self._at:
            raise self._ends_early()
        if most is not None and count > most:
            raise _Broken(f"damaged: its header claims {count:,} entries")
        return count

    def _unpack(self, struct: Struct) -> int:
        if self._at + struct.size > self._end:
            raise self._ends_early()
        value: int = struct.unpack_from(self._data, self._at)[0]
        self._at += struct.size
        return value

    def _ends_early(self) -> _Broken:
        if len(self._data) > MAX_HEADER:
            return _Broken(f"damaged: its header claims more than {MAX_HEADER // 2**20} MiB")
        return _Broken("truncated or damaged: the file ends inside its header; copy or download it again")


def _shown(name: str) -> str:
    """Return a name from a possibly hostile file: shortened, and without control characters."""
    return repr(name if len(name) <= 64 else name[:63] + "…")
