"""What reaches llama.cpp, recorded at the border to it, and played again with nothing around it.

The hooks sit on the binding's functions, so the record holds whatever the engine does and however it is
organised: every batch, every change of the KV cache, in order.
"""

import base64
import ctypes
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any, TypeAlias

import llama_cpp as C
import numpy as np

from rig.core.errors import RigError

Operation: TypeAlias = list[Any]
"""["decode", tokens, positions, sequences of each token, whether logits are wanted of each token], or the
name of a function of the KV cache and its arguments after the memory it works on."""

_RESTORE = "llama_state_seq_set_data"
_MEMORY = (
    "llama_memory_clear",
    "llama_memory_seq_rm",
    "llama_memory_seq_cp",
    "llama_memory_seq_keep",
    "llama_memory_seq_add",
    "llama_memory_seq_div",
)
_STATES = (
    "llama_state_set_data",
    "llama_state_load_file",
    "llama_state_seq_set_data_ext",
    "llama_state_seq_load_file",
)
"""They bring tokens into the cache that nobody decoded: a tape with one of them cannot be played."""

_WAITS = ("llama_get_logits", "llama_get_logits_ith", "llama_synchronize")


@dataclass(slots=True)
class Recorded:
    """The operations, and the seconds that llama.cpp took for them, its waiting for the device included."""

    operations: list[Operation] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def batches(self) -> int:
        return sum(operation[0] == "decode" for operation in self.operations)

    @property
    def tokens(self) -> int:
        return sum(len(operation[1]) for operation in self.operations if operation[0] == "decode")

    def write(self, path: Path) -> None:
        path.write_text("".join(json.dumps(operation) + "\n" for operation in self.operations))

    @classmethod
    def read(cls, path: Path) -> "Recorded":
        return cls([json.loads(line) for line in path.read_text().splitlines()])


@contextmanager
def recording(tape: Recorded, clock: Callable[[], float] = perf_counter) -> Iterator[None]:
    """While this lasts, what the process has llama.cpp do is added to the tape, and timed."""

    def timed(function: Callable[..., Any], note: Callable[..., Operation] | None) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            if note is not None:
                tape.operations.append(note(*arguments))
            began = clock()
            try:
                return function(*arguments)
            finally:
                tape.seconds += clock() - began

        return call

    def of_memory(name: str) -> Callable[..., Operation]:
        return lambda _memory, *arguments: [name, *(int(value) for value in arguments)]

    notes: dict[str, Callable[..., Operation] | None] = {
        "llama_decode": lambda _context, batch: _operation(batch),
        **{name: of_memory(name) for name in _MEMORY},
        **{name: partial(_unplayable, name) for name in _STATES},
        _RESTORE: _restored,
        **dict.fromkeys(_WAITS),
    }
    originals = {name: getattr(C, name) for name in notes}
    for name, note in notes.items():
        setattr(C, name, timed(originals[name], note))
    try:
        yield
    finally:
        for name, original in originals.items():
            setattr(C, name, original)


def _restored(_context: Any, buffer: Any, size: int, sequence: int) -> Operation:
    """The state of a sequence that was put back, as it was."""
    return [_RESTORE, base64.b64encode(ctypes.string_at(buffer, size)).decode(), int(sequence)]


def _unplayable(name: str, *_: Any) -> Operation:
    return [name]


def _operation(batch: Any) -> Operation:
    count = batch.n_tokens
    numbers = np.ctypeslib.as_array(batch.n_seq_id, (count,)).tolist()
    return [
        "decode",
        np.ctypeslib.as_array(batch.token, (count,)).tolist(),
        np.ctypeslib.as_array(batch.pos, (count,)).tolist(),
        [batch.seq_id[index][:number] for index, number in enumerate(numbers)],
        np.ctypeslib.as_array(batch.logits, (count,)).tolist(),
    ]


@contextmanager
def catching_context(caught: list[Any]) -> Iterator[None]:
    """While this lasts, the contexts that the process makes are added to `caught`."""
    original = C.llama_init_from_model

    def init(*arguments: Any) -> Any:
        context = original(*arguments)
        caught.append(context)
        return context

    C.llama_init_from_model = init
    try:
        yield
    finally:
        C.llama_init_from_model = original


class Player:
    """Plays a tape on a context. What can be prepared is, so that `play` does little but call llama.cpp."""

    def __init__(self, tape: Recorded) -> None:
        batches = [operation for operation in tape.operations if operation[0] == "decode"]
        widest = max((len(batch[1]) for batch in batches), default=1)
        most = max((len(ids) for batch in batches for ids in batch[3]), default=1)
        self._batch = C.llama_batch_init(widest, 0, most)
        self._arrays = [
            np.ctypeslib.as_array(part, (widest,))
            for part in (self._batch.token, self._batch.pos, self._batch.n_seq_id, self._batch.logits)
        ]
        held: dict[int, list[int]] = {}
        self._steps = [_prepared(operation, held) for operation in tape.operations]

    def play(self, context: Any) -> None:
        """Do everything on the tape, waiting for each batch whose logits were wanted.

        Raises RigError when llama.cpp refuses what it took when it was recorded.
        """
        memory = C.llama_get_memory(context)
        for name, *arguments in self._steps:
            if name == _RESTORE:
                state, sequence = arguments
                C.llama_state_seq_set_data(context, state, len(state), sequence)
                continue
            if name != "decode":
                getattr(C, name)(memory, *arguments)
                continue
            columns, sequences, waits = arguments
            count = self._batch.n_tokens = len(columns[0])
            for array, values in zip(self._arrays, columns, strict=True):
                array[:count] = values
            for index, ids in sequences:
                for number, sequence in enumerate(ids):
                    self._batch.seq_id[index][number] = sequence
            code = C.llama_decode(context, self._batch)
            if code:
                raise RigError(f"llama_decode returned {code} for a batch it took before")
            if waits:
                C.llama_synchronize(context)

    def close(self) -> None:
        C.llama_batch_free(self._batch)


def _prepared(operation: Operation, held: dict[int, list[int]]) -> Sequence[Any]:
    """A step of `play`. `held` is what the batch's sequence ids are by then; only others are written."""
    name, *arguments = operation
    if name == _RESTORE:
        state = base64.b64decode(arguments[0])
        return [name, (ctypes.c_uint8 * len(state)).from_buffer_copy(state), arguments[1]]
    if name != "decode":
        if name not in _MEMORY:
            raise RigError(f"{name!r} on a tape is no operation that can be played")
        return operation
    tokens, positions, sequences, wanted = arguments
    columns = (
        np.array(tokens, dtype=np.int32),
        np.array(positions, dtype=np.int32),
        np.array([len(ids) for ids in sequences], dtype=np.int32),
        np.array(wanted, dtype=np.int8),
    )
    changed = [(index, ids) for index, ids in enumerate(sequences) if held.get(index) != ids]
    held.update(changed)
    return name, columns, changed, any(wanted)
