"""Options of verbs from `rig.toml`. A value goes the same way as a value from the command line."""

from collections.abc import Iterable, Mapping
from typing import Any

import click
from click.core import ParameterSource

from rig.cli.options.verbs import HELP_NAMES
from rig.cli.output import printable
from rig.config import AT, KEYS, PLACES, Setting, own_keys, read_settings, set_places

_ONLY_USERS = frozenset({"notify", "on", "toolbox", "set", "similarity", "evaluator", "wheel", "force"})
"""Options that can have code run, or files replaced. A folder that somebody else wrote must not give them."""
_ONLY_USERS_SAY = (
    "can run code or replace files, so it is only read from your own file (`rig config` names it)"
)

Settings = Mapping[tuple[str, ...], Setting]


def apply(context: click.Context, verbs: Iterable[str]) -> None:
    """Read the files, and make what they say of the verb that was asked for its defaults. Raises RigError."""
    settings = read_settings()
    if not settings:
        return
    known = [AT, KEYS, *verbs]
    for path, setting in settings.items():
        if path[0] not in known or len(path) == 1:
            whole = Setting(path[:1], setting.value, setting.file, setting.is_users)
            raise whole.unknown([name for name in known if name != path[0]], "table of settings")
        if path[0] == AT and path[1:] not in {(name,) for name in PLACES}:
            raise setting.unknown(PLACES, "place")
    set_places(settings)
    own_keys()
    verb = context.invoked_subcommand
    group = context.command
    if verb is None or verb == "config" or not isinstance(group, click.Group):
        return
    command = group.get_command(context, verb)
    if command is not None:
        context.default_map = {verb: defaults(command, (verb,), settings)}


def defaults(command: click.Command, path: tuple[str, ...], settings: Settings) -> dict[str, Any]:
    """The defaults of a verb, or of the verbs of a group, as click takes them. Raises RigError."""
    inside = {key: each for key, each in settings.items() if key[: len(path)] == path and key != path}
    context = click.Context(command, help_option_names=list(HELP_NAMES))
    options = {option: each for each in command.get_params(context) for option in _names(each)}
    verbs = command.list_commands(context) if isinstance(command, click.Group) else []
    found: dict[str, Any] = {}
    for key, setting in inside.items():
        first = key[len(path)]
        name = first.replace("_", "-")
        if first in verbs:
            continue
        if len(key) != len(path) + 1 or name not in options:
            whole = Setting(key[: len(path) + 1], setting.value, setting.file, setting.is_users)
            if verbs:
                kind = "verb or option" if options else "verb"
                raise whole.unknown([*verbs, *options], f"{kind} of `rig {' '.join(path)}`")
            raise setting.unknown(options, f"option of `rig {' '.join(path)}`")
        if name in _ONLY_USERS and not setting.is_users:
            raise setting.fault(_ONLY_USERS_SAY)
        found[str(options[name].name)] = _value(setting, options[name])
    for first in {key[len(path)] for key in inside}.intersection(verbs):
        member = command.get_command(context, first) if isinstance(command, click.Group) else None
        assert member is not None
        found[first] = defaults(member, (*path, first), settings)
    return found


def _names(parameter: click.Parameter) -> list[str]:
    """What an option is called in the file: by its long names, without the dashes."""
    if not isinstance(parameter, click.Option) or parameter.is_eager:
        return []
    return [name.removeprefix("--") for name in parameter.opts if name.startswith("--")]


def _value(setting: Setting, parameter: click.Parameter) -> Any:
    """A value as click takes it: of an option that can be given several times, all of them."""
    given = setting.value if isinstance(setting.value, list) else [setting.value]
    if isinstance(setting.value, list) and not parameter.multiple:
        raise setting.fault("takes one value")
    values = [_one(setting, each, parameter) for each in given]
    return tuple(values) if parameter.multiple else values[0]


def _one(setting: Setting, value: Any, parameter: click.Parameter) -> Any:
    if isinstance(parameter, click.Option) and parameter.is_flag:
        if not isinstance(value, bool):
            raise setting.fault("takes true or false")
        return value
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise setting.fault("takes a text or a number")
    try:
        return parameter.type.convert(str(value), parameter, None)
    except click.BadParameter as error:
        raise setting.fault(f"cannot be used: {error.message}") from error


def from_file(context: click.Context) -> dict[str, Any]:
    """The parameters that have their value from a file, by name."""
    return {
        name: value
        for name, value in context.params.items()
        if context.get_parameter_source(name) is ParameterSource.DEFAULT_MAP
    }


def say_what_is_from_file(context: click.Context) -> None:
    """One line on stderr that names what a verb has from a file, if it has anything from there."""
    found = from_file(context)
    if found:
        said = ", ".join(f"{_option(context, name)} {_text(value)}" for name, value in found.items())
        click.echo(printable(f"rig: from rig.toml: {said} (`rig config` shows the files)"), err=True)


def _option(context: click.Context, name: str) -> str:
    of_name = (each for each in context.command.get_params(context) if each.name == name)
    return next(iter(next(of_name).opts), name)


def _text(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
