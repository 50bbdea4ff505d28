"""llama.cpp through llama-cpp-python's low-level bindings: a model, a context, batches, logits.

The high-level `Llama` class is not used: it resets the KV cache between calls, fills batches token by token
in Python and keeps logits nobody reads.
"""

import ctypes
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import llama_cpp as C
import numpy as np
import numpy.typing as npt

from rig.errors import ErrorKind, RigError

_KV_TYPES = {"f16": C.GGML_TYPE_F16, "q8_0": C.GGML_TYPE_Q8_0}
_log: deque[str] = deque(maxlen=200)


@C.llama_log_callback  # type: ignore[untyped-decorator]
def _keep_log(level: int, text: bytes, _user_data: Any) -> None:
    """llama.cpp talks to stderr, which belongs to the display; keep its last lines for error messages."""
    if level in (3, 4):  # GGML_LOG_LEVEL_WARN, GGML_LOG_LEVEL_ERROR
        _log.append(text.decode("utf-8", "replace").strip())


class DecodeError(Exception):
    """llama.cpp could not decode a batch. `kind` is MEMORY or DECODE."""

    def __init__(self, kind: ErrorKind, message: str) -> None:
        super().__init__(message)
        self.kind = kind


_initialised = False


def initialise() -> None:
    """Start llama.cpp's backends and take over its log. Harmless when repeated."""
    global _initialised
    C.llama_log_set(_keep_log, ctypes.c_void_p(0))
    if not _initialised:
        C.llama_backend_init()
        _initialised = True


@contextmanager
def _captured_log() -> Iterator[list[str]]:
    _log.clear()
    lines: list[str] = []
    yield lines
    lines.extend(line for line in _log if line)


class LlamaModel:
    """The weights of one GGUF file. Raises RigError when they cannot be loaded.

    Where llama.cpp was compiled for AMX the CPU's special weight layouts are left unused: GCC before 14 drops
    part of the tile configuration (GCC bug 114098), and the first matrix product then kills the process.
    """

    def __init__(self, path: Path, *, n_gpu_layers: int = 0) -> None:
        initialise()
        parameters = C.llama_model_default_params()
        parameters.n_gpu_layers = n_gpu_layers
        self.cpu_weight_layouts = b"AMX_INT8 = 1" not in C.llama_print_system_info()
        parameters.use_extra_bufts = self.cpu_weight_layouts
        with _captured_log() as log:
            self._pointer = C.llama_model_load_from_file(str(path).encode(), parameters)
        if not self._pointer:
            raise RigError(f"{path}: llama.cpp cannot load it: {_first_error(log)}")
        self.path = path
        self.n_gpu_layers = n_gpu_layers
        self.vocab = C.llama_model_get_vocab(self._pointer)
        self.n_vocab: int = C.llama_vocab_n_tokens(self.vocab)
        self.n_ctx_train: int = C.llama_model_n_ctx_train(self._pointer)

    @property
    def pointer(self) -> Any:
        return self._pointer

    @property
    def chat_template(self) -> str | None:
        """The file's own chat template (Jinja2 source), None where it has none."""
        text: bytes | None = C.llama_model_chat_template(self._pointer, None)
        return text.decode("utf-8", "replace") if text else None

    @property
    def tokenize_address(self) -> int:
        """The address of `llama_tokenize`, which llguidance calls by itself."""
        function = C.llama_cpp._lib.llama_tokenize
        return ctypes.cast(function, ctypes.c_void_p).value or 0

    def close(self) -> None:
        if self._pointer:
            C.llama_model_free(self._pointer)
            self._pointer = None


class LlamaContext:
    """A context with one sequence. Not thread-safe.

    Raises RigError when llama.cpp cannot make it, which nearly always means too little memory.
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
    ) -> None:
        parameters = C.llama_context_default_params()
        parameters.n_ctx = n_ctx
        parameters.n_batch = parameters.n_ubatch = n_batch
        parameters.n_seq_max = 1
        parameters.n_threads = parameters.n_threads_batch = n_threads
        parameters.flash_attn_type = (
            C.LLAMA_FLASH_ATTN_TYPE_ENABLED if flash_attention else C.LLAMA_FLASH_ATTN_TYPE_DISABLED
        )
        parameters.type_k = parameters.type_v = _KV_TYPES[kv_type]
        parameters.no_perf = True
        # A sliding window that forgets its past could not go back to an earlier turn.
        parameters.swa_full = True
        with _captured_log() as log:
            self._pointer = C.llama_init_from_model(model.pointer, parameters)
        if not self._pointer:
            raise RigError(
                f"{model.path}: no context of {n_ctx} tokens: {_first_error(log)};"
                " try a smaller --n-ctx, or fewer --gpu-layers"
            )
        self.n_ctx: int = C.llama_n_ctx(self._pointer)
        self.n_batch: int = C.llama_n_batch(self._pointer)
        self.n_vocab = model.n_vocab
        self.tokens: list[int] = []
        """What the sequence holds, by position."""
        self._memory = C.llama_get_memory(self._pointer)
        self._batch = C.llama_batch_init(self.n_batch, 0, 1)
        self._tokens = np.ctypeslib.as_array(self._batch.token, (self.n_batch,))
        self._positions = np.ctypeslib.as_array(self._batch.pos, (self.n_batch,))
        self._wanted = np.ctypeslib.as_array(self._batch.logits, (self.n_batch,))
        np.ctypeslib.as_array(self._batch.n_seq_id, (self.n_batch,))[:] = 1
        for index in range(self.n_batch):
            self._batch.seq_id[index][0] = 0

    def decode(self, tokens: Sequence[int], *, logits: bool) -> None:
        """Decode at most `n_batch` tokens after those there are; `logits` of the last one on demand.

        Raises DecodeError.
        """
        count, position = len(tokens), len(self.tokens)
        self._batch.n_tokens = count
        self._tokens[:count] = tokens
        self._positions[:count] = np.arange(position, position + count)
        self._wanted[:count] = 0
        self._wanted[count - 1] = logits
        code = C.llama_decode(self._pointer, self._batch)
        if code == 0:
            self.tokens += tokens
            return
        # llama.h: 1 = no KV slot for the batch, -2 = compute allocation failed, other negatives = fatal.
        if code in (1, -2):
            raise DecodeError(ErrorKind.MEMORY, "no memory for the batch in the KV cache or on the device")
        raise DecodeError(ErrorKind.DECODE, f"llama_decode returned {code}: {_first_error(list(_log))}")

    def decode_all(self, tokens: Sequence[int]) -> None:
        """Decode any number of tokens in batches; the logits of the last one. Raises DecodeError."""
        for start in range(0, len(tokens), self.n_batch):
            batch = tokens[start : start + self.n_batch]
            self.decode(batch, logits=start + len(batch) == len(tokens))

    def logits(self) -> npt.NDArray[np.float32]:
        """The last token's logits, shape (n_vocab,), a view that the next decode overwrites."""
        pointer = C.llama_get_logits_ith(self._pointer, -1)
        return np.ctypeslib.as_array(pointer, (self.n_vocab,))

    def drop_tail(self, position: int) -> int:
        """Forget the tokens from `position` on, or all of them where this memory cannot drop a part.

        Returns how many are left. Recurrent and hybrid models have such a memory.
        """
        if not C.llama_memory_seq_rm(self._memory, 0, position, -1):
            C.llama_memory_clear(self._memory, True)
            position = 0
        del self.tokens[position:]
        return position

    def close(self) -> None:
        if self._pointer:
            C.llama_batch_free(self._batch)
            C.llama_free(self._pointer)
            self._pointer = None


def supports_gpu_offload() -> bool:
    """Whether this build of llama.cpp can put layers on a GPU."""
    initialise()
    return bool(C.llama_supports_gpu_offload())


def versions() -> dict[str, str]:
    """The binding's and llama.cpp's versions, and the features it was built with."""
    return {
        "llama_cpp_python": C.__version__,
        "llama_cpp": C.llama_version().decode(),
        "system": C.llama_print_system_info().decode().strip(),
    }


def _first_error(lines: list[str]) -> str:
    return lines[0] if lines else "it gives no reason"
