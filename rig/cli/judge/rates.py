"""`rig judge rates`: print the rates of earlier votes, by any rules."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rig import files
from rig.cli import completion
from rig.cli.options import AS_JSON, STORE
from rig.cli.output import print_json, print_table, say
from rig.cli.verbs import argument, option, verb
from rig.displays.compare import estimate
from rig.errors import RigError
from rig.judging.votes import PassRates, WinRates, pass_rates, rates_of, read_votes, win_rates, write_results
from rig.methods import paper
from rig.solutions.decisions import UPSTREAM, Ties, Unsolvable, Unsure
from rig.store import Runs


@verb(name="rates")
def command(
    what: str = argument("RUN|FILE", shell_complete=completion.runs),
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
    runs: Path = STORE,
    as_json: bool = AS_JSON,
) -> None:
    """Print the pass or win rates of a run of `rig judge`, or of a result file.

    FILE is a result file of ToolBench or StableToolBench. rig uses the rules of the run unless you give
    others, and asks no judge again.
    """
    if Path(what).is_file() and Path(what).suffix == ".json":
        results = paper.toolbench().results(Path(what))
        rates: Sequence[PassRates | WinRates] = [rates_of(results)]
        caution = ""
        if output is not None:
            table = results.table(paper.toolbench().answers(answers) if answers else (), raw)
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
    if rates and isinstance(rates[0], WinRates):
        print_table(_WIN, [_win_row(rate) for rate in rates if isinstance(rate, WinRates)])
    else:
        print_table(_PASS, [_pass_row(rate) for rate in rates if isinstance(rate, PassRates)])
    if caution:
        say(caution)


_PASS = ("answers of", "queries", "pass rate", "SoPR", "passed of solvable, unsure, unsolvable", "true")
_WIN = ("answers of", "against", "queries", "win", "tie", "lose", "win + tie/2", "flips with the order")


def _pass_row(rates: PassRates) -> list[str]:
    tasks = ("Solvable", "Unsure", "Unsolvable")
    split = ", ".join("{}/{}".format(*rates.by_task.get(name, (0, 0))) for name in tasks)
    sopr = "-" if rates.sopr is None else f"{100 * rates.sopr:.1f} ± {100 * (rates.sopr_std or 0):.1f}"
    true = estimate(rates.true_pass_rate) if rates.true_pass_rate else "-"
    return [rates.model, str(rates.queries), estimate(rates.pass_rate), sopr, split, true]


def _win_row(rates: WinRates) -> list[str]:
    values = (rates.win, rates.tie, rates.lose, rates.win_half, rates.position_bias)
    return [rates.model, rates.reference, str(rates.queries), *map(estimate, values)]
