"""`rig score`: score predictions that were made before, stored or in files."""

import json
import sys
from pathlib import Path
from typing import Any, get_args

import click

from rig.calls import ExecutedCall
from rig.cli import completion
from rig.cli.output import print_json, print_table, printable
from rig.cli.runs import print_scores
from rig.displays.numbers import measured
from rig.displays.steps import ended, errors_of
from rig.errors import RigError
from rig.methods.offers import declared
from rig.metrics import Declaration
from rig.paths import runs_file
from rig.rescore import Group, require_world, score_files, score_run, setup_for_files, setup_of
from rig.scoring import Mode, answers_file
from rig.store import GraderInfo, Runs

_PATH = click.Path(path_type=Path)
_MOST_DIFFERENCES = 20
_LONGEST = 200


@click.command()
@click.argument("what", metavar="RUN|DIR", shell_complete=completion.runs)
@click.option(
    "--grader",
    type=click.Choice(get_args(Mode)),
    help="How calls are matched; default: as in the run, for files `default`.",
)
@click.option(
    "--similarity",
    help="Of free texts: minilm, exact, a sentence-transformers directory, or distilbert:DIR; default: as in"
    " the run, for files minilm.",
)
@click.option(
    "--threshold",
    type=float,
    metavar="X",
    help="From which similarity on texts are the same, instead of the calibrated thresholds.",
)
@click.option(
    "--reexecute", is_flag=True, help="Execute every call again; exit code 1 when a response differs."
)
@click.option(
    "--world", type=_PATH, help="JSON databases to execute in; default: as in the run, for files rig's own."
)
@click.option(
    "--format", "format_", metavar="METHOD", help="Whose files DIR holds, where they do not say it: bfcl."
)
@click.option(
    "--set",
    "set_",
    multiple=True,
    metavar="NAME=VALUE",
    help="An option that only the method knows, such as data=DIR of bfcl.",
)
@click.option("--runs", type=_PATH, help="Run store (default: $RIG_RUNS, else runs.sqlite).")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
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
    """Score predictions again, without a model.

    RUN is a stored run: an id, the beginning of one, a name given with --name, or `latest`; its new score is
    stored beside those it has. DIR holds files of predictions, such as ToolTalk's, or folders of them, as
    `rig export` writes of several arms; it can be one file. Files of one conversation are its repeats.

    Unclear texts are as the answers of `rig adjudicate` beside the run store say.
    With --grader upstream calls are matched, and executed again, as ToolTalk's own code does it.
    """
    place, store = Path(what), runs or runs_file()
    answers = answers_file(store)
    given = {"threshold": threshold, "grader": grader, "similarity": similarity, "world": world}
    if place.is_dir() or place.suffix == ".json" or format_ is not None:
        if format_ is not None and not place.exists():
            raise RigError(f"{place}: no such file or folder; --format is of files")
        named = {**given, "answers": answers, "wanted": format_, "options": set_}
        groups = _score_files(place, named, reexecute, as_json)
    elif set_:
        raise RigError("--set is of files; a stored run is scored with the options that it was played with")
    else:
        groups = _score_run(what, store, {**given, "answers": answers}, reexecute, as_json)
    sys.exit(1 if any(group.differences for group in groups) else 0)


def _score_files(place: Path, given: dict[str, Any], reexecute: bool, as_json: bool) -> list[Group]:
    method, setup = setup_for_files(place, **given)
    acting = require_world(setup, method.name) if reexecute else None
    by_folder = score_files(place, method, setup)
    tasks = [scored.conversation for several in by_folder.values() for scored in several]
    counted = declared(method, tasks)
    groups = [Group.of(name, scored, counted, acting) for name, scored in by_folder.items()]
    if as_json:
        told = {"source": str(place), "grader": setup.grader.fingerprint}
        several = {"arms": [{"arm": group.arm, **group.as_json()} for group in groups]}
        print_json({**told, **(several if len(groups) > 1 else groups[0].as_json())})
        return groups
    for group in groups:
        if group.arm:
            click.echo(printable(group.arm))
        _print_group(group)
        if group.arm:
            click.echo()
    click.echo(printable(f"graded by {GraderInfo.of(setup.grader)}"))
    return groups


def _score_run(text: str, store: Path, given: dict[str, Any], reexecute: bool, as_json: bool) -> list[Group]:
    with Runs.open(store) as runs:
        run = runs.get(text)
    setup = setup_of(run, **given)
    acting = require_world(setup, run.declaration.method) if reexecute else None
    by_arm = score_run(store, run, setup)
    groups = [Group.of(arm, scored, run.declaration, acting) for arm, scored in by_arm.items()]
    if as_json:
        arms = [{"arm": group.arm, **group.as_json()} for group in groups]
        print_json({"run": run.id, "store": str(store), "grader": setup.grader.fingerprint, "arms": arms})
        return groups
    for group in groups:
        click.echo(printable(group.arm))
        _print_group(group)
        click.echo()
    with Runs.open(store) as runs:
        print_scores(run, runs.scores(run))
    return groups


def _print_group(group: Group) -> None:
    declaration = group.declaration
    header = ("conversation", "", *(part.short or part.noun for part in declaration.outcome))
    counted = [count for count in declaration.counts if count.name not in _wholes(declaration)]
    rows = [
        (
            scored.conversation.name + (f" #{scored.repeat + 1}" if scored.repeat else ""),
            ended(declaration, scored.score.counts, errors_of(scored.turns.values())).sign.label,
            *(part.brief(scored.score.counts) or "0" for part in declaration.outcome),
            *(f"{scored.score.counts.get(count.name, 0):g}" for count in counted),
        )
        for scored in group.scored
    ]
    print_table((*header, *(count.noun for count in counted)), rows)
    metrics = declaration.shown("meters")
    click.echo(", ".join(f"{metric.title} {measured(metric, group.counts)}" for metric in metrics))
    if group.reexecuted is not None:
        differences = group.differences
        click.echo(f"{len(group.reexecuted)} calls executed again, {len(differences)} responses differ")
        for scored, call in differences[:_MOST_DIFFERENCES]:
            where = (
                f"{scored.conversation.name} turn {call.number}, call {call.step + 1}, {call.recorded.name}"
            )
            click.echo(printable(f"  {where}: {_outcome(call.recorded)}, now {_outcome(call.executed)}"))


def _wholes(declaration: Declaration) -> set[str]:
    return {part.whole for part in declaration.outcome}


def _outcome(executed: ExecutedCall) -> str:
    if executed.exception is not None:
        return f"error {executed.exception[:_LONGEST]!r}"
    return json.dumps(executed.response)[:_LONGEST]
