"""`rig runs`: the runs that are stored."""

from pathlib import Path

import click

from rig.calls import JsonObject
from rig.cli.output import print_json, print_table
from rig.displays.numbers import percent
from rig.paths import runs_file
from rig.store import Runs, StoredRun, datasette_metadata


@click.command()
@click.option(
    "--runs", type=click.Path(path_type=Path), help="Run store (default: $RIG_RUNS, else runs.sqlite)."
)
@click.option(
    "--datasette",
    is_flag=True,
    help="Print metadata for Datasette instead: what each column is.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(runs: Path | None, datasette: bool, as_json: bool) -> None:
    """List the stored runs, newest first."""
    if datasette:
        print_json(datasette_metadata(runs or runs_file()))
        return
    with Runs.open(runs or runs_file()) as stored:
        found = stored.all()
    if as_json:
        print_json([run_json(run) for run in found])
    else:
        header = ("run", "name", "started", "state", "conversations", "turns", "success by arm")
        print_table(header, [_row(run) for run in found])


def run_json(run: StoredRun) -> JsonObject:
    """A run with its arms, without its conversations."""
    return {
        "run": run.id,
        "name": run.name,
        "created": run.created.isoformat(),
        "finished": run.finished.isoformat() if run.finished else None,
        "state": run.state,
        "rig": run.rig,
        "settings": run.settings,
        "conversations": len(run.conversations),
        "turns": run.turns,
        "turns_done": run.turns_done,
        "arms": [arm.as_json() for arm in run.arms],
    }


def _row(run: StoredRun) -> tuple[str, ...]:
    return (
        run.id,
        run.name or "",
        f"{run.created.astimezone():%Y-%m-%d %H:%M}",
        run.state,
        str(len(run.conversations)),
        f"{run.turns_done}/{run.turns}",
        ", ".join(f"{arm.name} {percent(arm.metrics.success_rate)}" for arm in run.arms),
    )
