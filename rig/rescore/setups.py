"""Getting a method ready again: as a stored run had it, or for predictions that are in files."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rig import methods
from rig.errors import RigError
from rig.methods.base import Method, Settings, Setup, adjudicated
from rig.running.options import Options
from rig.scoring import Named
from rig.store import StoredArm, StoredRun


def setup_of(
    run: StoredRun, threshold: float | None = None, answers: Path | None = None, **given: Any
) -> Setup:
    """The method of a stored run, ready as it was but for what is `given` by name and is not None.

    `answers` is the file of what people said of unclear texts. Raises RigError for what the method does not
    know, and for what cannot be had.
    """
    method = methods.get(run.declaration.method)
    return _ready(method, Options.from_json(run.settings), threshold, answers, given)


def settings_of(run: StoredRun) -> tuple[Settings, ...]:
    """The method's settings of every arm of a run: as the run's options say, and its fingerprint in its case.

    Raises RigError for what the method does not know.
    """
    method = methods.get(run.declaration.method)
    values = {name: found[0] for name, found in Options.from_json(run.settings).values(method).items()}
    several = [option.name for option in method.options if option.several]
    return tuple(method.settings({**values, **_varied(arm, several, values)}) for arm in run.arms)


def _varied(arm: StoredArm, several: Sequence[str], values: Mapping[str, Any]) -> dict[str, Any]:
    """The options that can have several values in a run, as an arm had them."""
    own = arm.fingerprint or {}
    return {name: own.get(f"protocol.{name}", values[name]) for name in several}


def folders_of(place: Path) -> list[Path]:
    """Where predictions are: the place itself, or the folders in it where it has no file of its own."""
    if not place.is_dir() or any(place.glob("*.json")):
        return [place]
    return sorted({path.parent for path in place.rglob("*.json")}) or [place]


def setup_for_files(
    place: Path, threshold: float | None = None, answers: Path | None = None, **given: Any
) -> tuple[Method, Setup]:
    """The method whose predictions are in these files, ready as by default but for what is given."""
    method = methods.of_place(folders_of(place)[0])
    return method, _ready(method, Options(models=()), threshold, answers, given)


def _ready(
    method: Method, options: Options, threshold: float | None, answers: Path | None, given: dict[str, Any]
) -> Setup:
    values = {name: found[0] for name, found in options.values(method).items()}
    for name, value in given.items():
        if value is None:
            continue
        if name not in values:
            raise RigError(f"--{name} is of no use to the method {method.name}; leave it out")
        values[name] = str(value) if isinstance(value, Path) else value
    if threshold is not None:
        if "similarity" not in values:
            raise RigError(f"--threshold is of no use to the method {method.name}; leave it out")
        values["similarity"] = str(Named.parse(values["similarity"]).at(threshold))
    setup = method.ready(values)
    return setup if answers is None else adjudicated(setup, answers)
