"""Importance matrices: statistics of what enters each weight matrix of a model, in llama.cpp's two formats.

For every column of a weight matrix they hold the sum, over tokens, of the squared activation that multiplies
it. With it, a quantizer is more careful with the columns that matter. llama-imatrix writes the GGUF format
today; many files are still in the older one (`.dat`), and llama-quantize reads both.
"""

import hashlib
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Literal, TypeAlias

import gguf
import numpy as np
from numpy.typing import NDArray

from rig.core.errors import RigError
from rig.core.files import beginning, put_in_place, read_bytes, temporary_folder
from rig.plugins.llama.files.header import Array, read_header

Floats: TypeAlias = NDArray[np.float32]
Format: TypeAlias = Literal["gguf", "dat"]

TRACES = "rig.calibration.traces"
CHUNK = 512
"""The tokens of a chunk when rig counts chunks; llama-imatrix's default."""

_SUMS, _COUNTS = ".in_sum2", ".counts"
_DATASETS, _CHUNKS, _CHUNK_SIZE = "imatrix.datasets", "imatrix.chunk_count", "imatrix.chunk_size"
_MOST_ENTRIES, _LONGEST_NAME, _MOST_VALUES = 65_536, 4_096, 2**28
_LARGEST, _MOST_TEXTS = 2**29, 65_536


@dataclass(frozen=True, slots=True)
class ImportanceMatrix:
    """The sums of squares of each weight (`sums`, matrices × columns) and their numbers of tokens (`counts`).

    There is one matrix and one count for an ordinary weight, and one for each expert of a mixture. `datasets`
    says what it was made from. If rig made it, `traces` identify the conversations (`rig.compare.leaks`).
    `chunk_size` is in tokens, 0 in the older format.
    """

    sums: Mapping[str, Floats]
    counts: Mapping[str, Floats]
    datasets: tuple[str, ...] = ()
    chunks: int = 0
    chunk_size: int = CHUNK
    traces: tuple[str, ...] = field(default=(), repr=False)

    @property
    def title(self) -> str:
        """The name of the first dataset that the matrix was made from."""
        return Path((self.datasets or ("",))[0]).name or "a text that it does not name"

    def means(self) -> dict[str, Floats]:
        """Return the mean squares by weight, flat as for the quantizer; 1 for an expert without tokens."""
        means = {}
        for name, sums in self.sums.items():
            counts = np.broadcast_to(self.counts[name][:, None], (len(self.counts[name]), 1))
            rows = sums.reshape(len(counts), -1)
            with np.errstate(divide="ignore", invalid="ignore"):
                means[name] = np.where(counts > 0, rows / counts, np.float32(1)).astype(np.float32).ravel()
        return means

    def checked(self, path: Path) -> "ImportanceMatrix":
        """Return the matrix itself. Raises RigError if a weight has invalid sums of squares or only zeros."""
        if not self.sums:
            raise RigError(f"{path}: an importance matrix without entries")
        for name, sums in self.sums.items():
            counts = self.counts[name]
            fits = counts.size and sums.size and sums.size % counts.size == 0
            if not fits or not np.isfinite(sums).all() or not np.isfinite(counts).all():
                raise RigError(f"{path}: damaged: what it says of {name!r:.80} are no sums of squares")
            if sums.min() < 0 or counts.min() < 0 or not sums.any():
                raise RigError(f"{path}: damaged: what it says of {name!r:.80} is negative, or all zero")
        return self


def read(path: Path) -> ImportanceMatrix:
    """Read a file of either format. Raises RigError if it is unreadable, damaged or no importance matrix."""
    try:
        is_gguf = beginning(path, 4) == "GGUF"
        matrix = _read_gguf(path) if is_gguf else _read_old(BytesIO(read_bytes(path, _LARGEST)))
    except (struct.error, ValueError) as error:
        raise RigError(f"{path}: not an importance matrix, or damaged ({error})") from error
    return matrix.checked(path)


def write(matrix: ImportanceMatrix, path: Path, kind: Format = "gguf") -> None:
    """Write a file that appears only when it is complete. Raises RigError."""
    try:
        with temporary_folder(path.absolute().parent, "imatrix") as folder:
            written = folder / path.name
            if kind == "gguf":
                _write_gguf(matrix, written)
            else:
                written.write_bytes(_old_bytes(matrix))
            put_in_place(written, path)
    except OSError as error:
        raise RigError(f"{path}: cannot be written: {error.strerror}") from error


def sha256(matrix: ImportanceMatrix) -> str:
    """Return the SHA-256 of the mean squares, which does not depend on the file's format."""
    digest = hashlib.sha256()
    for name, means in sorted(matrix.means().items()):
        digest.update(name.encode() + b"\0" + means.tobytes())
    return digest.hexdigest()


def _read_gguf(path: Path) -> ImportanceMatrix:
    header = read_header(path)  # checks every count before anything is allocated
    if header.get("general.type", str) != "imatrix" or _DATASETS not in header.metadata:
        raise ValueError("a GGUF file of another type")
    arrays = (value.length for value in header.metadata.values() if isinstance(value, Array))
    if header.size > _LARGEST or sum(arrays) > _MOST_TEXTS:
        raise ValueError("larger than a matrix of any model")
    reader = gguf.GGUFReader(path)
    tensors: dict[str, Floats] = {}
    for tensor in reader.tensors:
        if tensor.tensor_type != gguf.GGMLQuantizationType.F32:
            raise ValueError(f"{tensor.name!r:.80} is not F32")
        tensors[tensor.name] = tensor.data
    names = sorted(name.removesuffix(_SUMS) for name in tensors if name.endswith(_SUMS))
    if missing := [name for name in names if name + _COUNTS not in tensors]:
        raise ValueError(f"{missing[0]!r:.80} has no counts")
    counts = {name: np.rint(tensors[name + _COUNTS].ravel()) for name in names}
    return ImportanceMatrix(
        sums={name: tensors[name + _SUMS].reshape(len(counts[name]) or 1, -1) for name in names},
        counts=counts,
        datasets=_texts(reader, _DATASETS),
        chunks=header.number(_CHUNKS, 0) or 0,
        chunk_size=header.number(_CHUNK_SIZE, 0) or 0,
        traces=_texts(reader, TRACES),
    )


def _texts(reader: gguf.GGUFReader, key: str) -> tuple[str, ...]:
    values = reader.fields[key].contents() if key in reader.fields else ()
    return tuple(map(str, values)) if isinstance(values, list) else ()


def _write_gguf(matrix: ImportanceMatrix, path: Path) -> None:
    writer = gguf.GGUFWriter(path, "")  # leaves the architecture out
    writer.add_type("imatrix")
    writer.add_array(_DATASETS, list(matrix.datasets or ("",)))
    writer.add_uint32(_CHUNKS, matrix.chunks)
    writer.add_uint32(_CHUNK_SIZE, matrix.chunk_size)
    if matrix.traces:
        writer.add_array(TRACES, list(matrix.traces))
    for name in sorted(matrix.sums):
        counts = np.ascontiguousarray(matrix.counts[name], dtype=np.float32)
        writer.add_tensor(name + _SUMS, np.ascontiguousarray(matrix.sums[name], dtype=np.float32))
        writer.add_tensor(name + _COUNTS, counts[:, None])
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _old_bytes(matrix: ImportanceMatrix) -> bytes:
    """Encode the older format: the mean squares times a number of calls, by which readers divide."""
    means = matrix.means()
    data = struct.pack("<i", len(means))
    for name, values in sorted(means.items()):
        calls = -(-int(matrix.counts[name].max()) // (matrix.chunk_size or 1))
        encoded = name.encode()
        data += struct.pack("<i", len(encoded)) + encoded + struct.pack("<ii", calls, len(values))
        data += (values * np.float32(calls)).astype("<f4").tobytes()
    dataset = (matrix.datasets or ("",))[-1].encode()
    return data + struct.pack("<ii", matrix.chunks, len(dataset)) + dataset


def _read_old(file: BytesIO) -> ImportanceMatrix:
    sums, counts = {}, {}
    for _ in range(_number(file, _MOST_ENTRIES)):
        name = _taken(file, _number(file, _LONGEST_NAME)).decode("utf-8")
        calls = _number(file, 2**31)
        values = np.frombuffer(_taken(file, 4 * _number(file, _MOST_VALUES)), dtype="<f4")
        sums[name], counts[name] = values[None, :].astype(np.float32), np.array([calls], dtype=np.float32)
    end = file.read(8)
    if not end:
        return ImportanceMatrix(sums, counts, chunk_size=0)
    chunks, length = struct.unpack("<ii", end)
    dataset = _taken(file, max(0, min(length, _LONGEST_NAME))).decode("utf-8", "replace")
    return ImportanceMatrix(sums, counts, (dataset,), max(chunks, 0), chunk_size=0)


def _number(file: BytesIO, most: int) -> int:
    (number,) = struct.unpack("<i", file.read(4))
    if not 0 < number <= most:
        raise ValueError(f"it claims {number:,} of something")
    return int(number)


def _taken(file: BytesIO, size: int) -> bytes:
    data = file.read(size)
    if len(data) < size:
        raise ValueError("it ends too early")
    return data
