"""The methods by which models are evaluated: how tasks are read, played and scored."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rig.core import registry
from rig.core.errors import RigError, did_you_mean
from rig.core.tasks import ASSISTANT

if TYPE_CHECKING:
    from rig.methods.base import Loaded, Method

ALL = "all"
"""Every suite of the first method."""


def known() -> Mapping[str, Method]:
    """Return all registered methods, by name."""
    return registry.registered().methods


def get(name: str) -> Method:
    """Return the method of this name. Raises RigError if there is none."""
    if name not in known():
        there_are = ", ".join(known())
        raise RigError(
            f"no method is called {name!r}{did_you_mean(name, known())}; choose from: {there_are}"
            " (a plugin's: --plugin FILE)"
        )
    return known()[name]


def evaluated_role(name: str) -> str:
    """Return the role that the method of this name evaluates; the assistant if its plugin is missing."""
    return known()[name].roles[0] if name in known() else ASSISTANT


def first() -> Method:
    """Return the default method, which is the first of all."""
    return next(iter(known().values()))


def suites() -> dict[str, tuple[Method, Path]]:
    """Return the suites that come with the methods, by name, each with its method."""
    return {name: (method, place) for method in known().values() for name, place in method.suites().items()}


def made_suites() -> Mapping[str, Any]:
    """Return the suites that are made from a seed on first use (`rig.plugins.author`), by name."""
    return registry.registered().suites


def with_suite(name: str) -> Method | None:
    """Return the first method that a suite comes with, or None if no suite has this name."""
    if name in made_suites():
        return get(registry.registered().suites.attribute(name, "method"))
    return first() if name == ALL else next((m for m in known().values() if name in m.suites()), None)


def load_suite(name: str, named: str | None = None) -> tuple[Method, Loaded]:
    """Load the tasks of a suite, or with `all` those of the first method. Raises RigError for other names.

    The method `named` plays them, or by default the one that they come with.
    """
    from rig.methods.base import Loaded

    owner = with_suite(name)
    if owner is None:
        names = (*suites(), *made_suites(), ALL)
        raise RigError(
            f"unknown suite {name!r}{did_you_mean(name, names)}; choose from: {', '.join(names)}"
            " (your own files: --suite PATH)"
        )
    method = owner if named is None else get(named)
    if name in made_suites():
        sources = made_suites()[name].sources()
        return method, Loaded(method.parse(source, source["name"], name) for source in sources)
    places = owner.suites().values() if name == ALL else [owner.suites()[name]]
    return method, Loaded.of(method.load(place) for place in places)


def of_place(place: Path, named: str | None = None) -> Method:
    """Return the method of this name, the one that recognises the tasks of a place, or else the first."""
    if named is not None:
        return get(named)
    recognised = [method for method in known().values() if method.recognises(place)]
    if len(recognised) > 1:
        names = ", ".join(method.name for method in recognised)
        raise RigError(f"{place}: could be of the methods {names}; say which with --method")
    # If no method recognises the place, the first method says why when it loads it.
    return recognised[0] if recognised else first()


def find_tasks(suite: str, place: Path | None = None, named: str | None = None) -> tuple[Method, Loaded]:
    """Load the tasks of a place, or of a suite by name or path. Raises RigError if there are none.

    The method `named` reads the tasks of a place, or by default the one that recognises them.
    """
    from rig.methods.base import Loaded

    if place is None and with_suite(suite) is None and Path(suite).exists():
        place = Path(suite)
    if place is None:
        return load_suite(suite, named)
    method = of_place(place, named)
    return method, Loaded.of([method.load(place)])
