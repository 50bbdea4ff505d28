"""`rig models quantize`: smaller files of a model, to be compared with it."""

import click

from rig.calls import JsonObject
from rig.cli import completion
from rig.cli.models.progress import bar
from rig.cli.output import print_json, print_table, printable
from rig.displays.numbers import file_size
from rig.displays.signals import endings_as_exceptions
from rig.engine.files.made import Made
from rig.engine.files.quantize import LADDER, TYPES
from rig.engine.files.quantize import quantize as make
from rig.engine.files.registry import resolve
from rig.meters import available_cores

_HEADER = ("NAME", "SIZE", "BITS PER WEIGHT", "TENSORS BY THE TYPE REALLY USED", "SECONDS")


def _kinds(_: click.Context, __: click.Parameter, text: str) -> tuple[str, ...]:
    kinds = tuple(dict.fromkeys(part.strip().lower() for part in text.split(",")))
    for kind in kinds:
        if kind not in TYPES:
            raise click.BadParameter(f"{kind!r} is none of {', '.join(TYPES)}.")
    return kinds


@click.command()
@click.argument("model", shell_complete=completion.model_files)
@click.option(
    "--to",
    default=",".join(LADDER),
    show_default=True,
    callback=_kinds,
    metavar="TYPE,...",
    help="What to make.",
)
@click.option(
    "--threads", type=click.IntRange(1, 512), help="CPU threads; default: the cores that may be used."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def quantize(model: str, to: tuple[str, ...], threads: int | None, as_json: bool) -> None:
    """Make smaller files of a model, with llama.cpp's own quantizer.

    Each is MODEL-TYPE.gguf in the models directory, and can be named MODEL-TYPE at once wherever a model can.
    It says itself what it was made from, and so does every run with it. A model that is quantized already
    can be quantized again; what it has lost by then stays lost. A file appears only when it is complete.
    """
    parent = resolve(model)
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


def _row(made: Made) -> tuple[str, ...]:
    bits = made.info.bits_per_weight
    return (
        made.entry.name,
        file_size(made.entry.size),
        f"{bits:.2f}" if bits else "?",
        ", ".join(f"{count} {kind}" for kind, count in made.entry.tensors.items()),
        "here already" if made.seconds is None else f"{made.seconds:.1f}",
    )


def _json(made: Made) -> JsonObject:
    return {
        **made.entry.model_dump(),
        "path": str(made.entry.path),
        "bits_per_weight": made.info.bits_per_weight,
        "origin": made.info.origin and made.info.origin.as_json(),
        "seconds": made.seconds,
    }
