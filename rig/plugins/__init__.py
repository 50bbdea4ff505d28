"""What can be added to rig: methods, toolboxes and answer formats, by rig itself and by anyone else.

A plugin is a module with `register(registry)`. There are rig's own, those that installed packages name under
the entry point group `rig.plugins`, and those that the user names: a `.py` file, or a folder with `plugin.py`
or `toolbox.py` in it. Modules beside that file are reached as `from . import other`.
"""

import os
import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from importlib.util import module_from_spec, spec_from_file_location
from typing import Any

from rig.errors import RigError
from rig.paths import expanded, real
from rig.plugins.registry import Registry, faults

__all__ = ["Registry", "at", "module_of", "registered"]

OWN = (
    *("rig.tooltalk", "rig.methods.tooltalk", "rig.methods.autode", "rig.methods.dynamic"),
    *("rig.methods.tooleval", "rig.methods.bfcl", "rig.judging"),
    "rig.engine",
)


def registered() -> Registry:
    """All plugins but those that are named at one place only. Raises RigError for one that fails."""
    return _load(True, tuple(filter(None, os.environ.get("RIG_PLUGINS", "").split(os.pathsep))))


def at(place: str) -> Registry:
    """The plugin at one place alone. Raises RigError if there is none, or it fails."""
    return _load(False, (place,))


@cache
def _load(installed: bool, places: tuple[str, ...]) -> Registry:
    registry = Registry()
    modules = (*OWN, *(point.module for point in entry_points(group="rig.plugins"))) if installed else ()
    finders: dict[str, Callable[[str], Any]] = dict.fromkeys(modules, import_module)
    for place, find in {**finders, **dict.fromkeys(places, module_of)}.items():
        with faults(place):
            module = find(place)
            if not hasattr(module, "register"):
                raise RigError("it has no function register(registry)")
            module.register(registry)
    return registry


def module_of(name: str) -> Any:
    """The module of a file or folder, the same one each time."""
    place = expanded(name)
    files = (place / "plugin.py", place / "toolbox.py") if place.is_dir() else (place,)
    file = next((real(each) for each in files if each.is_file()), place)
    module_name, beside = f"rig plugin {file}", [str(file.parent)]
    spec = spec_from_file_location(module_name, file, submodule_search_locations=beside)
    if not file.is_file() or spec is None or spec.loader is None:
        raise RigError("it is not a .py file, or a folder with plugin.py, toolbox.py or tools.json")
    if module_name not in sys.modules:
        sys.modules[module_name] = module = module_from_spec(spec)
        try:
            spec.loader.exec_module(module)
        except BaseException:
            del sys.modules[module_name]
            raise
    return sys.modules[module_name]
