"""Run a plan: choose each arm's next task, load its models, emit events, store every turn, and resume."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, fields, replace
from functools import partial
from time import perf_counter
from typing import Any

from rig.config.schemes import NO_WEIGHTS, Loader
from rig.core import events, registry
from rig.core.calls import JsonObject
from rig.core.errors import RigError
from rig.core.events import Emit, Where
from rig.core.meters import Costs
from rig.core.metrics import NO_REMARK, Remark
from rig.core.models import Model, OneByOne, OnRead, unheard
from rig.core.tasks import Task
from rig.methods.base import HarderSettings
from rig.running.bus import Bus
from rig.running.control import Control, Person, Stopped
from rig.running.courses import ArmSession, Clock, TaskCourse, drive
from rig.running.hooks import ArmHook, EndedArm
from rig.running.plan import Arm, Plan
from rig.running.stored_state import Changed, StoredState
from rig.running.strategy import Schedule, Scheduler, Visit
from rig.store import StoreError


@dataclass(slots=True)
class ModelPool:
    """Loads the models of arms, and closes those that no arm needs.

    `slots` is how many steps the earlier arms predicted at once; None if there were none.
    """

    plan: Plan
    control: Control
    notify: Callable[[str], None]
    slots: int | None
    loaded: dict[Loader, Model] = field(default_factory=dict)

    def load(
        self, arm: Arm, first: Task, before: JsonObject | None, on_read: OnRead = unheard
    ) -> dict[str, Model]:
        """Return an arm's models by role; those that it shares with the arm before are loaded already.

        Unless the number of steps that the first predicts at once is set, it is the one from before an
        interruption, or that of the earlier arms, so that the arms of a run differ only in what they are
        meant to. `before` is the fingerprint that the first had before the interruption. `on_read` hears how
        far they have read what all their prompts begin with.
        """
        method = self.plan.method
        evaluated = method.roles[0]
        model = self._loaded_by(arm.load)
        if arm.adapt is not None:
            arm.adapt(model)
        model.prepare(method.opening(first, arm.settings, evaluated), self.slots, before, on_read)
        if "n_seq" in model.fingerprint:
            self.slots = self.slots or model.slots
        models = {evaluated: model}
        for role, load in arm.others.items():
            models[role] = self._loaded_by(load)
            models[role].prepare(method.opening(first, arm.settings, role), model.slots, None, on_read)
        self.plan.setup.meet(models)
        return models

    def _loaded_by(self, load: Loader) -> Model:
        if load not in self.loaded:
            self.loaded[load] = model = load(self.notify)
            if isinstance(model, Person):
                model.join(self.control)
        return self.loaded[load]

    def check_room(self, arm: Arm, models: Mapping[str, Model], tasks: Sequence[Task]) -> None:
        """Raise RigError if none of the tasks can be played; notify if some cannot."""
        opening = self.plan.method.opening
        obstacles = [
            [model.obstacle(opening(task, arm.settings, role)) for role, model in models.items()]
            for task in tasks
        ]
        reasons = [reason for of_task in obstacles if (reason := next(filter(None, of_task), None))]
        calm = arm.settings.calm if isinstance(arm.settings, HarderSettings) else arm.settings
        is_harder = calm != arm.settings
        if len(reasons) == len(tasks):
            advice = " or turn its dials down" if is_harder else ""
            raise RigError(f"{arm.name}: no conversation can be played: {reasons[0]}{advice}")
        if reasons:
            note = f"{len(reasons)} of {len(tasks)} conversations cannot be played: {reasons[0]}"
            self.notify(f"{arm.name}: {note}")
        if is_harder:
            role, model = next(iter(models.items()))
            before, now = (model.room(opening(tasks[0], of, role)) for of in (calm, arm.settings))
            if before is not None and now is not None:
                self.notify(f"{arm.name}: its dials add {before - now:,} tokens to every prompt")

    def make_room(self, arm: Arm, coming: Sequence[Arm]) -> None:
        """Unload what an arm does not share, but keep models that come again in this run if memory allows."""
        is_roomy = bool(coming) and (arm.load in self.loaded or arm.weights.has_room())
        sharing = [arm, *(coming if is_roomy else ())]
        self.unload({load for other in sharing for load in (other.load, *other.others.values())})

    def drop(self, load: Loader) -> None:
        """Close one model, if it is loaded."""
        self.unload([other for other in self.loaded if other != load])

    def unload(self, kept: Collection[Loader] = ()) -> None:
        """Close the loaded models, except those to be kept."""
        for load in [load for load in self.loaded if load not in kept]:
            self.loaded.pop(load).close()


def run(plan: Plan, emit: Emit, control: Control, beside: Sequence[Emit] = ()) -> bool:
    """Run a plan, or what is left of it. Return False if something is left to be resumed.

    Its events go to those `beside`, and then to `emit`.

    Nothing is stored before a model is loaded. An arm that fails does not stop the others. Raises RigError
    when no arm can be loaded, when the store fails, or when an arm is not what it was when the run began.
    """
    with closing(StoredState(plan)) as state:
        if plan.resume:
            state.claim()
        with closing(_Loop(state, Bus((*beside, emit), control), control)) as loop:
            return loop.run()


class _Loop:
    """Goes through arms and their tasks in order: loads, plays, and emits events."""

    def __init__(self, state: StoredState, bus: Bus, control: Control) -> None:
        self.state = state
        self.plan: Plan = state.plan
        self.control = control
        self.bus = bus
        self.clock = Clock(self.plan, bus)
        self.is_skipping = False
        self.scheduler: Scheduler | None = None
        self._pool = ModelPool(self.plan, control, self._notify, state.slots())
        self._ended: set[int] = set()
        self._failures: dict[int, str] = {}

    def close(self) -> None:
        try:
            self._pool.unload()
        finally:
            if self.plan.place is not None:
                self.plan.place.disconnect()

    def run(self) -> bool:
        plan = self.plan
        self.bus.emit(self.state.started)
        self._notify(plan.notice or None)
        self._notify(plan.declaration.caution or None)
        self._notify(plan.shortfall or None)
        try:
            for position, left in self._visits():
                self._arm(position, left)
            is_whole = not self._failures and not self.is_skipping
        except Stopped:
            is_whole = False
        else:
            if self.state.writer is None:
                raise RigError("; ".join(dict.fromkeys(self._failures.values())))
            if is_whole:
                self.state.writer.finish()
                if self.scheduler and self.scheduler.is_complete:
                    quiet = replace(plan, caution=NO_REMARK).declaration
                    self.state.writer.set_remark(Remark(quiet.caution, quiet.decides))
        self.bus.emit(events.RunFinished(plan.run, interrupted=not is_whole))
        return is_whole

    def _notify(self, text: str | None) -> None:
        if text is not None:
            self.bus.emit(events.Notice(text))

    def _visits(self) -> Iterator[Visit]:
        """Yield which arm plays what next: all that is left of each, or what its schedule says."""
        if (schedule := self.plan.schedule) is not None:
            self.scheduler = self._begin(schedule)
            yield from self.scheduler.visits()
            # So the arms that were not played, and the first, end as well.
        for position in range(len(self.plan.arms)):
            if position not in self._ended:
                yield position, self.state.left(position) if self.scheduler is None else []

    def _begin(self, schedule: Schedule) -> Scheduler:
        """Return the verdicts so far, from what is stored, scored by the current grader."""
        state, positions = self.state, range(len(self.plan.arms))
        if self.plan.resume:
            for position in positions:
                self._notify(state.rescore(position))
            state.read()
        finished = (state.cells[where] for where in state.cells if state.is_finished(where))
        scheduler = schedule.begin(self.plan, finished)
        for position in positions:
            if state.failure(position) is not None:
                scheduler.failed(position)
        return scheduler

    def _arm(self, position: int, left: Sequence[tuple[Where, Task]]) -> None:
        """Play these tasks of an arm, which may have been played before and may come again."""
        totals, failure = self.state.totals(position), self.state.failure(position)
        if failure is not None:
            self._failures[position] = failure
        elif not left:
            self._notify(self.state.rescore(position))
        else:
            self.control.wait()
            self.bus.emit(events.ArmStarted(position))
            failure = self._attempt(self._play, position, left)
        if self.scheduler is None or not left or self.scheduler.is_over(position):
            if failure is None and self.state.is_ready(position):
                failure = self._attempt(self._run_hooks, position)
            self._ended.add(position)
            decided = self.scheduler.decided(position) if self.scheduler else None
            if decided and self.state.writer:
                self.state.writer.note(position, "decided", decided)
            ended = totals.counts, totals.speed, dict(totals.errors), failure, decided
            self.bus.emit(events.ArmFinished(position, *ended))

    def _attempt(self, do: Callable[..., None], position: int, *more: Any) -> str | None:
        """Do something with an arm. Return why the arm failed, if it did."""
        try:
            do(position, *more)
        except (StoreError, Changed):
            raise
        except (RigError, MemoryError) as error:
            # What failed may fail the next arm too, unless that one loads it again.
            self._pool.unload()
            self._failures[position] = str(error) or "out of memory"
            # Where an arm's failure is shown the arm is named, as messages about a server name its address.
            failure = self._failures[position].removeprefix(f"{self.plan.arms[position].name}: ")
            if self.state.writer is not None:
                self.state.writer.note(position, "failure", failure)
            if self.scheduler:
                self.scheduler.failed(position)
            return failure
        return None

    def _play(self, position: int, left: Sequence[tuple[Where, Task]]) -> None:
        """Load an arm's models, and play tasks with them, as many at once as they have slots."""
        state = self.state
        totals = state.totals(position)
        self.clock.begin_arm(Costs(**{part.name: getattr(totals.speed, part.name) for part in fields(Costs)}))
        began = perf_counter()
        arm, *following = self.plan.arms[position:]
        # What may be played again in this run.
        again = [] if self.scheduler is None or self.plan.place else list(self.plan.arms)
        coming_again = [other for place, other in enumerate(again) if place not in self._ended]
        with arm.weights.kept():
            self._pool.make_room(arm, coming_again)
            before = state.model_fingerprint(position)
            models = self._pool.load(arm, left[0][1], before, partial(self._read, position))
            if not state.is_ready(position):
                self._pool.check_room(arm, models, [task for _, task in state.left(position)])
        seconds = perf_counter() - began
        self.clock.measure(models.values())
        writer, fingerprint = state.ready(position, models, seconds, self._failures)
        self.bus.emit(events.ArmReady(position, events.ArmInfo(arm.name, fingerprint), seconds))
        self._notify(state.set_aside(position, writer))
        self._notify(state.rescore(position))
        coming = next((other.weights for other in following if other.weights != arm.weights), NO_WEIGHTS)
        with coming.read_ahead():
            evaluated = models[self.plan.method.roles[0]]
            # A model that answers at once takes on as many steps as there are.
            others = (model for model in models.values() if not isinstance(model, OneByOne))
            slots = min([evaluated.slots, *(model.slots for model in others)])
            session = ArmSession(
                state, self.control, self.clock, self.bus, self.scheduler, models, writer, totals
            )
            self.clock.begin_turn()
            ordered = left if self.scheduler else self._by_tools(arm, left)
            courses = [TaskCourse(session, where, task) for where, task in ordered]
            drive(courses, models, slots, self.control, self.clock.begin_turn)
            self.is_skipping |= session.has_skipped

    def _by_tools(self, arm: Arm, left: Iterable[tuple[Where, Task]]) -> Sequence[tuple[Where, Task]]:
        """Put tasks of a repeat side by side that offer the same tools, so that these are read once."""
        method, groups = self.plan.method, dict[tuple[str, ...], int]()

        def place(item: tuple[Where, Task]) -> tuple[int, int]:
            where, task = item
            tools = method.opening(task, arm.settings, method.roles[0]).tools
            return where.repeat, groups.setdefault(tuple(tool.name for tool in tools), len(groups))

        return sorted(left, key=place)

    def _read(self, position: int, read: int, prompt: int) -> None:
        """Say how far an arm has read what all its prompts begin with. Raises Stopped if asked to stop."""
        self.control.check()
        self.bus.emit(events.PromptRead(position, read, prompt))

    def _run_hooks(self, position: int) -> None:
        """Do what plugins do with an arm that has been played, and store their notes."""
        writer, played = self.state.writer, EndedArm(self.state, position, self._model, self._drop)
        assert writer is not None
        hooks: Iterable[ArmHook] = registry.registered().hooks.values()
        for hook in hooks:
            if (note := hook.after(played)) is not None:
                writer.add_note(position, hook.name, note)
                self.bus.emit(events.EvidenceMoved(position, note["text"], note))

    def _model(self, position: int) -> Model:
        """Return the evaluated model of an arm; it is loaded if it is not."""
        arm, before = self.plan.arms[position], self.state.model_fingerprint(position)
        if arm.load in self._pool.loaded:
            return self._pool.loaded[arm.load]
        return self._pool.load(arm, self.plan.tasks[0], before)[self.plan.method.roles[0]]

    def _drop(self, position: int) -> None:
        self._pool.drop(self.plan.arms[position].load)
