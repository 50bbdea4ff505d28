"""What to type instead: click's messages say what is wrong, and these also what would be right."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from rig.core.budget import parse_toml


def _table(kind: str) -> Mapping[str, str]:
    text = Path(__file__).with_name("elsewhere.toml").read_text(encoding="utf-8")
    return dict(parse_toml(text)[kind])


def _elsewhere(kind: str, name: str) -> str:
    """Return what to type for a verb or an option that other tools call so; empty if rig has none."""
    return next((here for here, names in _table(kind).items() if name in names.split()), "")


def elsewhere(name: str) -> str:
    """Return how rig calls what other tools call so, as part of a message; empty if it has none."""
    here = _elsewhere("verbs", name)
    return f" (did you mean `rig {here}`?)" if here else ""


def usual_remedy(message: str, path: str) -> str:
    """Return what to do about a message that does not say it; `path` is the command that was given."""
    remedies = (remedy for part, remedy in _table("remedies").items() if part in message)
    return next(remedies, "`PATH --help` says what it takes").replace("PATH", path)


def explained(error: click.ClickException) -> str:
    """Return click's message with what to type; its own words if there is nothing to add."""
    message = " ".join(error.format_message().split())
    if not isinstance(error, click.UsageError) or error.ctx is None:
        return message
    path = error.ctx.command_path
    if isinstance(error, click.MissingParameter) and error.param is not None:
        return f"{message.removesuffix('.')} of `{path}`: {_needed(error.param, error.ctx)}"
    if isinstance(error, click.BadParameter) and error.param is not None:
        value = message.partition(": ")[2].partition(" is not a valid ")[0]
        numbers = _number(error.param.type)
        if numbers and " is not a valid " in message:
            return f"{_flag(error.param)} takes {numbers}, not {value}"
        return message
    has_more = any(parameter.name == "help_all" for parameter in error.ctx.command.get_params(error.ctx))
    help_of_it = f"; `{path} {'--help-all' if has_more else '--help'}` lists what it takes"
    if isinstance(error, click.NoSuchOption):
        return f"{_no_option(error, error.ctx)}{help_of_it}"
    if "unexpected extra argument" in message:
        return f"{message.removesuffix('.')}{_table('extra').get(path, help_of_it)}"
    return message


def _no_option(error: click.NoSuchOption, context: click.Context) -> str:
    """Return what is wrong with an option that is not there, and what was meant."""
    flags = [name for parameter in context.command.get_params(context) for name in parameter.opts]
    message = " ".join(error.format_message().split()).removesuffix(".")
    if own := _elsewhere("options", error.option_name):
        return f"No such option '{error.option_name}': {own}"
    meant = f"--{error.option_name.lstrip('-').lower()}"
    return f"{message} (did you mean '{meant}'?)" if meant in flags else message


def _needed(parameter: click.Parameter, context: click.Context) -> str:
    """Return what a parameter takes."""
    if isinstance(parameter.type, click.Choice):
        return f"one of {', '.join(map(str, parameter.type.choices))}"
    name = parameter.make_metavar(context) if isinstance(parameter, click.Argument) else ""
    meant = next((text for start, text in _table("arguments").items() if name.startswith(start)), "")
    return meant or f"`{context.command_path} --help` says what it takes"


def _flag(parameter: click.Parameter) -> str:
    is_option = isinstance(parameter, click.Option)
    return max(parameter.opts, key=len) if is_option else parameter.make_metavar(click.get_current_context())


def _number(kind: "click.ParamType[Any]") -> str:
    """Return which numbers a type takes, in words; empty if it takes others than numbers."""
    if isinstance(kind, click.IntRange | click.FloatRange):
        noun = "a whole number" if isinstance(kind, click.IntRange) else "a number"
        if kind.min is not None and kind.max is not None:
            return f"{noun} from {kind.min} to {kind.max}"
        least = "" if kind.min is None else f" {'above' if kind.min_open else 'from'} {kind.min}"
        return f"{noun}{least}{'' if kind.min is None or kind.min_open else ' on'}"
    return {"integer": "a whole number", "float": "a number, such as 0.5"}.get(kind.name, "")
