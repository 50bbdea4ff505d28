"""`rig.toml` as options of verbs. A value of the file is treated like one from the command line."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import click

from rig.cli.options import OptionType
from rig.cli.verbs import HELP_NAMES
from rig.config.files import AT, KEYS, PLACES, Setting, own_keys, read_settings, set_places

_OF_FOLDERS = {
    *("name", "suite", "only", "limit", "repeats", "count"),
    *("temperature", "sampling", "seed", "max-tokens", "max-calls", "n-ctx"),
    *("thinking", "thinking-tokens", "docs", "history", "several-calls", "tool-choice"),
    *("distractors", "fill", "injections", "language", "reorder", "tool-errors", "typos", "wording"),
    *("loss", "power", "alpha", "flips", "seconds", "metric", "votes", "timeout"),
}
"""What a folder's file may set: suites, limits, sampling and names. Nothing of it trusts, signs, runs, opens
or writes anything, or says where to."""

Settings = Mapping[tuple[str, ...], Setting]


def apply(context: click.Context) -> None:
    """Read the files, and make their options of the chosen verb its defaults. Raises RigError."""
    settings = read_settings()
    if not settings:
        return
    assert isinstance(context.command, click.Group)
    tables = [AT, KEYS, *context.command.list_commands(context)]
    for path, setting in settings.items():
        if path[0] not in tables or len(path) == 1:
            names = [name for name in tables if name != path[0]]
            raise replace(setting, path=path[:1]).unknown(names, "table of settings")
        if path[0] in (AT, KEYS) and not setting.is_users:
            raise setting.not_of_folders()
        if path[0] == AT and path[1:] not in {(name,) for name in PLACES}:
            raise setting.unknown(PLACES, "place")
    set_places(settings)
    own_keys()
    verb = context.invoked_subcommand
    if verb not in (None, "config") and (command := context.command.get_command(context, str(verb))):
        context.default_map = {str(verb): defaults(command, (str(verb),), settings)}


def defaults(command: click.Command, path: tuple[str, ...], settings: Settings) -> dict[str, Any]:
    """Return the defaults of a verb, or of the verbs of a group, as click takes them. Raises RigError."""
    verb, depth = f"`rig {' '.join(path)}`", len(path) + 1
    options = settable(command)
    members = command.list_commands(click.Context(command)) if isinstance(command, click.Group) else []
    values: dict[str, Any] = {}
    for key, setting in settings.items():
        if key[: len(path)] != path or key == path:
            continue
        first = key[len(path)]
        name = first.replace("_", "-")
        if first in members and isinstance(command, click.Group):
            member = command.get_command(click.Context(command), first)
            assert member is not None
            values[first] = values.get(first) or defaults(member, (*path, first), settings)
        elif len(key) != depth or name not in options:
            if not members:
                raise setting.unknown(options, f"option of {verb}")
            kind = "verb or option" if options else "verb"
            raise replace(setting, path=key[:depth]).unknown([*members, *options], f"{kind} of {verb}")
        elif not (setting.is_users or _is_of_folders(name, options[name], setting.value)):
            raise setting.not_of_folders()
        else:
            values[str(options[name].name)] = _value(setting, options[name])
    return values


def _is_of_folders(name: str, option: click.Option, value: Any) -> bool:
    """Return whether a folder's file may give an option this value: it is on the list, and names no place."""
    values = value if isinstance(value, list) else [value]
    is_place = isinstance(option.type, click.Path) or any(
        isinstance(part, str) and (set(part) & {*"/\\~:"} or part.startswith(".")) for part in values
    )
    return name in _OF_FOLDERS and not is_place


def settable(command: click.Command) -> dict[str, click.Option]:
    """Return the options that a file can set, by their long names without the dashes."""
    return {
        name.removeprefix("--"): parameter
        for parameter in command.get_params(click.Context(command, help_option_names=list(HELP_NAMES)))
        if isinstance(parameter, click.Option) and not parameter.is_eager
        for name in parameter.opts
        if name.startswith("--")
    }


def _value(setting: Setting, option: click.Option) -> Any:
    """Return a value as click takes it: a tuple for an option that can be given several times."""
    if isinstance(setting.value, list) and not option.multiple:
        raise setting.fault("takes one value")
    values: list[Any] = []
    for value in setting.value if isinstance(setting.value, list) else [setting.value]:
        if option.is_flag and not isinstance(value, bool):
            raise setting.fault("takes true or false")
        if not option.is_flag and (isinstance(value, bool) or not isinstance(value, str | int | float)):
            raise setting.fault("takes a text or a number")
        try:
            is_typed = option.is_flag or isinstance(option.type, OptionType)
            values.append(option.type.convert(value if is_typed else str(value), option, None))
        except click.BadParameter as error:
            raise setting.fault(f"cannot be used: {error.message}") from error
    return tuple(values) if option.multiple else values[0]
