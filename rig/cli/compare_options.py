"""What the verbs that compare are asked alike: which arms, against what, by which metric."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from rig.cli import completion
from rig.compare import METRICS, Noise, noise_of
from rig.store import Runs

Decorated = TypeVar("Decorated", bound=Callable[..., Any])

_OPTIONS = (
    click.argument("addresses", metavar="RUN...", nargs=-1, required=True, shell_complete=completion.runs),
    click.option(
        "--baseline", metavar="ARM", help="What the others are held against; default: the first arm."
    ),
    click.option(
        "--metric",
        type=click.Choice(list(METRICS)),
        default="success_rate",
        show_default=True,
        help="What the verdicts are about.",
    ),
    click.option(
        "--alpha",
        type=click.FloatRange(0, 1, min_open=True, max_open=True),
        default=0.05,
        show_default=True,
        help="Chance of a false alarm among all arms; intervals are at 1 - alpha.",
    ),
    click.option(
        "--across-settings",
        is_flag=True,
        help="Compare arms that differ from the baseline in more than one thing, and list the differences.",
    ),
    click.option(
        "--noise",
        metavar="RUN",
        shell_complete=completion.runs,
        help="A run that `rig noise` made, to show beside.",
    ),
    click.option(
        "--runs", type=click.Path(path_type=Path), help="Run store (default: $RIG_RUNS, else runs.sqlite)."
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
