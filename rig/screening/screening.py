"""Take several models through the true course of conversations, one model after another."""

import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from rig.calls import Call, JsonObject
from rig.engine.core.assessment import Assessment
from rig.engine.core.settings import EngineSettings
from rig.engine.files.registry import ResolvedModel
from rig.errors import RigError
from rig.methods.base import Method, Settings, Setup
from rig.models import Notify
from rig.screening.ground_truth import TrueStep, knowing, true_steps
from rig.screening.results import ArmScreen, Screen, ScreenedStep, StepKey
from rig.screening.rows import Place, Rows, Values, divergence
from rig.tasks import Task

if TYPE_CHECKING:
    from rig.engine.forcing.teacher import Teacher

Progress = Callable[[str, int, int], None]
"""Told the model's name and how many conversations of how many it is through."""


@dataclass(frozen=True, slots=True)
class Screening:
    """What is to be screened, and how the models are asked: as in a run with these settings."""

    models: tuple[ResolvedModel, ...]
    method: Method
    tasks: tuple[Task, ...]
    setup: Setup
    settings: Settings
    engine: EngineSettings


def screen(request: Screening, notify: Notify, progress: Progress) -> Screen:
    """Screen the models; the first is the base that the others are compared with.

    A model that fails does not stop the others. Raises RigError when the base fails, and for conversations
    that could not be run either.
    """
    steps = _steps(request)
    arms: list[ArmScreen] = []
    with Rows() as rows:
        base: _Base | None = None
        for model, name in zip(request.models, _names(request.models), strict=True):
            try:
                arm, vocabulary = _arm(model, name, request, steps, base, rows, notify, progress)
            except (RigError, MemoryError) as error:
                if base is None:
                    raise
                failure = str(error) or "out of memory"
                notify(f"{name}: {failure}")
                arms.append(ArmScreen(name, {}, (), 0.0, failure=failure))
                continue
            base = base or _Base(vocabulary, {step.key: step.assessment for step in arm.steps})
            arms.append(arm)
        return Screen(
            tuple(arms),
            tuple(steps),
            {"protocol": request.settings.fingerprint},
        )


@dataclass(frozen=True, slots=True)
class _Base:
    """What the others need from the first model to compare with it, besides its rows."""

    vocabulary: str
    assessments: dict[StepKey, Assessment]


def _names(models: Sequence[ResolvedModel]) -> list[str]:
    """A name for each, as runs name their arms."""
    names: list[str] = []
    for model in models:
        name = stem = model.name.encode("utf-8", "backslashreplace").decode()
        number = 2
        while name in names:
            name, number = f"{stem}-{number}", number + 1
        names.append(name)
    return names


def _steps(request: Screening) -> dict[str, list[TrueStep]]:
    players = knowing(request.method, request.tasks)
    play = partial(
        true_steps, request.setup, request.settings, evaluated=request.method.roles[0], players=players
    )
    return {task.name: list(play(task)) for task in request.tasks}


def _arm(
    model: ResolvedModel,
    name: str,
    request: Screening,
    steps: dict[str, list[TrueStep]],
    base: _Base | None,
    rows: Rows,
    notify: Notify,
    progress: Progress,
) -> tuple[ArmScreen, str]:
    """One model, and the name of its vocabulary."""
    began = time.perf_counter()
    with closing(_teacher(model, request, notify)) as teacher:
        vocabulary = teacher.vocabulary
        is_comparable = base is not None and base.vocabulary == vocabulary
        screened: list[ScreenedStep] = []
        for number, (conversation, truths) in enumerate(steps.items()):
            progress(name, number, len(steps))
            for truth in truths:
                key = StepKey(conversation, truth.request.key.turn, truth.request.key.step)
                before = base.assessments.get(key) if base and is_comparable else None
                against = _Against(key, rows, before)
                listen = against.keep if base is None else against.take
                assessed = teacher.assess(truth.request, truth.answer, listen)
                tool = truth.answer.name if isinstance(truth.answer, Call) else None
                screened.append(ScreenedStep(key, truth.number, tool, assessed, *against.result(assessed)))
        progress(name, len(steps), len(steps))
        fingerprint = teacher.fingerprint
        remarks = (
            ("its vocabulary differs from the base's, so their distributions cannot be compared",)
            if base is not None and not is_comparable
            else ()
        )
        for remark in remarks:
            notify(f"{name}: {remark}")
        arm = ArmScreen(
            name,
            fingerprint,
            tuple(screened),
            time.perf_counter() - began,
            made_from=_made_from(fingerprint),
            remarks=remarks,
        )
        return arm, vocabulary


def _teacher(model: ResolvedModel, request: Screening, notify: Notify) -> "Teacher":
    # Kept from the other verbs: this loads llama.cpp.
    from rig.engine.forcing.teacher import Teacher

    engine = replace(request.engine, parallel=1)
    return Teacher(model.path, engine, model.base, notify, model.adapter)


class _Against:
    """Compares a model's choices in one step with those of the base as they come."""

    def __init__(self, key: StepKey, rows: Rows, before: Assessment | None) -> None:
        self._key = key
        self._rows = rows
        self._before = before if before is not None and before.fault is None else None
        self._divergences: list[float] = []
        self._tops: list[int] = []

    def keep(self, number: int, values: Values) -> None:
        """Keep what the base model itself makes of a choice."""
        self._rows.keep(Place(*self._key, number), values)

    def take(self, number: int, values: Values) -> None:
        """Compare what another model makes of a choice."""
        if self._before is None:
            return
        kept = self._rows.get(Place(*self._key, number))
        if kept is None or len(kept) != len(values):
            self._before = None  # another path through the grammar
            return
        self._divergences.append(divergence(kept, values))
        self._tops.append(int(np.argmax(kept)) == int(np.argmax(values)))

    def result(self, assessed: Assessment) -> tuple[tuple[float, ...], tuple[bool, ...]]:
        before = self._before
        if before is None or assessed.fault is not None:
            return (), ()
        if [choice.token for choice in before.choices] != [choice.token for choice in assessed.choices]:
            return (), ()
        return tuple(self._divergences), tuple(map(bool, self._tops))


def _made_from(fingerprint: JsonObject) -> str | None:
    origin = fingerprint.get("made_from")
    if not isinstance(origin, dict):
        return None
    types = ", ".join(f"{count} {kind}" for kind, count in fingerprint["tensor_types"].items())
    return f"{origin['note']}; {types}"
