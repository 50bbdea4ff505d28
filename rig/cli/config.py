"""`rig.toml` as options of verbs, and `rig config`, which shows the settings that apply.

A value of the file is treated like one from the command line.
"""

import importlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from enum import Enum
from pathlib import Path
from typing import Any

import click

from rig.cli.options import AS_JSON
from rig.cli.output import print_json, print_table
from rig.cli.verbs import HELP_NAMES, Verbs, argument, verb
from rig.config.files import AT, KEYS, PLACES, Setting, own_keys, read_settings, set_places
from rig.core.calls import JsonObject
from rig.core.errors import RigError, did_you_mean
from rig.core.paths import cache_directory, config_files, models_directory, runs_file

_HEADER = ("setting", "value", "from")
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
    options = _settable(command)
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


def _settable(command: click.Command) -> dict[str, click.Option]:
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
            values.append(value if option.is_flag else option.type.convert(str(value), option, None))
        except click.BadParameter as error:
            raise setting.fault(f"cannot be used: {error.message}") from error
    return tuple(values) if option.multiple else values[0]


BY_HAND = "`rig config` only shows settings; write them into rig.toml, as `rig config --help` has it"


@verb()
def command(
    context: click.Context, name: str | None = argument("[VERB]"), *, as_json: bool = AS_JSON
) -> None:
    """Show the settings that apply, and where they come from.

    rig reads `rig.toml` from your config folder and from the current folder. The second overrides the first,
    and the command line overrides both. Each table holds the options of one verb, under the same names. With
    VERB, such as `run`, every option of that verb is listed.

    \b
    An example:
      [places]
      runs = "results/runs.sqlite"     # the run store; likewise models, cache, plugins
    \b
      [run]
      temperature = [0, 0.7]           # two arms
      notify = "notify-send rig"
    \b
      [keys]
      next_theme = "f2"                # `rig config keys` lists the actions

    The file of the current folder sets suites, limits, sampling and names, and rig says what it sets. All
    else is only read from the file in your config folder; `rig docs settings` lists what a folder may set.
    """  # noqa: D301 - for click
    group = context.find_root().command
    assert isinstance(group, Verbs)
    settings = read_settings()
    members: dict[str, click.Command] = {}
    for verb_name in (*(path[0] for path in settings if len(path) > 1), name):
        if verb_name not in members and (member := group.get_command(context, verb_name or "")):
            members[str(verb_name)] = member
            defaults(member, (str(verb_name),), settings)
    own = {path[1]: setting for path, setting in settings.items() if path[0] == KEYS}
    actions = _actions() if name == KEYS or own else {}
    for action, setting in own.items():
        if action not in actions:
            raise setting.unknown(actions, "action")
    if name == KEYS:
        keys = {action: (own[action].value, str(own[action].file)) for action in own}
        rows = [(f"keys.{action}", *keys.get(action, (key, "default"))) for action, key in actions.items()]
    elif name in members:
        rows = list(_options(members[name], (name,), settings))
    elif name:
        if name in ("set", "get", "edit", "list"):
            raise RigError(BY_HAND)
        near = did_you_mean(name, group.list_commands(context))
        raise RigError(f"there is no `rig {name}`{near}; `rig --help` lists what there is")
    else:
        rows = list(_set(settings))
    files = [(file, file.exists()) for file in config_files()]
    if as_json:
        texts: JsonObject = {str(file): exists for file, exists in files}
        print_json({"files": texts, "settings": [dict(zip(_HEADER, row, strict=True)) for row in rows]})
        return
    for (file, exists), whose in zip(files, ("yours", "of this folder"), strict=True):
        click.echo(f"{file} ({whose}): {'read' if exists else 'not there'}")
    click.echo()
    print_table(_HEADER, [(setting_name, _text(value), source) for setting_name, value, source in rows])


def _set(settings: Settings) -> Iterator[tuple[str, Any, str]]:
    """Yield the places, and then everything else that a file sets."""
    places = (runs_file(), models_directory(), cache_directory(), os.environ.get("RIG_PLUGINS"))
    for (name, variable), value in zip(PLACES.items(), places, strict=True):
        setting = settings.get((AT, name))
        source = variable if variable in os.environ else "default"
        if setting is not None and str(value) == str(setting.file.parent / str(setting.value)):
            source = str(setting.file)
        yield f"{AT}.{name}", str(value) if value else None, source
    for path, setting in settings.items():
        if path[0] != AT:
            yield setting.name, setting.value, str(setting.file)


def _options(
    command: click.Command, path: tuple[str, ...], settings: Settings
) -> Iterator[tuple[str, Any, str]]:
    """Yield every option of a verb; for a group, those of its members, and then its own."""
    context = click.Context(command)
    for member in command.list_commands(context) if isinstance(command, click.Group) else ():
        if isinstance(command, click.Group) and (below := command.get_command(context, member)):
            yield from _options(below, (*path, member), settings)
    for name, option in _settable(command).items():
        setting = settings.get((*path, name)) or settings.get((*path, name.replace("-", "_")))
        value = setting.value if setting else option.get_default(context)
        value = None if isinstance(value, Enum) else value  # what click has where there is no default
        text = str(value) if isinstance(value, Path) else value
        yield ".".join((*path, name)), text, str(setting.file) if setting else "default"


def _actions() -> dict[str, str]:
    """Return the keys of every action of the live views, by the action's name."""
    app = importlib.import_module("tui.app").RigApp
    for name in ("tui.display", "tui.watch"):
        importlib.import_module(name)
    screens = [app, *_below(importlib.import_module("tui.screens.base").RigScreen)]
    bindings = (keys for screen in screens for section in screen.KEYS for keys in section.bindings)
    return {binding.action: binding.key for binding in bindings}


def _below(kind: Any) -> Iterator[Any]:
    for subclass in kind.__subclasses__():
        yield from (subclass, *_below(subclass))


def _text(value: Any) -> str:
    if value is None or value == ():
        return "-"
    if isinstance(value, bool):
        return str(value).lower()
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
