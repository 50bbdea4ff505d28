"""llama.cpp through llama-cpp-python's low-level bindings: a model, a context, batches, logits.

The high-level `Llama` class is not used: it resets the KV cache between calls, fills batches token by token
in Python, and keeps logits that nobody reads.
"""

import ctypes
import re
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from rig.core.errors import ErrorKind, RigError
from rig.plugins.llama.core.placement import ON_CPU, Placement
from rig.plugins.llama.core.settings import KV_TYPES, kv_types

try:
    import llama_cpp as C
except ModuleNotFoundError as missing:
    if missing.name != "llama_cpp":
        raise
    raise RigError(
        "llama-cpp-python, which plays models, is not installed; install rig-eval[engine], which compiles it"
    ) from missing

__all__ = ["C", "Chunk", "DecodeError", "LlamaContext", "LlamaModel"]

_log: deque[str] = deque(maxlen=200)
_listener: Callable[[str], None] | None = None
_SHORT_OF_MEMORY = re.compile(r"alloc|out ?of\w* ?memory|insufficient memory", re.IGNORECASE)


@C.llama_log_callback  # type: ignore[untyped-decorator]
def _keep_log(level: int, text: bytes, _user_data: Any) -> None:
    """Keep llama.cpp's last log lines for error messages; stderr, its default, belongs to the display."""
    if level in (3, 4):  # GGML_LOG_LEVEL_WARN, GGML_LOG_LEVEL_ERROR
        _log.append(text.decode("utf-8", "replace").strip())
    if _listener is not None:
        _listener(text.decode("utf-8", "replace"))


class DecodeError(Exception):
    """A step cannot be decoded to its end. `kind` is MEMORY or DECODE where llama.cpp failed."""

    def __init__(self, kind: ErrorKind, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class NoMemory(RigError):
    """llama.cpp could not get the memory for weights or a context. `reason` is what it logged."""

    def __init__(self, message: str, reason: str = "") -> None:
        super().__init__(message)
        self.reason = reason or message


_start_backends = cache(C.llama_backend_init)


def initialise() -> None:
    """Start llama.cpp's backends and take over its log. It can be called repeatedly."""
    C.llama_log_set(_keep_log, ctypes.c_void_p(0))
    _start_backends()


@contextmanager
def listening(listener: Callable[[str], None]) -> Iterator[None]:
    """A context in which a listener receives everything that llama.cpp logs: lines, and parts of them."""
    global _listener
    initialise()
    _listener = listener
    try:
        yield
    finally:
        _listener = None


class LlamaModel:
    """The weights of one GGUF file. Raises RigError if they cannot be loaded, NoMemory if memory is why.

    Without layers on a GPU no GPU is used, not even for large batches, as llama.cpp would by default. A
    `weightless` model only shows what a context on it would take: llama.cpp allocates nothing for it. If
    llama.cpp was compiled for AMX, the CPU's special weight layouts are not used: GCC before 14 drops part of
    the tile configuration (GCC bug 114098), and the first matrix product then kills the process.
    """

    def __init__(self, path: Path, placement: Placement = ON_CPU, *, weightless: bool = False) -> None:
        initialise()
        parameters = C.llama_model_default_params()
        kept = placement.apply(parameters)
        if weightless:
            parameters.no_alloc, parameters.load_mode = True, C.LLAMA_LOAD_MODE_NONE
        self.cpu_weight_layouts = b"AMX_INT8 = 1" not in C.llama_print_system_info()
        parameters.use_extra_bufts = self.cpu_weight_layouts
        _log.clear()
        self.pointer = C.llama_model_load_from_file(str(path).encode(), parameters)
        del kept
        if not self.pointer:
            raise _refusal(f"{path}: llama.cpp cannot load it: {_first_error()}")
        self.path = path
        self.tensor_library_name = "numpy"  # as Outlines' models say it
        self.placement = placement
        self._users = 1
        self.vocab = C.llama_model_get_vocab(self.pointer)
        self.n_vocab: int = C.llama_vocab_n_tokens(self.vocab)
        self.n_ctx_train: int = C.llama_model_n_ctx_train(self.pointer)
        # A recurrent state covers the whole past: it cannot go back or be shared in part.
        self.can_branch = not (
            C.llama_model_is_recurrent(self.pointer) or C.llama_model_is_hybrid(self.pointer)
        )
        self.has_window = C.llama_model_n_swa(self.pointer) > 0
        self._adapters: dict[Path, Any] = {}

    def adapter(self, path: Path) -> Any:
        """Return an adapter for these weights, loaded once. Raises RigError if llama.cpp cannot load it.

        It changes nothing until a context applies it; llama.cpp frees it with the weights.
        """
        if path not in self._adapters:
            _log.clear()
            loaded = C.llama_adapter_lora_init(self.pointer, str(path).encode())
            if not loaded:
                raise _refusal(f"{path}: llama.cpp cannot load the adapter: {_first_error()}")
            self._adapters[path] = loaded
        return self._adapters[path]

    @property
    def tokenize_address(self) -> int:
        """The address of `llama_tokenize`, which llguidance calls directly."""
        return ctypes.cast(C.llama_cpp._lib.llama_tokenize, ctypes.c_void_p).value or 0

    def share(self) -> "LlamaModel":
        """Return the same weights for one more user, who must close them too."""
        self._users += 1
        return self

    def close(self) -> None:
        """Release the weights; they are freed when the last user does so."""
        self._users -= 1
        if self.pointer and self._users <= 0:
            C.llama_model_free(self.pointer)
            self.pointer = None


class Chunk(NamedTuple):
    """Tokens to decode at the end of a sequence, and for how many of the last ones logits are wanted.

    The context must have been made for that many.
    """

    sequence: int
    tokens: Sequence[int]
    logits: int


SPARES = 3
"""The copies that a context has room for, for each sequence, if its memory cannot be cut; and one more."""


class LlamaContext:
    """A context whose KV cache holds `n_seq` sequences in cells that they can share. Not thread-safe.

    `n_ctx` is the length that each sequence may reach; `n_cells` is how many tokens fit in all, by default
    enough for that. The logits of `n_outputs` tokens of a batch can be read, by default one for each
    sequence. If the memory cannot be cut, there is room for copies of sequences, too. Raises RigError when
    llama.cpp cannot make the context, which nearly always means too little memory.
    """

    def __init__(
        self,
        model: LlamaModel,
        *,
        n_ctx: int,
        n_batch: int,
        n_threads: int,
        flash_attention: bool,
        kv_type: str,
        n_seq: int = 1,
        n_cells: int | None = None,
        n_outputs: int | None = None,
        watch: Any = None,
        own: Mapping[str, Any] | None = None,
    ) -> None:
        parameters = C.llama_context_default_params()
        if watch is not None:  # an evaluation callback, which must live as long as the context
            parameters.cb_eval = self._watch = watch
        for name, value in (own or {}).items():
            setattr(parameters, name, value)
        parameters.n_ctx = n_cells or n_ctx * n_seq
        parameters.n_batch = parameters.n_ubatch = n_batch
        # See `_keep`.
        self._ids_each = 2 if model.has_window else 1
        copies = 0 if model.can_branch else SPARES * n_seq + 1
        parameters.n_seq_max = (n_seq + copies) * self._ids_each
        # Room for the logits of a whole batch is large. llama.cpp wants it for every sequence.
        outputs = min(n_outputs, n_batch) if n_outputs else 0
        parameters.n_outputs_max = max(outputs, parameters.n_seq_max)
        # Sequences then share the cells of a common prefix instead of each having a copy.
        parameters.kv_unified = True
        parameters.n_threads = parameters.n_threads_batch = n_threads
        parameters.flash_attn_type = (
            C.LLAMA_FLASH_ATTN_TYPE_ENABLED if flash_attention else C.LLAMA_FLASH_ATTN_TYPE_DISABLED
        )
        parameters.type_k, parameters.type_v = (KV_TYPES[name] for name in kv_types(kv_type))
        parameters.no_perf = True
        # A sliding window that forgets its past could not go back to an earlier turn.
        parameters.swa_full = True
        _log.clear()
        self._pointer = C.llama_init_from_model(model.pointer, parameters)
        if not self._pointer:
            is_block = "does not divide" in (reason := _first_error())
            smaller = "a smaller --n-ctx, a smaller --parallel, or fewer --gpu-layers"
            raise _refusal(
                f"{model.path}: no context of {parameters.n_ctx} tokens: {reason};"
                f" try {'--kv f16' if is_block else smaller}"
            )
        self.n_ctx = min(n_ctx, C.llama_n_ctx(self._pointer))
        self.n_batch: int = C.llama_n_batch(self._pointer)
        self.n_vocab = model.n_vocab
        self.sequences: list[list[int]] = [[] for _ in range(n_seq)]
        """What each sequence holds, by position."""
        self.copies: list[list[int]] = [[] for _ in range(copies)]
        """What each copy holds."""
        self.can_branch = model.can_branch
        self._has_window = model.has_window
        self._memory = C.llama_get_memory(self._pointer)
        self._batch = C.llama_batch_init(self.n_batch, 0, 1)
        self._tokens = np.ctypeslib.as_array(self._batch.token, (self.n_batch,))
        self._positions = np.ctypeslib.as_array(self._batch.pos, (self.n_batch,))
        self._outputs = np.ctypeslib.as_array(self._batch.logits, (self.n_batch,))
        np.ctypeslib.as_array(self._batch.n_seq_id, (self.n_batch,))[:] = 1
        # llama.cpp keeps the ids in small arrays of their own; each has room for one.
        self._ids = [np.ctypeslib.as_array(self._batch.seq_id[index], (1,)) for index in range(self.n_batch)]

    def decode(self, chunks: Sequence[Chunk]) -> None:
        """Decode at most `n_batch` tokens in all as one batch, each chunk after what its sequence holds.

        Raises DecodeError; the sequences are then as they were before.
        """
        end = 0
        for sequence, tokens, logits in chunks:
            start, end, position = end, end + len(tokens), len(self.sequences[sequence])
            self._tokens[start:end] = tokens
            self._positions[start:end] = np.arange(position, position + len(tokens))
            self._outputs[start:end] = 0
            self._outputs[end - logits : end] = 1
            for index in range(start, end):
                self._ids[index][0] = sequence * self._ids_each
        self._batch.n_tokens = end
        code = C.llama_decode(self._pointer, self._batch)
        if code == 0:
            for sequence, tokens, _ in chunks:
                self._keep(sequence, len(self.sequences[sequence]))
                self.sequences[sequence] += tokens
            return
        # llama.h: 1 = no KV slot for the batch, -2 = compute allocation failed, other negatives = fatal.
        # After a failure a part of the batch may be in the cache.
        for sequence in {chunk.sequence for chunk in chunks}:
            self.drop_tail(sequence, len(self.sequences[sequence]))
        if code in (1, -2):
            raise DecodeError(ErrorKind.MEMORY, "no memory for the batch in the KV cache or on the device")
        raise DecodeError(ErrorKind.DECODE, f"llama_decode returned {code}: {_first_error()}")

    def apply_adapter(self, adapter: Any, scale: float) -> None:
        """Decode with an adapter of the model from now on. The context must be empty. Raises RigError."""
        adapters, scales = (C.llama_adapter_lora_p_ctypes * 1)(adapter), (ctypes.c_float * 1)(scale)
        if C.llama_set_adapters_lora(self._pointer, adapters, 1, scales):
            self.close()
            raise RigError("llama.cpp rejects the adapter")

    def logits(self, index: int = -1) -> npt.NDArray[np.float32]:
        """Return the logits of token `index` of the last batch, shape (n_vocab,): a short-lived view."""
        return np.ctypeslib.as_array(C.llama_get_logits_ith(self._pointer, index), (self.n_vocab,))

    def drop_tail(self, sequence: int, position: int) -> int:
        """Drop a sequence's tokens from `position` on, or all of them if this memory cannot drop a part.

        Returns how many are left. Recurrent and hybrid models have such a memory.
        """
        held = self.sequences[sequence]
        for name in self._names(sequence):
            if not C.llama_memory_seq_rm(self._memory, name, position, -1):
                C.llama_memory_seq_rm(self._memory, name, -1, -1)
                position = 0
        del held[position:]
        return len(held)

    def share(self, source: int, target: int, length: int) -> None:
        """Make `target` hold the first `length` tokens of `source`, in the same cells. Needs `can_branch`."""
        self.drop_tail(target, 0)
        self._copy(source, target, length)
        self.sequences[target] = self.sequences[source][:length]

    def copy(self, sequence: int, number: int) -> None:
        """Make a copy hold all that a sequence holds: the same cells, and a state of its own."""
        self.drop_copy(number)
        self._copy(sequence, len(self.sequences) + number, -1)
        self.copies[number] = list(self.sequences[sequence])

    def return_to(self, number: int, sequence: int) -> None:
        """Make a sequence hold all that a copy holds."""
        self.drop_tail(sequence, 0)
        self._copy(len(self.sequences) + number, sequence, -1)
        self.sequences[sequence] = list(self.copies[number])

    def drop_copy(self, number: int) -> None:
        """Empty a copy."""
        for name in self._names(len(self.sequences) + number):
            C.llama_memory_seq_rm(self._memory, name, -1, -1)
        self.copies[number] = []

    def _copy(self, source: int, target: int, end: int) -> None:
        for name in self._names(target):
            C.llama_memory_seq_cp(self._memory, self._names(source)[0], name, 0, end)

    def has_state(self, sequence: int) -> bool:
        """Return whether a sequence's state can be saved and restored now with equal bits in later batches.

        For layers with a sliding window, the state of one sequence keeps only the last window; when it is
        restored, its cells lie elsewhere, and attention adds them up in another order. The state of the whole
        context has all cells; it serves the first sequence while the others are empty.
        """
        alone = sequence == 0 and not any(self.sequences[1:]) and not any(self.copies)
        return not self._has_window or alone

    def state(self, sequence: int) -> bytes:
        """Return the KV cache of a sequence as bytes, for `restore`. Needs `has_state`."""
        return self._bytes() if self._has_window else self._bytes(self._names(sequence)[0])

    def restore(self, sequence: int, tokens: Sequence[int], state: bytes) -> bool:
        """Make a sequence hold what `state` was saved from; if that fails, empty it and return False.

        Needs `has_state`.
        """
        self.drop_tail(sequence, 0)
        if self._has_window:
            buffer = (ctypes.c_uint8 * len(state)).from_buffer_copy(state)
            if C.llama_state_set_data(self._pointer, buffer, len(state)) != len(state):
                C.llama_memory_clear(self._memory, False)
                return False
        elif not self._set_sequence(sequence, state):
            return False
        self.sequences[sequence] = list(tokens)
        return True

    def _names(self, sequence: int) -> range:
        """Return llama.cpp's ids of a sequence: one, or two with a sliding window (see `_keep`)."""
        return range(sequence * self._ids_each, (sequence + 1) * self._ids_each)

    def _keep(self, sequence: int, start: int) -> None:
        """Keep the cells that a sequence has from `start` on until they are dropped.

        llama.cpp overwrites a cell that has left the window of its only sequence, even if the cache has room
        for all (`llama_kv_cache::find_slot`), and going back to an earlier turn would miss it. A cell of two
        sequences is left alone, so each sequence has a second id for the same cells.
        """
        first, *second = self._names(sequence)
        for name in second:
            C.llama_memory_seq_cp(self._memory, first, name, start, -1)

    def _bytes(self, *name: int) -> bytes:
        """Return the state of the sequence with this llama.cpp id, or of the whole context."""
        size_of = C.llama_state_seq_get_size if name else C.llama_state_get_size
        data_of = C.llama_state_seq_get_data if name else C.llama_state_get_data
        size = size_of(self._pointer, *name)
        buffer = (ctypes.c_uint8 * size)()
        return ctypes.string_at(buffer, data_of(self._pointer, buffer, size, *name))

    def _set_sequence(self, sequence: int, state: bytes) -> bool:
        buffer = (ctypes.c_uint8 * len(state)).from_buffer_copy(state)
        name = self._names(sequence)[0]
        if C.llama_state_seq_set_data(self._pointer, buffer, len(state), name) == len(state):
            return True
        self.drop_tail(sequence, 0)
        return False

    def close(self) -> None:
        if self._pointer:
            C.llama_batch_free(self._batch)
            C.llama_free(self._pointer)
            self._pointer = None


def supports_gpu_offload() -> bool:
    """Return whether this build of llama.cpp can put layers on a GPU."""
    initialise()
    return bool(C.llama_supports_gpu_offload())


def versions() -> dict[str, str]:
    """Return the versions of the binding and llama.cpp, and the features it was built with."""
    return {
        "llama_cpp_python": C.__version__,
        "llama_cpp": C.llama_version().decode(),
        "system": C.llama_print_system_info().decode().strip(),
    }


def _refusal(message: str) -> RigError:
    """Return the error for what llama.cpp refused, by its log since `_log` was cleared."""
    reason = next(filter(_SHORT_OF_MEMORY.search, _log), None)
    return RigError(message) if reason is None else NoMemory(message, reason)


def _first_error() -> str:
    return next(filter(None, _log), "it gives no reason")
