"""Prepare a method again, as a stored run had it or for predictions in files."""

from pathlib import Path
from typing import Any

from rig import methods
from rig.config.options import RunConfig
from rig.core import registry
from rig.core.errors import RigError
from rig.methods.base import Method, Setup
from rig.plugins.documents.folders import files_below
from rig.running.planning import files_named, first_values, stored_config
from rig.running.stored_settings import require_files_named
from rig.store import StoredRun


def setup_of(run: StoredRun, answers: Path | None = None, **changes: Any) -> Setup:
    """Return the method of a stored run, ready as it was except for `changes` by name that are not None.

    `answers` is the file of people's answers on unclear texts; without it nothing can be graded, and the
    run's reader is not loaded. Raises RigError for what the method does not know, for what is missing, and
    for files that the run names and the user does not.
    """
    method = methods.get(run.declaration.method)
    stored = stored_config(run)
    if answers is None:
        stored = stored.replace(reader=None)
    files = files_named(stored, method)
    require_files_named(run, {name: values for name, values in files.items() if changes.get(name) is None})
    return _ready(method, stored, answers, changes)


def folders_of(place: Path) -> list[Path]:
    """Return the folders of predictions: the place itself or, if it has no files itself, those below."""
    if not place.is_dir() or any(place.glob("*.json")):
        return [place]
    return sorted({path.parent for path in files_below(place)}) or [place]


def setup_for_files(
    place: Path,
    answers: Path | None = None,
    name: str | None = None,
    options: tuple[str, ...] = (),
    **changes: Any,
) -> list[tuple[Method, Setup]]:
    """Return each method whose predictions are in these files, or the one with that `name`, ready with the
    default settings and `changes`. `options` are those that only it knows, each as `NAME=VALUE`.

    If methods share files there may be several; each gets the options that it knows. Raises RigError for an
    option that none knows.
    """
    folder = place if name is not None else folders_of(place)[0]
    candidates = _of_results(folder, name)
    setups = []
    for method in candidates:
        names = {option.name for option in method.options}
        others = {option.name for other in candidates for option in other.options} - names
        own = tuple(option for option in options if option.partition("=")[0] not in others)
        setups.append((method, _ready(method, RunConfig.of(set=own), answers, changes)))
    return setups


def _ready(method: Method, config: RunConfig, answers: Path | None, changes: dict[str, Any]) -> Setup:
    values = first_values(config, method)
    for name, value in changes.items():
        if value is None:
            continue
        if name not in values:
            raise RigError(f"--{name} has no effect on the method {method.name}; leave it out")
        values[name] = str(value) if isinstance(value, Path) else value
    setup = method.ready(values)
    return setup if answers is None else setup.adjudicated(answers)


def _of_results(place: Path, named: str | None = None) -> list[Method]:
    """Return the methods whose predictions a place holds: several only if methods share its files."""
    papers = registry.registered().papers
    paper = papers[named] if named is not None and named in papers else None
    sharing = [name for name in paper.methods if paper.holds(place, name)] if paper else []
    return [methods.get(name) for name in sharing] or [methods.of_place(place, named)]
