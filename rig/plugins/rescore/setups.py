"""Prepare a method again, as a stored run had it or for predictions in files."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rig import methods
from rig.config.options import RunConfig
from rig.core import opening, registry
from rig.core.calls import StepPlace
from rig.core.errors import RigError
from rig.core.files import files_below
from rig.core.tasks import NO_PATH, AnswerPath, Step
from rig.methods.base import Method, Settings, Setup
from rig.plugins.solutions.solution import FINISH, GIVE_ANSWER
from rig.running.planning import files_named, first_values, stored_config
from rig.store import StoredRun, Transcript


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
    _require_named(run, {name: values for name, values in files.items() if changes.get(name) is None})
    return _ready(method, stored, answers, changes)


def settings_of(run: StoredRun) -> tuple[Settings, ...]:
    """Return the method's settings of every arm, from the run's options and the arm's fingerprint.

    Raises RigError for what the method does not know.
    """
    method = methods.get(run.declaration.method)
    stored = stored_config(run)
    _require_named(run, files_named(stored, method))
    values = first_values(stored, method)
    varied = [
        {
            option.name: (arm.fingerprint or {}).get(
                f"protocol.{option.key or option.name}",
                # A fingerprint has nothing of a dial that is not turned.
                option.default if option.commas and arm.fingerprint else values[option.name],
            )
            for option in method.options
            if option.several
        }
        for arm in run.arms
    ]
    opened = {option.name for option in method.options if option.opens}
    for of_arm in varied:
        _require_named(run, {name: value for name, value in of_arm.items() if name in opened})
    try:
        return tuple(method.settings({**values, **of_arm}) for of_arm in varied)
    except (RigError, ValueError, TypeError, KeyError) as error:
        raise RigError(f"run {run.id}: its settings are damaged: {error}") from error


def _require_named(run: StoredRun, values: Mapping[str, Any]) -> None:
    # What reads texts is loaded though only scores were asked for: not by the name that a stranger chose.
    models = () if opening.was_started_here(run.id, run.settings) else ("reader",)
    opening.require_named(run.id, values, registry.registered().toolboxes, models)


def places_of_path(run: StoredRun, transcript: Transcript) -> AnswerPath:
    """Return the steps that lead to the answer of a stored task, if it was a search."""
    if all(step.parent is None for played in transcript.turns.values() for step in played.steps):
        return NO_PATH
    arm = next(number for number, arm in enumerate(run.arms) if arm.name == transcript.arm)
    try:
        setup, settings = setup_of(run), settings_of(run)[arm]
    except RigError:
        # Something that the method needs is missing, or the user has not named it.
        return NO_PATH
    path = setup.path(transcript.conversation, tuple(transcript.turns.values()), settings)
    leading = {id(step) for step in path or ()}
    places = frozenset(
        StepPlace(turn, number)
        for turn, played in transcript.turns.items()
        for number, step in enumerate(played.steps)
        if id(step) in leading
    )
    return AnswerPath(places, path is not None and len(path) > 0 and _is_answer(path[-1]))


def _is_answer(step: Step) -> bool:
    """Whether a step of a search gives an answer that counts."""
    call, executed = step.prediction.call, step.executed
    if call is None or call.name != FINISH or not isinstance(call.arguments, dict):
        return False
    is_refused = executed is not None and executed.exception is not None
    return call.arguments.get("return_type") == GIVE_ANSWER and not is_refused


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
    candidates = methods.of_results(folder, name)
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
