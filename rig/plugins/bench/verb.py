"""`rig bench`: the engine's benchmarks, which only a checkout of rig has."""

from collections.abc import Sequence
from importlib import import_module

import click

from rig.cli.verbs import HELP_NAMES
from rig.core.errors import RigError


def _needs_checkout(arguments: Sequence[str]) -> None:
    raise RigError("`rig bench` is for work on rig itself and needs a checkout; this is an installed package")


def _command() -> click.Command:
    try:
        benchmark: click.Command = import_module("benchmarks.engine.command").command
    except ModuleNotFoundError as error:
        if not (error.name or "").startswith("benchmarks"):
            raise
        return click.Command(
            "bench",
            callback=_needs_checkout,
            help="Measure the engine; needs a checkout of rig.\n\nIt is for work on rig itself and not part"
            " of an installed package. In a checkout, `make bench` runs it, and this lists its options.",
            context_settings={"ignore_unknown_options": True, "help_option_names": HELP_NAMES},
            params=[click.Argument(["arguments"], nargs=-1)],
        )
    return benchmark


command = _command()
