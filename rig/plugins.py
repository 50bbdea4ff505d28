"""What can be added to rig: methods, toolboxes and answer formats, by rig itself and by anyone else.

A plugin is a module with `register(registry)`. There are rig's own, those that installed packages name under
the entry point group `rig.plugins`, and those that the user names: a `.py` file, or a folder with `plugin.py`
or `toolbox.py` in it. Modules beside that file are reached as `from . import other`.
"""

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from traceback import extract_tb
from typing import Any

from rig.errors import RigError

OWN = (
    *("rig.tooltalk", "rig.methods.tooltalk", "rig.methods.autode", "rig.methods.dynamic"),
    *("rig.methods.tooleval", "rig.methods.bfcl", "rig.judging"),
    "rig.engine",
)


class Tenants(Mapping[str, Any]):
    """What was registered of one sort, by name, in order. What is added `later` is loaded when asked for."""

    def __init__(self, sort: str) -> None:
        self._sort = sort
        self._found: dict[str, Any] = {}
        self._places: dict[str, str] = {}
        self._said: dict[str, Mapping[str, Any]] = {}

    def add(self, tenant: Any) -> None:
        """Add a tenant that is there, under its `name`."""
        if self._found.setdefault(tenant.name, tenant) is not tenant:
            raise self._taken(tenant.name)

    def later(self, name: str, place: str, **said: Any) -> None:
        """Add a tenant that is at a place, `module:attribute`, where it is found when it is asked for.

        `said` are attributes of it that can be had without loading it.
        """
        if name in self._found and self._places.get(name) != place:
            raise self._taken(name)
        self._found.setdefault(name, None)
        self._places[name] = place
        self._said[name] = said

    def attribute(self, name: str, attribute: str) -> Any:
        """An attribute of a tenant, which is loaded only where its registration does not say it."""
        said = self._said.get(name, {})
        return said[attribute] if attribute in said else getattr(self[name], attribute)

    def __getitem__(self, name: str) -> Any:
        if self._found[name] is None:
            with _faults(self._places[name]):
                module, _, attribute = self._places[name].partition(":")
                self._found[name] = getattr(import_module(module), attribute)
        return self._found[name]

    def __contains__(self, name: object) -> bool:
        return name in self._found

    def __iter__(self) -> Iterator[str]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)

    def _taken(self, name: str) -> RigError:
        return RigError(f"there is a {self._sort} named {name} already; give this one another name")


class Registry:
    """Everything that was registered: of each sort by name, and every name once."""

    def __init__(self) -> None:
        self.methods = Tenants("method")
        self.toolboxes = Tenants("toolbox")
        self.formats = Tenants("answer format")
        self.add_method = self.methods.add
        self.add_toolbox = self.toolboxes.add
        self.exports = Tenants("format of export")
        self.conversions = Tenants("format of logs")
        self.add_format = self.formats.add


def registered() -> Registry:
    """All plugins but those that are named at one place only. Raises RigError for one that fails."""
    return _load(True, tuple(filter(None, os.environ.get("RIG_PLUGINS", "").split(os.pathsep))))


def at(place: str) -> Registry:
    """The plugin at one place alone. Raises RigError where there is none, or it fails."""
    return _load(False, (place,))


@cache
def _load(installed: bool, places: tuple[str, ...]) -> Registry:
    registry = Registry()
    modules = (*OWN, *(point.module for point in entry_points(group="rig.plugins"))) if installed else ()
    finders: dict[str, Callable[[str], Any]] = dict.fromkeys(modules, import_module)
    for place, find in {**finders, **dict.fromkeys(places, module_of)}.items():
        with _faults(place):
            module = find(place)
            if not hasattr(module, "register"):
                raise RigError("it has no function register(registry)")
            module.register(registry)
    return registry


@contextmanager
def _faults(place: str) -> Iterator[None]:
    """Whatever goes wrong with a plugin is a fault of the plugin's, which is said in one line."""
    try:
        yield
    except Exception as error:
        last = extract_tb(error.__traceback__)[-1]
        where = f"{type(error).__name__}: {error} ({last.filename}, line {last.lineno})"
        what = error if isinstance(error, RigError) else where
        raise RigError(f"the plugin {place} cannot be loaded: {what}") from error


def module_of(name: str) -> Any:
    """The module of a file or folder, the same one each time."""
    place = Path(name).expanduser()
    files = (place / "plugin.py", place / "toolbox.py") if place.is_dir() else (place,)
    file = next((each.resolve() for each in files if each.is_file()), place)
    module_name, beside = f"rig plugin {file}", [str(file.parent)]
    spec = spec_from_file_location(module_name, file, submodule_search_locations=beside)
    if not file.is_file() or spec is None or spec.loader is None:
        raise RigError("it is no .py file, and no folder with plugin.py, toolbox.py or tools.json")
    if module_name not in sys.modules:
        sys.modules[module_name] = module = module_from_spec(spec)
        try:
            spec.loader.exec_module(module)
        except BaseException:
            del sys.modules[module_name]
            raise
    return sys.modules[module_name]
