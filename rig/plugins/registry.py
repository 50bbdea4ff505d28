"""What plugins register: tenants of each sort by name, loaded on demand."""

from collections import UserDict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from traceback import extract_tb
from typing import Any, NamedTuple

from rig.errors import RigError


class Later(NamedTuple):
    """Where a tenant is, `module:attribute`, and attributes of it that can be had without loading it."""

    place: str
    said: Mapping[str, Any]

    def load(self) -> Any:
        """The tenant. Raises RigError if it is not."""
        module, _, attribute = self.place.partition(":")
        with faults(self.place):
            return getattr(import_module(module), attribute)


class Tenants(UserDict[str, Any]):
    """What was registered of one sort, by name, in order."""

    def __init__(self, sort: str) -> None:
        super().__init__()
        self._sort = sort

    def add(self, tenant: Any) -> None:
        """Add a tenant that is there, under its `name`."""
        self[tenant.name] = tenant

    def later(self, name: str, place: str, **said: Any) -> None:
        """Add a tenant that is loaded on demand; `Later` says where it is."""
        self[name] = Later(place, said)

    def attribute(self, name: str, attribute: str) -> Any:
        """An attribute of a tenant, which is loaded only where its registration does not say it."""
        tenant = self.data[name]
        said = tenant.said if isinstance(tenant, Later) else {}
        return said[attribute] if attribute in said else getattr(self[name], attribute)

    def __getitem__(self, name: str) -> Any:
        tenant = self.data[name]
        return tenant.load() if isinstance(tenant, Later) else tenant

    def __setitem__(self, name: str, tenant: Any) -> None:
        if self.data.setdefault(name, tenant) != tenant:
            raise RigError(f"there is already a {self._sort} named {name}; rename this one")


class Registry:
    """Everything that was registered: of each sort by name, and every name once."""

    def __init__(self) -> None:
        self.methods, self.toolboxes = Tenants("method"), Tenants("toolbox")
        self.formats = Tenants("answer format")
        self.exports, self.conversions = Tenants("format of export"), Tenants("format of logs")
        self.add_method, self.add_toolbox = self.methods.add, self.toolboxes.add
        self.add_format = self.formats.add


@contextmanager
def faults(place: str) -> Iterator[None]:
    """Anything that goes wrong with a plugin is a fault of the plugin, which is one line."""
    try:
        yield
    except Exception as error:
        last = extract_tb(error.__traceback__)[-1]
        where = f"{type(error).__name__}: {error} ({last.filename}, line {last.lineno})"
        what = error if isinstance(error, RigError) else where
        raise RigError(f"the plugin {place} cannot be loaded: {what}") from error
