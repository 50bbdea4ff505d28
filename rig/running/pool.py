"""The models of a run that are loaded: arms that load the same share it, and memory decides what stays."""

from collections.abc import Callable, Collection, Mapping, Sequence

from rig import engine
from rig.calls import JsonObject
from rig.errors import RigError
from rig.models import Model
from rig.running.control import Control
from rig.running.person import Person
from rig.running.plan import Arm, Loader, Plan
from rig.tasks import Task


class ModelPool:
    """Loads the models of arms, and closes those that no arm needs."""

    def __init__(
        self, plan: Plan, control: Control, notify: Callable[[str], None], slots: int | None
    ) -> None:
        """`slots` are the steps that the arms before predicted at once, None if there were none."""
        self._plan = plan
        self._control = control
        self._notify = notify
        self._slots = slots
        self._loaded: dict[Loader, Model] = {}

    def load(self, arm: Arm, first: Task, before: JsonObject | None) -> dict[str, Model]:
        """An arm's models by role: those that are loaded already if the arm before shared them.

        Where nobody says how many steps the first predicts at once, it is as many as when the run was
        interrupted, or as in the arms before, so that the arms of a run differ in what they are to differ in
        alone. `before` is the fingerprint that the first had then.
        """
        method = self._plan.method
        evaluated = method.roles[0]
        model = self._loaded_by(arm.load)
        if arm.adapt is not None:
            arm.adapt(model)
        model.prepare(method.opening(first, arm.settings, evaluated), self._slots, before)
        if "n_seq" in model.fingerprint:
            self._slots = self._slots or model.slots
        models = {evaluated: model}
        for role, load in arm.others.items():
            models[role] = self._loaded_by(load)
            models[role].prepare(method.opening(first, arm.settings, role), model.slots)
        self._plan.setup.meet(models)
        return models

    def _loaded_by(self, load: Loader) -> Model:
        if load not in self._loaded:
            self._loaded[load] = model = load(self._notify)
            if isinstance(model, Person):
                model.join(self._control)
        return self._loaded[load]

    def check_room(self, arm: Arm, models: Mapping[str, Model], tasks: Sequence[Task]) -> None:
        """Raise RigError where none of the tasks can be played, say so where some cannot."""
        opening = self._plan.method.opening
        obstacles = [
            [model.obstacle(opening(task, arm.settings, role)) for role, model in models.items()]
            for task in tasks
        ]
        reasons = [reason for of_task in obstacles if (reason := next(filter(None, of_task), None))]
        if len(reasons) == len(tasks):
            raise RigError(f"{arm.name}: no conversation can be played: {reasons[0]}")
        if reasons:
            note = f"{len(reasons)} of {len(tasks)} conversations cannot be played: {reasons[0]}"
            self._notify(f"{arm.name}: {note}")

    def make_room(self, arm: Arm, coming: Sequence[Arm]) -> None:
        """Unload what an arm does not share; as far as memory allows, not what comes again in this run."""
        is_roomy = bool(coming) and (arm.load in self._loaded or engine.has_room(arm.file))
        sharing = [arm, *(coming if is_roomy else ())]
        self.unload({load for other in sharing for load in (other.load, *other.others.values())})

    def unload(self, kept: Collection[Loader] = ()) -> None:
        """Close the models that are loaded, but for those to be kept."""
        for load in [load for load in self._loaded if load not in kept]:
            self._loaded.pop(load).close()
