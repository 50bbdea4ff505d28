"""`rig import`: import the results of another tool, or another store, as runs."""

import sys
from collections.abc import Sequence
from pathlib import Path

import click

from rig import methods, plugins
from rig.cli.options import json_option, runs_option
from rig.cli.output import print_json, printable
from rig.errors import RigError
from rig.methods.paper import Paper
from rig.paths import runs_file
from rig.rescore import import_run
from rig.running.options import Options
from rig.store import is_store, merge
from rig.words import counted

_PATH = click.Path(path_type=Path)

MOST_LINES = 20
"""Lines on what was left out that are printed."""


@click.command("import")
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=_PATH)
@click.option(
    "--format",
    "format_",
    metavar="NAME",
    help="What the files are: autode or toolbench (results), or openai-chat (logged chats). A run store"
    " needs no format.",
)
@click.option(
    "--suite",
    type=_PATH,
    help="The tasks, if they are not next to the files. For toolbench, the ids of the queries; a query"
    " without an answer counts as failed.",
)
@click.option(
    "--set",
    "set_",
    multiple=True,
    metavar="NAME=VALUE",
    help="Set an option that only the method knows, such as invalid=longest or invalid=tree for"
    " toolbench. Repeatable.",
)
@click.option(
    "--output", type=_PATH, metavar="DIR", help="For logged chats: the folder to write conversations to."
)
@click.option(
    "--rules",
    type=_PATH,
    metavar="FILE",
    help="For logged chats: names and ids to replace. See `rig docs your-own`.",
)
@runs_option("The run store to write.")
@click.option("--name", metavar="NAME", help="Give the run a name.")
@json_option()
def command(
    files: tuple[Path, ...],
    format_: str | None,
    suite: Path | None,
    set_: tuple[str, ...],
    output: Path | None,
    rules: Path | None,
    runs: Path | None,
    name: str | None,
    as_json: bool,
) -> None:
    """Import runs from another run store, results of another tool, or logged chats.

    FILE can be a run store, such as `runs.sqlite` from another machine or an older rig. Its runs are added to
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
    if format_ is None:
        if any(option for option in (suite, set_, output, rules, name)):
            raise RigError("say what files these are with --format; a run store takes no other option")
        _merge(files, runs or runs_file(), as_json)
        return
    papers = plugins.registered().papers
    paper: Paper = papers[format_] if format_ in papers else Paper()
    if paper.is_log:
        _convert(paper, files, output, rules, as_json)
        return
    if output is not None or rules is not None:
        raise RigError("--output and --rules are for logs (--format openai-chat)")
    method = methods.get(paper.methods[0] if paper.methods else format_)
    options = Options(models=(), method=method.name, set=set_)
    values = {name: several[0] for name, several in options.values(method).items()}
    recorded = paper.recorded(files, suite, values)
    store = runs or runs_file()
    run = import_run(store, method, recorded, name)
    if as_json:
        arms = [{"arm": arm.name, "episodes": len(arm.episodes)} for arm in recorded.arms]
        lines = {"faults": list(recorded.faults), "notes": list(recorded.notes)}
        print_json({"run": run, "store": str(store), "arms": arms, **lines})
    else:
        episodes = counted(sum(len(arm.episodes) for arm in recorded.arms), "conversation")
        arms_text = counted(len(recorded.arms), "arm")
        click.echo(printable(f"run {run}: {arms_text}, {episodes}; stored in {store}"))
    _finish(recorded.faults, recorded.notes)


def _finish(faults: Sequence[str], notes: Sequence[str]) -> None:
    """Say on stderr what was left out, and exit: with 1 if something could not be read."""
    lines = (*faults, *notes)
    for line in lines[:MOST_LINES]:
        click.echo(f"rig: {printable(line)}", err=True)
    if len(lines) > MOST_LINES:
        click.echo(f"rig: and {len(lines) - MOST_LINES} more; --json lists all", err=True)
    if faults:
        click.echo(f"rig: {counted(len(faults), 'thing')} could not be read; the rest is there", err=True)
    sys.exit(1 if faults else 0)


def _merge(files: tuple[Path, ...], store: Path, as_json: bool) -> None:
    for file in files:
        if not is_store(file):
            raise RigError(f"{file}: is not a run store; say what file it is with --format")
    done = {str(file): merge(store, file) for file in files}
    if as_json:
        merges = [{"file": name, "new": m.new, "known": m.known, "left": m.left} for name, m in done.items()]
        print_json({"store": str(store), "files": merges})
        return
    for name, merged in done.items():
        for line in merged.left:
            click.echo(f"rig: {printable(f'{name}: {line}')}", err=True)
        present = f", {len(merged.known)} already there" if merged.known else ""
        ids = f": {' '.join(merged.new)}" if merged.new else ""
        click.echo(printable(f"{name}: added {counted(len(merged.new), 'run')} to {store}{present}{ids}"))


def _convert(
    logs: Paper, files: tuple[Path, ...], output: Path | None, rules: Path | None, as_json: bool
) -> None:
    if output is None:
        raise RigError(f"--format {logs.name} writes conversations; name a folder with --output")
    converted = logs.convert(files, output, rules)
    if as_json:
        lines = {"notes": list(converted.notes), "faults": list(converted.faults)}
        paths = [str(path) for path in converted.files]
        print_json({"output": str(output), "conversations": converted.conversations, "files": paths, **lines})
    else:
        conversations = counted(converted.conversations, "conversation")
        click.echo(printable(f"wrote {conversations} to {output}; review them before you run them"))
    _finish(converted.faults, converted.notes)
