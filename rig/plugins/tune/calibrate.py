"""Importance matrices from conversations, as the model sees them with true answers, or from a plain text.

Every token of a conversation counts once: as in a run, the beginning that a prompt shares with the one before
is not read again. So the descriptions of tools, with which all prompts begin, do not outweigh the rest.

llama.cpp asks a callback about every operation of its graph, and shows it the results that it wants to see.
An exception in the callback would silently become "no", and llama.cpp would skip the rest of the graph. So
the exception is kept and raised afterwards.
"""

import ctypes
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rig.compare.leaks import trace
from rig.core.errors import RigError, counted
from rig.core.models import Notify
from rig.core.tasks import part_of
from rig.plugins.llama.core.llama import C, Chunk, DecodeError, LlamaContext, LlamaModel
from rig.plugins.llama.core.placement import ggml
from rig.plugins.llama.core.tokenizer import Tokenizer
from rig.plugins.llama.decoding.cache import common
from rig.plugins.screen.corpus import Corpus, begun, open_model
from rig.plugins.screen.screening import Progress, Screening, knowing, true_steps
from rig.plugins.tune.imatrix import CHUNK, ImportanceMatrix
from rig.plugins.tune.quantize import require_merged

Sums = NDArray[np.float64]

_DIMENSIONS = 4
_F32 = 0
_OVERHEAD = 32
"""The bytes that ggml adds to a tensor for its bookkeeping."""


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


class Activations:
    """The sums of squares of what enters a model's weights, over all tokens passed to `decode`.

    `sums` are matrices × columns by weight, and `counts` the tokens by weight: one number, or one per expert.
    Raises RigError if llama.cpp's build does not allow it, or a context cannot be made.
    """

    def __init__(self, model: LlamaModel, *, n_ctx: int, n_batch: int, n_threads: int) -> None:
        self.sums: dict[str, Sums] = {}
        self.counts: dict[str, NDArray[np.int64]] = {}
        pointer, size = ctypes.c_void_p, ctypes.c_size_t
        try:
            self._copy = ggml("backend_tensor_get", None, pointer, pointer, size, size)
            self._bytes_of = ggml("nbytes", size, pointer)
            self._name_of = ggml("get_name", ctypes.c_char_p, pointer)
            self._operation_of = ggml("op_name", ctypes.c_char_p, ctypes.c_int)
            is_known = ggml("tensor_overhead", size)() == _OVERHEAD + ctypes.sizeof(_Tensor)
            callback = C.ggml_backend_sched_eval_callback
        except AttributeError as error:
            raise RigError(f"this build of llama.cpp does not let rig see activations ({error})") from error
        if not (is_known and callback):
            raise RigError("this build of llama.cpp lays its tensors out in a way that rig does not know")
        self._fault: BaseException | None = None
        self._squares: tuple[int, NDArray[np.float32]] | None = None
        # Logits of all tokens are requested, as the last layer leaves out tokens without them.
        self._context = LlamaContext(
            model,
            n_ctx=n_ctx,
            n_batch=n_batch,
            n_threads=n_threads,
            flash_attention=False,
            kv_type="f16",
            n_outputs=n_batch,
            watch=callback(self._watch),
        )
        self.n_ctx = self._context.n_ctx

    def __enter__(self) -> "Activations":
        return self

    def __exit__(self, *_: object) -> None:
        self._context.close()

    def decode(self, tokens: Sequence[int]) -> int:
        """Decode a sequence without the beginning that it shares with the last. Returns the tokens decoded.

        Raises DecodeError, and RigError if activations are not finite numbers.
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
        """Forget the last sequence, so that the next one is decoded whole."""
        self._context.drop_tail(0, 0)

    def _watch(self, pointer: int, ask: bool, _user_data: Any) -> bool:
        if self._fault is not None:
            return not ask
        try:
            node = _Tensor.from_address(pointer)
            operation = self._operation_of(node.op)
            if operation not in (b"MUL_MAT", b"MUL_MAT_ID"):
                return not ask
            weight, entering = node.src[0].contents, node.src[1].contents
            # A copy on a device is named like `CUDA0#blk.0.attn_k.weight#0`.
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
        """Copy a tensor's numbers from any device, slowest dimension first."""
        address = ctypes.addressof(tensor)
        size = self._bytes_of(address)
        if self._name_of(address) != tensor.name or tensor.nb[0] != kind.itemsize:
            raise RigError("this build of llama.cpp lays its tensors out in a way that rig does not know")
        buffer = np.empty(size, dtype=np.uint8)
        self._copy(address, buffer.ctypes.data, 0, size)
        return np.lib.stride_tricks.as_strided(
            buffer.view(kind) if size % kind.itemsize == 0 else buffer[: -(size % kind.itemsize)].view(kind),
            shape=tuple(tensor.ne[::-1]),
            strides=tuple(tensor.nb[::-1]),
            writeable=False,
        )


BATCH = 256
"""The tokens of a batch. The logits of all of them are computed, and take memory."""


class Calibration(NamedTuple):
    """The matrix, the number of tokens that were read for it, and the steps left out, counted by reason."""

    matrix: ImportanceMatrix
    tokens: int
    left_out: Counter[str]


def calibrate(request: Screening, notify: Notify, progress: Progress) -> Calibration:
    """Read the conversations with the first model, and make the matrix of what enters its weights.

    Raises RigError for conversations that are meant for comparing, for a model with an adapter, which
    llama.cpp cannot quantize, and if the model cannot be loaded.
    """
    # Imported late, as this loads llama.cpp.
    from rig.plugins.llama.teacher import Teacher

    model = request.models[0]
    require_merged(model)
    if others := [task.name for task in request.tasks if part_of(task.name) != "calibration"]:
        raise RigError(f"{others[0]} is for comparing files, not for calibrating them; leave it out")
    evaluated, players = request.method.roles[0], knowing(request.method, request.tasks)
    left_out: Counter[str] = Counter()
    tokens = 0
    engine = replace(request.engine, parallel=1)
    with closing(Teacher(model.path, engine, model.base, notify)) as teacher:
        loaded = teacher.model
        shape = {"n_ctx": loaded.context.n_ctx, "n_batch": BATCH, "n_threads": engine.n_threads}
        with Activations(loaded.weights, **shape) as activations:
            for number, task in enumerate(request.tasks):
                progress(model.name, number, len(request.tasks))
                for step in true_steps(request.setup, request.settings, task, evaluated, players):
                    try:
                        written = teacher.written(step.request, step.answer)
                        if len(written) > activations.n_ctx:
                            raise RigError(f"longer than the context of {activations.n_ctx} tokens")
                        tokens += activations.decode(written)
                    except DecodeError as error:
                        raise RigError(f"{model.name}: {error}") from error
                    except RigError as error:
                        left_out[str(error)] += 1
            progress(model.name, len(request.tasks), len(request.tasks))
    if not tokens:
        raise RigError(f"nothing could be read: {', '.join(left_out)}")
    suites = ", ".join(dict.fromkeys(task.suite for task in request.tasks if task.suite)) or "conversations"
    dataset = f"{suites}: {counted(len(request.tasks), 'conversation')}, {tokens:,} tokens"
    traces = tuple(trace(task.source) for task in request.tasks)
    return Calibration(_matrix(activations, dataset, tokens, traces), tokens, left_out)


def calibrate_on_text(request: Corpus, notify: Notify, progress: Progress) -> Calibration:
    """Read a plain text with the first model in chunks, as llama-imatrix does.

    Raises RigError for a model that has an adapter or cannot be loaded, and for less than two chunks.
    """
    (model, *_), text = request.models, request.text
    assert text is not None
    require_merged(model)
    with closing(open_model(model.name, model, request, request.n_ctx, notify)) as loaded:
        tokenizer = Tokenizer(loaded.model)
        chunks = request.chunks(tokenizer)
        shape = {"n_ctx": request.n_ctx, "n_batch": BATCH, "n_threads": request.engine.n_threads}
        with Activations(loaded.model, **shape) as activations:
            for number, chunk in enumerate(chunks):
                progress(model.name, number, len(chunks))
                activations.forget()
                try:
                    activations.decode(begun(chunk, tokenizer))
                except DecodeError as error:
                    raise RigError(f"{model.name}: {error}") from error
            progress(model.name, len(chunks), len(chunks))
    matrix = _matrix(activations, f"{text.name}, {chunks.size:,} tokens", chunks.size)
    return Calibration(matrix, chunks.size, Counter())


def _matrix(
    activations: Activations, dataset: str, tokens: int, traces: tuple[str, ...] = ()
) -> ImportanceMatrix:
    return ImportanceMatrix(
        sums={name: sums.astype(np.float32) for name, sums in activations.sums.items()},
        counts={name: counts.astype(np.float32) for name, counts in activations.counts.items()},
        datasets=(dataset,),
        chunks=-(-tokens // CHUNK),
        traces=traces,
    )
