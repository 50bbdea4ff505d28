"""`rig judge rates`: print the rates of earlier votes, by any rules."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import click

from rig import files
from rig.cli import completion
from rig.cli.options import json_option, runs_option
from rig.cli.output import print_json, print_table, printable
from rig.errors import RigError
from rig.judging.files import read_votes, write_results
from rig.judging.rates import PassRates, WinRates, pass_rates, rates_of, win_rates
from rig.methods import paper
from rig.paths import runs_file
from rig.rates import Estimate
from rig.solutions.decisions import UPSTREAM, Rules, Ties, Unsolvable, Unsure
from rig.store import Runs

_PATH = click.Path(path_type=Path)


@click.command("rates")
@click.argument("what", metavar="RUN|FILE", shell_complete=completion.runs)
@click.option("--ties", type=click.Choice(get_args(Ties)), help="What a tie of votes counts as.")
@click.option("--unsure", type=click.Choice(get_args(Unsure)), help="What an unsure vote counts as.")
@click.option(
    "--unsolvable",
    type=click.Choice(get_args(Unsolvable)),
    help="Whether an answer that leaves an unsolvable task unsolved passes.",
)
@click.option("--upstream", is_flag=True, help="Use the rules of ToolBench's eval_pass_rate.py.")
@click.option(
    "--output",
    type=_PATH,
    help="Write ToolBench's result files to this folder, by the run's own rules; for a FILE, write its"
    " table.",
)
@click.option(
    "--raw", is_flag=True, help="Leave texts in tables that a spreadsheet would execute as they are."
)
@click.option(
    "--answers", type=_PATH, help="The folder of the answers to show in the table of a file of preferences."
)
@runs_option()
@json_option()
def command(
    what: str,
    output: Path | None,
    raw: bool,
    answers: Path | None,
    runs: Path | None,
    as_json: bool,
    upstream: bool,
    **given: Any,
) -> None:
    """Print the pass or win rates of a run of `rig judge`, or of a result file.

    FILE is a result file of ToolBench or StableToolBench. rig uses the rules of the run unless you give
    others, and asks no judge again.
    """
    store = runs or runs_file()
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
        with Runs.open(store) as opened:
            run = opened.get(what)
        caution = run.declaration.caution
        rules, votes = read_votes(store, run)
        if votes and votes[0].settings.reference:
            rates = win_rates(votes)
        else:
            rates = pass_rates(votes, _rules(UPSTREAM if upstream else rules, given))
        if output is not None:
            write_results(store, run, output, raw=raw)
    if as_json:
        print_json([{**rate.as_json(), "caution": caution} for rate in rates])
        return
    _print(rates)
    if caution:
        click.echo(printable(caution))


def _rules(rules: Rules, changes: dict[str, Any]) -> Rules:
    return replace(rules, **{name: value for name, value in changes.items() if value is not None})


def _print(rates: Sequence[PassRates | WinRates]) -> None:
    rows = [_pass_row(rate) if isinstance(rate, PassRates) else _win_row(rate) for rate in rates]
    is_win = bool(rates) and isinstance(rates[0], WinRates)
    print_table(_WIN if is_win else _PASS, [[printable(cell) for cell in row] for row in rows])


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


def estimate(share: Estimate) -> str:
    """A share in percent, with its 95% interval where there is one."""
    if share.value is None:
        return "-"
    if share.low is None or share.high is None:
        return f"{100 * share.value:.1f}%"
    return f"{100 * share.value:.1f}% ({100 * share.low:.1f} to {100 * share.high:.1f})"
