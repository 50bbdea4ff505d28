"""What can be added to rig: methods, toolboxes and answer formats, by rig itself and by anyone else.

A plugin is a module with `register(registry)`. There are rig's own plugins, those that installed packages
name under the entry point group `rig.plugins`, and those that the user names: a `.py` file, or a folder with
`plugin.py` or `toolbox.py` in it. Modules beside that file are imported as `from . import other`.
"""

import os
import sys
from collections import UserDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from importlib.util import module_from_spec, spec_from_file_location
from pkgutil import iter_modules
from traceback import extract_tb
from typing import Any, NamedTuple, Protocol

from rig.core.errors import RigError
from rig.core.paths import expanded, real

TENANTS = "rig.plugins"
"""The package whose folders are the tenants that come with rig, and the group of entry points of others."""


class Named(Protocol):
    """Anything that can be registered under a name, called a tenant here."""

    @property
    def name(self) -> str:
        """The name that users call it by."""
        ...


class Reference(NamedTuple):
    """Where a tenant is, `module:attribute`."""

    place: str

    def load(self) -> Any:
        """Import the tenant. Raises RigError if that fails."""
        module, _, attribute = self.place.partition(":")
        with faults(self.place):
            return getattr(import_module(module), attribute)


class Tenants(UserDict[str, Any]):
    """The registered tenants of one sort, by name, in order."""

    def __init__(self, sort: str) -> None:
        super().__init__()
        self._sort = sort
        self._attributes: dict[str, Mapping[str, Any]] = {}

    def add(self, tenant: Named, **attributes: Any) -> None:
        """Add a tenant under its `name`."""
        self[tenant.name] = tenant
        self._attributes[tenant.name] = attributes

    def later(self, name: str, place: str, **attributes: Any) -> None:
        """Add a tenant that is imported from `module:attribute` when it is first used."""
        self[name] = Reference(place)
        self._attributes[name] = attributes

    def attribute(self, name: str, attribute: str) -> Any:
        """Return an attribute of a tenant, which is loaded only if its registration does not have it."""
        attributes = self._attributes[name]
        return attributes[attribute] if attribute in attributes else getattr(self[name], attribute)

    def put_default_first(self) -> None:
        """Move what is registered with `is_default` before all others."""
        order = sorted(self.data, key=lambda name: not self._attributes[name].get("is_default"))
        self.data = {name: self.data[name] for name in order}

    def __getitem__(self, name: str) -> Any:
        tenant = self.data[name]
        return tenant.load() if isinstance(tenant, Reference) else tenant

    def __setitem__(self, name: str, tenant: Any) -> None:
        if self.data.setdefault(name, tenant) != tenant:
            raise RigError(f"there is already a {self._sort} named {name}; rename this one")


class Registry:
    """What `register(registry)` of a plugin gets. Within each sort, a name can be registered once.

    Each sort is also an attribute, as in `registry.methods.later(name, "module:attribute")`, for tenants
    that take a moment to import.
    """

    def __init__(self) -> None:
        self.methods = Tenants("method")
        self.toolboxes = Tenants("toolbox")
        self.formats = Tenants("answer format")
        self.presets = Tenants("preset of an answer format")
        self.dialects = Tenants("dialect")
        self.displays = Tenants("display")
        self.papers = Tenants("paper")
        self.exports = Tenants("export")
        self.readers = Tenants("reader")
        self.measures = Tenants("measure of similarity")
        self.suites = Tenants("suite")
        self.dials = Tenants("dial")
        self.verbs = Tenants("verb")
        self.views = Tenants("view")
        self.schemes = Tenants("scheme")
        self.hooks = Tenants("hook after an arm")
        self.guards = Tenants("guard of episodes")
        self.strategies = Tenants("strategy")
        self.options = Tenants("group of options")

    def add_method(self, method: Named) -> None:
        """Add a way to read, play and score tasks: a `Method` (`rig.methods.base`), for `--method NAME`."""
        self.methods.add(method)

    def add_toolbox(self, toolbox: Named) -> None:
        """Add tools and the world they act in: a `Toolbox` (`rig.world.toolbox`), for `--toolbox NAME`."""
        self.toolboxes.add(toolbox)

    def add_format(self, form: Named) -> None:
        """Add a way to write calls: an `AnswerFormat` (`rig.plugins.llama.formats`), for `--format`."""
        self.formats.add(form)

    def add_preset(self, preset: Named) -> None:
        """Add the form of a family without calls in its templates (`rig.plugins.llama.formats.shape`)."""
        self.presets.add(preset)

    def add_dialect(self, dialect: Named) -> None:
        """Add a way to talk to a server of models: a `Dialect` (`rig.plugins.served.dialects.base`)."""
        self.dialects.add(dialect)

    def add_display(self, display: Named) -> None:
        """Add a way to show a run: a class of `Display` (`rig.show.base`), for `--display NAME`.

        It is called with the stream that lines go to.
        """
        self.displays.add(display)

    def add_paper(self, paper: Named) -> None:
        """Add other people's files and tables: a `Paper` (`rig.plugins.papers.paper`), for `--format`."""
        self.papers.add(paper)

    def add_dial(self, dial: Named) -> None:
        """Add a way to make tasks harder: a `Dial` (`rig.plugins.stress.dial`), for `--set NAME=LEVEL`."""
        self.dials.add(dial)

    def add_verb(self, verb: Named, does: str, group: str = "Plugins") -> None:
        """Add a verb of the command line: a click command, which `rig --help` lists in a group."""
        self.verbs.add(verb, does=does, group=group)

    def add_scheme(self, scheme: Named) -> None:
        """Add what names with a prefix such as `http:` stand for: a `Scheme` (`rig.config.schemes`)."""
        self.schemes.add(scheme)

    def add_options(self, name: str, fields: type) -> None:
        """Add a group of options of `rig run`: a dataclass with them as fields (`rig.config.option`)."""
        self.options[name] = fields

    def add_strategy(self, strategy: Named) -> None:
        """Add a way to order what a run plays: a `RunStrategy` (`rig.running.strategy`)."""
        self.strategies.add(strategy)

    def add_hook(self, hook: Named) -> None:
        """Add what is done once an arm has been played: an `ArmHook` (`rig.running.hooks`)."""
        self.hooks.add(hook)

    def add_guard(self, guard: Named) -> None:
        """Add what hears episodes as they are played, and may end turns: a `Guard` (`rig.methods.guards`)."""
        self.guards.add(guard)

    def add_export(self, export: Named) -> None:
        """Add a form for runs of any method: an `Export` (`rig.plugins.exports`), for `--format NAME`."""
        self.exports.add(export)


@contextmanager
def faults(place: str) -> Iterator[None]:
    """A context that turns any exception of a plugin into a RigError of one line."""
    try:
        yield
    except Exception as error:
        last = extract_tb(error.__traceback__)[-1]
        where = f"{type(error).__name__}: {error} ({last.filename}, line {last.lineno})"
        what = error if isinstance(error, RigError) else where
        raise RigError(f"the plugin {place} cannot be loaded: {what}") from error


def registered() -> Registry:
    """Return all plugins that are installed or in `$RIG_PLUGINS`. Raises RigError for one that fails."""
    return _load(True, tuple(filter(None, os.environ.get("RIG_PLUGINS", "").split(os.pathsep))))


def at(place: str) -> Registry:
    """Return the plugin at one place alone. Raises RigError if there is none, or it fails."""
    return _load(False, (place,))


def own() -> Iterator[str]:
    """Return the modules that register what comes with rig: each folder in `rig/plugins`."""
    return (f"{TENANTS}.{entry.name}" for entry in iter_modules(import_module(TENANTS).__path__))


@cache
def _load(installed: bool, places: tuple[str, ...]) -> Registry:
    registry = Registry()
    modules = (*own(), *(point.module for point in entry_points(group=TENANTS))) if installed else ()
    finders: dict[str, Callable[[str], Any]] = dict.fromkeys(modules, import_module)
    for place, find in {**finders, **dict.fromkeys(places, module_of)}.items():
        with faults(place):
            module = find(place)
            if not hasattr(module, "register"):
                if place.startswith(f"{TENANTS}."):
                    continue  # It offers nothing but what others of rig's own require.
                raise RigError("it has no function register(registry)")
            module.register(registry)
    registry.methods.put_default_first()
    return registry


def module_of(name: str) -> Any:
    """Return the module of a file or folder, the same one each time."""
    place = expanded(name)
    files = (place / "plugin.py", place / "toolbox.py") if place.is_dir() else (place,)
    file = next((real(file) for file in files if file.is_file()), place)
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
