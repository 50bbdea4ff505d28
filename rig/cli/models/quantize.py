"""`rig models quantize`: make smaller files of a model, to compare with it."""

import sys

import click

from rig.calls import JsonObject
from rig.cli import completion
from rig.cli.models.progress import bar
from rig.cli.options import json_option
from rig.cli.output import print_json, print_table, printable
from rig.displays.numbers import file_size
from rig.displays.signals import endings_as_exceptions
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
    made = []
    for kind in to:
        with endings_as_exceptions():
            made.append(
                make(
                    parent,
                    kind,
                    threads=threads or available_cores(),
                    progress=bar(f"{parent.name}-{kind}", "quantizing"),
                )
            )
    if as_json:
        print_json([_json(each) for each in made])
        return
    print_table(_HEADER, [_row(each) for each in made])
    for each in made:
        if each.entry.fell_back:
            counts = ", ".join(f"{count} from {change}" for change, count in each.entry.fell_back.items())
            click.echo(
                f"{printable(each.entry.name)}: tensors whose rows are too short for their type got another:"
                f" {counts.lower()}"
            )
    origins = [each.info.origin for each in made if each.info.origin]
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


def _row(made: DerivedModel) -> tuple[str, ...]:
    bits = made.info.bits_per_weight
    return (
        made.entry.name,
        file_size(made.entry.size),
        f"{bits:.2f}" if bits else "?",
        ", ".join(f"{count} {kind}" for kind, count in made.entry.tensors.items()),
        "here already" if made.seconds is None else f"{made.seconds:.1f}",
    )


def _json(made: DerivedModel) -> JsonObject:
    return {
        **made.entry.model_dump(),
        "path": str(made.entry.path),
        "bits_per_weight": made.info.bits_per_weight,
        "origin": made.info.origin and made.info.origin.as_json(),
        "seconds": made.seconds,
    }
