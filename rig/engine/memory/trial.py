"""From a plan to weights and a context that are really there; if something does not fit, less is tried."""

from collections.abc import Callable
from typing import NamedTuple

from rig.engine.core import llama
from rig.engine.core.llama import LlamaContext, LlamaModel, NoMemory
from rig.engine.gguf.info import GgufInfo
from rig.engine.memory.devices import gpus, machine_memory
from rig.engine.memory.fit import Fit
from rig.engine.memory.plan import FitPlan, Wishes, size
from rig.engine.memory.weights import open_weights
from rig.errors import RigError
from rig.meters import available_cores


class Loaded(NamedTuple):
    """What was opened, and the plan it was opened by."""

    model: LlamaModel
    context: LlamaContext
    plan: FitPlan

    def close(self) -> None:
        self.context.close()
        self.model.close()


def fit_here(info: GgufInfo, wishes: Wishes) -> Fit:
    """The fit of a model to this machine and what is free of it now. Raises RigError."""
    offloads = llama.supports_gpu_offload()
    if wishes.n_gpu_layers and not offloads:
        raise RigError(
            "--gpu-layers: this llama.cpp was built without GPU support; rebuild it (`make run GPU=cuda`)"
            " or leave the option out"
        )
    return Fit(info, gpus() if offloads else (), machine_memory(), wishes)


def load_planned(
    fit: Fit,
    open_model: Callable[[FitPlan], LlamaModel],
    open_context: Callable[[LlamaModel, FitPlan], LlamaContext],
    notify: Callable[[str], None],
) -> Loaded:
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
            model = open_model(plan)
            try:
                return Loaded(model, open_context(model, plan), plan)
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


def try_loading(info: GgufInfo, fit: Fit, notify: Callable[[str], None]) -> FitPlan:
    """Load a model and give it up again: the plan by which it can be loaded now. Raises RigError."""
    loaded = load_planned(
        fit,
        lambda plan: open_weights(info.path, plan.n_gpu_layers),
        lambda model, plan: LlamaContext(
            model,
            n_ctx=plan.n_ctx,
            n_batch=plan.n_batch,
            n_threads=available_cores(),
            flash_attention=plan.flash_attention,
            kv_type=plan.kv_type,
            n_seq=plan.n_seq,
        ),
        notify,
    )
    loaded.close()
    return loaded.plan
