"""How a model fits: layers on GPUs, context, batch and sequences, as llama.cpp counts them and as it loads.

llama.cpp lays everything out, allocates nothing, and says in its log what it would put where, to the
hundredth of a MiB. Weights are the exception: of them it only says on which device each layer is, and their
sizes are in the file.

Speed is given up before anything that could change a result: layers leave the GPU first, then batches become
smaller, and the context comes last. Values that the user asked for never change.
"""

import platform
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple, TypeAlias

from rig.engine.core import llama
from rig.engine.core.llama import LlamaContext, LlamaModel, NoMemory, listening
from rig.engine.core.settings import DEFAULT_BATCH, DEFAULT_CONTEXT, EngineSettings
from rig.engine.files.header import Tensor, read_header
from rig.engine.files.info import GgufInfo
from rig.engine.memory.plan import MACHINE, DeviceUse, FitPlan, Shape, gpus, machine_memory, size
from rig.engine.memory.weights import check_loads, find_weights, open_weights
from rig.errors import RigError
from rig.models import Notify

_REPACKED = {"Q4_0", "Q4_K", "Q2_K", "IQ4_NL", "MXFP4"}
if platform.machine() in ("arm64", "aarch64"):
    _REPACKED |= {"Q5_K", "Q6_K", "Q8_0"}
"""What llama.cpp's CPU backend has interleaved layouts for, given the processor's instructions."""

_LAYER = re.compile(r"load_tensors: layer +\d+ assigned to device (\S+),")
_BUFFER = re.compile(r"(\S+) +(?:compute|output) buffer size = +([\d.]+) MiB")
_CACHED_LAYER = re.compile(r"layer +\d+: dev = (\S+)")
_CACHE = re.compile(r"(llama_(?:kv_cache|memory)\w*|\w*dsv4\w*): (?!.*buffer).*?\bsize = +([\d.]+) MiB")
_OF_LAYER = re.compile(r"blk\.(\d{1,4})\.")

_COMPILED = {(name, name) for name in ("f16", "bf16", "q8_0", "q4_0")}
"""Types of keys and values that llama.cpp's CUDA attention has kernels for, unless compiled with others."""


@dataclass(slots=True)
class Needs:
    """Bytes on one device, and how many layers it has; the output counts as one.

    `repacked` bytes of its weights the processor may have laid out anew, and then twice.
    """

    layers: int = 0
    weights: int = 0
    repacked: int = 0
    kv: float = 0.0
    state: float = 0.0
    compute: float = 0.0


@dataclass(frozen=True, slots=True)
class Count:
    """What a model takes, by the device's name; `layers` are the devices of its layers, then the output's."""

    layers: tuple[str, ...]
    devices: dict[str, Needs] = field(default_factory=dict)

    def on(self, device: str) -> Needs:
        """The needs on a device; none on one that holds nothing."""
        return self.devices.get(device, Needs())


Counting: TypeAlias = Callable[[Shape], Count]
"""Counts what a model takes in a shape. Raises RigError for what llama.cpp refuses, with its reason."""

OpenContext: TypeAlias = Callable[..., LlamaContext]
"""Opens a context for a model in a shape, with as many cells as follow from that or with a third argument."""


class LlamaCount:
    """Counts for one file, with contexts opened as they will be; what it has loaded is kept until `close`."""

    def __init__(self, path: Path, open_context: OpenContext) -> None:
        self._tensors = read_header(path).tensors
        self._path = path
        self._open_context = open_context
        self._model: LlamaModel | None = None
        self._model_log = ""
        self._counts: dict[Shape, Count] = {}

    def __call__(self, shape: Shape) -> Count:
        """The count for a shape. Raises RigError for what llama.cpp refuses."""
        if shape not in self._counts:
            lines: list[str] = []
            with listening(lines.append):
                if self._model is None or self._model.n_gpu_layers != shape.n_gpu_layers:
                    self.close()
                    self._model = LlamaModel(self._path, n_gpu_layers=shape.n_gpu_layers, weightless=True)
                    self._model_log = "".join(lines)
                    lines.clear()
                self._open_context(self._model, shape).close()
            self._counts[shape] = read_log(self._model_log + "".join(lines), self._tensors)
        return self._counts[shape]

    def close(self) -> None:
        """Let go of the model that was loaded to count."""
        if self._model is not None:
            self._model.close()
            self._model = None


def read_log(log: str, tensors: Sequence[Tensor] = ()) -> Count:
    """The count in what llama.cpp logged; what is on no device of a layer is on the machine."""
    layers = tuple(_LAYER.findall(log))
    devices = {device: Needs(layers=count) for device, count in Counter(layers).items()}
    devices.setdefault(MACHINE, Needs())
    cached: Counter[str] = Counter()
    for line in log.splitlines():
        if match := _CACHED_LAYER.search(line):
            cached[match[1]] += 1
        elif match := _BUFFER.search(line):
            devices.get(match[1], devices[MACHINE]).compute += float(match[2]) * 2**20
        elif match := _CACHE.match(line):
            for device, count in cached.items():
                held, share = devices.get(device, devices[MACHINE]), count / cached.total()
                if "recurrent" in match[1]:
                    held.state += float(match[2]) * 2**20 * share
                else:
                    held.kv += float(match[2]) * 2**20 * share
            cached.clear()
    _add_weights(devices, layers, tensors)
    return Count(layers, devices)


def _add_weights(devices: dict[str, Needs], layers: Sequence[str], tensors: Sequence[Tensor]) -> None:
    """Weights are where their layer is, the input on the machine; one that is the output, too, is on both."""
    output = layers[-1] if layers else MACHINE
    is_tied = not any(tensor.name == "output.weight" for tensor in tensors)
    for tensor in tensors:
        layer = _OF_LAYER.match(tensor.name)
        if layer and int(layer[1]) < len(layers) - 1:
            held = devices[layers[int(layer[1])]]
            held.repacked += tensor.bytes if tensor.type.name in _REPACKED else 0
        else:
            held = devices[output if tensor.name.startswith("output") else MACHINE]
        held.weights += tensor.bytes
        if is_tied and tensor.name == "token_embd.weight" and output != MACHINE:
            devices[output].weights += tensor.bytes


LEAST_BATCH = 128
LEAST_CONTEXT = 2048
"""Where going down by itself ends; less can be asked for."""
SEQUENCES = (8, 4, 2, 1)
ALL_LAYERS = 512 + 1
"""More than any model has; llama.cpp takes as many as there are."""


class Fit:
    """Fits one model to the devices there are, for what the settings leave open.

    Weights that are `loaded` already, for another who has them too, take nothing. Raises RigError for
    settings that nothing could fulfil: more context than the model was made for, a GPU where there is none, a
    quantized KV cache without flash attention.
    """

    def __init__(
        self,
        info: GgufInfo,
        gpus: Sequence[DeviceUse],
        memory: DeviceUse,
        settings: EngineSettings,
        count: Counting,
        *,
        loaded: bool = False,
    ) -> None:
        trained = info.context_length or DEFAULT_CONTEXT
        if settings.n_ctx is not None and settings.n_ctx > trained:
            raise RigError(
                f"{info.path}: --n-ctx {settings.n_ctx} is more than the {trained} tokens this model was made"
                " for"
            )
        settings.check_cache()
        if settings.n_gpu_layers and not gpus:
            raise RigError(
                "--gpu-layers: llama.cpp finds no GPU here; check its driver and whether the device is"
                " visible, or leave the option out to run on the CPU"
            )
        self._info = info
        self._settings = settings
        self._count = count
        self._loaded = loaded
        self._is_unified = any(gpu.unified for gpu in gpus)
        self._devices = [
            replace(gpu, free=min(gpu.free, memory.free)) if gpu.unified else gpu for gpu in gpus
        ]
        self._machine = memory
        self._n_ctx = settings.n_ctx or min(info.context_length or DEFAULT_CONTEXT, DEFAULT_CONTEXT)
        self._n_batch = settings.n_batch or DEFAULT_BATCH

    def best(self) -> FitPlan:
        """The best plan that fits, or the one that lacks least where none does."""
        plans = [self._most_layers()]
        while not plans[-1].fits and (lower := self._lower(plans[-1])) is not None:
            plans.append(lower)
        return self._completed(plans[-1] if plans[-1].fits else min(plans, key=lambda plan: plan.missing))

    def lower(self, failed: FitPlan) -> FitPlan | None:
        """The next plan to try when there was not memory enough for one; None if nothing is left open."""
        lower = self._lower(failed)
        return None if lower is None else self._completed(lower)

    def _most_layers(self) -> FitPlan:
        """With as many layers on GPUs as fit there, or as were asked for; the rest as one would like it."""
        asked = self._settings.n_gpu_layers
        if asked is not None or not self._devices:
            layers = 0 if not asked else ALL_LAYERS if asked < 0 else asked
            return self._plan(layers, self._n_batch, self._n_ctx)
        most = self._plan(ALL_LAYERS, self._n_batch, self._n_ctx)
        fitting, failing = 0, most.n_gpu_layers
        if most.fits:
            return most
        while failing - fitting > 1:
            middle = (fitting + failing) // 2
            if self._plan(middle, self._n_batch, self._n_ctx).fits:
                fitting = middle
            else:
                failing = middle
        return self._plan(fitting, self._n_batch, self._n_ctx)

    def _lower(self, plan: FitPlan) -> FitPlan | None:
        layers, batch, context = plan.n_gpu_layers, plan.n_batch, plan.n_ctx
        if layers and self._settings.n_gpu_layers is None:
            layers = max(layers - max(plan.offloadable // 8, 1), 0)
        elif batch // 2 >= LEAST_BATCH and self._settings.n_batch is None:
            batch //= 2
        elif context // 2 >= LEAST_CONTEXT and self._settings.n_ctx is None:
            context //= 2
        else:
            return None
        return self._plan(layers, batch, context)

    def _completed(self, plan: FitPlan) -> FitPlan:
        """A plan with how many sequences would fit, and with remarks."""
        most = plan.n_seq
        if self._settings.parallel is None:
            # Each sequence has a token in every batch.
            counts = (count for count in SEQUENCES if count <= plan.n_batch)
            fitting = (n for n in counts if self._plan(plan.n_gpu_layers, plan.n_batch, plan.n_ctx, n).fits)
            most = next(fitting, 1)
        return replace(plan, most_sequences=most, remarks=tuple(self._remarks(plan)))

    def _remarks(self, plan: FitPlan) -> Iterator[str]:
        types = self._settings.kv_types
        if plan.gpus and "iq4_nl" in types:
            yield "llama.cpp has no CUDA code for a KV cache of iq4_nl: attention runs on the CPU"
        elif plan.gpus and types not in _COMPILED:
            yield (
                f"a KV cache of {'/'.join(types)} is converted at every step on CUDA, which is slow, unless"
                " llama.cpp was compiled for it (GGML_CUDA_FA_QUANTS)"
            )
        """What a person should know of it, beside the numbers."""
        if self._devices and self._settings.n_gpu_layers is None and plan.n_gpu_layers < plan.offloadable:
            lacking = self._plan(ALL_LAYERS, plan.n_batch, plan.n_ctx).missing
            where = "the rest is on the CPU" if plan.n_gpu_layers else "everything is on the CPU"
            yield f"all layers on the GPU would take {size(lacking)} more than is free there, so {where}"
        if plan.n_batch < self._n_batch:
            yield f"batches of {plan.n_batch} instead of {self._n_batch} tokens, because memory is short"
        if plan.n_ctx < self._n_ctx:
            yield f"a context of {plan.n_ctx} instead of {self._n_ctx} tokens, because memory is short"
        if not plan.fits:
            short = ", ".join(f"{size(use.missing)} on {use.name}" for use in plan.uses if use.missing)
            yield f"too little memory is free: {short} (less --n-ctx, --n-batch or --gpu-layers; --kv q8_0)"
        if plan.machine.weights > max(plan.machine.free - plan.machine.needed, 0):
            yield "the weights exceed the free memory, so they will be read from the disk again and again"

    def _plan(self, n_gpu_layers: int, n_batch: int, n_ctx: int, n_seq: int | None = None) -> FitPlan:
        quantized = any(self._settings.quantizes)
        asked = self._settings.flash_attention
        shape = Shape(
            n_gpu_layers=n_gpu_layers,
            n_ctx=n_ctx,
            n_batch=n_batch,
            n_seq=n_seq or self._settings.parallel or 1,
            kv_type=self._settings.kv_type,
            flash_attention=n_gpu_layers > 0 or quantized if asked is None else asked,
        )
        count = self._count(shape)
        uses = []
        for use in (*self._devices, self._machine):
            needs = count.on(use.name)
            has_scores = use.is_machine and not shape.flash_attention and needs.kv
            uses.append(
                replace(
                    use,
                    layers=needs.layers,
                    weights=0 if self._loaded else needs.weights,
                    kv=round(needs.kv),
                    state=round(needs.state),
                    compute=round(needs.compute),
                    # Without flash attention the CPU has the scores once more, in 16 bits instead of 32.
                    other=(0 if self._loaded or not use.is_machine else needs.repacked)
                    + (round(needs.compute) // 2 if has_scores else 0),
                )
            )
        if self._is_unified:
            # What its GPU holds is the machine's memory too.
            held = sum(use.needed for use in uses[:-1])
            uses[-1] = replace(uses[-1], free=max(uses[-1].free - held, 0))
        offloaded = shape._replace(n_gpu_layers=sum(use.layers for use in uses[:-1]))
        return FitPlan(
            **offloaded._asdict(),
            offloadable=len(count.layers),
            most_sequences=shape.n_seq,
            uses=tuple(uses),
            fits=not any(use.missing for use in uses),
        )


class LoadedModel(NamedTuple):
    """Weights and a context that are really there, the plan they were opened by, and what opens more."""

    model: LlamaModel
    context: LlamaContext
    plan: FitPlan
    open_context: OpenContext

    def close(self) -> None:
        self.context.close()
        self.model.close()


def fit_here(info: GgufInfo, settings: EngineSettings, count: Counting, *, loaded: bool = False) -> Fit:
    """The fit of a model to this machine and what is free of it now. Raises RigError."""
    offloads = llama.supports_gpu_offload()
    if settings.n_gpu_layers and not offloads:
        raise RigError(
            "--gpu-layers: this llama.cpp was built without GPU support; rebuild it (`make run GPU=cuda`)"
            " or leave the option out"
        )
    return Fit(info, gpus() if offloads else (), machine_memory(), settings, count, loaded=loaded)


def load_planned(
    fit: Fit, open_model: Callable[[Shape], LlamaModel], open_context: OpenContext, notify: Notify
) -> LoadedModel:
    """The weights, a context for them, and the plan that worked for both.

    If memory runs out, the plan asks for less, step by step, and `notify` gets a line. Raises RigError if
    nothing is left to try, and for anything else that stops llama.cpp.
    """
    plan = fit.best()
    short = plan.machine.needed - plan.machine.free - plan.machine.swap
    if short > 0:
        # Linux grants more than there is and ends the process that uses it; better to say so before.
        raise NoMemory(
            f"{plan.line}: that is {size(short)} more than there is;"
            " try a smaller --n-ctx, a smaller --parallel, or --kv q8_0"
        )
    tried: list[str] = []
    while True:
        try:
            model = open_model(plan.shape)
            try:
                return LoadedModel(model, open_context(model, plan.shape), plan, open_context)
            except BaseException:
                model.close()
                raise
        except NoMemory as error:
            tried.append(plan.brief)
            lower = fit.lower(plan)
            if lower is None:
                raise NoMemory(f"{error} (tried: {'; '.join(tried)})") from error
            notify(f"no memory for {plan.brief} ({error.reason}); trying {lower.brief}")
            plan = lower


def context_opener(settings: EngineSettings, n_outputs: int | None = None) -> OpenContext:
    """Opens contexts of a shape, in which the logits of `n_outputs` tokens of each sequence can be read."""

    def open_context(model: LlamaModel, shape: Shape, n_cells: int | None = None) -> LlamaContext:
        return LlamaContext(
            model,
            n_ctx=shape.n_ctx,
            n_batch=shape.n_batch,
            n_threads=settings.n_threads,
            flash_attention=shape.flash_attention,
            kv_type=shape.kv_type,
            n_seq=shape.n_seq,
            n_cells=n_cells,
            n_outputs=n_outputs and n_outputs * shape.n_seq,
        )

    return open_context


def load_here(
    info: GgufInfo, settings: EngineSettings, notify: Notify, *, n_outputs: int | None = None
) -> LoadedModel:
    """Weights and a context as they fit here. Weights that are open take no more, if they can stay there."""
    shared = find_weights(info.path)
    if shared is None:
        check_loads(info.path)
    elif settings.n_gpu_layers is None:
        settings = replace(settings, n_gpu_layers=shared.n_gpu_layers)
    loaded = shared is not None and settings.n_gpu_layers == shared.n_gpu_layers
    open_context = context_opener(settings, n_outputs)
    with closing(LlamaCount(info.path, open_context)) as count:
        fit = fit_here(info, settings, count, loaded=loaded)
        return load_planned(
            fit, lambda shape: open_weights(info.path, shape.n_gpu_layers), open_context, notify
        )


def plan_for(info: GgufInfo, settings: EngineSettings, notify: Notify, *, load: bool) -> FitPlan:
    """The plan for a file; with `load` the one by which it can really be loaded now. Raises RigError."""
    if load:
        loaded = load_here(info, settings, notify)
        loaded.close()
        return loaded.plan
    check_loads(info.path, weightless=True)
    with closing(LlamaCount(info.path, context_opener(settings))) as count:
        return fit_here(info, settings, count).best()
