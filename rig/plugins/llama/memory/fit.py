"""How a model fits: experts and layers on GPUs, context, batch and sequences, as they are counted and loaded.

Speed is given up before anything that could change a result: experts leave the GPU first, since each token
needs few of them, then layers, then batches become smaller, and the context comes last. Values that the user
asked for never change.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from typing import NamedTuple

from rig.core.errors import RigError, counted
from rig.core.models import Notify
from rig.plugins.llama.core import llama
from rig.plugins.llama.core.knobs import knobs_of
from rig.plugins.llama.core.llama import LlamaContext, LlamaModel, NoMemory
from rig.plugins.llama.core.placement import MACHINE
from rig.plugins.llama.core.settings import DEFAULT_BATCH, DEFAULT_CONTEXT, EngineSettings
from rig.plugins.llama.files.info import GgufInfo
from rig.plugins.llama.memory.count import Counting, LlamaCount, OpenContext
from rig.plugins.llama.memory.plan import DeviceUse, FitPlan, Shape, gpus, machine_memory, size
from rig.plugins.llama.memory.weights import check_loads, find_weights, open_weights

_COMPILED = {(name, name) for name in ("f16", "bf16", "q8_0", "q4_0")}
"""Types of keys and values for which llama.cpp's CUDA attention is compiled by default."""


LEAST_BATCH = 128
LEAST_CONTEXT = 2048
"""The lowest values that rig tries by itself; users can ask for less."""
SEQUENCES = (8, 4, 2, 1)
ALL_LAYERS = 512 + 1
"""More layers than any model has; llama.cpp takes as many as there are."""


class Fit:
    """Fits one model to the available devices, for what the settings leave open.

    Weights that are already `loaded` for another user take no more memory. Raises RigError for settings that
    cannot be met: more context than the model was made for, a GPU where there is none, a quantized KV cache
    without flash attention.
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
        settings.check()
        trained = settings.longest(info.context_length or DEFAULT_CONTEXT)
        if settings.n_ctx is not None and settings.n_ctx > trained:
            raise RigError(
                f"{info.path}: --n-ctx {settings.n_ctx} is more than the {trained} tokens this model was made"
                " for; --llama rope_scaling_type=yarn --llama rope_freq_scale=0.25 makes room for more"
            )
        if not gpus and (option := _of_gpus(settings)):
            raise RigError(
                f"{option}: llama.cpp finds no GPU here; check its driver and whether the device is"
                " visible, or leave the option out to run on the CPU"
            )
        if (main := settings.placement.main_gpu) is not None:
            if main >= len(gpus):
                raise RigError(f"--llama main_gpu={main}: there are {len(gpus)}, counted from 0")
            gpus = gpus[main : main + 1]
        used = [*(gpu.name for gpu in gpus), MACHINE]
        for _, device in settings.placement.overrides:
            if device not in used:
                there_are = ", ".join(used)
                raise RigError(f"--llama tensor_buft_overrides: no device {device!r}; there are {there_are}")
        self._info = info
        self._settings = settings
        self._count = count
        self._loaded = loaded
        self._is_unified = any(gpu.unified for gpu in gpus)
        self._devices = [
            replace(gpu, free=min(gpu.free, memory.free)) if gpu.unified else gpu for gpu in gpus
        ]
        self._machine = memory
        self._start = Shape(
            n_gpu_layers=0,
            n_ctx=settings.n_ctx or min(trained, settings.most_context),
            n_batch=settings.n_batch or DEFAULT_BATCH,
            n_seq=settings.parallel or 1,
            kv_type=settings.kv_type,
            flash_attention=False,
        )
        self._layers = info.layers or 0
        asked = self._layers if settings.cpu_moe else settings.n_cpu_moe
        has_choice = asked is None and info.experts and gpus and not settings.placement.overrides
        self._n_cpu_moe = None if has_choice else min(asked or 0, self._layers)

    def best(self) -> FitPlan:
        """Return the best plan that fits; if none does, the one that lacks the least memory."""
        plans = [self._most_layers()]
        while not plans[-1].fits and (lower := self._lower(plans[-1])) is not None:
            plans.append(lower)
        return self._completed(plans[-1] if plans[-1].fits else min(plans, key=lambda plan: plan.missing))

    def lower(self, failed: FitPlan) -> FitPlan | None:
        """Return the next plan to try after one ran out of memory; None if nothing is left to give up."""
        lower = self._lower(failed)
        return None if lower is None else self._completed(lower)

    def _most_layers(self) -> FitPlan:
        """Return the plan with as many layers on GPUs as fit or were asked for, and all else at its best."""
        asked = self._settings.n_gpu_layers
        layers = ALL_LAYERS if asked is None or asked < 0 else asked
        shape = self._start._replace(
            n_gpu_layers=layers if self._devices else 0, n_cpu_moe=self._n_cpu_moe or 0
        )
        plan = self._plan(shape)
        if plan.fits or not self._devices:
            return plan
        if self._n_cpu_moe is None:
            plan = self._plan(shape := shape._replace(n_cpu_moe=self._layers))
            if plan.fits:
                return self._last_fit(lambda n: shape._replace(n_cpu_moe=n), self._layers, 0)
        if asked is not None:
            return plan
        return self._last_fit(lambda n: shape._replace(n_gpu_layers=n), 0, plan.n_gpu_layers)

    def _last_fit(self, shape_of: Callable[[int], Shape], fitting: int, failing: int) -> FitPlan:
        """Return the last plan that fits, by bisection between a number that fits and one that does not."""
        while abs(failing - fitting) > 1:
            middle = (fitting + failing) // 2
            if self._plan(shape_of(middle)).fits:
                fitting = middle
            else:
                failing = middle
        return self._plan(shape_of(fitting))

    def _lower(self, plan: FitPlan) -> FitPlan | None:
        """Return a plan that needs less memory, None if there is none.

        What costs least goes first: experts and then layers move to the CPU, before batch and context shrink.
        What the user has set stays.
        """
        shape = plan.shape
        settings = self._settings
        if plan.n_gpu_layers and self._n_cpu_moe is None and plan.n_cpu_moe < self._layers:
            more = min(plan.n_cpu_moe + max(self._layers // 8, 1), self._layers)
            shape = shape._replace(n_cpu_moe=more)
        elif plan.n_gpu_layers and settings.n_gpu_layers is None:
            shape = shape._replace(n_gpu_layers=max(plan.n_gpu_layers - max(plan.offloadable // 8, 1), 0))
        elif plan.n_batch // 2 >= LEAST_BATCH and settings.n_batch is None:
            shape = shape._replace(n_batch=plan.n_batch // 2)
        elif plan.n_ctx // 2 >= LEAST_CONTEXT and settings.n_ctx is None:
            shape = shape._replace(n_ctx=plan.n_ctx // 2)
        else:
            return None
        return self._plan(shape)

    def _completed(self, plan: FitPlan) -> FitPlan:
        """Return a plan with the number of sequences that would fit, and with remarks."""
        most = plan.n_seq
        if self._settings.parallel is None:
            # Each sequence has a token in every batch.
            counts = (count for count in SEQUENCES if count <= plan.n_batch)
            most = next((n for n in counts if self._plan(plan.shape._replace(n_seq=n)).fits), 1)
        return replace(plan, most_sequences=most, remarks=tuple(self._remarks(plan)))

    def _remarks(self, plan: FitPlan) -> Iterator[str]:
        """Yield what a person should know about a plan besides its numbers."""
        types = self._settings.kv_types
        if plan.gpus and "iq4_nl" in types:
            yield "llama.cpp has no CUDA code for a KV cache of iq4_nl: attention runs on the CPU"
        elif plan.gpus and types not in _COMPILED:
            yield (
                f"a KV cache of {'/'.join(types)} is converted at every step on CUDA, which is slow, unless"
                " llama.cpp was compiled for it (GGML_CUDA_FA_QUANTS)"
            )
        everything = plan.shape._replace(n_gpu_layers=ALL_LAYERS)
        if self._n_cpu_moe is None and plan.n_cpu_moe:
            lacking = self._plan(everything._replace(n_cpu_moe=0)).missing
            yield (
                f"with all experts, all layers on the GPU would take {size(lacking)} more than is free there,"
                f" so those of the first {counted(plan.n_cpu_moe, 'layer')} are on the CPU"
                f" (--n-cpu-moe {plan.n_cpu_moe})"
            )
        if self._devices and self._settings.n_gpu_layers is None and plan.n_gpu_layers < plan.offloadable:
            lacking = self._plan(everything).missing
            where = "the rest is on the CPU" if plan.n_gpu_layers else "everything is on the CPU"
            yield f"all layers on the GPU would take {size(lacking)} more than is free there, so {where}"
        for what, now, before in (
            ("batches of", plan.n_batch, self._start.n_batch),
            ("a context of", plan.n_ctx, self._start.n_ctx),
        ):
            if now < before:
                yield f"{what} {now} instead of {before} tokens, because memory is short"
        if not plan.fits:
            short = ", ".join(f"{size(use.missing)} on {use.name}" for use in plan.uses if use.missing)
            yield f"too little memory is free: {short} (less --n-ctx, --n-batch or --gpu-layers; --kv q8_0)"
        if plan.machine.weights > max(plan.machine.free - plan.machine.needed, 0):
            yield "the weights exceed the free memory, so they will be read from the disk again and again"

    def _plan(self, shape: Shape) -> FitPlan:
        asked = self._settings.flash_attention
        needed = shape.n_gpu_layers > 0 or any(self._settings.quantizes)
        shape = shape._replace(
            flash_attention=needed if asked is None else asked,
            n_cpu_moe=shape.n_cpu_moe if shape.n_gpu_layers else 0,
        )
        count = self._count(shape)
        uses = []
        for use in (*self._devices, self._machine):
            needs = count.on(use.name)
            has_scores = use.is_machine and not shape.flash_attention and needs.kv
            repacked = needs.repacked if use.is_machine else 0
            uses.append(
                replace(
                    use,
                    layers=needs.layers,
                    weights=0 if self._loaded else needs.weights,
                    kv=round(needs.kv),
                    state=round(needs.state),
                    compute=round(needs.compute),
                    # Without flash attention the CPU has the scores a second time, in 16 bits instead of 32.
                    shared=needs.weights + repacked if self._loaded else 0,
                    other=(0 if self._loaded else repacked)
                    + (round(needs.compute) // 2 if has_scores else 0),
                )
            )
        if self._is_unified:
            # What its GPU holds is also taken from the machine's memory.
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
    """Weights and a context that are really loaded, their plan, and a function that opens more contexts."""

    model: LlamaModel
    context: LlamaContext
    plan: FitPlan
    open_context: OpenContext

    def close(self) -> None:
        self.context.close()
        self.model.close()


def _of_gpus(settings: EngineSettings) -> str | None:
    """Return the first option that makes no sense without a GPU; None if there is none."""
    asked = {
        "--gpu-layers": settings.n_gpu_layers,
        "--n-cpu-moe": settings.n_cpu_moe,
        "--cpu-moe": settings.cpu_moe,
        "--llama tensor_split": settings.placement.tensor_split,
        "--llama main_gpu": settings.placement.main_gpu is not None,
    }
    return next((option for option, value in asked.items() if value), None)


def fit_here(info: GgufInfo, settings: EngineSettings, count: Counting, *, loaded: bool = False) -> Fit:
    """Return the fit of a model to this machine and its free memory. Raises RigError."""
    offloads = llama.supports_gpu_offload()
    if not offloads and (option := _of_gpus(settings)):
        raise RigError(
            f"{option}: this llama.cpp was built without GPU support; rebuild it (`make run GPU=cuda`)"
            " or leave the option out"
        )
    return Fit(info, gpus() if offloads else (), machine_memory(), settings, count, loaded=loaded)


def load_planned(
    fit: Fit,
    open_model: Callable[[Shape], LlamaModel],
    open_context: OpenContext,
    notify: Notify,
    announce: Callable[[FitPlan], None] = lambda _plan: None,
) -> LoadedModel:
    """Load the weights and a context by the first plan that works; each plan is announced before its load.

    If memory runs out, the plan asks for less, step by step, and `notify` gets a line. Raises RigError if
    nothing is left to try, and for anything else that stops llama.cpp.
    """
    plan = fit.best()
    short = plan.machine.needed - plan.machine.free - plan.machine.swap
    if short > 0:
        # Linux grants more memory than there is and kills the process that uses it, so fail here instead.
        raise NoMemory(
            f"{plan.line}: that is {size(short)} more than there is;"
            " try a smaller --n-ctx, a smaller --parallel, or --kv q8_0"
        )
    tried: list[str] = []
    while True:
        announce(plan)
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
    """Return a function that opens contexts of a shape, with logits for `n_outputs` tokens per sequence."""

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
            own={name: knob.value for name, knob in knobs_of(settings.knobs).items() if knob.is_of_context},
        )

    return open_context


def load_here(
    info: GgufInfo,
    settings: EngineSettings,
    notify: Notify,
    *,
    n_outputs: int | None = None,
    announce: Callable[[FitPlan], None] = lambda _plan: None,
) -> LoadedModel:
    """Load weights and a context as they fit here. Open weights take no more memory if they can stay put."""
    placement, loaded = settings.placement, False
    if (shared := find_weights(info.path)) is None:
        check_loads(info.path)
    elif not settings.cpu_moe:
        (layers, experts, *_), asked = shared.placement, (settings.n_gpu_layers, settings.n_cpu_moe)
        are_asked = all(value in (None, own) for value, own in zip(asked, (layers, experts), strict=True))
        loaded = are_asked and shared.placement == placement._replace(n_gpu_layers=layers, n_cpu_moe=experts)
        if loaded:
            settings = replace(settings, n_gpu_layers=layers, n_cpu_moe=experts)
    open_context = context_opener(settings, n_outputs)
    with closing(LlamaCount(info.path, open_context, placement)) as count:
        fit = fit_here(info, settings, count, loaded=loaded)
        return load_planned(
            fit, lambda shape: open_weights(info.path, shape.place(placement)), open_context, notify, announce
        )


def plan_for(info: GgufInfo, settings: EngineSettings, notify: Notify, *, load: bool) -> FitPlan:
    """Return the plan for a file; with `load`, the one by which it was really loaded now. Raises RigError."""
    if load:
        loaded = load_here(info, settings, notify)
        loaded.close()
        return loaded.plan
    check_loads(info.path, weightless=True)
    with closing(LlamaCount(info.path, context_opener(settings), settings.placement)) as count:
        return fit_here(info, settings, count).best()
