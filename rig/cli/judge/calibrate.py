"""`rig judge calibrate`: measure a judge on labelled answers and pairs."""

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from rig.cli import run
from rig.cli.judge.rates import estimate as percent
from rig.cli.options import Grouped, chosen_options, display_option, json_option, runs_option, table_options
from rig.cli.output import print_json, print_table, printable
from rig.errors import RigError
from rig.judging import calibration
from rig.judging.calibration import Measured
from rig.judging.evaluators import DEFAULT, find
from rig.judging.labels import OURS, load_labels
from rig.judging.planning import PASS, VOTES, WIN, Wanted, can_judge, plan_votes
from rig.paths import runs_file
from rig.words import counted

_PATH = click.Path(path_type=Path)
_HEADER = (
    *("", "labels", "accuracy", "kappa"),
    *("agreement", "bias", "variance", "correlation", "position bias"),
)
_WHAT = {PASS: "answers", WIN: "pairs"}


@click.command(
    "calibrate",
    cls=Grouped,
    params=table_options("judge", without=("only",)),
)
@click.argument("labels", type=_PATH, required=False)
@click.option("--judge", metavar="MODEL", help="The model that judges.")
@click.option(
    "--evaluator", default=DEFAULT, show_default=True, metavar="NAME|DIR", help="As in `rig judge`."
)
@click.option("--votes", type=click.IntRange(1, 120), metavar="N", help="Votes on each answer.  [default: 3]")
@click.option(
    "--pair-votes",
    type=click.IntRange(1, 120),
    metavar="N",
    help="Votes on each pair.  [default: 1, in both orders]",
)
@click.option("--fail-if-worse", is_flag=True, help="Exit with code 1 if the judge is no better than chance.")
@display_option
@runs_option("The run store to write.")
@json_option("Print one JSON object at the end; the display uses stderr.")
@click.pass_context
def command(
    context: click.Context,
    /,
    labels: Path | None,
    judge: str | None,
    evaluator: str,
    votes: int | None,
    pair_votes: int | None,
    fail_if_worse: bool,
    **given: Any,
) -> None:
    """Measure how far a judge agrees with labels.

    LABELS is a file or folder. Without it, rig uses its own: 60 answers and 60 pairs, labelled by what
    happened in the world and by the facts that the answers name. From then on, every result of this judge in
    this run store says how well it did here.
    """
    store = given["runs"] or runs_file()
    labelled = load_labels(labels or OURS, votes or VOTES[PASS], pair_votes or VOTES[WIN])
    how = find(evaluator)
    judging = Wanted((calibration.SUITE,), judge, evaluator, votes, options=chosen_options(context))
    measured: dict[str, Measured] = {}
    for method, tasks in ((PASS, labelled.answers), (WIN, labelled.pairs)):
        if not tasks or not can_judge(how, method):
            continue
        against = "0" if method == WIN else None
        todo = plan_votes(replace(judging, against=against), method, how, tasks, tasks[0].votes, store)
        stored, control = run.carry_out(todo, given["display"], as_json=given["as_json"])
        if code := run.exit_code(stored, control):
            sys.exit(code)
        measured[method] = calibration.measure(store, stored)
        calibration.note(store, stored)
    if not measured:
        raise RigError(f"the evaluator {how.name} cannot judge any of these labels")
    if given["as_json"]:
        print_json({_WHAT[method]: result.as_json() for method, result in measured.items()})
    else:
        _print(measured, judge or how.name)
    is_chance = any(result.is_chance for result in measured.values())
    sys.exit(1 if fail_if_worse and is_chance else 0)


def _print(measured: dict[str, Measured], judge: str) -> None:
    rows = []
    for method, result in measured.items():
        numbers = [f"{value:.3f}" for value in result.upstream or ()] or ["-"] * 4
        bias = percent(result.position_bias) if result.position_bias else "-"
        row = [_WHAT[method], str(result.items), percent(result.accuracy), calibration.estimate(result.kappa)]
        rows.append([*row, *numbers, bias])
    print_table(_HEADER, rows)
    for method, result in measured.items():
        what = f"{_WHAT[method]}: {result.undecided} undecided, {counted(result.invalid, 'invalid verdict')}"
        click.echo(what)
        if result.is_chance:
            click.echo(printable(f"{_WHAT[method]}: the judge {judge} is no better than chance"))
