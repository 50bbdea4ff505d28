"""`rig.toml` as options of verbs, and `rig config`, which shows the settings that apply.

A value of the file goes the same way as one from the command line.
"""

import importlib
import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import click
from click.core import ParameterSource

from rig.calls import JsonObject
from rig.cli.options import json_option
from rig.cli.output import print_json, print_table, printable
from rig.cli.verbs import HELP_NAMES, Verbs
from rig.config import AT, KEYS, PLACES, Setting, own_keys, read_settings, set_places
from rig.errors import RigError
from rig.options import TABLE
from rig.paths import cache_directory, config_files, models_directory, runs_file
from rig.words import did_you_mean

_HEADER = ("setting", "value", "from")
_ONLY_USERS = {
    *("notify", "on", "evaluator", "wheel", "force"),
    *(option.flag.removeprefix("--") for option in TABLE.values() if option.users_only),
}
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
    tables = [AT, KEYS, *verbs]
    for path, setting in settings.items():
        if path[0] not in tables or len(path) == 1:
            whole = Setting(path[:1], setting.value, setting.file, setting.is_users)
            raise whole.unknown([name for name in tables if name != path[0]], "table of settings")
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
    inside = {key: setting for key, setting in settings.items() if key[: len(path)] == path and key != path}
    context = click.Context(command, help_option_names=list(HELP_NAMES))
    options = {option: param for param in command.get_params(context) for option in _names(param)}
    verbs = command.list_commands(context) if isinstance(command, click.Group) else []
    values: dict[str, Any] = {}
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
        values[str(options[name].name)] = _value(setting, options[name])
    for first in {key[len(path)] for key in inside}.intersection(verbs):
        member = command.get_command(context, first) if isinstance(command, click.Group) else None
        assert member is not None
        values[first] = defaults(member, (*path, first), settings)
    return values


def _names(parameter: click.Parameter) -> list[str]:
    """What an option is called in the file: by its long names, without the dashes."""
    if not isinstance(parameter, click.Option) or parameter.is_eager:
        return []
    return [name.removeprefix("--") for name in parameter.opts if name.startswith("--")]


def _value(setting: Setting, parameter: click.Parameter) -> Any:
    """A value as click takes it: of an option that can be given several times, all of them."""
    items = setting.value if isinstance(setting.value, list) else [setting.value]
    if isinstance(setting.value, list) and not parameter.multiple:
        raise setting.fault("takes one value")
    values = [_one(setting, item, parameter) for item in items]
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
    flags = {parameter.name: parameter.opts[0] for parameter in context.command.get_params(context)}
    texts = [
        f"{flags[name]} {','.join(map(str, value)) if isinstance(value, tuple) else value}"
        for name, value in from_file(context).items()
    ]
    if texts:
        click.echo(
            printable(f"rig: from rig.toml: {', '.join(texts)} (`rig config` shows the files)"), err=True
        )


@click.command()
@click.argument("verb", required=False)
@json_option()
@click.pass_context
def command(context: click.Context, verb: str | None, as_json: bool) -> None:
    """Show the settings that apply, and where they come from.

    rig reads `rig.toml` from your config folder and from the current folder. The second overrides the first,
    and the command line overrides both. Each table holds the options of one verb, under the same names. With
    VERB, such as `run`, every option of that verb is listed.

    \b
    An example:
      runs = "results/runs.sqlite"     # the run store; likewise models, cache, plugins
    \b
      [run]
      threads = 4
      temperature = [0, 0.7]           # two arms
      notify = "notify-send rig"
    \b
      [keys]
      next_theme = "f2"                # `rig config keys` lists the actions

    Options that can run code, use another machine or replace files (notify, on, plugins, toolbox, set,
    similarity, evaluator, wheel, force) are only read from the file in your config folder.
    """  # noqa: D301 - for click
    group = context.find_root().command
    assert isinstance(group, Verbs)
    settings = read_settings()
    commands: dict[str, click.Command] = {}
    for name in dict.fromkeys([*(path[0] for path in settings if len(path) > 1), *([verb] if verb else [])]):
        if name in group.list_commands(context):
            member = group.get_command(context, name)
            assert member is not None
            commands[name] = member
            defaults(member, (name,), settings)
    actions = _actions() if verb == KEYS or any(path[0] == KEYS for path in settings) else {}
    for path, setting in settings.items():
        if path[0] == KEYS and path[1] not in actions:
            raise setting.unknown(actions, "action")
    if verb and verb not in commands and verb != KEYS:
        near = did_you_mean(verb, group.list_commands(context))
        raise RigError(f"there is no `rig {verb}`{near}; `rig --help` lists what there is")
    rows = list(_options(commands[verb], verb, settings)) if verb in commands else list(_set(settings))
    if verb == KEYS:
        own = {path[1]: setting for path, setting in settings.items() if path[0] == KEYS}
        keys = {name: (own[name].value, str(own[name].file)) for name in own}
        rows = [(f"keys.{name}", *keys.get(name, (key, "default"))) for name, key in actions.items()]
    files = [(file, file.exists()) for file in config_files()]
    if as_json:
        told: JsonObject = {str(file): there for file, there in files}
        print_json({"files": told, "settings": [dict(zip(_HEADER, row, strict=True)) for row in rows]})
        return
    for (file, there), whose in zip(files, ("yours", "of this folder"), strict=True):
        click.echo(f"{file} ({whose}): {'read' if there else 'not there'}")
    click.echo()
    print_table(_HEADER, [(name, _text(value), source) for name, value, source in rows])


def _set(settings: Settings) -> Iterator[tuple[str, Any, str]]:
    """The places, then everything else that a file sets."""
    places: Mapping[str, Any] = {
        "runs": runs_file(),
        "models": models_directory(),
        "cache": cache_directory(),
        "plugins": os.environ.get("RIG_PLUGINS"),
    }
    for name, variable in PLACES.items():
        setting = settings.get((AT, name))
        value = places[name]
        by_file = setting is not None and str(value) == str(setting.file.parent / str(setting.value))
        source = (
            str(setting.file) if by_file and setting else variable if variable in os.environ else "default"
        )
        yield f"{AT}.{name}", str(value) if value else None, source
    for path, setting in settings.items():
        if path[0] != AT:
            yield setting.name, setting.value, str(setting.file)


def _options(command: click.Command, verb: str, settings: Settings) -> Iterator[tuple[str, Any, str]]:
    """Every option of a verb; of a group, those of its members, then its own."""
    context = click.Context(command, info_name=verb, help_option_names=list(HELP_NAMES))
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            member = command.get_command(context, name)
            if member is not None:
                yield from _options(member, f"{verb}.{name}", settings)
    for option in command.get_params(context):
        long = next((name for name in option.opts if name.startswith("--")), None)
        if not isinstance(option, click.Option) or long is None or option.is_eager:
            continue
        name = long.removeprefix("--")
        path = tuple(verb.split("."))
        setting = settings.get((*path, name)) or settings.get((*path, name.replace("-", "_")))
        value = setting.value if setting else option.get_default(context)
        yield f"{verb}.{name}", value, str(setting.file) if setting else "default"


def _actions() -> dict[str, str]:
    """The keys of every action of the live views, by the action's name."""
    app = importlib.import_module("tui.app").RigApp
    for name in ("tui.display", "tui.watch"):
        importlib.import_module(name)
    screens = [app, *_below(importlib.import_module("tui.screens.base").RigScreen)]
    sections = [section for screen in screens for section in screen.KEYS]
    return {binding.action: binding.key for section in sections for binding in section.bindings}


def _below(kind: Any) -> Iterator[Any]:
    for subclass in kind.__subclasses__():
        yield subclass
        yield from _below(subclass)


def _text(value: Any) -> str:
    if value is None or value == ():
        return "-"
    if isinstance(value, bool):
        return str(value).lower()
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
