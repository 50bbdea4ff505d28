"""From a plan to weights and a context that are really there; what does not fit is tried smaller."""

from collections.abc import Callable

from rig.engine import llama
from rig.engine.devices import gpus, machine_memory
from rig.engine.fit import Fit
from rig.engine.fit_plan import FitPlan, Wishes, size
from rig.engine.gguf import GgufInfo
from rig.engine.llama import LlamaContext, LlamaModel, NoMemory
from rig.engine.settings import available_cores
from rig.errors import RigError


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
) -> tuple[LlamaModel, FitPlan]:
    """The weights, loaded so that a context fits beside them, and the plan that did it.

    The context is only tried. Where memory runs out, what is open goes down step by step, and `notify` is
    told. Raises RigError when nothing is left to be tried, and for whatever else stops llama.cpp.
    """
    plan = fit.best()
    short = plan.machine.needed - plan.machine.free - plan.machine.swap
    if short > 0:
        # Linux grants more than there is and ends the process that uses it; better to say so before.
        raise NoMemory(f"{plan.line}: that is {size(short)} more than there is; {'; '.join(plan.remarks)}")
    tried: list[str] = []
    while True:
        try:
            return _tried(open_model, open_context, plan), plan
        except NoMemory as error:
            tried.append(plan.brief)
            lower = fit.lower(plan)
            if lower is None:
                raise NoMemory(f"{error} (tried: {'; '.join(tried)})") from error
            notify(f"no memory for {plan.brief} ({error.reason}); trying {lower.brief}")
            plan = lower


def try_loading(info: GgufInfo, fit: Fit, notify: Callable[[str], None]) -> FitPlan:
    """Load a model and give it up again: the plan by which it can be loaded now. Raises RigError."""
    model, plan = load_planned(
        fit,
        lambda plan: LlamaModel(info.path, n_gpu_layers=plan.n_gpu_layers),
        lambda model, plan: LlamaContext(
            model,
            n_ctx=plan.n_ctx,
            n_batch=plan.n_batch,
            n_threads=available_cores(),
            flash_attention=plan.flash_attention,
            kv_type=plan.kv_type,
        ),
        notify,
    )
    model.close()
    return plan


def _tried(
    open_model: Callable[[FitPlan], LlamaModel],
    open_context: Callable[[LlamaModel, FitPlan], LlamaContext],
    plan: FitPlan,
) -> LlamaModel:
    model = open_model(plan)
    try:
        open_context(model, plan).close()
    except BaseException:
        model.close()
        raise
    return model
