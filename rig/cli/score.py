"""`rig score`: score earlier predictions, from the store or from files."""

import json
import secrets
import sys
from pathlib import Path
from typing import Any, get_args

import click

from rig.calls import ExecutedCall, JsonObject
from rig.cli import completion
from rig.cli.options import json_option, runs_option
from rig.cli.output import print_table, printable
from rig.cli.runs import print_scores
from rig.displays.numbers import measured
from rig.displays.steps import ended, errors_of
from rig.errors import RigError
from rig.files import json_text
from rig.methods.base import Method, Setup
from rig.metrics import Declaration, NamedCount
from rig.paths import runs_file
from rig.rescore import (
    Group,
    Reexecuted,
    Scored,
    Spool,
    require_world,
    score_files,
    score_run,
    setup_for_files,
    setup_of,
)
from rig.scoring import Mode, answers_file
from rig.store import GraderInfo, Runs
from rig.words import counted

_PATH = click.Path(path_type=Path)
_MOST_DIFFERENCES = 20
_LONGEST = 200


@click.command()
@click.argument("what", metavar="RUN|DIR", shell_complete=completion.runs)
@click.option(
    "--grader",
    type=click.Choice(get_args(Mode)),
    help="The rules for matching calls.  [default: those of the run; for files, default]",
)
@click.option(
    "--similarity",
    metavar="NAME",
    help="What compares free text: minilm, exact, a sentence-transformers folder, or distilbert:DIR."
    " [default: that of the run; for files, minilm]",
)
@click.option(
    "--threshold",
    type=float,
    metavar="X",
    help="Texts at least this similar are the same.  [default: calibrated for each kind of text]",
)
@click.option(
    "--reexecute", is_flag=True, help="Execute every call again, and exit with code 1 if a response differs."
)
@click.option(
    "--world",
    type=_PATH,
    help="A folder of JSON databases to execute calls in.  [default: that of the run; for files, rig's own]",
)
@click.option(
    "--format",
    "format_",
    metavar="METHOD",
    help="The method that the files in DIR belong to, if they do not say: bfcl.",
)
@click.option(
    "--set",
    "set_",
    multiple=True,
    metavar="NAME=VALUE",
    help="Set an option that only the method knows, such as data=DIR for bfcl. Repeatable.",
)
@runs_option()
@json_option()
def command(
    what: str,
    grader: Mode | None,
    similarity: str | None,
    threshold: float | None,
    reexecute: bool,
    world: Path | None,
    format_: str | None,
    set_: tuple[str, ...],
    runs: Path | None,
    as_json: bool,
) -> None:
    """Score stored predictions again, without a model.

    RUN is an id or its first characters, a name given with --name, or `latest`. The new score is stored next
    to those the run already has.

    DIR is a folder with files of predictions, such as ToolTalk's, a folder of such folders, as `rig export`
    writes for several arms, or a single file. Several files of one conversation are its repeats.

    Texts that rig cannot judge are decided by the answers you gave to `rig adjudicate`, which are kept next
    to the run store. With --grader upstream, calls are matched and executed the way ToolTalk's own code does
    it.
    """
    place, store = Path(what), runs or runs_file()
    answers = answers_file(store)
    options = {"threshold": threshold, "grader": grader, "similarity": similarity, "world": world}
    if place.is_dir() or place.suffix == ".json" or format_ is not None:
        if format_ is not None and not place.exists():
            raise RigError(f"{place}: no such file or folder; --format is of files")
        named = {**options, "answers": answers, "wanted": format_, "options": set_}
        groups = _score_files(place, named, reexecute, as_json)
    elif set_:
        raise RigError("--set is for files; a stored run is scored with the options it was played with")
    else:
        groups = _score_run(what, store, {**options, "answers": answers}, reexecute, as_json)
    sys.exit(1 if any(group.differing for group in groups) else 0)


class _Told(Group):
    """A group with the lines that are printed of it."""

    def __init__(self, arm: str, declaration: Declaration, acting: Setup | None, *, as_json: bool) -> None:
        super().__init__(arm, declaration, acting, as_json=as_json)
        self.rows: list[tuple[str, ...]] = []
        self.lines: list[str] = []
        self._is_shown = not as_json

    def add(self, scored: Scored) -> list[Reexecuted]:
        differing = super().add(scored)
        if self._is_shown:
            self.rows.append(_row(scored, self.declaration))
            self.lines += [_line(scored, call) for call in differing[: _MOST_DIFFERENCES - len(self.lines)]]
        return differing


def _score_files(place: Path, options: dict[str, Any], reexecute: bool, as_json: bool) -> list[_Told]:
    every = [
        (setup, _told(place, method, setup, reexecute, as_json))
        for method, setup in setup_for_files(place, **options)
    ]
    if as_json:
        told = [{"grader": setup.grader.fingerprint, **_files_json(groups)} for setup, groups in every]
        _print_json({"source": str(place), **(told[0] if len(told) == 1 else {"methods": told})})
    for setup, groups in () if as_json else every:
        for group in groups:
            if group.arm:
                click.echo(printable(group.arm))
            _print_group(group)
            if group.arm:
                click.echo()
        click.echo(printable(f"graded by {GraderInfo.of(setup.grader)}"))
    return [group for _, groups in every for group in groups]


def _told(place: Path, method: Method, setup: Setup, reexecute: bool, as_json: bool) -> list[_Told]:
    """The groups of a method, each with all that it scores."""
    acting = require_world(setup) if reexecute else None
    by_folder = score_files(place, method, setup)
    tasks = [scored.conversation for several in by_folder.values() for scored in several]
    declaration = method.declaration_of(tasks)
    groups = [_Told(name, declaration, acting, as_json=as_json) for name in by_folder]
    for group in groups:
        for scored in by_folder[group.arm]:
            group.add(scored)
    return groups


def _files_json(groups: list[_Told]) -> dict[str, Any]:
    if len(groups) == 1:
        return groups[0].as_json()
    return {"arms": [{"arm": group.arm, **group.as_json()} for group in groups]}


def _score_run(
    text: str, store: Path, options: dict[str, Any], reexecute: bool, as_json: bool
) -> list[_Told]:
    with Runs.open(store) as runs:
        run = runs.get(text)
    setup = setup_of(run, **options)
    acting = require_world(setup) if reexecute else None
    groups = [_Told(arm.name, run.declaration, acting, as_json=as_json) for arm in run.arms]
    score_run(store, run, setup, lambda where, scored: groups[where.arm].add(scored))
    if as_json:
        arms = [{"arm": group.arm, **group.as_json()} for group in groups]
        _print_json({"run": run.id, "store": str(store), "grader": setup.grader.fingerprint, "arms": arms})
        return groups
    for group in groups:
        click.echo(printable(group.arm))
        _print_group(group)
        click.echo()
    with Runs.open(store) as runs:
        print_scores(run, runs.scores(run))
    return groups


def _print_json(value: JsonObject) -> None:
    """As `print_json`, but what is in a spool is read and written one value at a time."""
    spools: dict[str, Spool] = {}
    names = secrets.token_hex(16)

    def visible(value: Any) -> Any:
        if isinstance(value, Spool):
            if not value.length:
                return []
            spools[f"{names}{len(spools)}"] = value
            return [f"{names}{len(spools) - 1}"]
        if isinstance(value, dict):
            return {name: visible(inner) for name, inner in value.items()}
        return [visible(inner) for inner in value] if isinstance(value, list) else value

    for line in json_text(visible(value), indent=2).split("\n"):
        spool = spools.get(line.strip().strip('"'))
        if spool is None:
            click.echo(line)
            continue
        margin = line[: len(line) - len(line.lstrip())]
        for number, text in enumerate(spool, 1):
            end = "," if number < spool.length else ""
            click.echo(margin + text.replace("\n", f"\n{margin}") + end)


def _row(scored: Scored, declaration: Declaration) -> tuple[str, ...]:
    """What the table has of a conversation."""
    counts = scored.score.counts
    return (
        scored.conversation.name + (f" #{scored.repeat + 1}" if scored.repeat else ""),
        ended(declaration, counts, errors_of(scored.turns.values())).sign.label,
        *(part.brief(counts) or "0" for part in declaration.outcome),
        *(f"{counts.get(count.name, 0):g}" for count in _counted(declaration)),
    )


def _line(scored: Scored, call: Reexecuted) -> str:
    where = f"{scored.conversation.name} turn {call.number}, call {call.step + 1}, {call.recorded.name}"
    return f"  {where}: {_outcome(call.recorded)}, now {_outcome(call.executed)}"


def _print_group(group: _Told) -> None:
    declaration = group.declaration
    header = ("conversation", "", *(part.short or part.noun for part in declaration.outcome))
    print_table((*header, *(count.noun for count in _counted(declaration))), group.rows)
    metrics = declaration.shown("meters")
    click.echo(", ".join(f"{metric.title} {measured(metric, group.counts)}" for metric in metrics))
    if group.is_executed:
        changed = counted(group.differing, "response")
        click.echo(f"executed {counted(group.executed, 'call')} again; {changed} changed")
        for line in group.lines:
            click.echo(printable(line))


def _counted(declaration: Declaration) -> list[NamedCount]:
    """The counts that no other column has."""
    wholes = {part.whole for part in declaration.outcome}
    return [count for count in declaration.counts if count.name not in wholes]


def _outcome(executed: ExecutedCall) -> str:
    if executed.exception is not None:
        return f"error {executed.exception[:_LONGEST]!r}"
    return json.dumps(executed.response)[:_LONGEST]
