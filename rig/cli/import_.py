"""`rig import`: what another tool recorded, as a run."""

from pathlib import Path

import click

from rig import methods
from rig.cli.output import print_json, printable
from rig.errors import RigError
from rig.methods.base import Imports
from rig.paths import runs_file
from rig.rescore import import_run
from rig.running.options import Options

_PATH = click.Path(path_type=Path)


@click.command("import")
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=_PATH)
@click.option(
    "--format", "format_", required=True, metavar="METHOD", help="Whose files they are: autode, toolbench."
)
@click.option(
    "--suite",
    type=_PATH,
    help="The tasks, where they do not lie beside the files; of toolbench the queries' ids; those without an"
    " answer have failed.",
)
@click.option(
    "--set",
    "set_",
    multiple=True,
    metavar="NAME=VALUE",
    help="An option of the method, such as invalid=longest or invalid=tree of toolbench.",
)
@click.option("--runs", type=_PATH, help="Run store to write (default: $RIG_RUNS, else runs.sqlite).")
@click.option("--name", help="A name for the run.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    files: tuple[Path, ...],
    format_: str,
    suite: Path | None,
    set_: tuple[str, ...],
    runs: Path | None,
    name: str | None,
    as_json: bool,
) -> None:
    """Take recorded results as a run, each file, or each model's answers, as an arm.

    The run can be shown, compared, reported and scored again as any other. What cannot be read costs a line
    on stderr and nothing else. `rig show RUN --tables` has the paper's tables with the paper's rows beside.
    """
    method = methods.get(format_)
    if not isinstance(method, Imports):
        raise RigError(
            f"--format {format_}: rig reads no results that were recorded by this method's upstream"
        )
    options = Options(models=(), method=method.name, set=set_)
    values = {name: given[0] for name, given in options.values(method).items()}
    found = method.recorded(files, suite, values)
    for fault in found.faults:
        click.echo(f"rig: {printable(fault)}", err=True)
    store = runs or runs_file()
    run = import_run(store, method, found, name)
    episodes = sum(len(arm.episodes) for arm in found.arms)
    if as_json:
        arms = [{"arm": arm.name, "episodes": len(arm.episodes)} for arm in found.arms]
        print_json({"run": run, "store": str(store), "arms": arms, "faults": list(found.faults)})
    else:
        click.echo(
            printable(f"run {run}: {len(found.arms)} arms, {episodes} conversations; stored in {store}")
        )
