"""How a model fits: layers on GPUs, context, batch and sequences, from what is free. Pure arithmetic.

Speed is given up before anything that could change a result: layers leave the GPU first, then batches become
smaller, and the context comes last. Values that the user asked for never change.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import accumulate

from rig.engine.core.settings import DEFAULT_BATCH, DEFAULT_CONTEXT
from rig.engine.gguf.info import GgufInfo
from rig.engine.memory.devices import Device, Memory
from rig.engine.memory.needs import (
    Shape,
    compute_bytes,
    input_bytes,
    kv_bytes,
    mask_bytes,
    scratch_bytes,
    state_bytes,
)
from rig.engine.memory.plan import FitPlan, Use, Wishes, size
from rig.errors import RigError

GPU_MARGIN = 2**30
"""Left free on each GPU for libraries, the desktop and an estimate's error; llama.cpp leaves as much."""
MACHINE_MARGIN = 2**29
"""Left free of the machine's memory."""
LEAST_BATCH = 128
LEAST_CONTEXT = 2048
"""Where going down by itself ends; less can be asked for."""
SEQUENCES = (1, 2, 4, 8)

_PIPELINE = 4
"""Copies of its inputs that llama.cpp keeps when several GPUs work one after another."""


class Fit:
    """Fits one model to the devices there are, for what is asked for.

    Raises RigError for wishes that nothing could fulfil: more context than the model was made for, a GPU
    where there is none, a quantized KV cache without flash attention.
    """

    def __init__(self, info: GgufInfo, gpus: Sequence[Device], memory: Memory, wishes: Wishes) -> None:
        _check(info, gpus, wishes)
        self._info = info
        self._wishes = wishes
        self._is_unified = any(gpu.unified for gpu in gpus)
        self._free = [min(gpu.free, memory.free) if gpu.unified else gpu.free for gpu in gpus]
        self._devices = [
            Use(gpu.name, gpu.description, free, gpu.total, GPU_MARGIN)
            for gpu, free in zip(gpus, self._free, strict=True)
        ]
        self._machine = Use(
            "CPU", "", memory.free, memory.total, MACHINE_MARGIN, memory.swap, is_machine=True
        )
        self._all = len(info.layout.layers) + 1
        self._n_ctx = wishes.n_ctx or min(info.context_length or DEFAULT_CONTEXT, DEFAULT_CONTEXT)
        self._n_batch = wishes.n_batch or DEFAULT_BATCH

    def best(self) -> FitPlan:
        """The best plan that fits, or the one that lacks least where none does."""
        tried = []
        for choice in self._choices():
            tried.append(self._laid_out(*choice))
            if tried[-1].fits:
                return self._completed(tried[-1])
        return self._completed(min(tried, key=lambda one: one.missing))

    def lower(self, failed: FitPlan) -> FitPlan | None:
        """The next plan to try when there was not memory enough for one; None if nothing is left open."""
        layers, batch, context = failed.n_gpu_layers, failed.n_batch, failed.n_ctx
        if layers and self._wishes.n_gpu_layers is None:
            layers = max(layers - max(self._all // 8, 1), 0)
        elif batch // 2 >= LEAST_BATCH and self._wishes.n_batch is None:
            batch //= 2
        elif context // 2 >= LEAST_CONTEXT and self._wishes.n_ctx is None:
            context //= 2
        else:
            return None
        return self._completed(self._laid_out(layers, batch, context))

    def _completed(self, found: FitPlan) -> FitPlan:
        # Each sequence has a token in every batch.
        counts = (n for n in SEQUENCES if n <= found.n_batch)
        others = (self._laid_out(found.n_gpu_layers, found.n_batch, found.n_ctx, n) for n in counts)
        most = max((one.n_seq for one in others if one.fits), default=1)
        return replace(
            found,
            most_sequences=most if self._wishes.n_seq is None else found.n_seq,
            remarks=tuple(self._remarks(found)),
        )

    def _remarks(self, found: FitPlan) -> Iterator[str]:
        """What a person should know of it, beside the numbers."""
        if not self._info.layout.is_known:
            yield "the file does not say enough to tell what memory it needs"
            return
        if self._devices and self._wishes.n_gpu_layers is None and found.n_gpu_layers < self._all:
            lacking = self._laid_out(self._all, found.n_batch, found.n_ctx).missing
            where = "the rest is on the CPU" if found.n_gpu_layers else "everything is on the CPU"
            yield f"all layers on the GPU would take {size(lacking)} more than is free there, so {where}"
        if found.n_batch < self._n_batch:
            yield f"batches of {found.n_batch} instead of {self._n_batch} tokens, because memory is short"
        if found.n_ctx < self._n_ctx:
            yield f"a context of {found.n_ctx} instead of {self._n_ctx} tokens, because memory is short"
        if not found.fits:
            short = ", ".join(f"{size(use.missing)} on {use.name}" for use in found.uses if use.missing)
            yield f"too little memory is free: {short} (less --n-ctx, --n-batch or --gpu-layers; --kv q8_0)"
        if found.machine.weights > max(found.machine.free - found.machine.needed, 0):
            yield "the weights exceed the free memory, so they will be read from the disk again and again"

    def _choices(self) -> Iterator[tuple[int, int, int]]:
        """(layers on GPUs, batch, context), the best first."""
        asked = self._wishes.n_gpu_layers
        layers = list(range(self._all, -1, -1)) if self._devices else [0]
        if asked is not None:
            layers = [self._all if asked < 0 else min(asked, self._all)]
        elif not self._info.layout.is_known:
            layers = layers[:1]
        batches, contexts = [self._n_batch], [self._n_ctx]
        while self._wishes.n_batch is None and batches[-1] // 2 >= LEAST_BATCH:
            batches.append(batches[-1] // 2)
        while self._wishes.n_ctx is None and contexts[-1] // 2 >= LEAST_CONTEXT:
            contexts.append(contexts[-1] // 2)
        yield from ((count, batches[0], contexts[0]) for count in layers)
        yield from ((layers[-1], batch, contexts[0]) for batch in batches[1:])
        yield from ((layers[-1], batches[-1], context) for context in contexts[1:])

    def _laid_out(self, n_gpu_layers: int, n_batch: int, n_ctx: int, n_seq: int | None = None) -> FitPlan:
        quantized = self._wishes.kv_type != "f16"
        asked = self._wishes.flash_attention
        shape = Shape(
            n_ctx=n_ctx,
            n_batch=n_batch,
            n_seq=n_seq or self._wishes.n_seq or 1,
            kv_type=self._wishes.kv_type,
            flash_attention=quantized or (n_gpu_layers != 0 if asked is None else asked),
        )
        uses = self._uses(n_gpu_layers, shape)
        return FitPlan(
            n_gpu_layers=n_gpu_layers,
            offloadable=self._all,
            n_ctx=n_ctx,
            n_batch=n_batch,
            n_seq=shape.n_seq,
            most_sequences=shape.n_seq,
            kv_type=shape.kv_type,
            flash_attention=shape.flash_attention,
            uses=uses,
            fits=not any(use.missing for use in uses),
        )

    def _uses(self, n_gpu_layers: int, shape: Shape) -> tuple[Use, ...]:
        info, layout = self._info, self._info.layout
        uses = [*self._devices, self._machine]
        places = self._places(n_gpu_layers)
        is_split = 0 < n_gpu_layers < self._all
        if layout.is_known:
            uses = [
                self._filled(use, [layer for layer, at in enumerate(places) if at == place], shape, is_split)
                for place, use in enumerate(uses)
            ]
        else:
            uses = [replace(use, layers=places.count(place)) for place, use in enumerate(uses)]
        machine = replace(
            uses[-1],
            weights=uses[-1].weights + (0 if self._wishes.loaded else layout.input),
            other=uses[-1].other + layout.tokenizer,
        )
        if layout.is_known and not machine.layers:
            machine = replace(machine, compute=input_bytes(info, shape))
        if self._is_unified:
            # What its GPU holds is the machine's memory too.
            machine = replace(machine, free=max(machine.free - sum(use.needed for use in uses[:-1]), 0))
        return (*uses[:-1], machine)

    def _filled(self, use: Use, layers: Sequence[int], shape: Shape, is_split: bool) -> Use:
        """A device with the layers it gets; the last number stands for the output.

        `is_split` between GPUs and the machine, that is.
        """
        if not layers:
            return use
        info, layout = self._info, self._info.layout
        inner = [layer for layer in layers if layer < len(layout.layers)]
        weights = sum(layout.layers[layer] for layer in inner)
        has_output = len(inner) < len(layers)
        compute = compute_bytes(info, shape, has_output=has_output)
        if has_output:
            # An embedding that serves as the output too is copied to the GPU; the machine has it already.
            weights += layout.output + (0 if use.is_machine else layout.shared)
        if self._wishes.loaded:
            weights = 0
        if not use.is_machine and is_split:
            # For a large batch llama.cpp brings the weights of the machine's layers over, one by one.
            compute += max(layout.layers)
        elif not use.is_machine and len(self._devices) > 1:
            compute += (_PIPELINE - 1) * mask_bytes(info, shape)
        other = 0
        if use.is_machine:
            repacked = 0 if self._wishes.loaded else sum(layout.repacked[layer] for layer in inner)
            other = scratch_bytes(info, shape) + repacked
        return replace(
            use,
            layers=len(layers),
            weights=weights,
            kv=sum(kv_bytes(info, layer, shape) for layer in inner),
            state=sum(state_bytes(info, layer, shape) for layer in inner),
            compute=compute,
            other=other,
        )

    def _places(self, n_gpu_layers: int) -> list[int]:
        """The place of each layer, and last of the output, as llama.cpp splits them: GPUs by what is free."""
        machine, count = len(self._devices), min(n_gpu_layers, self._all)
        free = self._free if sum(self._free) else [1] * machine
        shares = [part / sum(free) for part in accumulate(free)]
        first = self._all - count
        return [
            machine if layer < first else min(bisect_right(shares, (layer - first) / count), machine - 1)
            for layer in range(self._all)
        ]


def _check(info: GgufInfo, gpus: Sequence[Device], wishes: Wishes) -> None:
    trained = info.context_length or DEFAULT_CONTEXT
    if wishes.n_ctx is not None and wishes.n_ctx > trained:
        raise RigError(
            f"{info.path}: --n-ctx {wishes.n_ctx} is more than the {trained} tokens this model was made for"
        )
    if wishes.kv_type != "f16" and wishes.flash_attention is False:
        raise RigError(f"--kv {wishes.kv_type} needs flash attention; leave out --flash-attention off")
    if wishes.n_gpu_layers and not gpus:
        raise RigError(
            "--gpu-layers: llama.cpp finds no GPU here; check its driver and whether the device is"
            " visible, or leave the option out to run on the CPU"
        )
