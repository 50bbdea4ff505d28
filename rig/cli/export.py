"""`rig export`: a stored run in the format of another tool, or as rows."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import cast, get_args

import click

from rig import methods, plugins
from rig.cli import completion
from rig.cli.options import json_option, runs_option
from rig.cli.output import print_json, printable
from rig.errors import RigError
from rig.judging.stored import finished
from rig.methods import paper
from rig.paths import runs_file
from rig.rescore import FlatFormat, export_run, flat_lines, setup_of, write_lines, write_parquet
from rig.store import EXPORTED_VIEWS, Runs
from rig.words import counted

_PATH = click.Path(path_type=Path)


@click.command()
@click.argument("run", shell_complete=completion.runs)
@click.option(
    "--format",
    "format_",
    metavar="NAME",
    required=True,
    help="csv, jsonl or parquet for rows; the run's method, such as tooltalk or autode, for files that"
    " its own tools read; toolbench for raw and converted answers of any run.",
)
@click.option(
    "--output",
    type=_PATH,
    help="A new file for rows, or a new or empty folder for other files.  [default: stdout, for rows]",
)
@click.option(
    "--rows",
    type=click.Choice(EXPORTED_VIEWS),
    help="The view of the store to export: what each row is.  [default: steps]",
)
@click.option("--raw", is_flag=True, help="csv: leave texts that a spreadsheet would execute as they are.")
@runs_option()
@json_option("Print JSON about what was written.")
def command(
    run: str,
    format_: str,
    output: Path | None,
    rows: str | None,
    raw: bool,
    runs: Path | None,
    as_json: bool,
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
    path = runs or runs_file()
    if format_ in get_args(FlatFormat):
        _export_rows(path, run, rows or "steps", cast(FlatFormat, format_), output, raw, as_json)
        return
    papers = plugins.registered().papers
    if format_ not in papers:
        methods.get(format_)
    if rows is not None:
        raise RigError("--rows goes with --format csv, jsonl or parquet")
    if output is None:
        raise RigError(f"--format {format_} writes files; name a directory with --output")
    if format_ in papers and papers[format_].takes_any:
        stored, tasks = finished(path, run)
        _print_files(stored.id, format_, output, papers[format_].export(tasks, output), as_json)
        return
    _export_files(path, run, format_, output, as_json)


def _export_files(path: Path, run: str, form: str, output: Path, as_json: bool) -> None:
    with Runs.open(path) as stored:
        stored_run = stored.get(run)
    if form not in (stored_run.declaration.method, paper.of_method(stored_run.declaration.method).name):
        raise RigError(f"run {stored_run.id} is of the method {stored_run.declaration.method}, not of {form}")
    written = export_run(path, stored_run, setup_of(stored_run), output)
    _print_files(stored_run.id, form, output, written, as_json)


def _print_files(run: str, form: str, output: Path, written: Sequence[Path], as_json: bool) -> None:
    if as_json:
        files = [str(path) for path in written]
        print_json({"run": run, "format": form, "output": str(output), "files": files})
    else:
        click.echo(printable(f"wrote {counted(len(written), 'file')} of run {run} to {output}"))


def _export_rows(
    path: Path, run: str, view: str, form: FlatFormat, output: Path | None, raw: bool, as_json: bool
) -> None:
    if output is None and as_json:
        raise RigError("--json describes a file that is written; name it with --output")
    if output is None and form == "parquet":
        raise RigError("--format parquet writes a file; name it with --output")
    with Runs.open(path) as stored:
        stored_run = stored.get(run)
        if form == "parquet" and output is not None:
            written = write_parquet(stored, stored_run, view, output)
        else:
            lines = flat_lines(stored, stored_run, view, form, raw=raw)
            if output is None:
                for line in lines:
                    # A file gets what models wrote as they wrote it; a terminal must not be steered by it.
                    click.echo(printable(line) if sys.stdout.isatty() else line)
                return
            written = write_lines(lines, output) - (form == "csv")
    if as_json:
        print_json(
            {"run": stored_run.id, "format": form, "rows": view, "output": str(output), "written": written}
        )
    else:
        click.echo(printable(f"wrote {counted(written, 'row')} ({view}) of run {stored_run.id} to {output}"))
