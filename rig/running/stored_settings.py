"""The settings that the arms of a stored run were played with."""

from collections.abc import Mapping
from typing import Any

from rig import methods
from rig.core import opening, registry
from rig.core.calls import StepPlace
from rig.core.errors import RigError
from rig.core.tasks import NO_PATH, AnswerPath
from rig.methods.base import Settings
from rig.running.planning import files_named, first_values, stored_config
from rig.store import StoredRun, Transcript


def settings_of(run: StoredRun) -> tuple[Settings, ...]:
    """Return the method's settings of every arm, from the run's options and the arm's fingerprint.

    Raises RigError for what the method does not know.
    """
    method = methods.get(run.declaration.method)
    stored = stored_config(run)
    require_files_named(run, files_named(stored, method))
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
        require_files_named(run, {name: value for name, value in of_arm.items() if name in opened})
    try:
        return tuple(method.settings({**values, **of_arm}) for of_arm in varied)
    except (RigError, ValueError, TypeError, KeyError) as error:
        raise RigError(f"run {run.id}: its settings are damaged: {error}") from error


def require_files_named(run: StoredRun, values: Mapping[str, Any]) -> None:
    """Raise RigError for files that a run names in these values and the user does not."""
    # What reads texts is loaded though only scores were asked for: not by the name that a stranger chose.
    models = () if opening.was_started_here(run.id, run.settings) else ("reader",)
    opening.require_named(run.id, values, registry.registered().toolboxes, models)


def path_of(run: StoredRun, transcript: Transcript) -> AnswerPath:
    """Return the steps that lead to the answer of a stored task, if it was a search."""
    if all(step.parent is None for played in transcript.turns.values() for step in played.steps):
        return NO_PATH
    arm = next(number for number, arm in enumerate(run.arms) if arm.name == transcript.arm)
    try:
        settings = settings_of(run)[arm]
    except RigError:
        # Something that the method needs is missing, or the user has not named it.
        return NO_PATH
    method, turns = methods.get(run.declaration.method), tuple(transcript.turns.values())
    path = method.path(transcript.conversation, turns, settings)
    leading = {id(step) for step in path.steps} if path else set()
    places = frozenset(
        StepPlace(turn, number)
        for turn, played in transcript.turns.items()
        for number, step in enumerate(played.steps)
        if id(step) in leading
    )
    return AnswerPath(places, path is not None and path.is_answered)
