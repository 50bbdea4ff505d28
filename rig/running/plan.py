"""What a run will do, decided and checked before anything is stored."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from rig.calls import JsonObject
from rig.errors import RigError
from rig.methods.base import Method, Settings, Setup
from rig.metrics import NO_REMARK, Declaration, Remark
from rig.models import Model, Notify
from rig.store import GraderInfo, NewRun
from rig.tasks import Task

Loader: TypeAlias = Callable[[Notify], Model]
"""Loads a model when its turn comes, with whom to tell what a person should know. Raises RigError."""


@dataclass(frozen=True, slots=True)
class Arm:
    """A model to evaluate, how tasks are put to it, and who plays the other roles.

    Arms that follow one another and have the very same `load` share what it loads; `others` likewise. What of
    a loaded model is one arm's alone, `adapt` sets before the arm's first task. It may raise RigError.
    `file` is what is loaded, if it is a file: arms that follow one another share its weights.
    """

    name: str
    load: Loader
    settings: Settings
    adapt: Callable[[Model], None] | None = None
    others: Mapping[str, Loader] = field(default_factory=dict)
    file: Path | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """All that a run needs.

    `recipe` is stored, so that the run can be planned again. With `resume` the run is in the store already:
    its arms that failed are tried again, with `retry_failed` also turns that failed by the machine, and if
    that is False not even arms. With `until` arms are played until it is clear whether they lose so much, a
    fraction, against the first; the tasks are in a random order then. `caution` has to be said wherever the
    run's rates are printed, `faults` are lines on tasks that could not be read and are left out.
    `is_elsewhere`: the models are on other machines, so that no time measured here says what they took.
    """

    run: str
    store: Path
    arms: tuple[Arm, ...]
    tasks: tuple[Task, ...]
    method: Method
    setup: Setup
    name: str | None = None
    repeats: int = 1
    recipe: JsonObject = field(default_factory=dict)
    resume: bool = False
    retry_failed: bool | None = None
    caution: Remark = NO_REMARK
    faults: tuple[str, ...] = ()
    until: float | None = None
    is_elsewhere: bool = False

    @property
    def declaration(self) -> Declaration:
        """What is counted, and what must be said about it."""
        return self.method.declaration_of(self.tasks).cautioned(self.caution)

    @property
    def grader(self) -> GraderInfo:
        """Who scores, as the store keeps it."""
        return GraderInfo.of(self.setup.grader)

    def check(self) -> None:
        """Raise RigError if a task cannot be played with an arm's settings, or cannot be stored."""
        if self.until is not None and len(self.arms) < 2:
            raise RigError("--until verdict compares arms with the first; give a second model or setting")
        if self.until is not None and self.declaration.success_metric is None:
            raise RigError(f"--until verdict: the method {self.method.name} does not say what succeeds")
        distinct = dict.fromkeys(arm.settings for arm in self.arms)
        for task in self.tasks:
            try:
                json.dumps(task.source, ensure_ascii=False, allow_nan=False).encode()
            except UnicodeEncodeError as error:
                raise RigError(f"{task.name!a}: holds text that is not Unicode: {error}") from error
            except ValueError as error:
                # Python reads NaN and Infinity from a file; what is stored must be readable by others.
                raise RigError(f"{task.name}: holds a number that is not JSON: {error}") from error
            for settings in distinct:
                self.setup.check(task, settings)

    def as_new_run(self) -> NewRun:
        """What the store records about the run at its beginning."""
        return NewRun(
            id=self.run,
            name=self.name,
            settings=self.recipe,
            arms=tuple(arm.name for arm in self.arms),
            conversations=self.tasks,
            declaration=self.declaration,
            repeats=self.repeats,
        )
