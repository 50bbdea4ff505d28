"""Where the values of a verb's parameters come from: the command line, or a file of settings."""

from enum import Enum
from typing import Any

import click
from click.core import ParameterSource

from rig.cli.output import say

_RESUMING = ("display", "runs", "as_json", "where", "bell", "notify")
"""The options of a resumed run that a settings file may set."""


def from_file(context: click.Context) -> dict[str, Any]:
    """Return the parameters whose values come from a file, by name."""
    return {
        name: value
        for name, value in context.params.items()
        if context.get_parameter_source(name) is ParameterSource.DEFAULT_MAP
    }


def settle(context: click.Context) -> None:
    """Leave out what a file sets against the command line, and name the rest in a line on stderr.

    A run continues with the options that it was started with, and between a suite and a folder of
    conversations the command line decides.
    """
    files = from_file(context)
    left = files.keys() - _RESUMING if context.params.get("resume") is not None else set()
    for name, other in (("suite", "conversations"), ("conversations", "suite")):
        source = context.get_parameter_source(other) if other in context.params else None
        if name in files and source is ParameterSource.COMMANDLINE:
            left = {*left, name}
    parameters = {parameter.name: parameter for parameter in context.command.params}
    for name in left:
        start = parameters[name].default  # without what the file sets, which `get_default` would return
        unset = () if parameters[name].multiple else None
        context.params[name] = unset if start is None or isinstance(start, Enum) else start
        context.set_parameter_source(name, ParameterSource.DEFAULT)
    if context.invoked_subcommand is None:
        _say_what_is_from_file(context)


def _say_what_is_from_file(context: click.Context) -> None:
    flags = {parameter.name: parameter.opts[0] for parameter in context.command.get_params(context)}
    texts = [
        f"{flags[name]} {','.join(map(str, value)) if isinstance(value, tuple) else value}"
        for name, value in from_file(context).items()
    ]
    if texts:
        say(f"rig: from rig.toml: {', '.join(texts)} (`rig config` shows the files)", err=True)
