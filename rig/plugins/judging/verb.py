"""`rig judge`: let a model judge whole answers, and say how far that judge can be trusted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rig import show
from rig.cli import options as shared
from rig.cli import run
from rig.cli.options import Grouped, complete_runs, table_options
from rig.cli.output import print_json, print_table, say, terminal_width
from rig.cli.verbs import Verbs, argument, option, verb
from rig.core import files
from rig.core.errors import RigError, counted
from rig.plugins.judging import DEFAULT, PASS, WIN, Orders, ReasonPlace
from rig.plugins.solutions.rules import DEFAULTS, SEED, Shape, Ties, Unsolvable, Unsure

if TYPE_CHECKING:
    from rig.plugins.judging.calibration import LabelAgreement
    from rig.plugins.judging.planning import JudgingRequest
    from rig.plugins.judging.stored import PassRates, WinRates

_VOTES = click.IntRange(1, 120)


@verb(Verbs, default="answers")
def command() -> None:
    """Let a model judge whole answers: which pass, and which of two is better.

    `rig judge RUN --judge MODEL` is short for `rig judge answers RUN --judge MODEL`.
    """


@dataclass(frozen=True, kw_only=True)
class JudgeOptions:
    """The options that say who judges, what is judged, and by which rules."""

    judge: str | None = option("The model that judges.", "MODEL", shell_complete=shared.complete_models)
    evaluator: str = option(
        "How to ask the judge: one of rig's evaluators (default, normalized, fn), a folder with one of"
        " ToolBench's, or a rule that needs no judge (truth, keyword, details).",
        "NAME|DIR",
        start=DEFAULT,
    )
    against: str | None = option(
        "Compare every other arm with this arm or model, and give win rates.", "NAME"
    )
    votes: int | None = option(
        "Votes on each answer or pair.  [default: 3 on an answer, 1 on a pair, in both orders]",
        "N",
        type=_VOTES,
    )
    reason: ReasonPlace | None = option("Ask for reasons before the verdict, after it, or not at all.")
    orders: Orders | None = option("Show two answers in both orders, or in one.")
    ties: Ties | None = option(f"What a tie of votes counts as.  [default: {DEFAULTS.ties}]")
    unsure: Unsure | None = option(f"What an unsure vote counts as.  [default: {DEFAULTS.unsure}]")
    unsolvable: Unsolvable | None = option(
        f"Whether an answer that leaves an unsolvable task unsolved passes.  [default: {DEFAULTS.unsolvable}]"
    )
    passes: str | None = option(
        "Take the passes from this earlier run of `rig judge`.", "RUN", shell_complete=complete_runs
    )
    test_ids: Path | None = option(
        "A file with the queries of each test set; a query without an answer counts as failed."
    )
    answered_only: bool = option("Leave out queries that some arm has not answered.")
    invalid: Shape = option("What stands for a raw answer that never finished.", default="seeded")
    walk_seed: int = option("The seed that picks a path of such an answer.", "N", default=SEED)

    def of(self, places: tuple[str, ...], options: dict[str, Any]) -> JudgingRequest:
        """Return the request for votes on these answers. Raises RigError for options that do not fit."""
        from rig.plugins.judging.planning import JudgingRequest

        if not places:
            raise RigError("what is to be judged? Give a run (`rig runs`) or a folder of answers")
        is_win = self.against is not None
        unfit = ("ties",) if is_win else ("orders", "passes")
        for name in unfit:
            if getattr(self, name) is not None:
                raise RigError(f"--{name} {'has no effect with' if is_win else 'needs'} --against")
        chosen = dict(vars(self))
        rules = {name: chosen.pop(name) for name in ("reason", "orders", "ties", "unsure", "unsolvable")}
        rules |= dict.fromkeys(("unsure", "unsolvable")) if is_win else {}
        rules = {name: rule for name, rule in rules.items() if rule is not None}
        return JudgingRequest(places, **chosen, options=options, rules=rules)


@command.verb("answers", Grouped, options=table_options("judge"))
def answers(
    context: click.Context,
    *,
    places: tuple[str, ...] = argument("RUN|DIR...", shell_complete=complete_runs),
    judging: JudgeOptions,
    fail_if_worse: bool = option("Refuse a judge that is not calibrated or is no better than chance."),
    output: Path | None = option(
        "Write ToolBench's result files into this folder, which must be new or empty."
    ),
    raw: bool = option("Leave texts in its tables that a spreadsheet would execute as they are."),
    display: str = shared.DISPLAY,
    name: str | None = shared.NAME,
    runs: Path = shared.WRITTEN_STORE,
    resuming: run.Resuming,
    as_json: bool = shared.JSON_LINES,
    **_: Any,
) -> int:
    """Judge the answers of runs, or of folders with ToolBench's raw or converted answers.

    The judge votes several times on each answer: does it solve the query? With --against, it says which of
    two answers is better. Votes are stored as a run, so you can watch them and continue with --resume. `rig
    judge calibrate` measures how far you can trust a judge.
    """
    from rig.plugins.judging.planning import plan_judging
    from rig.plugins.judging.stored import write_results
    from rig.running.planning import plan_resume
    from rig.show.summary import summary, whereabouts

    if resuming.resume is not None:
        if places:
            raise RigError("RUN|DIR makes a new run and --resume continues one; give one of them")
        todo = plan_resume(resuming.resume, {}, runs, retry_failed=resuming.retry_failed)
    else:
        resuming.require_resume()
        todo = plan_judging(judging.of(places, shared.chosen_options(context)), runs, name)
    if fail_if_worse and not todo.caution.decides:
        raise RigError(f"--fail-if-worse: {todo.caution.text}")
    ended = run.show_run(todo, display, as_json=as_json)
    stored, code = ended.run, run.exit_code(*ended)
    files = write_results(runs, stored, output, raw=raw) if output and not code else []
    is_told = show.is_watched(display) and not as_json
    text = f"{summary(stored, terminal_width())}\n\n{whereabouts(stored, str(runs))}" if is_told else ""
    more = {"caution": stored.declaration.caution, "decides": stored.declaration.decides}
    more |= {"files": [str(file) for file in files]}
    run.print_end(ended, runs, text, as_json=as_json, **more)
    return code


_MEASURES = ("accuracy", "kappa", "agreement", "bias", "variance", "correlation", "position bias")
_WHAT = {PASS: "answers", WIN: "pairs"}


@command.verb("calibrate", Grouped, options=table_options("judge", without=("only",)))
def calibrate(
    context: click.Context,
    labels: Path | None = argument(),
    *,
    judge: str | None = option("The model that judges.", "MODEL"),
    evaluator: str = option("As in `rig judge`.", "NAME|DIR", start=DEFAULT),
    votes: int | None = option("Votes on each answer.  [default: 3]", "N", type=_VOTES),
    pair_votes: int | None = option("Votes on each pair.  [default: 1, in both orders]", "N", type=_VOTES),
    fail_if_worse: bool = option("Exit with code 1 if the judge is no better than chance."),
    display: str = shared.DISPLAY,
    runs: Path = shared.WRITTEN_STORE,
    as_json: bool = shared.JSON_LINES,
    **_: Any,
) -> int:
    """Measure how far a judge agrees with labels.

    LABELS is a file or folder. Without it, rig uses its own: 60 answers and 60 pairs, labelled by what
    happened in the world and by the facts that the answers name. From then on, every result of this judge in
    this run store says how well it did here.
    """
    from rig.core.intervals import with_interval
    from rig.plugins.judging import calibration
    from rig.plugins.judging.calibration import OURS, load_labels
    from rig.plugins.judging.evaluators import find
    from rig.plugins.judging.planning import VOTES, JudgingRequest, can_judge, plan_votes
    from rig.show.texts import estimate

    labelled = load_labels(labels or OURS, votes or VOTES[PASS], pair_votes or VOTES[WIN])
    how = find(evaluator)
    options = shared.chosen_options(context)
    judging = JudgingRequest((calibration.SUITE,), judge, evaluator, votes, options=options)
    measured: dict[str, LabelAgreement] = {}
    for method, tasks in ((PASS, labelled.answers), (WIN, labelled.pairs)):
        if not tasks or not can_judge(how, method):
            continue
        against = "0" if method == WIN else None
        todo = plan_votes(replace(judging, against=against), how, tasks, runs)
        stored, is_stopped = run.show_run(todo, display, as_json=as_json)
        if code := run.exit_code(stored, is_stopped):
            return code
        measured[method] = calibration.measure(runs, stored)
        calibration.note(runs, stored)
    if not measured:
        raise RigError(f"the evaluator {how.name} cannot judge any of these labels")
    code = fail_if_worse and any(result.is_chance for result in measured.values())
    if as_json:
        print_json({_WHAT[method]: result.as_json() for method, result in measured.items()})
        return code
    rows, lines = [], []
    for method, result in measured.items():
        what = _WHAT[method]
        numbers = [f"{value:.3f}" for value in result.upstream or ()] or ["-"] * 4
        bias = estimate(result.position_bias) if result.position_bias else "-"
        kappa = with_interval("{:.2f}".format, result.kappa)
        row = (what, result.items, estimate(result.accuracy), kappa)
        rows.append([*row, *numbers, bias])
        lines.append(f"{what}: {result.undecided} undecided, {counted(result.invalid, 'invalid verdict')}")
        if result.is_chance:
            lines.append(f"{what}: the judge {judge or how.name} is no better than chance")
    print_table(("", "labels", *_MEASURES), rows)
    say("\n".join(lines))
    return code


@command.verb()
def rates(
    what: str = argument("RUN|FILE", shell_complete=complete_runs),
    *,
    ties: Ties | None = option("What a tie of votes counts as."),
    unsure: Unsure | None = option("What an unsure vote counts as."),
    unsolvable: Unsolvable | None = option(
        "Whether an answer that leaves an unsolvable task unsolved passes."
    ),
    upstream: bool = option("Use the rules of ToolBench's eval_pass_rate.py."),
    output: Path | None = option(
        "Write ToolBench's result files to this folder, by the run's own rules; for a FILE, write its table."
    ),
    raw: bool = option("Leave texts in tables that a spreadsheet would execute as they are."),
    answers: Path | None = option("The folder of the answers to show in the table of a file of preferences."),
    runs: Path = shared.STORE,
    as_json: bool = shared.AS_JSON,
) -> None:
    """Print the pass or win rates of a run of `rig judge`, or of a result file.

    FILE is a result file of ToolBench or StableToolBench. rig uses the rules of the run unless you give
    others, and asks no judge again.
    """
    from rig.plugins.judging import toolbench_paper
    from rig.plugins.judging.stored import (
        WinRates,
        pass_rates,
        rates_of,
        read_votes,
        win_rates,
        write_results,
    )
    from rig.plugins.solutions.rules import UPSTREAM
    from rig.store import Runs

    if Path(what).is_file() and Path(what).suffix == ".json":
        results = toolbench_paper().results(Path(what))
        rates: Sequence[PassRates | WinRates] = [rates_of(results)]
        caution = ""
        if output is not None:
            table = results.table(toolbench_paper().answers(answers) if answers else (), raw)
            files.write(table, output / f"{results.path.stem}.csv", folders=True)
    else:
        if answers is not None:
            raise RigError("--answers goes with a file of preferences; a run already has its answers")
        with Runs.open(runs) as opened:
            run = opened.get(what)
        caution = run.declaration.caution
        rules, votes = read_votes(runs, run)
        if votes and votes[0].settings.reference:
            rates = win_rates(votes)
        else:
            named: dict[str, Any] = {"ties": ties, "unsure": unsure, "unsolvable": unsolvable}
            changes = {name: value for name, value in named.items() if value is not None}
            rates = pass_rates(votes, replace(UPSTREAM if upstream else rules, **changes))
        if output is not None:
            write_results(runs, run, output, raw=raw)
    if as_json:
        print_json([{**rate.as_json(), "caution": caution} for rate in rates])
        return
    is_win = bool(rates) and isinstance(rates[0], WinRates)
    print_table(_WIN if is_win else _PASS, map(_row, rates))
    if caution:
        say(caution)


_PASS = ("answers of", "queries", "pass rate", "SoPR", "passed of solvable, unsure, unsolvable", "true")
_WIN = ("answers of", "against", "queries", "win", "tie", "lose", "win + tie/2", "flips with the order")


def _row(rates: PassRates | WinRates) -> list[str]:
    from rig.plugins.judging.stored import WinRates
    from rig.show.texts import estimate

    if isinstance(rates, WinRates):
        values = (rates.win, rates.tie, rates.lose, rates.win_half, rates.position_bias)
        return [rates.model, rates.reference, str(rates.queries), *map(estimate, values)]
    tasks = ("Solvable", "Unsure", "Unsolvable")
    split = ", ".join("{}/{}".format(*rates.by_task.get(name, (0, 0))) for name in tasks)
    sopr = "-" if rates.sopr is None else f"{100 * rates.sopr:.1f} ± {100 * (rates.sopr_std or 0):.1f}"
    true = estimate(rates.true_pass_rate) if rates.true_pass_rate else "-"
    return [rates.model, str(rates.queries), estimate(rates.pass_rate), sopr, split, true]
