"""What enters a model's weight matrices while it decodes: sums of squares by column, for importance matrices.

llama.cpp asks a callback about every operation of its graph, and shows it those that it wants to see. An
exception in the callback would become "no" without a word, and llama.cpp then skips the rest of the graph; so
one is kept, and raised afterwards.
"""

import ctypes
from collections.abc import Sequence
from typing import Any

import llama_cpp as C
import numpy as np
from numpy.typing import NDArray

from rig.engine.core.llama import Chunk, LlamaContext, LlamaModel
from rig.engine.decoding.cache import common
from rig.errors import RigError

Sums = NDArray[np.float64]

_DIMENSIONS = 4
_F32 = 0
_OVERHEAD = 32
"""Bytes that ggml adds to a tensor for its bookkeeping."""


class _Tensor(ctypes.Structure):
    """ggml.h's `ggml_tensor`. Its layout is no part of llama.cpp's interface, so it is checked before use."""


_Tensor._fields_ = [
    ("type", ctypes.c_int32),
    ("buffer", ctypes.c_void_p),
    ("ne", ctypes.c_int64 * _DIMENSIONS),
    ("nb", ctypes.c_size_t * _DIMENSIONS),
    ("op", ctypes.c_int32),
    ("op_params", ctypes.c_int32 * 16),
    ("flags", ctypes.c_int32),
    ("src", ctypes.POINTER(_Tensor) * 10),
    ("view_src", ctypes.c_void_p),
    ("view_offs", ctypes.c_size_t),
    ("data", ctypes.c_void_p),
    ("name", ctypes.c_char * 64),
    ("extra", ctypes.c_void_p),
    ("padding", ctypes.c_char * 8),
]

_FUNCTIONS: dict[str, tuple[Any, list[Any]]] = {
    "ggml_backend_tensor_get": (
        None,
        [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t],
    ),
    "ggml_nbytes": (ctypes.c_size_t, [ctypes.c_void_p]),
    "ggml_get_name": (ctypes.c_char_p, [ctypes.c_void_p]),
    "ggml_op_name": (ctypes.c_char_p, [ctypes.c_int]),
    "ggml_tensor_overhead": (ctypes.c_size_t, []),
}


def _library() -> Any:
    """The functions of ggml with their types. Raises RigError where this build has not what is needed."""
    library = C.llama_cpp._lib  # whose dependencies are searched, too
    try:
        for name, (result, arguments) in _FUNCTIONS.items():
            function = getattr(library, name)
            function.restype, function.argtypes = result, arguments
        is_known = library.ggml_tensor_overhead() == _OVERHEAD + ctypes.sizeof(_Tensor)
        callback = C.ggml_backend_sched_eval_callback
    except AttributeError as error:
        raise RigError(f"this build of llama.cpp does not let rig see activations ({error})") from error
    if not (is_known and callback):
        raise RigError("this build of llama.cpp lays its tensors out in a way that rig does not know")
    return library


class Activations:
    """Sums of squares of what enters a model's weights, from all tokens that `decode` is given.

    `sums` are matrices × columns by weight, `counts` the tokens of each matrix: one, or one for each expert.
    Raises RigError where llama.cpp's build does not allow it, or a context cannot be made.
    """

    def __init__(self, model: LlamaModel, *, n_ctx: int, n_batch: int, n_threads: int) -> None:
        self.sums: dict[str, Sums] = {}
        self.counts: dict[str, NDArray[np.int64]] = {}
        self._library = _library()
        self._fault: BaseException | None = None
        self._squares: tuple[int, NDArray[np.float32]] | None = None
        # Logits of all tokens are asked for, as those without are left out of the last layer.
        self._context = LlamaContext(
            model,
            n_ctx=n_ctx,
            n_batch=n_batch,
            n_threads=n_threads,
            flash_attention=False,
            kv_type="f16",
            n_outputs=n_batch,
            watch=C.ggml_backend_sched_eval_callback(self._watch),
        )
        self.n_ctx = self._context.n_ctx

    def __enter__(self) -> "Activations":
        return self

    def __exit__(self, *_: object) -> None:
        self._context.close()

    def decode(self, tokens: Sequence[int]) -> int:
        """Decode a sequence and take in what is not the beginning of the last one: so many tokens.

        Raises DecodeError, and RigError where activations are no numbers.
        """
        context = self._context
        begin = context.drop_tail(0, common(context.sequences[0], tokens))
        for start in range(begin, len(tokens), context.n_batch):
            piece = tokens[start : start + context.n_batch]
            self._squares = None
            context.decode([Chunk(0, piece, len(piece))])
            if self._fault is not None:
                raise self._fault
        return len(tokens) - begin

    def forget(self) -> None:
        """Begin the next sequence from nothing."""
        self._context.drop_tail(0, 0)

    def _watch(self, pointer: int, ask: bool, _user_data: Any) -> bool:
        if self._fault is not None:
            return not ask
        try:
            node = _Tensor.from_address(pointer)
            operation = self._library.ggml_op_name(node.op)
            if operation not in (b"MUL_MAT", b"MUL_MAT_ID"):
                return not ask
            weight, entering = node.src[0].contents, node.src[1].contents
            # `CUDA0#blk.0.attn_k.weight#0` where it was copied to a device.
            name = weight.name.decode("utf-8", "replace").split("#")
            name = name[1] if len(name) > 2 else name[0]
            if not name.startswith("blk.") or entering.type != _F32:
                return not ask
            if not ask:
                self._take(name, node, routed=operation == b"MUL_MAT_ID")
        except BaseException as error:  # a signal's, too
            self._fault = error
        return True

    def _take(self, name: str, node: _Tensor, *, routed: bool) -> None:
        weight, entering = node.src[0].contents, node.src[1].contents
        address = ctypes.addressof(entering)
        if self._squares is None or self._squares[0] != address:
            values = self._values(entering, np.dtype(np.float32))
            self._squares = address, values * values
        squares = self._squares[1]  # [ne3, ne2, ne1, columns]
        matrices, columns = int(weight.ne[2]), squares.shape[-1]
        if weight.ne[3] != 1 or squares.shape[0] != 1:
            raise RigError(f"{name}: a weight of more than three dimensions, which no quantizer takes")
        if name not in self.sums:
            self.sums[name] = np.zeros((matrices, columns))
            self.counts[name] = np.zeros(matrices if routed else 1, dtype=np.int64)
        if routed:
            chosen = self._values(node.src[2].contents, np.dtype(np.int32))[0, 0]  # tokens × slots
            slots = np.arange(chosen.shape[1]) % squares.shape[2]
            for expert in np.unique(chosen):
                tokens, places = np.nonzero(chosen == expert)
                self.sums[name][expert] += squares[0, tokens, slots[places]].sum(axis=0, dtype=np.float64)
                self.counts[name][expert] += len(tokens)
        else:
            for number, rows in enumerate(squares[0]):
                self.sums[name][number % matrices] += rows.sum(axis=0, dtype=np.float64)
            self.counts[name] += squares.shape[1] * squares.shape[2] // matrices
        if not np.isfinite(self.sums[name]).all():
            raise RigError(f"{name}: the model's activations are not numbers")

    def _values(self, tensor: _Tensor, kind: np.dtype[Any]) -> NDArray[Any]:
        """A tensor's numbers, slowest dimension first, wherever they are."""
        address, size = ctypes.addressof(tensor), self._library.ggml_nbytes(ctypes.addressof(tensor))
        if self._library.ggml_get_name(address) != tensor.name or tensor.nb[0] != kind.itemsize:
            raise RigError("this build of llama.cpp lays its tensors out in a way that rig does not know")
        buffer = np.empty(size, dtype=np.uint8)
        self._library.ggml_backend_tensor_get(address, buffer.ctypes.data, 0, size)
        return np.lib.stride_tricks.as_strided(
            buffer.view(kind) if size % kind.itemsize == 0 else buffer[: -(size % kind.itemsize)].view(kind),
            shape=tuple(tensor.ne[::-1]),
            strides=tuple(tensor.nb[::-1]),
            writeable=False,
        )
