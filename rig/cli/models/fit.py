"""`rig models info --fit`: how a model fits on this machine, and how it would be loaded."""

from collections.abc import Callable
from functools import wraps
from typing import Any

import click

from rig.cli.output import print_json, print_table, printable
from rig.displays.numbers import file_size
from rig.engine.core.settings import EngineSettings
from rig.engine.gguf.info import GgufInfo
from rig.engine.memory.plan import DeviceUse, FitPlan
from rig.meters import available_cores

_COUNT = click.IntRange(min=1)
_HEADER = ("ON", "LAYERS", "WEIGHTS", "KV CACHE", "STATE", "WORKING", "OTHER", "ALL", "FREE", "MARGIN")


def fit_options(function: Callable[..., None]) -> Callable[..., None]:
    """Options for what a fit decides by itself otherwise; the command gets them as `settings`."""

    @click.option(
        "--gpu-layers",
        type=click.IntRange(-1),
        metavar="N",
        help="With --fit: layers on the GPU; -1 for all.",
    )
    @click.option("--n-ctx", type=_COUNT, metavar="N", help="With --fit: context in tokens.")
    @click.option("--n-batch", type=_COUNT, metavar="N", help="With --fit: tokens in a batch.")
    @click.option(
        "--parallel", type=click.IntRange(1, 64), metavar="N", help="With --fit: conversations at once."
    )
    @click.option("--kv", type=click.Choice(["f16", "q8_0"]), help="With --fit: type of the KV cache.")
    @click.option(
        "--flash-attention", type=click.Choice(["auto", "on", "off"]), help="With --fit: as in `rig run`."
    )
    @wraps(function)
    def collect(
        *arguments: Any,
        gpu_layers: int | None,
        n_ctx: int | None,
        n_batch: int | None,
        parallel: int | None,
        kv: str | None,
        flash_attention: str | None,
        **others: Any,
    ) -> None:
        settings = EngineSettings(
            n_gpu_layers=gpu_layers,
            n_ctx=n_ctx,
            n_batch=n_batch,
            parallel=parallel,
            kv_type="q8_0" if kv == "q8_0" else "f16",
            flash_attention=None if flash_attention in (None, "auto") else flash_attention == "on",
        )
        function(*arguments, **others, settings=settings)

    return collect


def show_fit(name: str, info: GgufInfo, settings: EngineSettings, *, load: bool, as_json: bool) -> None:
    """Print the plan; with `load`, of what could really be loaded."""
    # Kept from the other verbs: this loads llama.cpp.
    from rig.engine.memory.fit import plan_for

    tried: list[str] = []
    plan = plan_for(info, settings, tried.append, load=load)
    if as_json:
        print_json(
            {
                "name_in_rig": name,
                "path": str(info.path),
                **plan.as_json(),
                "n_threads": available_cores(),
                "context_length": info.context_length,
                "loaded": load,
                "made_from": info.origin and info.origin.as_json(),
                "tried": tried,
            }
        )
        return
    _print_choices(plan, info)
    click.echo()
    print_table(_HEADER, [_row(use) for use in plan.uses])
    click.echo("(weights on the CPU are pages of the file, which it can give up; the margin is left free)")
    for line in (*tried, *plan.remarks):
        click.echo(printable(line))
    if load:
        click.echo("loaded like this, and released again")
    elif plan.fits:
        click.echo("it fits")


def _print_choices(plan: FitPlan, info: GgufInfo) -> None:
    where = " and ".join(use.title for use in plan.gpus) or "the CPU"
    layers = f"{plan.n_gpu_layers} of {plan.offloadable}" if plan.gpus else f"all {plan.offloadable}"
    facts = {
        "layers": f"{layers} on {where}",
        "context": f"{plan.n_ctx} tokens of the model's {info.context_length or 'unknown number'}",
        "batch": f"{plan.n_batch} tokens",
        "sequences": f"{plan.n_seq}; {plan.most_sequences} would fit",
        "KV cache": f"{plan.kv_type}, flash attention {'on' if plan.flash_attention else 'off'}",
        "threads": str(available_cores()),
        **({"made": info.origin.note} if info.origin else {}),
    }
    for title, value in facts.items():
        click.echo(f"{title:<13} {printable(value)}")


def _row(use: DeviceUse) -> tuple[str, ...]:
    sizes = (use.weights, use.kv, use.state, use.compute, use.other, use.held, use.free, use.margin)
    return (use.title, str(use.layers), *map(file_size, sizes))
