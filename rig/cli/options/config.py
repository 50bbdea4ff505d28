"""`rig config`: show which settings apply, and where each comes from."""

import importlib
import os
from collections.abc import Iterator, Mapping
from typing import Any

import click

from rig.calls import JsonObject
from rig.cli.options.settings import Settings, defaults
from rig.cli.options.verbs import HELP_NAMES, Verbs
from rig.cli.output import print_json, print_table
from rig.config import AT, KEYS, PLACES, read_settings
from rig.errors import RigError
from rig.paths import cache_directory, config_files, models_directory, runs_file
from rig.words import did_you_mean

_HEADER = ("setting", "value", "from")


@click.command()
@click.argument("verb", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
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
            found = group.get_command(context, name)
            assert found is not None
            commands[name] = found
            defaults(found, (name,), settings)
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
        given = {name: (own[name].value, str(own[name].file)) for name in own}
        rows = [(f"keys.{name}", *given.get(name, (key, "default"))) for name, key in actions.items()]
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
    for each in kind.__subclasses__():
        yield each
        yield from _below(each)


def _text(value: Any) -> str:
    if value is None or value == ():
        return "-"
    if isinstance(value, bool):
        return str(value).lower()
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
