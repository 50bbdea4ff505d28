"""`rig export` and `rig import`: runs in the formats of other tools, as rows, and of other stores."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast, get_args

import click

from rig.cli.options import AS_JSON, NAME, RUN, STORE, WRITTEN_STORE, json_option
from rig.cli.output import print_json, printable, say
from rig.cli.verbs import argument, option, verb
from rig.config.options import RunConfig
from rig.core import registry
from rig.core.errors import RigError, counted, meant
from rig.core.files import writing
from rig.plugins.documents.folders import filling
from rig.show.texts import out_of
from rig.store import EXPORTED_VIEWS

if TYPE_CHECKING:
    from rig.plugins.exports import Export, ExportSource
    from rig.plugins.papers.paper import Paper
    from rig.plugins.rescore.flat import FlatFormat
    from rig.store import Runs, StoredRun


@verb()
def export(
    *,
    run: str = RUN,
    format_: str = option(
        "csv, jsonl or parquet for rows; inspect or lm-eval for logs and results of these tools; junit or"
        " github for a pipeline; eval-results for a model repository on the Hugging Face Hub; the run's"
        " method, such as tooltalk or autode, for files that its own tools read; toolbench for raw and"
        " converted answers of any run.",
        "NAME",
        "--format",
        required=True,
    ),
    output: Path | None = option(
        "A new file for rows, junit and github, or a new or empty folder for other files.  [default: stdout,"
        " for what is one file]"
    ),
    rows: str | None = option(
        "The view of the store to export: what each row is.  [default: steps]",
        type=click.Choice(EXPORTED_VIEWS),
    ),
    raw: bool = option("csv: leave texts that a spreadsheet would execute as they are."),
    set_: tuple[str, ...] = option(
        "Say what only the format asks for, such as dataset=ORG/NAME for eval-results. Repeatable.",
        "NAME=VALUE",
        "--set",
    ),
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
      rig export latest --format inspect --output logs       then: inspect view --log-dir logs
      rig export latest --format github >> "$GITHUB_STEP_SUMMARY"
    """  # noqa: D301 - for click
    from rig.plugins.exports import ExportSource
    from rig.plugins.rescore.flat import FlatFormat
    from rig.store import Runs

    export: Export | None = registry.registered().exports.get(format_)
    if set_ and export is None:
        raise RigError(f"--set: --format {format_} takes no settings")
    with Runs.open(runs) as store:
        stored = store.get(run, sums=False)
        if stored.state != "finished":
            turns = out_of(stored.turns_done, stored.turns, " of ")
            click.echo(f"rig: run {stored.id} is not finished: {turns} turns are made", err=True)
        if format_ in get_args(FlatFormat):
            if output is None and as_json:
                raise RigError("--json describes a file that is written; name it with --output")
            view = rows or "steps"
            written = _export_rows(store, stored, view, cast(FlatFormat, format_), output, raw)
            about = {"rows": view, "output": str(output), "written": written}
            what = f"{counted(written, 'row')} ({view})"
        else:
            several = registry.registered()
            forms = (*get_args(FlatFormat), *several.exports, *several.methods, *several.papers)
            if format_ not in forms:
                raise RigError(f"there is no --format {format_}{meant(format_, dict.fromkeys(forms))}")
            if rows is not None:
                raise RigError("--rows goes with --format csv, jsonl or parquet")
            if export is not None:
                source = ExportSource(store, store.get(run), export.values(set_))
                files = _export_to(export, source, output, as_json=as_json)
            elif output is None:
                raise RigError(f"--format {format_} writes files; name a directory with --output")
            else:
                files = _export_files(runs, stored, format_, output)
            about = {"output": str(output), "files": [str(path) for path in files]}
            what = counted(len(files), "file")
    if as_json:
        print_json({"run": stored.id, "format": format_, **about})
    elif output is not None:
        say(f"wrote {what} of run {stored.id} to {output}")


def _export_to(export: Export, source: ExportSource, output: Path | None, *, as_json: bool) -> Sequence[Path]:
    """Write a run in a form of its own, to stdout, a file or a folder. Return the files: all, or none."""
    if output is None and (export.is_folder or as_json):
        raise RigError(f"--format {export.name} writes files; name a directory with --output")
    if output is None:
        for piece in export.pieces(source):
            click.echo(printable(piece) if sys.stdout.isatty() else piece, nl=False)
        return []
    if not export.is_folder:
        with writing(output) as file:
            file.writelines(export.pieces(source))
        return [output]
    with filling(output) as folder:
        return [output / path.relative_to(folder) for path in export.fill(source, folder)]


def _export_files(store: Path, run: StoredRun, form: str, output: Path) -> Sequence[Path]:
    """Write a run as the files of a paper or a method."""
    from rig.plugins.judging.stored import finished
    from rig.plugins.papers import paper
    from rig.plugins.rescore.setups import setup_of
    from rig.plugins.rescore.stored import export_run

    papers = registry.registered().papers
    if form in papers and papers[form].takes_any:
        _, tasks = finished(store, run.id)
        paths: Sequence[Path] = papers[form].export(tasks, output)
        return paths
    method = run.declaration.method
    if form not in (method, paper.of_method(method).name):
        raise RigError(f"run {run.id} is of the method {method}, not of {form}")
    return export_run(store, run, setup_of(run), output)


def _export_rows(
    runs: Runs, run: StoredRun, view: str, form: FlatFormat, output: Path | None, raw: bool
) -> int:
    """Write a run as rows, to stdout if there is no `output`. Return the number of rows written to a file."""
    from rig.plugins.rescore.flat import flat_lines, write_lines, write_parquet

    if form == "parquet":
        if output is None:
            raise RigError("--format parquet writes a file; name it with --output")
        return write_parquet(runs, run, view, output)
    lines = flat_lines(runs, run, view, form, raw=raw)
    if output is not None:
        return write_lines(lines, output) - (form == "csv")
    for line in lines:
        # A file gets the text of models unchanged; on a terminal, it must not contain control characters.
        click.echo(printable(line) if sys.stdout.isatty() else line)
    return 0


_MOST_LINES = 20
"""The most lines that are printed on what was left out."""


@verb(name="import")
def import_(
    *,
    files: tuple[Path, ...] = argument("FILE...", required=True),
    format_: str | None = option(
        "What the files are: autode or toolbench (results), or openai-chat (logged chats). A run store needs"
        " no format.",
        "NAME",
        "--format",
    ),
    suite: Path | None = option(
        "The tasks, if they are not next to the files. For toolbench, the ids of the queries; a query without"
        " an answer counts as failed."
    ),
    set_: tuple[str, ...] = option(
        "Set an option that only the method knows, such as invalid=longest or invalid=tree for toolbench."
        " Repeatable.",
        "NAME=VALUE",
        "--set",
    ),
    output: Path | None = option("For logged chats: the folder to write conversations to.", "DIR"),
    rules: Path | None = option(
        "For logged chats: names and ids to replace. See `rig docs your-own`.", "FILE"
    ),
    runs: Path = WRITTEN_STORE,
    name: str | None = NAME,
    as_json: bool = AS_JSON,
) -> int | None:
    """Import runs from another run store, results of another tool, or logged chats.

    FILE can be a run store, such as `runs.sqlite` from another machine. Its runs are added to
    yours; a run that you already have is not added again. rig only reads the other store.

    Results of another tool become a run with an arm for each file or model. You can show, compare and score
    it again, and `rig show RUN --tables` prints its paper's tables. Logged chats become conversations for you
    to review. rig leaves out what it cannot read, says so on stderr, and exits with code 1.

    \b
    Examples:
      rig import other.sqlite
      rig import results/*.json --format autode --name recorded
      rig import chats.jsonl --format openai-chat --output my-tools
    """  # noqa: D301 - for click
    from rig import methods
    from rig.plugins.exports.merging import is_store, merge
    from rig.plugins.papers.paper import Paper
    from rig.plugins.rescore.stored import import_run
    from rig.running.planning import first_values

    if format_ is None:
        if any(option for option in (suite, set_, output, rules, name)):
            raise RigError("say what files these are with --format; a run store takes no other option")
        for file in files:
            if not is_store(file):
                fault = "is not a run store; say what file it is with --format"
                raise RigError(f"{file}: {fault if file.exists() else 'no such file'}")
        done = {str(file): merge(runs, file) for file in files}
        if as_json:
            merges = [
                {"file": place, "new": m.new, "known": m.known, "left": m.left} for place, m in done.items()
            ]
            print_json({"store": str(runs), "files": merges})
            return None
        for place, merged in done.items():
            for line in merged.left:
                say(f"rig: {place}: {line}", err=True)
            present = f", {len(merged.known)} already there" if merged.known else ""
            ids = f": {' '.join(merged.new)}" if merged.new else ""
            say(f"{place}: added {counted(len(merged.new), 'run')} to {runs}{present}{ids}")
        return None
    papers = registry.registered().papers
    paper: Paper = papers[format_] if format_ in papers else Paper()
    if paper.is_log:
        if output is None:
            raise RigError(f"--format {paper.name} writes conversations; name a folder with --output")
        converted = paper.convert(files, output, rules)
        faults, notes = list(converted.faults), list(converted.notes)
        paths = [str(path) for path in converted.files]
        about = {"output": str(output), "conversations": converted.conversations, "files": paths}
        about |= {"notes": notes, "faults": faults}
        conversations = counted(converted.conversations, "conversation")
        text = f"wrote {conversations} to {output}; review them before you run them"
    else:
        if output is not None or rules is not None:
            raise RigError("--output and --rules are for logs (--format openai-chat)")
        several = registry.registered()
        forms = (*several.methods, *several.papers)
        if format_ not in forms:
            raise RigError(f"there is no --format {format_}{meant(format_, dict.fromkeys(forms))}")
        method = methods.get(paper.methods[0] if paper.methods else format_)
        config = RunConfig.of(method=method.name, set=set_)
        recorded = paper.recorded(files, suite, first_values(config, method))
        run = import_run(runs, method, recorded, name)
        faults, notes = list(recorded.faults), list(recorded.notes)
        arms = [{"arm": arm.name, "episodes": len(arm.episodes)} for arm in recorded.arms]
        about = {"run": run, "store": str(runs), "arms": arms, "faults": faults, "notes": notes}
        episodes = counted(sum(len(arm.episodes) for arm in recorded.arms), "conversation")
        text = f"run {run}: {counted(len(arms), 'arm')}, {episodes}; stored in {runs}"
    if as_json:
        print_json(about)
    else:
        say(text)
    lines = [*faults, *notes]
    for line in lines[:_MOST_LINES]:
        say(f"rig: {line}", err=True)
    if len(lines) > _MOST_LINES:
        say(f"rig: and {len(lines) - _MOST_LINES} more; --json lists all", err=True)
    if faults:
        say(f"rig: {counted(len(faults), 'thing')} could not be read; the rest is there", err=True)
    return bool(faults)
