"""`rig config`: the settings that apply, and where they come from."""

import os
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Any

import click

from rig.cli.config import Settings, defaults, settable
from rig.cli.options import AS_JSON
from rig.cli.output import print_json, print_table
from rig.cli.verbs import Verbs, argument, verb
from rig.config.files import AT, KEYS, PLACES, read_settings
from rig.core.calls import JsonObject
from rig.core.errors import RigError, did_you_mean
from rig.core.paths import cache_directory, config_files, models_directory, runs_file

_HEADER = ("setting", "value", "from")
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
    for name, option in settable(command).items():
        setting = settings.get((*path, name)) or settings.get((*path, name.replace("-", "_")))
        value = setting.value if setting else option.get_default(context)
        value = None if isinstance(value, Enum) else value  # what click has where there is no default
        text = str(value) if isinstance(value, Path) else value
        yield ".".join((*path, name)), text, str(setting.file) if setting else "default"


def _actions() -> dict[str, str]:
    """Return the keys of every action of the live views, by the action's name."""
    import tui.display
    import tui.watch  # noqa: F401 - each defines screens
    from tui.app import RigApp
    from tui.screens.base import RigScreen

    screens = [RigApp, *_below(RigScreen)]
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
