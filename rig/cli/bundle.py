"""`rig bundle`: pack everything for a machine without a network into one file, and check such a file."""

import sys
from pathlib import Path

import click

from rig.cli import completion
from rig.cli.config import say_what_is_from_file
from rig.cli.options import json_option
from rig.cli.output import print_json, printable
from rig.cli.verbs import Verbs
from rig.displays.numbers import file_size
from rig.errors import RigError
from rig.paths import expanded

_PATH = click.Path(path_type=Path)


@click.group(cls=Verbs, invoke_without_command=True)
@click.option("-o", "--output", type=_PATH, help="The file to write: .tar.gz, .tar.xz, .tar.zst or .tar.")
@click.option(
    "--models",
    multiple=True,
    metavar="MODEL",
    shell_complete=completion.model_files,
    help="A model by name or path. Repeatable, or several with commas.  [default: the registry's models"
    " that are here]",
)
@click.option("--lora", "adapters", multiple=True, type=_PATH, help="A LoRA adapter of your own. Repeatable.")
@click.option("--toolbox", "toolboxes", multiple=True, type=_PATH, help="A folder with tools. Repeatable.")
@click.option(
    "--instructions",
    type=click.Choice(["native", "portable"]),
    default="native",
    show_default=True,
    help="Pack llama.cpp as it is installed here, or compile it again for x86 processors since 2013 or"
    " any ARM processor; that needs its source and a compiler.",
)
@click.option(
    "--wheel",
    "wheels",
    multiple=True,
    type=_PATH,
    help="Pack this wheel instead of what is installed. Repeatable.",
)
@click.option(
    "--extra",
    "extras",
    multiple=True,
    metavar="NAME",
    help="Include this extra, such as autode. Repeatable.",
)
@click.option("--force", is_flag=True, help="Replace a file that is already there.")
@click.pass_context
def command(
    context: click.Context,
    output: Path | None,
    models: tuple[str, ...],
    adapters: tuple[Path, ...],
    toolboxes: tuple[Path, ...],
    instructions: str,
    wheels: tuple[Path, ...],
    extras: tuple[str, ...],
    force: bool,
) -> None:
    """Pack everything rig needs into one file, for a machine without a network.

    The file holds wheels of what is installed here, models, conversations, the world, the similarity model,
    the documentation as HTML, checksums, and install.sh, which needs nothing but Python. The other machine
    needs the same system and the same version of Python. Packing needs no network either, except with
    --instructions portable.
    """
    if context.invoked_subcommand:
        return
    say_what_is_from_file(context)
    if output is None:
        raise RigError("say where the bundle goes, as in: rig bundle -o rig-bundle.tar.gz")
    # Kept from `--help`: what a bundle is made of takes a moment to load.
    from rig.bundle import Contents, make

    names = tuple(name for model in models for name in _split(model))
    contents = Contents(names, adapters, toolboxes, wheels, extras, instructions == "portable")
    bundle = make(output, contents, force=force, say=lambda text: click.echo(f"bundle: {text}", err=True))
    click.echo(f"{printable(str(output))}: {bundle.files} files, {file_size(bundle.digest.size)}")
    click.echo(f"SHA-256 {bundle.digest.sha256}")


def _split(text: str) -> list[str]:
    """Several names; a file's name may have a comma itself."""
    return [text] if expanded(text).exists() else text.split(",")


@command.command()
@click.argument("file", type=_PATH)
@json_option()
def verify(file: Path, as_json: bool) -> None:
    """Check every file of a bundle against its checksum.

    The exit code is 1 if a file differs. Nothing is unpacked. rig refuses links, names that lead out of the
    folder, and archives that unpack to far more than their size. Also compare the SHA-256 with the one that
    `rig bundle` printed when it made the file: the checksums inside cannot show that it is the same file.
    """
    from rig.bundle import verify as verified

    report = verified(file)
    if as_json:
        differing = [{"file": name, "fault": fault} for name, fault in report.differing]
        print_json(
            {
                "ok": not differing,
                "sha256": report.digest.sha256,
                "size": report.digest.size,
                "files": report.files,
                "differing": differing,
            }
        )
    else:
        for name, fault in report.differing:
            click.echo(f"{printable(name)}: {fault}")
        state = f"{len(report.differing)} differ" if report.differing else "all as they were packed"
        click.echo(f"{printable(str(file))}: {report.files} files, {state}")
        click.echo(f"SHA-256 {report.digest.sha256}")
    sys.exit(1 if report.differing else 0)
