"""`rig models quantize` and `rig models merge`: make files of other models."""

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import click

from rig.calls import JsonObject
from rig.cli import completion
from rig.cli.options import json_option
from rig.cli.output import ProgressLine, print_json, print_table, printable
from rig.displays.numbers import file_size
from rig.displays.signals import endings_as_exceptions
from rig.engine.files.adapters import Adapter
from rig.engine.files.derived import DerivedModel
from rig.engine.files.quantize import LADDER, TYPES
from rig.engine.files.quantize import quantize as make
from rig.engine.files.registry import ResolvedModel, resolve
from rig.errors import RigError
from rig.meters import available_cores
from rig.paths import models_directory
from rig.words import did_you_mean

_HEADER = ("NAME", "SIZE", "BITS PER WEIGHT", "TENSORS BY THE TYPE REALLY USED", "SECONDS")


def _kinds(_: click.Context, __: click.Parameter, text: str | None) -> tuple[str, ...]:
    return () if text is None else _types(text)


def _types(text: str) -> tuple[str, ...]:
    kinds = tuple(dict.fromkeys(part.strip().lower() for part in text.split(",")))
    for kind in kinds:
        if kind not in TYPES:
            near = did_you_mean(kind, TYPES)
            raise click.BadParameter(f"there is no type {kind!r}{near}; choose from: {', '.join(TYPES)}")
    return kinds


@click.command()
@click.argument("model", shell_complete=completion.model_files)
@click.option(
    "--to",
    callback=_kinds,
    metavar="TYPE,...",
    help=f"The types to make, such as {','.join(LADDER)}. In a terminal, rig asks if you leave this out.",
)
@click.option(
    "--threads", type=click.IntRange(1, 512), metavar="N", help="CPU threads.  [default: all cores]"
)
@json_option()
def quantize(model: str, to: tuple[str, ...], threads: int | None, as_json: bool) -> None:
    """Make smaller files of a model, with llama.cpp's own quantizer.

    Each new file is MODEL-TYPE.gguf in the models folder, and you can use the name MODEL-TYPE at once
    wherever a model is asked for. The file records what it was made from, and so does every run with it. You
    can quantize a quantized model again, but what it has lost stays lost.
    """
    parent = resolve(model)
    to = to or _asked(parent)
    files = []
    for kind in to:
        with endings_as_exceptions():
            files.append(
                make(
                    parent,
                    kind,
                    threads=threads or available_cores(),
                    progress=_bar(f"{parent.name}-{kind}", "quantizing"),
                )
            )
    if as_json:
        print_json([_json(file) for file in files])
        return
    print_table(_HEADER, [_row(file) for file in files])
    for new in files:
        if new.entry.fell_back:
            counts = ", ".join(f"{count} from {change}" for change, count in new.entry.fell_back.items())
            click.echo(
                f"{printable(new.entry.name)}: tensors whose rows are too short for their type got another:"
                f" {counts.lower()}"
            )
    origins = [file.info.origin for file in files if file.info.origin]
    if origins and origins[0].requantized:
        click.echo(
            f"{printable(origins[0].note)}: its weights were quantized before, so these files lose more than"
            " the same types made from the original weights would"
        )


def _asked(parent: ResolvedModel) -> tuple[str, ...]:
    """The types that a person wants; without one to ask, what could be made is said instead."""
    ladder = ",".join(LADDER)
    if not _is_asked():
        files = ", ".join(f"{parent.name}-{kind}.gguf" for kind in LADDER)
        raise RigError(f"say which types to make; --to {ladder} would make {files} in {models_directory()}")
    for kind in LADDER:
        click.echo(printable(f"  {kind:<7} {parent.name}-{kind}.gguf"), err=True)
    click.echo(f"They go to {printable(str(models_directory()))}. Other types: {', '.join(TYPES)}.", err=True)
    return _types(click.prompt("Which types", default=ladder, err=True))


def _is_asked() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()


def _row(file: DerivedModel) -> tuple[str, ...]:
    bits = file.info.bits_per_weight
    return (
        file.entry.name,
        file_size(file.entry.size),
        f"{bits:.2f}" if bits else "?",
        ", ".join(f"{count} {kind}" for kind, count in file.entry.tensors.items()),
        "here already" if file.seconds is None else f"{file.seconds:.1f}",
    )


def _json(file: DerivedModel) -> JsonObject:
    return {
        **file.entry.model_dump(),
        "path": str(file.entry.path),
        "bits_per_weight": file.info.bits_per_weight,
        "origin": file.info.origin and file.info.origin.as_json(),
        "seconds": file.seconds,
    }


def _bar(name: str, doing: str) -> Callable[[int, int], None]:
    """Shows on a terminal how far it is; elsewhere that a file is begun."""
    if not sys.stderr.isatty():
        click.echo(f"{printable(name)}: {doing}", err=True)
        return lambda _done, _of: None
    return ProgressLine(name, "tensor").show


_MERGED = ("f16", "bf16", "f32", "q8_0")


@click.command()
@click.argument("model", shell_complete=completion.model_files)
@click.option("--lora", metavar="FILE[:SCALE]", help="The adapter.  [default: that of the registry's entry]")
@click.option("--scale", type=float, metavar="X", help="How strongly the adapter counts.  [default: 1]")
@click.option(
    "--to", type=click.Choice(_MERGED), default="f16", show_default=True, help="The type of the weights."
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="The file to write.  [default: MODEL+ADAPTER-TYPE.gguf in the models folder]",
)
@json_option()
def merge(
    model: str, lora: str | None, scale: float | None, to: str, output: Path | None, as_json: bool
) -> None:
    """Merge a model and a LoRA adapter into one file, which you can then quantize.

    You can use the name MODEL+ADAPTER-TYPE at once wherever a model is asked for. The file records what it
    was made from. If the model was quantized, what it has lost stays lost. The file appears only when it is
    complete.
    """
    from rig.engine.files.merge import merge as merge_files

    parent = _with_adapter(resolve(model), lora, scale)
    assert parent.adapter is not None
    with endings_as_exceptions():
        progress = _bar(f"{parent.name}-{to}", "merging")
        merged = merge_files(parent, parent.adapter, to, target=output, progress=progress)
    path = output or merged.entry.path
    if as_json:
        print_json({**merged.entry.model_dump(), "path": str(path), "seconds": merged.seconds})
        return
    state = "here already" if merged.seconds is None else f"made in {merged.seconds:.1f} s"
    note = merged.info.origin.note if merged.info.origin else ""
    click.echo(printable(f"{path}: {file_size(merged.entry.size)}, {note}; {state}"))


def _with_adapter(parent: ResolvedModel, lora: str | None, scale: float | None) -> ResolvedModel:
    """The model with the adapter to be merged. Raises RigError if there is none, or another."""
    asked = [] if lora is None else [Adapter.parse(lora)]
    (adapted,) = parent.with_adapters(asked)
    if adapted.adapter is None:
        raise RigError("which adapter? Give --lora FILE, or a model from the registry that has one")
    if scale is None:
        return adapted
    adapter = replace(adapted.adapter, scale=scale).checked(f"{adapted.adapter.path}:{scale}")
    if adapted.entry is not None and adapted.entry.base:
        return replace(adapted, name=f"{adapted.name}:{scale:g}", adapter=adapter)
    return parent.with_adapters([adapter])[0]
