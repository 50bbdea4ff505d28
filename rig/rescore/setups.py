"""Prepare a method again: as a stored run had it, or for predictions in files."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rig import methods, opening, plugins
from rig.errors import RigError
from rig.files import files_below
from rig.methods.base import Method, Settings, Setup
from rig.running.options import Options
from rig.running.planning import files_named
from rig.scoring import Named
from rig.store import StoredArm, StoredRun, Transcript
from rig.verdicts import StepPlace


def setup_of(
    run: StoredRun, threshold: float | None = None, answers: Path | None = None, **given: Any
) -> Setup:
    """The method of a stored run, ready as it was but for what is `given` by name and is not None.

    `answers` is the file of what people said of unclear texts. Raises RigError for what the method does not
    know, for what cannot be had, and for files that the run names and the user does not.
    """
    method = methods.get(run.declaration.method)
    stored = Options.from_json(run.settings)
    left = {name: values for name, values in files_named(stored, method).items() if given.get(name) is None}
    opening.require_named(run.id, left, plugins.registered().toolboxes)
    return _ready(method, stored, threshold, answers, given)


def settings_of(run: StoredRun) -> tuple[Settings, ...]:
    """The method's settings of every arm of a run: as the run's options say, and its fingerprint in its case.

    Raises RigError for what the method does not know.
    """
    method = methods.get(run.declaration.method)
    stored = Options.from_json(run.settings)
    opening.require_named(run.id, files_named(stored, method), plugins.registered().toolboxes)
    values = {name: several[0] for name, several in stored.values(method).items()}
    several = [option.name for option in method.options if option.several]
    varied = [_varied(arm, several, values) for arm in run.arms]
    opened = [option.name for option in method.options if option.opens]
    for of_arm in varied:
        named = {name: of_arm[name] for name in opened if name in of_arm}
        opening.require_named(run.id, named, plugins.registered().toolboxes)
    try:
        return tuple(method.settings({**values, **of_arm}) for of_arm in varied)
    except (RigError, ValueError, TypeError, KeyError) as error:
        raise RigError(f"run {run.id}: its settings are damaged: {error}") from error


def _varied(arm: StoredArm, several: Sequence[str], values: Mapping[str, Any]) -> dict[str, Any]:
    """The options that can have several values in a run, as an arm had them."""
    own = arm.fingerprint or {}
    return {name: own.get(f"protocol.{name}", values[name]) for name in several}


def places_of_path(run: StoredRun, transcript: Transcript) -> frozenset[StepPlace]:
    """Where these steps are in a stored task whose steps say what they follow; else nowhere."""
    if all(step.parent is None for played in transcript.turns.values() for step in played.steps):
        return frozenset()
    arm = next(number for number, arm in enumerate(run.arms) if arm.name == transcript.arm)
    try:
        setup, settings = setup_of(run), settings_of(run)[arm]
    except RigError:
        # What the method needs for it is not here, or nobody said that it may be opened.
        return frozenset()
    path = setup.path(transcript.conversation, tuple(transcript.turns.values()), settings)
    leading = {id(step) for step in path or ()}
    return frozenset(
        StepPlace(turn, number)
        for turn, played in transcript.turns.items()
        for number, step in enumerate(played.steps)
        if id(step) in leading
    )


def folders_of(place: Path) -> list[Path]:
    """Where predictions are: the place itself, or the folders in it where it has no file of its own."""
    if not place.is_dir() or any(place.glob("*.json")):
        return [place]
    return sorted({path.parent for path in files_below(place)}) or [place]


def setup_for_files(
    place: Path,
    threshold: float | None = None,
    answers: Path | None = None,
    wanted: str | None = None,
    options: tuple[str, ...] = (),
    **given: Any,
) -> list[tuple[Method, Setup]]:
    """The method whose predictions are in these files, or the one `wanted`, ready as by default but for what
    is given: `options` are those that it alone knows, each as `NAME=VALUE`.

    Where methods share files there may be several; each gets the options that it knows. Raises RigError for
    one that none knows.
    """
    folder = place if wanted is not None else folders_of(place)[0]
    candidates = methods.of_results(folder, wanted)
    setups = []
    for method in candidates:
        option_names = {option.name for option in method.options}
        others = {option.name for each in candidates for option in each.options} - option_names
        own = tuple(option for option in options if option.partition("=")[0] not in others)
        setups.append((method, _ready(method, Options(models=(), set=own), threshold, answers, given)))
    return setups


def _ready(
    method: Method, options: Options, threshold: float | None, answers: Path | None, given: dict[str, Any]
) -> Setup:
    values = {name: several[0] for name, several in options.values(method).items()}
    for name, value in given.items():
        if value is None:
            continue
        if name not in values:
            raise RigError(f"--{name} has no effect on the method {method.name}; leave it out")
        values[name] = str(value) if isinstance(value, Path) else value
    if threshold is not None:
        if "similarity" not in values:
            raise RigError(f"--threshold has no effect on the method {method.name}; leave it out")
        values["similarity"] = str(Named.parse(values["similarity"]).at(threshold))
    setup = method.ready(values)
    return setup if answers is None else setup.adjudicated(answers)
