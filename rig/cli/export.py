"""`rig export`: a stored run in the format of another tool, or as rows."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import cast, get_args

import click

from rig import methods, plugins
from rig.cli.options import RUN, STORE, json_option
from rig.cli.output import print_json, printable, say
from rig.cli.verbs import option, verb
from rig.displays.texts import out_of
from rig.errors import RigError, counted
from rig.judging.stored import finished
from rig.methods import paper
from rig.rescore import FlatFormat, export_run, flat_lines, setup_of, write_lines, write_parquet
from rig.store import EXPORTED_VIEWS, Runs


@verb()
def command(
    *,
    run: str = RUN,
    format_: str = option(
        "csv, jsonl or parquet for rows; the run's method, such as tooltalk or autode, for files that its own"
        " tools read; toolbench for raw and converted answers of any run.",
        "NAME",
        "--format",
        required=True,
    ),
    output: Path | None = option(
        "A new file for rows, or a new or empty folder for other files.  [default: stdout, for rows]"
    ),
    rows: str | None = option(
        "The view of the store to export: what each row is.  [default: steps]",
        type=click.Choice(EXPORTED_VIEWS),
    ),
    raw: bool = option("csv: leave texts that a spreadsheet would execute as they are."),
    runs: Path = STORE,
    as_json: bool = json_option("Print JSON about what was written."),
) -> None:
    """Export a run as rows, or as files that other tools read.

    RUN is an id or its first characters, a name given with --name, or `latest`. For ToolTalk you get a folder
    for each model and repeat, which `rig score` can read; for AutoDE, a file for each model. Files hold
    finished conversations only. Parquet needs `pip install pyarrow`.

    \b
    Examples:
      rig export latest --format csv > steps.csv
      rig export latest --format parquet --rows calls --output calls.parquet
      rig export latest --format tooltalk --output predictions
    """  # noqa: D301 - for click
    with Runs.open(runs) as store:
        stored = store.get(run, sums=False)
    if stored.state != "finished":
        turns = out_of(stored.turns_done, stored.turns, " of ")
        click.echo(f"rig: run {stored.id} is not finished: {turns} turns are made", err=True)
    if format_ in get_args(FlatFormat):
        form = cast(FlatFormat, format_)
        view = rows or "steps"
        if output is None:
            _print_rows(runs, run, view, form, raw, as_json)
            return
        run, written = _write_rows(runs, run, view, form, output, raw)
        about = {"rows": view, "output": str(output), "written": written}
        what = f"{counted(written, 'row')} ({view})"
    else:
        if format_ not in plugins.registered().papers:
            methods.get(format_)
        if rows is not None:
            raise RigError("--rows goes with --format csv, jsonl or parquet")
        if output is None:
            raise RigError(f"--format {format_} writes files; name a directory with --output")
        run, files = _write_files(runs, run, format_, output)
        about = {"output": str(output), "files": [str(path) for path in files]}
        what = counted(len(files), "file")
    if as_json:
        print_json({"run": run, "format": format_, **about})
    else:
        say(f"wrote {what} of run {run} to {output}")


def _write_files(store: Path, run: str, form: str, output: Path) -> tuple[str, Sequence[Path]]:
    """Write a run as files of a paper's or method's; its id, and the files."""
    papers = plugins.registered().papers
    if form in papers and papers[form].takes_any:
        stored, tasks = finished(store, run)
        return stored.id, papers[form].export(tasks, output)
    with Runs.open(store) as runs:
        stored = runs.get(run)
    method = stored.declaration.method
    if form not in (method, paper.of_method(method).name):
        raise RigError(f"run {stored.id} is of the method {method}, not of {form}")
    return stored.id, export_run(store, stored, setup_of(stored), output)


def _write_rows(
    store: Path, run: str, view: str, form: FlatFormat, output: Path, raw: bool
) -> tuple[str, int]:
    """Write a run as rows; its id, and how many there are."""
    with Runs.open(store) as runs:
        stored = runs.get(run)
        if form == "parquet":
            return stored.id, write_parquet(runs, stored, view, output)
        lines = flat_lines(runs, stored, view, form, raw=raw)
        return stored.id, write_lines(lines, output) - (form == "csv")


def _print_rows(store: Path, run: str, view: str, form: FlatFormat, raw: bool, as_json: bool) -> None:
    if as_json:
        raise RigError("--json describes a file that is written; name it with --output")
    if form == "parquet":
        raise RigError("--format parquet writes a file; name it with --output")
    with Runs.open(store) as runs:
        for line in flat_lines(runs, runs.get(run), view, form, raw=raw):
            # A file gets what models wrote as they wrote it; a terminal must not be steered by it.
            click.echo(printable(line) if sys.stdout.isatty() else line)
