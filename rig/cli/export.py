"""`rig export`: a stored run in the format of another tool, or as rows."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import cast, get_args

import click

from rig import methods, plugins
from rig.cli import completion
from rig.cli.output import print_json, printable
from rig.errors import RigError
from rig.paths import runs_file
from rig.rescore import FlatFormat, export_run, flat_lines, setup_of, write_lines
from rig.store import EXPORTED_VIEWS, Runs

_PATH = click.Path(path_type=Path)


@click.command()
@click.argument("run", shell_complete=completion.runs)
@click.option(
    "--format",
    "format_",
    metavar="NAME",
    required=True,
    help="csv, jsonl: rows; the run's method, such as tooltalk or autode: files that its own tools read;"
    " toolbench: raw and converted answers of any run.",
)
@click.option(
    "--output",
    type=_PATH,
    help="What to write: for rows a new file, else stdout; for other files a directory, new or empty.",
)
@click.option(
    "--rows",
    type=click.Choice(EXPORTED_VIEWS),
    help="What a row is, by the store's view of that name; default: steps.",
)
@click.option("--raw", is_flag=True, help="csv: leave texts that a spreadsheet would execute as they are.")
@click.option("--runs", type=_PATH, help="Run store (default: $RIG_RUNS, else runs.sqlite).")
@click.option("--json", "as_json", is_flag=True, help="Print JSON about what was written.")
def command(
    run: str,
    format_: str,
    output: Path | None,
    rows: str | None,
    raw: bool,
    runs: Path | None,
    as_json: bool,
) -> None:
    """Write the finished conversations of a run with what was predicted, or a run's rows.

    RUN is an id, the beginning of one, a name given with --name, or `latest`. ToolTalk's prediction files,
    which `rig score` reads, too, are in a folder for each model of several and each repeat; AutoDE's results
    are a file for each model.
    """
    path = runs or runs_file()
    if format_ in get_args(FlatFormat):
        _export_rows(path, run, rows or "steps", cast(FlatFormat, format_), output, raw, as_json)
        return
    exports = plugins.registered().exports
    if format_ not in exports:
        methods.get(format_)
    if rows is not None:
        raise RigError("--rows goes with --format csv or jsonl")
    if output is None:
        raise RigError(f"--format {format_} writes files; name a directory with --output")
    if format_ in exports:
        _print_files(run, format_, output, exports[format_].write(path, run, output), as_json)
        return
    _export_files(path, run, format_, output, as_json)


def _export_files(path: Path, run: str, form: str, output: Path, as_json: bool) -> None:
    with Runs.open(path) as stored:
        found = stored.get(run)
    if form not in (found.declaration.method, methods.files_as(methods.get(found.declaration.method))):
        raise RigError(f"run {found.id} is of the method {found.declaration.method}, not of {form}")
    written = export_run(path, found, setup_of(found), output)
    _print_files(found.id, form, output, written, as_json)


def _print_files(run: str, form: str, output: Path, written: Sequence[Path], as_json: bool) -> None:
    if as_json:
        files = [str(each) for each in written]
        print_json({"run": run, "format": form, "output": str(output), "files": files})
    else:
        click.echo(printable(f"{len(written)} files of run {run} are in {output}"))


def _export_rows(
    path: Path, run: str, view: str, form: FlatFormat, output: Path | None, raw: bool, as_json: bool
) -> None:
    if output is None and as_json:
        raise RigError("--json is about a file that is written; name it with --output")
    with Runs.open(path) as stored:
        found = stored.get(run)
        lines = flat_lines(stored, found, view, form, raw=raw)
        if output is None:
            for line in lines:
                # A file gets what models wrote as they wrote it; a terminal must not be steered by it.
                click.echo(printable(line) if sys.stdout.isatty() else line)
            return
        written = write_lines(lines, output) - (form == "csv")
    if as_json:
        print_json({"run": found.id, "format": form, "rows": view, "output": str(output), "written": written})
    else:
        click.echo(printable(f"{written} {view} of run {found.id} are in {output}"))
