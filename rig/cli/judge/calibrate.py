"""`rig judge calibrate`: measure a judge on labelled answers and pairs."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from rig.cli import run
from rig.cli.options import DISPLAY, JSON_AT_END, WRITTEN_STORE, Grouped, chosen_options, table_options
from rig.cli.output import print_json, print_table, say
from rig.cli.verbs import argument, option, verb
from rig.displays.compare import estimate
from rig.errors import RigError, counted
from rig.judging import calibration
from rig.judging.calibration import OURS, LabelAgreement, load_labels
from rig.judging.evaluators import DEFAULT, find
from rig.judging.planning import PASS, VOTES, WIN, JudgingRequest, can_judge, plan_votes

_VOTES = click.IntRange(1, 120)
_HEADER = (
    *("", "labels", "accuracy", "kappa"),
    *("agreement", "bias", "variance", "correlation", "position bias"),
)
_WHAT = {PASS: "answers", WIN: "pairs"}


@verb(Grouped, "calibrate", options=table_options("judge", without=("only",)))
def command(
    context: click.Context,
    labels: Path | None = argument(),
    *,
    judge: str | None = option("The model that judges.", "MODEL"),
    evaluator: str = option("As in `rig judge`.", "NAME|DIR", start=DEFAULT),
    votes: int | None = option("Votes on each answer.  [default: 3]", "N", type=_VOTES),
    pair_votes: int | None = option("Votes on each pair.  [default: 1, in both orders]", "N", type=_VOTES),
    fail_if_worse: bool = option("Exit with code 1 if the judge is no better than chance."),
    display: str = DISPLAY,
    runs: Path = WRITTEN_STORE,
    as_json: bool = JSON_AT_END,
    **_: Any,
) -> int:
    """Measure how far a judge agrees with labels.

    LABELS is a file or folder. Without it, rig uses its own: 60 answers and 60 pairs, labelled by what
    happened in the world and by the facts that the answers name. From then on, every result of this judge in
    this run store says how well it did here.
    """
    labelled = load_labels(labels or OURS, votes or VOTES[PASS], pair_votes or VOTES[WIN])
    how = find(evaluator)
    judging = JudgingRequest((calibration.SUITE,), judge, evaluator, votes, options=chosen_options(context))
    measured: dict[str, LabelAgreement] = {}
    for method, tasks in ((PASS, labelled.answers), (WIN, labelled.pairs)):
        if not tasks or not can_judge(how, method):
            continue
        against = "0" if method == WIN else None
        todo = plan_votes(replace(judging, against=against), method, how, tasks, tasks[0].votes, runs)
        stored, control = run.carry_out(todo, display, as_json=as_json)
        if code := run.exit_code(stored, control):
            return code
        measured[method] = calibration.measure(runs, stored)
        calibration.note(runs, stored)
    if not measured:
        raise RigError(f"the evaluator {how.name} cannot judge any of these labels")
    if as_json:
        print_json({_WHAT[method]: result.as_json() for method, result in measured.items()})
    else:
        _print(measured, judge or how.name)
    return fail_if_worse and any(result.is_chance for result in measured.values())


def _print(measured: dict[str, LabelAgreement], judge: str) -> None:
    rows = []
    for method, result in measured.items():
        numbers = [f"{value:.3f}" for value in result.upstream or ()] or ["-"] * 4
        bias = estimate(result.position_bias) if result.position_bias else "-"
        row = (_WHAT[method], result.items, estimate(result.accuracy), calibration.estimate(result.kappa))
        rows.append([*row, *numbers, bias])
    print_table(_HEADER, rows)
    for method, result in measured.items():
        what = f"{_WHAT[method]}: {result.undecided} undecided, {counted(result.invalid, 'invalid verdict')}"
        click.echo(what)
        if result.is_chance:
            say(f"{_WHAT[method]}: the judge {judge} is no better than chance")
