"""`rig export`: a stored run in the format of another tool."""

from pathlib import Path

import click

from rig.cli import completion
from rig.cli.output import print_json, printable
from rig.paths import runs_file
from rig.rescore import export_run
from rig.store import Runs

_PATH = click.Path(path_type=Path)


@click.command()
@click.argument("run", shell_complete=completion.runs)
@click.option(
    "--format",
    "format_",
    type=click.Choice(["tooltalk"]),
    required=True,
    help="tooltalk: prediction files that its evaluator, and `rig score`, read.",
)
@click.option("--output", type=_PATH, required=True, help="Directory to write; new or empty.")
@click.option("--runs", type=_PATH, help="Run store (default: $RIG_RUNS, else runs.sqlite).")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(run: str, format_: str, output: Path, runs: Path | None, as_json: bool) -> None:
    """Write the finished conversations of a run, each with what was predicted.

    RUN is an id, the beginning of one, a name given with --name, or `latest`. Of a run of several models, or
    with repeats, each is written into a folder of its own.
    """
    path = runs or runs_file()
    with Runs.open(path) as stored:
        found = stored.get(run)
    written = export_run(path, found, output)
    if as_json:
        files = [str(each) for each in written]
        print_json({"run": found.id, "format": format_, "output": str(output), "files": files})
    else:
        click.echo(printable(f"{len(written)} conversations of run {found.id} are in {output}"))
