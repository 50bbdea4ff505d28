"""`rig compare`: arms of stored runs beside one another, and what can be said of the difference."""

import sys
from pathlib import Path

import click

from rig.cli.compare_options import arms_and_question, noise_beside
from rig.cli.compare_text import comparison_text
from rig.cli.output import print_json, printable, terminal_width
from rig.compare import METRICS, Comparison, Pair, Question, VerdictKind, compare
from rig.paths import runs_file
from rig.store import Runs


@click.command()
@arms_and_question
@click.option(
    "--fail-if-worse",
    type=click.FloatRange(0, 100),
    metavar="X",
    help="Exit code 1 when a loss is found and measures more than X points.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    addresses: tuple[str, ...],
    baseline: str | None,
    metric: str,
    fail_if_worse: float | None,
    alpha: float,
    across_settings: bool,
    noise: str | None,
    runs: Path | None,
    as_json: bool,
) -> None:
    """Compare arms with a baseline, conversation by conversation.

    RUN is an id, the beginning of one, a name given with --name, or `latest`, and stands for all arms of the
    run; RUN/ARM is one of them.

    For each arm: its rates with intervals, the differences from the baseline, what a suite of this size
    could have shown, the conversations and turns won and lost, and one sentence that says what follows.
    """
    with Runs.open(runs or runs_file()) as stored:
        measured = noise_beside(stored, noise, alpha)
        found = compare(stored, addresses, Question(baseline, metric, alpha, across_settings), measured)
    worse = [pair for pair in found.pairs if _is_worse(found, pair, fail_if_worse)]
    if as_json:
        print_json({**found.as_json(), "failed": [pair.arm for pair in worse]})
    else:
        click.echo(printable(comparison_text(found, terminal_width())))
        for pair in worse:
            click.echo(
                printable(f"\n{pair.arm} is worse than {pair.baseline} by more than {fail_if_worse:g} points")
            )
    sys.exit(1 if worse else 0)


def _is_worse(comparison: Comparison, pair: Pair, points: float | None) -> bool:
    value = pair.differences[comparison.metric].value
    if points is None or value is None or pair.verdict.kind is not VerdictKind.LOSS:
        return False
    return 100 * METRICS[comparison.metric].worsening(value) > points
