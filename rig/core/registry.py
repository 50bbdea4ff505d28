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

    def attributes(self, name: str) -> Mapping[str, Any]:
        """Return the attributes that a tenant was registered with."""
        return self._attributes[name]

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
    """What `register(registry)` of a plugin gets: all sorts of tenants.

    Each sort takes them by `add(tenant)`, as in `registry.methods.add(MyMethod())`, and those that take a
    moment to import by `later(name, "module:attribute")`. Within each sort, a name can be registered once.
    """

    def __init__(self) -> None:
        self.methods = Tenants("method")
        """Ways to read, play and score tasks: a `Method` (`rig.methods.base`), for `--method NAME`."""
        self.toolboxes = Tenants("toolbox")
        """Tools and the world they act in: a `Toolbox` (`rig.world.toolbox`), for `--toolbox NAME`."""
        self.formats = Tenants("answer format")
        """Ways to write calls: an `AnswerFormat` (`rig.plugins.llama.formats`), for `--format`."""
        self.presets = Tenants("preset of an answer format")
        """Forms of families without calls in their templates (`rig.plugins.llama.formats.shape`)."""
        self.dialects = Tenants("dialect")
        """Ways to talk to a server of models: a `Dialect` (`rig.plugins.served.dialects.base`)."""
        self.displays = Tenants("display")
        """Ways to show a run: a class of `Display` (`rig.show.base`), for `--display NAME`.

        It is called with the stream that lines go to.
        """
        self.papers = Tenants("paper")
        """Other people's files and tables: a `Paper` (`rig.plugins.papers.paper`), for `--format`."""
        self.exports = Tenants("export")
        """Forms for runs of any method: an `Export` (`rig.plugins.exports`), for `--format NAME`."""
        self.readers = Tenants("reader")
        """What reads pairs of texts that no rule decides: a `PairReader` (`rig.scoring.similarity`)."""
        self.measures = Tenants("measure of similarity")
        """What compares free texts (`rig.scoring.similarity`), for `--similarity NAME`."""
        self.suites = Tenants("suite")
        """Suites by name, for `--suite NAME`."""
        self.dials = Tenants("dial")
        """Ways to make tasks harder: a `Dial` (`rig.plugins.stress.dial`), for `--set NAME=LEVEL`."""
        self.options = Tenants("group of options")
        """Options of `rig run`, in groups that `add_options` adds."""
        self.verbs = Tenants("verb")
        """Click commands, with what each `does`; `rig --help` lists them in a `group`, by default Plugins."""
        self.views = Tenants("view")
        """What a verb shows instead if an option is given, as `VERB --flag` (`rig.cli.verbs.Viewed`)."""
        self.schemes = Tenants("scheme")
        """What names with a prefix such as `http:` stand for: a `Scheme` (`rig.config.schemes`)."""
        self.strategies = Tenants("strategy")
        """Ways to order what a run plays: a `RunStrategy` (`rig.running.strategy`)."""
        self.evidence = Tenants("evidence on arms that a strategy stopped")
        """What is known of their losses: a `LossFinder` (`rig.compare.early`), by the strategy's name."""
        self.meters = Tenants("meter of costs")
        """What measures the costs of arms: a class of `CostMeter` (`rig.core.meters`)."""
        self.hooks = Tenants("hook after an arm")
        """What is done once an arm has been played: an `ArmHook` (`rig.running.hooks`)."""
        self.guards = Tenants("guard of episodes")
        """What hears episodes as they are played, and may end turns: a `Guard` (`rig.methods.guards`)."""
        self.trends = Tenants("trend of a comparison")
        """What arms show together: a `TrendFinder` (`rig.compare.trends`), by the name in --json."""
        self.details = Tenants("detail of a comparison")
        """What `rig compare --full` prints: functions that take a `Comparison` and a width."""
        self.tables = Tenants("table of a run")
        """What `rig show RUN` prints: functions that take the open store, a run and a width."""

    def add_options(self, name: str, fields: type) -> None:
        """Add a group of options of `rig run`: a dataclass with them as fields (`rig.config.option`)."""
        self.options[name] = fields


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
