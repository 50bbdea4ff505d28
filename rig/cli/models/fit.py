"""`rig models info --fit`: how a model fits on this machine, and how it would be loaded."""

from dataclasses import dataclass
from typing import Literal

import click

from rig.cli.output import print_facts, print_json, print_table, say
from rig.cli.verbs import option
from rig.displays.texts import file_size
from rig.engine.core.settings import EngineSettings
from rig.engine.gguf.info import GgufInfo
from rig.engine.memory.plan import DeviceUse
from rig.meters import available_cores
from rig.options import KvType

_HEADER = ("ON", "LAYERS", "WEIGHTS", "KV CACHE", "STATE", "WORKING", "OTHER", "ALL", "FREE", "MARGIN")


@dataclass(frozen=True, kw_only=True)
class FitOptions:
    """What a fit decides by itself otherwise."""

    gpu_layers: int | None = option(
        "With --fit: layers on the GPU; -1 for all.", "N", type=click.IntRange(-1)
    )
    n_ctx: int | None = option("With --fit: context in tokens.", "N", type=click.IntRange(min=1))
    n_batch: int | None = option("With --fit: tokens in a batch.", "N", type=click.IntRange(min=1))
    parallel: int | None = option("With --fit: conversations at once.", "N", type=click.IntRange(1, 64))
    kv: KvType | None = option("With --fit: type of the KV cache.")
    flash_attention: Literal["auto", "on", "off"] | None = option("With --fit: as in `rig run`.")

    @property
    def settings(self) -> EngineSettings:
        """What is asked of the engine."""
        return EngineSettings(
            n_gpu_layers=self.gpu_layers,
            n_ctx=self.n_ctx,
            n_batch=self.n_batch,
            parallel=self.parallel,
            kv_type=self.kv or "f16",
            flash_attention=_FLASH_ATTENTION[self.flash_attention or "auto"],
        )


_FLASH_ATTENTION = {"auto": None, "on": True, "off": False}


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
    where = " and ".join(use.title for use in plan.gpus) or "the CPU"
    layers = f"{plan.n_gpu_layers} of {plan.offloadable}" if plan.gpus else f"all {plan.offloadable}"
    print_facts(
        {
            "layers": f"{layers} on {where}",
            "context": f"{plan.n_ctx} tokens of the model's {info.context_length or 'unknown number'}",
            "batch": f"{plan.n_batch} tokens",
            "sequences": f"{plan.n_seq}; {plan.most_sequences} would fit",
            "KV cache": f"{plan.kv_type}, flash attention {'on' if plan.flash_attention else 'off'}",
            "threads": available_cores(),
            "made": info.origin and info.origin.note,
        }
    )
    click.echo()
    print_table(_HEADER, map(_row, plan.uses))
    click.echo("(weights on the CPU are pages of the file, which it can give up; the margin is left free)")
    for line in (*tried, *plan.remarks):
        say(line)
    if load:
        click.echo("loaded like this, and released again")
    elif plan.fits:
        click.echo("it fits")


def _row(use: DeviceUse) -> tuple[object, ...]:
    sizes = (use.weights, use.kv, use.state, use.compute, use.other, use.held, use.free, use.margin)
    return (use.title, use.layers, *map(file_size, sizes))
