"""Log-probabilities of a text in llama-perplexity's file format (`--kl-divergence-base`).

The text's tokens are in chunks. The second half of each chunk has a row for every token that follows: all
log-probabilities in 16 bits, between the largest and 16 below the largest logit. Anything less likely is
lost, and the rest is rounded by up to 1.2e-4 nats, so a model differs slightly from its own file.
"""

import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from rig.core.errors import RigError
from rig.core.files import put_in_place, regular, temporary_folder
from rig.plugins.screen.divergence import LogProbs

MAGIC = b"_logits_"
FLOOR = -16.0
"""llama-perplexity only counts tokens whose log-probability for the base is above this."""
STEPS = 65535
_HEADER = struct.Struct("<8siii")
MOST_TOKENS = 1 << 26


def encode(logits: npt.NDArray[np.float32]) -> npt.NDArray[np.uint16]:
    """Return a row of the file for logits: two float32 (scale, least log-probability), 16 bits a token."""
    top = logits.max()
    least = max(logits.min(), top + np.float32(FLOOR))
    total = np.float32(np.log(np.exp(logits - top).sum(dtype=np.float64)))
    scale = np.float32((top - least) / np.float32(STEPS))
    row = np.zeros(_width(len(logits)), dtype="<u2")
    row[:4] = np.array([scale, least - top - total], dtype="<f4").view("<u2")
    if scale > 0:
        row[4 : 4 + len(logits)] = np.rint(np.maximum(logits - least, 0) / scale)
    return row


def decode(row: npt.NDArray[np.uint16], n_vocab: int) -> LogProbs:
    """Return the log-probabilities of a row of the file. Raises ValueError if they are none."""
    scale, least = row[:4].view("<f4")
    with np.errstate(all="ignore"):
        # llama.cpp multiplies and adds in single precision.
        values: LogProbs = (scale * row[4 : 4 + n_vocab].astype(np.float32) + least).astype(np.float64)
        # The probabilities of unlikely tokens are rounded up, which adds a few hundredths at most.
        if not (scale >= 0 and abs(np.exp(values).sum() - 1) < 0.1):
            raise ValueError("a row is no log-probabilities")
    return values


def _width(n_vocab: int) -> int:
    return 2 * ((n_vocab + 1) // 2) + 4


class LogitsFile:
    """An open file of log-probabilities: its chunks of tokens, and the rows of each.

    `tokens` are chunks × tokens, as the text has them. The row at place `first` + r of a chunk, r from 0, is
    about the token that follows there.
    """

    def __init__(self, file: BinaryIO, tokens: npt.NDArray[np.int32], n_vocab: int) -> None:
        self._file = file
        self.tokens = tokens
        self.n_vocab = n_vocab
        self.first = tokens.shape[1] // 2
        self.rows = tokens.shape[1] - 1 - self.first
        self._start = _HEADER.size + 4 * tokens.size
        self._bytes = 2 * _width(n_vocab) * self.rows

    def append(self, logits: npt.NDArray[np.float32]) -> None:
        """Append the next row."""
        self._file.write(encode(logits).tobytes())

    def chunk(self, number: int) -> Iterator[LogProbs]:
        """Yield the log-probabilities of a chunk, row by row. Raises RigError for a damaged file."""
        self._file.seek(self._start + number * self._bytes)
        size = self._bytes // self.rows
        try:
            for _ in range(self.rows):
                yield decode(np.frombuffer(self._file.read(size), dtype="<u2", count=size // 2), self.n_vocab)
        except ValueError as error:
            raise RigError(f"{self._file.name}: damaged: {error} (chunk {number + 1})") from error


@contextmanager
def reading(path: Path) -> Iterator[LogitsFile]:
    """Open a file that llama-perplexity or rig wrote. Raises RigError for any other or an incomplete file."""
    try:
        with regular(path) as file:
            size = path.stat().st_size
            head = file.read(_HEADER.size)
            if len(head) < _HEADER.size or not head.startswith(MAGIC):
                raise RigError(f"{path}: not a file of llama-perplexity --kl-divergence-base")
            _, n_ctx, n_vocab, chunks = _HEADER.unpack(head)
            rows = n_ctx - 1 - n_ctx // 2
            whole = _HEADER.size + chunks * (4 * n_ctx + 2 * rows * _width(n_vocab))
            if min(rows, n_vocab, chunks) < 1 or size != whole or chunks * n_ctx > MOST_TOKENS:
                raise RigError(f"{path}: damaged: {size:,} bytes, where its header says {whole:,}")
            tokens = np.frombuffer(file.read(4 * chunks * n_ctx), dtype="<i4").reshape(chunks, n_ctx)
            if tokens.min() < 0 or tokens.max() >= n_vocab:
                raise RigError(f"{path}: damaged: it has tokens that its vocabulary has not")
            yield LogitsFile(file, tokens, n_vocab)
    except OSError as error:
        raise RigError(f"{path}: cannot be read: {error.strerror or error}") from error


@contextmanager
def writing(path: Path, tokens: npt.NDArray[np.int32], n_vocab: int) -> Iterator[LogitsFile]:
    """Open a new file for the rows of these chunks, which appears once it is complete. Raises RigError."""
    if path.exists():
        raise RigError(f"{path}: already exists; choose a new file, or read it with --kl-divergence-base")
    try:
        with temporary_folder(path.absolute().parent, "logits") as folder:
            part = folder / "part"
            with part.open("wb") as file:
                chunks, n_ctx = tokens.shape
                file.write(_HEADER.pack(MAGIC, n_ctx, n_vocab, chunks) + tokens.astype("<i4").tobytes())
                yield LogitsFile(file, tokens, n_vocab)
            put_in_place(part, path)
    except OSError as error:
        hint = "if there is no room, --limit reads fewer chunks, and TMPDIR names another place"
        raise RigError(f"{path}: cannot be written: {error.strerror or error}; {hint}") from error


def chunks_of(tokens: Sequence[int], n_ctx: int, limit: int | None) -> npt.NDArray[Any]:
    """Return the first `limit` chunks of a text; tokens left over at its end are dropped.

    Raises RigError for a text that llama-perplexity finds too short.
    """
    if n_ctx < 3:
        raise RigError(f"--n-ctx {n_ctx}: a chunk has at least 3 tokens")
    if len(tokens) < 2 * n_ctx:
        raise RigError(
            f"the text has {len(tokens):,} tokens, and has to have {2 * n_ctx:,}, two chunks;"
            " give a longer one, or a smaller --n-ctx"
        )
    chunks = min(len(tokens) // n_ctx, limit or len(tokens))
    return np.array(tokens[: chunks * n_ctx], dtype=np.int32).reshape(chunks, n_ctx)
