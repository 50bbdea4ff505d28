"""What exactly an arm is, and whether a resumed arm is still the same."""

import json
from collections.abc import Mapping

from rig import __version__
from rig.calls import JsonObject
from rig.errors import RigError
from rig.models import Model
from rig.running.plan import Arm, Plan
from rig.store import StoredArm

_GRADER = "grader."


class Changed(RigError):
    """What is resumed is not what was started."""


def fingerprint_of(plan: Plan, arm: Arm, models: Mapping[str, Model]) -> JsonObject:
    """Everything that can change an answer of an arm or its score, by flat names."""
    parts = {
        "model.": models[plan.method.roles[0]].fingerprint,
        **{f"role.{role}.": models[role].fingerprint for role in arm.others},
        "protocol.": arm.settings.fingerprint,
        _GRADER: plan.setup.grader.fingerprint,
    }
    named = {f"{part}{name}": value for part, values in parts.items() for name, value in values.items()}
    fingerprint: JsonObject = json.loads(json.dumps({"rig": __version__, **plan.setup.fingerprint, **named}))
    return fingerprint


def require_same(arm: str, before: JsonObject | None, now: JsonObject) -> None:
    """Raise Changed where an arm would not give the answers that it gave, naming what differs."""
    if before is not None:
        _require_equal(arm, _answering(before), _answering(now))


def regraded(arm: StoredArm, plan: Plan) -> JsonObject | None:
    """An arm's fingerprint by the grader of today, None if that is the one that scored it.

    Scores never change an answer, so another version may go on with the run. Raises Changed for a grader of
    the same name and version that would score otherwise: nobody could tell their scores apart.
    """
    if arm.fingerprint is None or arm.grader is None:
        return None
    grading = {f"{_GRADER}{name}": value for name, value in plan.setup.grader.fingerprint.items()}
    now = json.loads(json.dumps({**_answering(arm.fingerprint), **grading}))
    if arm.grader == plan.grader:
        _require_equal(arm.name, arm.fingerprint, now)
        return None
    return dict(now)


def _answering(fingerprint: JsonObject) -> JsonObject:
    """The part that can change an answer."""
    return {name: value for name, value in fingerprint.items() if not name.startswith(_GRADER)}


def _require_equal(arm: str, before: JsonObject, now: JsonObject) -> None:
    names = sorted(name for name in before.keys() | now.keys() if before.get(name) != now.get(name))
    if names:
        changes = "; ".join(f"{name} was {before.get(name)!r}, is {now.get(name)!r}" for name in names)
        raise Changed(f"cannot resume {arm}: {changes}; make them equal or start a new run")
