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
from rig.methods.tooltalk.metrics import DECLARATION
from rig.paths import runs_file
from rig.rescore import Grading, Group, Scored, score_files, score_run
from rig.scoring import Mode, Named
from rig.store import Runs

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
@click.option("--runs", type=_PATH, help="Run store (default: $RIG_RUNS, else runs.sqlite).")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    what: str,
    grader: Mode | None,
    similarity: str | None,
    threshold: float | None,
    reexecute: bool,
    world: Path | None,
    runs: Path | None,
    as_json: bool,
) -> None:
    """Score predictions again, without a model.

    RUN is a stored run: an id, the beginning of one, a name given with --name, or `latest`; its new score is
    stored beside those it has. DIR holds ToolTalk's prediction files, and can be one of them.

    With --grader upstream calls are matched, and executed again, as ToolTalk's own code does it.
    """
    place = Path(what)
    if place.is_dir() or place.suffix == ".json":
        named = Named.parse(similarity or "minilm").at(threshold)
        grading = Grading(grader or "default", str(named), world)
        groups = _score_files(place, grading, reexecute, as_json)
    else:
        given = (grader, similarity, threshold, world)
        groups = _score_run(what, runs or runs_file(), given, reexecute, as_json)
    sys.exit(1 if any(group.differences for group in groups) else 0)


def _score_files(place: Path, grading: Grading, reexecute: bool, as_json: bool) -> list[Group]:
    grader = grading.grader()
    scored = score_files(place, grader)
    group = Group.of("", scored, grading.simulator() if reexecute else None)
    if as_json:
        print_json({"source": str(place), "grader": dict(grader.fingerprint), **group.as_json()})
    else:
        _print_group(group)
        click.echo(printable(f"graded by {grading.info(grader)}"))
    return [group]


def _score_run(
    text: str, store: Path, given: tuple[Any, Any, Any, Any], reexecute: bool, as_json: bool
) -> list[Group]:
    with Runs.open(store) as runs:
        run = runs.get(text)
    grading = Grading.of_run(run, *given)
    grader = grading.grader()
    simulator = grading.simulator() if reexecute else None
    by_arm = score_run(store, run, grader, grading.info(grader))
    groups = [Group.of(arm, scored, simulator) for arm, scored in by_arm.items()]
    if as_json:
        arms = [{"arm": group.arm, **group.as_json()} for group in groups]
        print_json({"run": run.id, "store": str(store), "grader": dict(grader.fingerprint), "arms": arms})
        return groups
    for group in groups:
        click.echo(printable(group.arm))
        _print_group(group)
        click.echo()
    with Runs.open(store) as runs:
        print_scores(run, runs.scores(run))
    return groups


def _print_group(group: Group) -> None:
    print_table(
        ("conversation", "", "matched", "incorrect", "predicted"), [_row(scored) for scored in group.scored]
    )
    metrics = DECLARATION.shown("meters")
    click.echo(", ".join(f"{metric.title} {measured(metric, group.counts)}" for metric in metrics))
    if group.reexecuted is not None:
        differences = group.differences
        click.echo(f"{len(group.reexecuted)} calls executed again, {len(differences)} responses differ")
        for scored, call in differences[:_MOST_DIFFERENCES]:
            where = f"{scored.conversation.name} turn {call.turn}, call {call.step}, {call.recorded.name}"
            click.echo(printable(f"  {where}: {_outcome(call.recorded)}, now {_outcome(call.executed)}"))


def _row(scored: Scored) -> tuple[str, ...]:
    counts = scored.score.counts
    return (
        scored.conversation.name,
        "pass" if DECLARATION.succeeded(counts) else "fail",
        f"{counts['matches']}/{counts['ground_truths']}",
        str(counts["bad_actions"]),
        str(counts["predictions"]),
    )


def _outcome(executed: ExecutedCall) -> str:
    if executed.exception is not None:
        return f"error {executed.exception[:_LONGEST]!r}"
    return json.dumps(executed.response)[:_LONGEST]
