"""`rig compare`: arms of stored runs side by side, and what can be said about the difference."""

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import click

from rig.calls import JsonObject
from rig.cli import completion
from rig.cli.config import say_what_is_from_file
from rig.cli.options import GRADED_BY, json_option, runs_option
from rig.cli.output import print_json, printable, terminal_width
from rig.cli.runs import print_tables
from rig.compare import (
    ArmPair,
    Comparison,
    ComparisonOptions,
    Decision,
    Noise,
    SequentialComparison,
    compare,
    compare_sequentially,
    noise_of,
    published,
)
from rig.displays.pages.compare import compare_text
from rig.displays.pages.looks import looks_text
from rig.errors import RigError
from rig.paths import runs_file
from rig.store import Runs
from rig.words import counted

Decorated = TypeVar("Decorated", bound=Callable[..., Any])

_OPTIONS = (
    click.argument("addresses", metavar="RUN...", nargs=-1, required=True, shell_complete=completion.runs),
    click.option(
        "--baseline", metavar="ARM", help="The arm to compare the others with.  [default: the first arm]"
    ),
    click.option(
        "--metric",
        metavar="NAME",
        help="The rate that decides the verdicts, by its name in --json.  [default: success]",
    ),
    click.option(
        "--alpha",
        type=click.FloatRange(0, 1, min_open=True, max_open=True),
        metavar="X",
        default=0.05,
        show_default=True,
        help="The chance of a false alarm, over all arms together. Intervals cover 1 - alpha.",
    ),
    click.option(
        "--across-settings",
        is_flag=True,
        help="Compare arms even if they differ from the baseline in more than one setting, and list the"
        " differences.",
    ),
    click.option(
        "--noise",
        metavar="RUN",
        shell_complete=completion.runs,
        help="Show the noise that this run of `rig noise` measured next to the differences.",
    ),
    GRADED_BY,
    runs_option(),
)


def arms_and_question(command: Decorated) -> Decorated:
    """Adds the arguments and options that choose what is compared and how."""
    for decorate in reversed(_OPTIONS):
        command = decorate(command)
    return command


def noise_beside(stored: Runs, run: str | None, alpha: float) -> Noise | None:
    """The noise that this run measures. Raises RigError when it is not of two equal arms."""
    return None if run is None else noise_of(stored, run, alpha)


@click.command()
@arms_and_question
@click.option(
    "--fail-if-worse",
    type=click.FloatRange(0, 100),
    metavar="X",
    help="Exit with code 1 if rig finds a loss of more than X points.",
)
@click.option(
    "--fail-if-unsure",
    is_flag=True,
    help="Exit with code 3 if a loss of more than X points could have gone unseen. X is that of"
    " --fail-if-worse, else of --loss.",
)
@click.option(
    "--tables",
    is_flag=True,
    help="Print the tables of the method's paper for these arms instead, as Markdown.",
)
@click.option(
    "--sequential",
    is_flag=True,
    help="Say instead whether each arm loses as much as --loss, using tests that you may repeat after"
    " every conversation.",
)
@click.option(
    "--loss",
    type=click.FloatRange(0, 100, min_open=True),
    metavar="X",
    default=5.0,
    show_default=True,
    help="The loss of success, in points, that --sequential tests for.",
)
@json_option()
def command(
    addresses: tuple[str, ...],
    baseline: str | None,
    metric: str | None,
    fail_if_worse: float | None,
    fail_if_unsure: bool,
    alpha: float,
    across_settings: bool,
    noise: str | None,
    graded_by: str,
    runs: Path | None,
    tables: bool,
    sequential: bool,
    loss: float,
    as_json: bool,
) -> None:
    """Compare arms with a baseline, conversation by conversation.

    RUN is an id or its first characters, a name given with --name, or `latest`. It stands for all arms of the
    run; RUN/ARM is one of them.

    For each arm you get its rates with intervals, the differences from the baseline, the smallest loss that a
    suite of this size can show, the conversations and turns won and lost, and a verdict in one sentence.

    With --sequential you may look as often as you like while a run is in progress, and stop when you have
    seen enough. --fail-if-worse X then asks whether a loss of X points has been shown.

    The exit code is 1 if an arm is worse than --fail-if-worse allows, 3 if --fail-if-unsure is given and rig
    cannot tell, and else 0. A verdict holds however unclear texts are decided.
    """
    say_what_is_from_file(click.get_current_context())
    with Runs.open(runs or runs_file(), graded_by) as stored:
        if tables:
            print_tables(published(stored, addresses), {"arms": list(addresses)}, as_json=as_json)
            return
        question = ComparisonOptions(baseline, metric, alpha, across_settings)
        if sequential:
            looks = compare_sequentially(stored, addresses, (fail_if_worse or loss) / 100, question)
            limit = fail_if_worse if fail_if_worse is not None or not fail_if_unsure else loss
            sys.exit(_print_looks(looks, limit, fails_unsure=fail_if_unsure, as_json=as_json))
        measured = noise_beside(stored, noise, alpha)
        comparison = compare(stored, addresses, question, measured)
    limit = fail_if_worse if fail_if_worse is not None or not fail_if_unsure else loss
    if limit is not None and not comparison.declaration.decides:
        option = "--fail-if-unsure" if fail_if_worse is None else "--fail-if-worse"
        raise RigError(f"{option} cannot decide here: {comparison.declaration.caution}")
    decisions = (
        {} if limit is None else {pair.arm: _decision(comparison, pair, limit) for pair in comparison.pairs}
    )
    if limit is not None:
        decisions |= dict.fromkeys(comparison.left_out, Decision.CANNOT_TELL)
    if as_json:
        print_json({**comparison.as_json(), **_decided_json(decisions)})
    else:
        click.echo(printable(compare_text(comparison, terminal_width())))
    sys.exit(
        _exit_code(decisions, limit, comparison.baseline.label, fails_unsure=fail_if_unsure, as_json=as_json)
    )


def _print_looks(
    looks: SequentialComparison, points: float | None, *, fails_unsure: bool, as_json: bool
) -> int:
    """Print the looks; return the exit code."""
    kinds = {"shown": Decision.WORSE, "excluded": Decision.PASSES, None: Decision.CANNOT_TELL}
    decisions = {} if points is None else {arm.arm: kinds[arm.judged.found] for arm in looks.arms}
    if as_json:
        print_json({**looks.as_json(), **_decided_json(decisions)})
    else:
        click.echo(printable(looks_text(looks)))
    return _exit_code(decisions, points, looks.baseline, fails_unsure=fails_unsure, as_json=as_json)


def _decision(comparison: Comparison, pair: ArmPair, points: float) -> Decision:
    return pair.verdict.decision(points / comparison.metric.scale)


def _decided_json(decisions: Mapping[str, Decision]) -> JsonObject:
    """Which arms are worse, and of which rig cannot tell."""
    return {
        "failed": [arm for arm, decision in decisions.items() if decision is Decision.WORSE],
        "unsure": [arm for arm, decision in decisions.items() if decision is Decision.CANNOT_TELL],
    }


def _exit_code(
    decisions: Mapping[str, Decision],
    points: float | None,
    baseline: str,
    *,
    fails_unsure: bool,
    as_json: bool,
) -> int:
    """The exit code, after a line on each arm that does not pass; beside JSON these go to stderr."""
    limit = counted(points or 0.0, "point")
    for arm, decision in decisions.items():
        if decision is Decision.WORSE:
            click.echo(printable(f"\n{arm} is worse than {baseline} by more than {limit}"), err=as_json)
        elif decision is Decision.CANNOT_TELL:
            green = "" if fails_unsure else "; that passes all the same, unless --fail-if-unsure is given"
            line = f"\n{arm}: cannot tell: a loss of more than {limit} could have gone unseen{green}"
            click.echo(printable(line), err=as_json)
    if Decision.WORSE in decisions.values():
        return Decision.WORSE
    is_unsure = fails_unsure and Decision.CANNOT_TELL in decisions.values()
    return Decision.CANNOT_TELL if is_unsure else Decision.PASSES
