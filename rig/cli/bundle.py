"""`rig bundle`: all that a machine without a network needs, in one file, and whether such a file is whole."""

import sys
from pathlib import Path

import click

from rig.cli import completion
from rig.cli.options.verbs import Verbs
from rig.cli.output import print_json, printable
from rig.displays.numbers import file_size
from rig.errors import RigError

_PATH = click.Path(path_type=Path)


@click.group(cls=Verbs, invoke_without_command=True)
@click.option("-o", "--output", type=_PATH, help="File to write: .tar.gz, .tar.xz, .tar.zst or .tar.")
@click.option(
    "--models",
    multiple=True,
    metavar="MODEL",
    shell_complete=completion.model_files,
    help="A model by name or path; repeatable, or several with commas. Without it: all of the registry's that"
    " are here.",
)
@click.option("--lora", "adapters", multiple=True, type=_PATH, help="An adapter of your own; repeatable.")
@click.option("--toolbox", "toolboxes", multiple=True, type=_PATH, help="A folder with tools; repeatable.")
@click.option(
    "--instructions",
    type=click.Choice(["native", "portable"]),
    default="native",
    show_default=True,
    help="llama.cpp as it is installed here, or compiled anew for x86 processors since 2013 or any of ARM's;"
    " that needs its source and a compiler.",
)
@click.option(
    "--wheel", "wheels", multiple=True, type=_PATH, help="Take this wheel, not what is installed; repeatable."
)
@click.option("--extra", "extras", multiple=True, help="An extra of rig's, such as autode; repeatable.")
@click.option("--force", is_flag=True, help="Write over the file.")
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
    """Put all that rig needs into one file, for a machine without a network.

    The file holds wheels of what is installed here, models, conversations, the world, the similarity model,
    the documentation as HTML, checksums, and install.sh, which needs a Python and nothing else. The other
    machine needs the same system and version of Python. No network is used here either, but for
    --instructions portable.
    """
    if context.invoked_subcommand:
        return
    if output is None:
        raise RigError("say where the bundle goes, as in: rig bundle -o rig-bundle.tar.gz")
    # Kept from `--help`: what a bundle is made of takes a moment to load.
    from rig.bundle import Contents, make

    names = tuple(name for given in models for name in _split(given))
    wanted = Contents(names, adapters, toolboxes, wheels, extras, instructions == "portable")
    made = make(output, wanted, force=force, say=lambda text: click.echo(f"bundle: {text}", err=True))
    click.echo(f"{printable(str(output))}: {made.files} files, {file_size(made.digest.size)}")
    click.echo(f"SHA-256 {made.digest.sha256}")


def _split(text: str) -> list[str]:
    """Several names; a file's name may have a comma itself."""
    return [text] if Path(text).expanduser().exists() else text.split(",")


@command.command()
@click.argument("file", type=_PATH)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def verify(file: Path, as_json: bool) -> None:
    """Hold every file of a bundle against its checksum; exit code 1 when one differs.

    Nothing is unpacked. Links, names that lead out of the folder, and archives that unpack to far more than
    their size are refused. Compare the SHA-256 with what `rig bundle` said when it made the file: that shows
    that it is the same, which the checksums inside cannot.
    """
    from rig.bundle import verify as verified

    found = verified(file)
    if as_json:
        differing = [{"file": name, "fault": fault} for name, fault in found.differing]
        print_json(
            {
                "ok": not differing,
                "sha256": found.digest.sha256,
                "size": found.digest.size,
                "files": found.files,
                "differing": differing,
            }
        )
    else:
        for name, fault in found.differing:
            click.echo(f"{printable(name)}: {fault}")
        state = f"{len(found.differing)} differ" if found.differing else "all as they were packed"
        click.echo(f"{printable(str(file))}: {found.files} files, {state}")
        click.echo(f"SHA-256 {found.digest.sha256}")
    sys.exit(1 if found.differing else 0)
