"""Runs: which task next, on which arm. Emits what happens, stores every turn, resumes."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import fields, replace
from time import perf_counter, process_time

from rig import cluster, engine, opening
from rig.calls import JsonObject
from rig.episodes import PlayedTurn
from rig.errors import RigError
from rig.events import (
    ArmFinished,
    ArmInfo,
    ArmReady,
    ArmStarted,
    ConversationInfo,
    ConversationSkipped,
    Emit,
    Event,
    Notice,
    PersonAsked,
    RunFinished,
    RunStarted,
    Where,
)
from rig.meters import CostMeter, Costs
from rig.methods.episode import Ask, Episode
from rig.metrics import NO_REMARK, Counts, total
from rig.models import Drafting, Model, OneByOne, Sibling
from rig.running.control import Control, Stopped
from rig.running.courses import TaskCourse
from rig.running.deciding import Deciding, Visit
from rig.running.drive import drive
from rig.running.fingerprints import Changed, fingerprint_of, of_model, regraded, require_same
from rig.running.person import Person
from rig.running.plan import Arm, Loader, Plan
from rig.running.totals import Totals
from rig.store import (
    OWN,
    Cell,
    ConversationScore,
    FailedTurn,
    GraderInfo,
    Runs,
    RunWriter,
    StoredRun,
    StoreError,
)
from rig.tasks import Task
from rig.words import counted


def run(plan: Plan, emit: Emit, control: Control) -> bool:
    """Run a plan, or what is left of it. False when something is left to be resumed.

    Nothing is stored before a model is loaded. An arm that fails does not stop the others. Raises RigError
    when no arm can be loaded, when the store fails, or when an arm is not what it was when the run began.
    """
    with closing(_Run(plan, emit, control)) as current:
        return current.run()


class _Run:
    """A run under way. It has no writer until there is something to store."""

    def __init__(self, plan: Plan, emit: Emit, control: Control) -> None:
        self._plan = plan
        self._listener = emit
        self._display_s = 0.0
        self.control = control
        self._writer: RunWriter | None = None
        self._loaded: dict[Loader, Model] = {}
        self._stored: StoredRun | None = None
        self._cells: dict[Where, Cell] = {}
        self._again: dict[Where, FailedTurn] = {}
        self._totals: dict[int, Totals] = {}
        self._fingerprints: dict[int, JsonObject] = {}
        self._load_s: dict[int, float] = defaultdict(float)
        self._rescored: set[int] = set()
        self._ended: set[int] = set()
        self._deciding: Deciding | None = None
        self._failures: dict[int, str] = {}
        self._skipped = False
        self._people: set[str] = set()
        self._uses_siblings = False
        self.grader: GraderInfo = plan.grader
        self._slots: int | None = None
        self._costs = Costs()
        self._meters: CostMeter | None = None
        self._since = self._cpu_since = 0.0

    def close(self) -> None:
        try:
            self._unload(set())
        finally:
            if self._writer is not None:
                self._writer.close()
            if self._plan.is_elsewhere:
                cluster.disconnect()

    def emit(self, event: Event) -> None:
        clock = perf_counter()
        self._listener(event)
        self._display_s += perf_counter() - clock

    def emit_unless_stopped(self, event: Event) -> None:
        """Within a turn: raises Stopped, through the model or the method, to abandon the turn."""
        self.control.check()
        self.emit(event)

    def run(self) -> bool:
        plan = self._plan
        if plan.resume:
            self._writer = RunWriter.claim(plan.store, plan.run)
            self._read_stored()
            self._remind()
        self.emit(self._started())
        if plan.caution.text:
            self.emit(Notice(plan.caution.text))
        try:
            for position, left in self._visits():
                self._arm(position, left)
            is_whole = not self._failures and not self._skipped
        except Stopped:
            is_whole = False
        else:
            if self._writer is None:
                raise RigError("; ".join(dict.fromkeys(self._failures.values())))
            if is_whole:
                self._writer.finish()
                if self._deciding and self._deciding.is_complete:
                    self._writer.caution(plan.declaration.cautioned(NO_REMARK))
        self.emit(RunFinished(plan.run, interrupted=not is_whole))
        return is_whole

    def _read_stored(self) -> None:
        """Take in what the store holds of the run."""
        with Runs.open(self._plan.store, OWN) as runs:
            self._stored = runs.get(self._plan.run)
            cells = runs.cells(self._stored)
            self._cells = {Where(cell.arm, cell.conversation, cell.repeat): cell for cell in cells}
            self._again = runs.failed_turns(self._stored) if self._plan.retry_failed else {}

    def _remind(self) -> None:
        """Tell a setup that remembers what was played of each task before."""
        tasks = {task.name: task for task in self._plan.tasks}
        for where in self._cells if self._plan.setup.remembers else ():
            again = self._again.get(where)
            # What is played again is not to be known from when it failed.
            kept = [each for each in self.played(where) if again is None or each.turn < again.turn]
            self._plan.setup.remember(tasks[where.conversation], kept)

    def _started(self) -> RunStarted:
        plan, stored = self._plan, self._stored
        known = [arm.fingerprint or {} for arm in stored.arms] if stored else [{} for _ in plan.arms]
        anew = sum(failed.turns for failed in self._again.values())
        return RunStarted(
            run=plan.run,
            store=str(plan.store),
            arms=tuple(ArmInfo(arm.name, known[position]) for position, arm in enumerate(plan.arms)),
            conversations=tuple(
                ConversationInfo(task.name, len(task.known_turns), task.ground_truth_count, task.known_turns)
                for task in plan.tasks
            ),
            repeats=plan.repeats,
            finished_turns=stored.turns_done - anew if stored else 0,
            finished_conversations=sum(map(self._is_finished, self._cells)),
            declaration=plan.declaration,
        )

    def _visits(self) -> Iterator[Visit]:
        """Which arm plays what next: each all that is left of it, or blocks by turns until a verdict."""
        if self._plan.until is not None:
            self._deciding = self._begin_deciding(self._plan.until)
            yield from self._deciding.visits()
            # So the arms that were not played, and the first, end as well.
        for position in range(len(self._plan.arms)):
            if position not in self._ended:
                yield position, self._left(position) if self._deciding is None else []

    def _begin_deciding(self, size: float) -> Deciding:
        """What the store says already, by the grader of today."""
        if self._stored:
            for position in range(len(self._plan.arms)):
                self._rescore(position)
            self._read_stored()
        deciding = Deciding(self._plan, size, (self._cells[w] for w in self._cells if self._is_finished(w)))
        for position in range(len(self._plan.arms)):
            if self._left_failed(position) is not None:
                deciding.failed(position)
        return deciding

    def _left(self, position: int) -> list[tuple[Where, Task]]:
        return [
            (where, task)
            for repeat in range(self._plan.repeats)
            for task in self._plan.tasks
            if not self._is_finished(where := Where(position, task.name, repeat))
        ]

    def _arm(self, position: int, left: Sequence[tuple[Where, Task]]) -> None:
        """Play this of an arm, which may have been here before and may come again."""
        totals, failure = self._totals_of(position), self._left_failed(position)
        if failure is not None:
            self._failures[position] = failure
        elif not left:
            self._rescore(position)
        else:
            self.control.wait()
            self.emit(ArmStarted(position))
            self._costs = Costs(**{part.name: getattr(totals.speed, part.name) for part in fields(Costs)})
            self._display_s, self._meters = 0.0, CostMeter()
            clock = perf_counter()
            arm, *following = self._plan.arms[position:]
            try:
                with engine.keeping(arm.file):
                    self._make_room(arm)
                    models = self._load(position, left[0][1])
                writer = self._ready(position, models, perf_counter() - clock)
                self._set_aside(position, writer)
                self._rescore(position)
                coming = next((each.file for each in following if each.file != arm.file), None)
                with engine.reading_ahead(coming):
                    self._play(left, models, writer, totals)
            except (StoreError, Changed):
                raise
            except (RigError, MemoryError) as error:
                # What failed may fail the next arm too, unless that one loads it again.
                self._unload(set())
                failure = self._failures[position] = str(error) or "out of memory"
                if self._writer is not None:
                    self._writer.arm_failed(position, failure)
                if self._deciding:
                    self._deciding.failed(position)
        if self._deciding is None or not left or self._deciding.is_over(position):
            self._ended.add(position)
            decided = self._deciding.decided(position) if self._deciding else None
            if decided and self._writer:
                self._writer.arm_decided(position, decided)
            ended = totals.counts, totals.speed, dict(totals.errors), failure, decided
            self.emit(ArmFinished(position, *ended))

    def _totals_of(self, position: int) -> Totals:
        if position not in self._totals:
            self._totals[position] = self._stored_totals(position)
        return self._totals[position]

    def _stored_totals(self, position: int) -> Totals:
        """What is stored of an arm."""
        if self._stored is None:
            return Totals()
        stored = self._stored.arms[position]
        return Totals(stored.counts, stored.speed, Counter(stored.errors))

    def _left_failed(self, position: int) -> str | None:
        """Why an arm failed before, if it is to be left at that."""
        is_left = self._stored is not None and self._plan.retry_failed is False
        return self._stored.arms[position].failure if is_left and self._stored else None

    def _set_aside(self, position: int, writer: RunWriter) -> None:
        """Make room for the turns of an arm that are played again, now that its model is loaded."""
        failed = {where: each.turn for where, each in self._again.items() if where.arm == position}
        if not failed:
            return
        turns = sum(self._again[where].turns for where in failed)
        writer.set_aside(failed)
        self._read_stored()
        totals, again = self._totals_of(position), self._stored_totals(position)
        totals.counts, totals.speed, totals.errors = again.counts, again.speed, again.errors
        what = f"{counted(turns, 'turn')} of {counted(len(failed), 'conversation')}"
        self.emit(Notice(f"{self._plan.arms[position].name}: playing {what} again"))

    def _load(self, position: int, first: Task) -> dict[str, Model]:
        """The arm's models by role: those that are loaded already if the arm before shared them.

        Where nobody says how many steps the first predicts at once, it is as many as when the run was
        interrupted, or as in the arms before, so that the arms of a run differ in what they are to differ in
        alone.
        """
        arm = self._plan.arms[position]
        evaluated = self._plan.method.roles[0]
        model = self._loaded_by(arm.load)
        if arm.adapt is not None:
            arm.adapt(model)
        if self._slots is None and self._stored:
            known = [each.fingerprint or {} for each in self._stored.arms]
            self._slots = next((each["model.n_seq"] for each in known if "model.n_seq" in each), None)
        method = self._plan.method
        before = of_model(self._fingerprint(position) or {})
        model.prepare(method.opening(first, arm.settings, evaluated), self._slots, before)
        if "n_seq" in model.fingerprint:
            self._slots = self._slots or model.slots
        models = {evaluated: model}
        for role, load in arm.others.items():
            models[role] = self._loaded_by(load)
            models[role].prepare(method.opening(first, arm.settings, role), model.slots)
        self._plan.setup.meet(models)
        if position not in self._fingerprints:
            self._check_room(position, models, [task for _, task in self._left(position)])
        return models

    def _fingerprint(self, position: int) -> JsonObject | None:
        """What the arm was when it was played last, None before."""
        stored = self._stored.arms[position].fingerprint if self._stored else None
        return self._fingerprints.get(position, stored)

    def _check_room(self, position: int, models: Mapping[str, Model], tasks: Sequence[Task]) -> None:
        """Raise RigError where none of the tasks can be played, say so where some cannot."""
        arm = self._plan.arms[position]
        openings = [
            [(model, self._plan.method.opening(task, arm.settings, role)) for role, model in models.items()]
            for task in tasks
        ]
        obstacles = [[model.obstacle(opening) for model, opening in each] for each in openings]
        found = [reason for each in obstacles if (reason := next(filter(None, each), None))]
        if len(found) == len(tasks):
            raise RigError(f"{arm.name}: no conversation can be played: {found[0]}")
        if found:
            note = f"{len(found)} of {len(tasks)} conversations cannot be played: {found[0]}"
            self.emit(Notice(f"{arm.name}: {note}"))

    def _loaded_by(self, load: Loader) -> Model:
        if load not in self._loaded:
            self._loaded[load] = model = load(lambda text: self.emit(Notice(text)))
            if isinstance(model, Person):
                model.join(self.control)
        return self._loaded[load]

    def _make_room(self, arm: Arm) -> None:
        """Unload what an arm does not share; as far as memory allows, not what comes again in this run."""
        sharing = [arm]
        comes_again = self._deciding is not None and not self._plan.is_elsewhere
        if comes_again and (arm.load in self._loaded or engine.has_room(arm.file)):
            sharing += [each for place, each in enumerate(self._plan.arms) if place not in self._ended]
        self._unload({load for each in sharing for load in (each.load, *each.others.values())})

    def _unload(self, kept: Collection[Loader]) -> None:
        """Close the models that are loaded, but for those to be kept."""
        for load in [load for load in self._loaded if load not in kept]:
            self._loaded.pop(load).close()

    def _is_finished(self, where: Where) -> bool:
        """Whether nothing of a task is left to be played."""
        is_over = where in self._cells and self._cells[where].state == "finished"
        return is_over and where not in self._again

    def _ready(self, position: int, models: Mapping[str, Model], seconds: float) -> RunWriter:
        """Store what exactly the arm is; for the first arm that can be loaded, store the run."""
        plan = self._plan
        arm = plan.arms[position]
        fingerprint = fingerprint_of(plan, arm, models)
        require_same(arm.name, self._fingerprint(position), fingerprint)
        self._fingerprints[position] = fingerprint
        self._load_s[position] += seconds
        if self._writer is None:
            self._writer = RunWriter.create(plan.store, plan.as_new_run())
            opening.note_started(plan.run, plan.recipe)
            for failed, failure in self._failures.items():
                self._writer.arm_failed(failed, failure)
        self._writer.arm_ready(position, fingerprint, self._load_s[position])
        self.emit(ArmReady(position, ArmInfo(arm.name, fingerprint), seconds))
        return self._writer

    def _rescore(self, position: int) -> None:
        """Score an arm's finished tasks again where another version of the grader scored them.

        Those that an earlier start of the run left.
        """
        arm = self._stored.arms[position] if self._stored else None
        fingerprint = regraded(arm, self._plan) if arm else None
        if arm is None or arm.grader is None or fingerprint is None or position in self._rescored:
            return
        self._rescored.add(position)
        settings = self._plan.arms[position].settings
        setup, tasks = self._plan.setup, {task.name: task for task in self._plan.tasks}
        scores = {
            where: ConversationScore(
                self.grader, setup.score(tasks[where.conversation], self.played(where), settings)
            )
            for where in self._cells
            if where.arm == position and self._is_finished(where)
        }
        assert self._writer is not None
        self._writer.rescore(position, fingerprint, scores)
        self._totals_of(position).counts = total(each.counts for each in scores.values())
        self.emit(
            Notice(
                f"{arm.name}: what was finished is scored again by version {self.grader.grader_version} of"
                f" the grader; the scores by version {arm.grader.grader_version} stay beside"
            )
        )

    def _play(
        self,
        left: Sequence[tuple[Where, Task]],
        models: Mapping[str, Model],
        writer: RunWriter,
        totals: Totals,
    ) -> None:
        """Put tasks to the models, as many at once as they have slots."""
        self._people = {role for role, model in models.items() if isinstance(model, Person)}
        evaluated = models[self._plan.method.roles[0]]
        # A model that answers at once takes on as many steps as there are.
        others = (model for model in models.values() if not isinstance(model, OneByOne))
        slots = min([evaluated.slots, *(model.slots for model in others)])
        self._uses_siblings = isinstance(evaluated, Drafting) and evaluated.uses_siblings
        self.begin_clock()
        courses = [TaskCourse(self, where, task, writer, totals) for where, task in left]
        drive(courses, models, slots, self.control, self.begin_clock)

    def announce(self, where: Where, ask: Ask) -> None:
        """Tell of a role that is to speak, if a person plays it."""
        if ask.role in self._people:
            request = ask.request
            place = where, request.key.turn, request.key.step, ask.role
            question = PersonAsked(*place, request.context, request.messages, ask.phrases)
            self.control.ask(question)
            self.emit(question)

    def siblings(self, where: Where, writer: RunWriter) -> dict[tuple[int, int, str], Sibling]:
        """What the arm before answered, if this one can use it."""
        return writer.siblings(where) if self._uses_siblings else {}

    def begin_clock(self) -> None:
        """Count the time of turns from now."""
        self._since, self._cpu_since = perf_counter(), process_time()

    def start(self, where: Where, task: Task, slot: int) -> Episode:
        """An episode, with the turns that are in the store."""
        settings = self._plan.arms[where.arm].settings
        return self._plan.setup.start(task, settings, where, self.emit_unless_stopped, slot)

    def costs(self) -> Costs:
        """The arm's costs: what it had cost when the run was interrupted, and since then."""
        assert self._meters is not None
        return self._costs + replace(self._meters.read(), display_s=self._display_s)

    def share_of_time(self, played: PlayedTurn) -> PlayedTurn:
        """A turn with the time since the turn that ended before it, which it may have begun before.

        So the times of turns add up to what the run took, however many are played at once.
        """
        cpu_s = None if self._plan.is_elsewhere else process_time() - self._cpu_since
        return replace(played, wall_s=perf_counter() - self._since, cpu_s=cpu_s)

    def played(self, where: Where) -> list[PlayedTurn]:
        """The turns of a task that are in the store, in order."""
        if where not in self._cells or not self._cells[where].turns_done:
            return []
        assert self._stored is not None
        with Runs.open(self._plan.store, OWN) as runs:
            transcript = runs.transcript(self._stored, where.conversation, where.arm, where.repeat)
        return list(transcript.turns.values())

    def is_over(self, arm: int) -> bool:
        """Whether a run until a verdict plays no more of the arm."""
        return self._deciding is not None and self._deciding.is_over(arm)

    def finished(self, where: Where, counts: Counts) -> None:
        """Take in that a task is finished, and say what that means for which arms."""
        for moved in self._deciding.finished(where, counts) if self._deciding else ():
            self.emit(moved)

    def skips(self, where: Where, turns_left: int) -> bool:
        """Whether a person wants this task left for a later resume."""
        if not self.control.take_skip(where):
            return False
        self._skipped = True
        self.emit(ConversationSkipped(where, turns_left))
        self.emit(Notice(f"skipped {where.conversation}; resuming the run plays it"))
        return True
