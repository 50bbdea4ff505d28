"""`rig compare`: arms of stored runs side by side, and what can be said about the difference."""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from rig.calls import JsonObject
from rig.cli import completion
from rig.cli.options.settings import say_what_is_from_file
from rig.cli.output import print_json, printable, terminal_width
from rig.compare import (
    Comparison,
    Looks,
    Noise,
    Pair,
    Question,
    VerdictKind,
    compare,
    look,
    noise_of,
    published,
)
from rig.displays.pages.compare import compare_text
from rig.displays.pages.looks import looks_text
from rig.displays.pages.published import tables_markdown
from rig.errors import RigError
from rig.methods.offers import Table
from rig.paths import runs_file
from rig.people.words import counted
from rig.store import Runs

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
    click.option(
        "--runs", type=click.Path(path_type=Path), help="The run store.  [default: $RIG_RUNS, or runs.sqlite]"
    ),
)


def arms_and_question(command: Decorated) -> Decorated:
    """Adds the arguments and options that choose what is compared and how."""
    for decorate in reversed(_OPTIONS):
        command = decorate(command)
    return command


def noise_beside(stored: Runs, run: str | None, alpha: float) -> Noise | None:
    """The noise that this run measures. Raises RigError when it is not of two equal arms."""
    return None if run is None else noise_of(stored, run, alpha)


def print_tables(tables: Sequence[Table], of: JsonObject, *, as_json: bool) -> None:
    """The tables of a method's paper, as Markdown; as JSON beside what they are of."""
    if as_json:
        print_json({**of, "tables": [table.as_json() for table in tables]})
    else:
        click.echo(printable(tables_markdown(tables) or "no conversation of these arms is finished yet"))


@click.command()
@arms_and_question
@click.option(
    "--fail-if-worse",
    type=click.FloatRange(0, 100),
    metavar="X",
    help="Exit with code 1 if rig finds a loss of more than X points.",
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
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    addresses: tuple[str, ...],
    baseline: str | None,
    metric: str | None,
    fail_if_worse: float | None,
    alpha: float,
    across_settings: bool,
    noise: str | None,
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
    """
    say_what_is_from_file(click.get_current_context())
    with Runs.open(runs or runs_file()) as stored:
        if tables:
            print_tables(published(stored, addresses), {"arms": list(addresses)}, as_json=as_json)
            return
        question = Question(baseline, metric, alpha, across_settings)
        if sequential:
            looks = look(stored, addresses, (fail_if_worse or loss) / 100, question)
            sys.exit(_print_looks(looks, fail_if_worse, as_json=as_json))
        measured = noise_beside(stored, noise, alpha)
        found = compare(stored, addresses, question, measured)
    if fail_if_worse is not None and not found.declaration.decides:
        raise RigError(f"--fail-if-worse cannot decide here: {found.declaration.caution}")
    worse = [pair for pair in found.pairs if _is_worse(found, pair, fail_if_worse)]
    if as_json:
        print_json({**found.as_json(), "failed": [pair.arm for pair in worse]})
    else:
        click.echo(printable(compare_text(found, terminal_width())))
        for pair in worse:
            limit = counted(fail_if_worse or 0.0, "point")
            click.echo(printable(f"\n{pair.arm} is worse than {pair.baseline} by more than {limit}"))
    sys.exit(1 if worse else 0)


def _print_looks(looks: Looks, points: float | None, *, as_json: bool) -> int:
    """Print the looks; return 1 if a script asked and a loss of that many points is shown."""
    failed = [each.arm for each in looks.arms if points is not None and each.judged.found == "shown"]
    if as_json:
        print_json({**looks.as_json(), "failed": failed})
    else:
        click.echo(printable(looks_text(looks)))
    return 1 if failed else 0


def _is_worse(comparison: Comparison, pair: Pair, points: float | None) -> bool:
    value = pair.differences[comparison.metric.name].value
    if points is None or value is None or pair.verdict.kind is not VerdictKind.LOSS:
        return False
    return comparison.metric.scale * comparison.metric.worsening(value) > points
