"""Runs: which task next, on which arm. Emits what happens, stores every turn, resumes."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from contextlib import closing
from dataclasses import fields, replace
from time import perf_counter, process_time
from typing import cast

from rig.episodes import PlayedTurn
from rig.errors import RigError
from rig.events import (
    ArmFinished,
    ArmInfo,
    ArmReady,
    ArmStarted,
    ConversationFinished,
    ConversationInfo,
    ConversationSkipped,
    ConversationStarted,
    Emit,
    Event,
    Notice,
    PersonAsked,
    PieceGenerated,
    RunFinished,
    RunStarted,
    TurnFinished,
    Where,
)
from rig.meters import Costs, Meters
from rig.methods.base import Ask, Episode, Playing
from rig.methods.offers import Meeting, Remembering, by_arm
from rig.metrics import total
from rig.models import Model, OneByOne, Piece
from rig.running.control import Control, Stopped
from rig.running.drive import Asking, drive
from rig.running.fingerprints import Changed, fingerprint_of, of_model, regraded, require_same
from rig.running.person import Person
from rig.running.plan import Loader, Plan
from rig.running.totals import Totals, errors_of
from rig.store import Cell, ConversationScore, FailedTurn, GraderInfo, Runs, RunWriter, StoredRun, StoreError
from rig.tasks import Task


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
        self._failures: dict[int, str] = {}
        self._skipped = False
        self._people: set[str] = set()
        self.grader: GraderInfo = plan.grader
        self._slots: int | None = None
        self._costs = Costs()
        self._meters: Meters | None = None
        self._since = self._cpu_since = 0.0

    def close(self) -> None:
        try:
            self._unload(set())
        finally:
            if self._writer is not None:
                self._writer.close()

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
            self._read()
            self._remind()
        self.emit(self._started())
        if plan.caution.text:
            self.emit(Notice(plan.caution.text))
        try:
            for position in range(len(plan.arms)):
                self._arm(position)
            is_whole = not self._failures and not self._skipped
        except Stopped:
            is_whole = False
        else:
            if self._writer is None:
                raise RigError("; ".join(self._failures.values()))
            if is_whole:
                self._writer.finish()
        self.emit(RunFinished(plan.run, interrupted=not is_whole))
        return is_whole

    def _read(self) -> None:
        """Take in what the store holds of the run."""
        with Runs.open(self._plan.store) as runs:
            self._stored = runs.get(self._plan.run)
            cells = runs.cells(self._stored)
            self._again = runs.failed_turns(self._stored) if self._plan.retry_failed else {}
        self._cells = {Where(cell.arm, cell.conversation, cell.repeat): cell for cell in cells}

    def _remind(self) -> None:
        """Tell a setup that remembers what was played of each task before."""
        setup = self._plan.setup
        if isinstance(setup, Remembering):
            tasks = {task.name: task for task in self._plan.tasks}
            for where in self._cells:
                setup.remember(tasks[where.conversation], self.played(where))

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

    def _arm(self, position: int) -> None:
        totals = self._totals(position)
        left = [
            (where, task)
            for repeat in range(self._plan.repeats)
            for task in self._plan.tasks
            if not self._is_finished(where := Where(position, task.name, repeat))
        ]
        failure = self._left_failed(position)
        if failure is not None:
            self._failures[position] = failure
        elif not left:
            self._rescore(position, totals)
        else:
            self.control.wait()
            self.emit(ArmStarted(position))
            self._costs = Costs(**{part.name: getattr(totals.speed, part.name) for part in fields(Costs)})
            self._display_s, self._meters = 0.0, Meters()
            clock = perf_counter()
            try:
                models = self._load(position, left[0][1])
                self._check_room(position, models, [task for _, task in left])
                writer = self._ready(position, models, perf_counter() - clock)
                self._set_aside(position, writer, totals)
                self._rescore(position, totals)
                self._play(left, models, writer, totals)
            except (StoreError, Changed):
                raise
            except (RigError, MemoryError) as error:
                # What failed may fail the next arm too, if that one does not load it anew.
                self._unload(set())
                failure = self._failures[position] = str(error) or "out of memory"
                if self._writer is not None:
                    self._writer.arm_failed(position, failure)
        following = self._plan.arms[position + 1 : position + 2]
        self._unload({load for arm in following for load in (arm.load, *arm.others.values())})
        self.emit(ArmFinished(position, totals.counts, totals.speed, dict(totals.errors), failure))

    def _totals(self, position: int) -> Totals:
        """What is stored of an arm."""
        if self._stored is None:
            return Totals()
        stored = self._stored.arms[position]
        return Totals(stored.counts, stored.speed, Counter(stored.errors))

    def _left_failed(self, position: int) -> str | None:
        """Why an arm failed before, if it is to be left at that."""
        is_left = self._stored is not None and self._plan.retry_failed is False
        return self._stored.arms[position].failure if is_left and self._stored else None

    def _set_aside(self, position: int, writer: RunWriter, totals: Totals) -> None:
        """Make room for the turns of an arm that are played again, now that its model is loaded."""
        failed = {where: each.turn for where, each in self._again.items() if where.arm == position}
        if not failed:
            return
        turns = sum(self._again[where].turns for where in failed)
        writer.set_aside(failed)
        self._read()
        again = self._totals(position)
        totals.counts, totals.speed, totals.errors = again.counts, again.speed, again.errors
        name = self._plan.arms[position].name
        self.emit(Notice(f"{name}: {turns} turns of {len(failed)} conversations are played again"))

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
        setup = self._plan.setup
        before = of_model(self._stored.arms[position]) if self._stored else None
        model.prepare(setup.opening(first, arm.settings, evaluated), self._slots, before)
        if "n_seq" in model.fingerprint:
            self._slots = self._slots or model.slots
        models = {evaluated: model}
        for role, load in arm.others.items():
            models[role] = self._loaded_by(load)
            models[role].prepare(setup.opening(first, arm.settings, role), model.slots)
        if isinstance(setup, Meeting):
            setup.meet(models)
        return models

    def _check_room(self, position: int, models: Mapping[str, Model], tasks: Sequence[Task]) -> None:
        """Raise RigError where none of the tasks can be played, say so where some cannot."""
        arm = self._plan.arms[position]
        openings = [
            [(model, self._plan.setup.opening(task, arm.settings, role)) for role, model in models.items()]
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
        if self._stored:
            require_same(self._stored.arms[position], fingerprint)
        if self._writer is None:
            self._writer = RunWriter.create(plan.store, plan.as_new_run())
            for failed, failure in self._failures.items():
                self._writer.arm_failed(failed, failure)
        self._writer.arm_ready(position, fingerprint, seconds)
        self.emit(ArmReady(position, ArmInfo(arm.name, fingerprint), seconds))
        return self._writer

    def _rescore(self, position: int, totals: Totals) -> None:
        """Score an arm's finished tasks again where another version of the grader scored them."""
        arm = self._stored.arms[position] if self._stored else None
        fingerprint = regraded(arm, self._plan) if arm else None
        if arm is None or arm.grader is None or fingerprint is None:
            return
        setup = by_arm(self._plan.setup, self._plan.arms[position].settings)
        score, tasks = setup.score, {task.name: task for task in self._plan.tasks}
        scores = {
            where: ConversationScore(self.grader, score(tasks[where.conversation], self.played(where)))
            for where in self._cells
            if where.arm == position and self._is_finished(where)
        }
        assert self._writer is not None
        self._writer.rescore(position, fingerprint, scores)
        totals.counts = total(each.counts for each in scores.values())
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
        self.begin_clock()
        courses = [_TaskCourse(self, where, task, writer, totals) for where, task in left]
        drive(courses, models, slots, self.control, self.begin_clock)

    def announce(self, where: Where, ask: Ask) -> None:
        """Tell of a role that is to speak, if a person plays it."""
        if ask.role in self._people:
            request = ask.request
            place = where, request.key.turn, request.key.step, ask.role
            question = PersonAsked(*place, request.context, request.messages, ask.phrases)
            self.control.ask(question)
            self.emit(question)

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
        cpu_s = process_time() - self._cpu_since
        return replace(played, wall_s=perf_counter() - self._since, cpu_s=cpu_s)

    def played(self, where: Where) -> list[PlayedTurn]:
        """The turns of a task that are in the store, in order."""
        if where not in self._cells or not self._cells[where].turns_done:
            return []
        assert self._stored is not None
        with Runs.open(self._plan.store) as runs:
            transcript = runs.transcript(self._stored, where.conversation, where.arm, where.repeat)
        return list(transcript.turns.values())

    def skips(self, where: Where, turns_left: int) -> bool:
        """Whether a person wants this task left for a later resume."""
        if not self.control.take_skip(where):
            return False
        self._skipped = True
        self.emit(ConversationSkipped(where, turns_left))
        self.emit(Notice(f"skipped {where.conversation}; resuming the run plays it"))
        return True


class _TaskCourse:
    """What is left of a task, as a course: it is played turn by turn, and every turn is stored."""

    def __init__(self, run: _Run, where: Where, task: Task, writer: RunWriter, totals: Totals) -> None:
        self._run = run
        self._where = where
        self._task = task
        self._writer = writer
        self._totals = totals

    def listen(self, ask: Ask, piece: Piece) -> None:
        key, where = ask.request.key, self._where
        made = piece.text, piece.tokens, piece.forced, ask.role, piece.thought
        self._run.emit_unless_stopped(PieceGenerated(where, key.turn, key.step, *made))

    def begin(self, slot: int) -> Asking:
        run, where = self._run, self._where
        done = run.played(where)
        if run.skips(where, self._left(len(done))):
            return
        episode = run.start(where, self._task, slot)
        for played in done:
            episode.resume(played)
        run.emit(ConversationStarted(where, (episode.next_turn or 0) if done else 0))
        errors = Counter(kind for played in done for kind in errors_of(played))
        score: ConversationScore | None = None
        while episode.next_turn is not None:
            run.control.check()
            if run.control.is_paused:
                yield None
            if run.skips(where, self._left(len(done))):
                return
            done.append(run.share_of_time((yield from self._announced(episode.play()))))
            score = self._score(episode) if episode.next_turn is None else None
            self._store(done[-1], score)
            errors.update(errors_of(done[-1]))
        if score is None:
            score = self._score(episode)
            self._writer.commit_score(where, score)
            self._totals.add_score(score.counts)
        totals = self._totals
        run.emit(ConversationFinished(where, score.counts, totals.counts, totals.speed, dict(errors)))

    def _announced(self, playing: Playing) -> Playing:
        """The turn, with everybody who is asked announced."""
        prediction = None
        while True:
            try:
                ask = playing.send(prediction) if prediction else next(playing)
            except StopIteration as end:
                return cast(PlayedTurn, end.value)
            self._run.announce(self._where, ask)
            prediction = yield ask

    def _store(self, played: PlayedTurn, score: ConversationScore | None) -> None:
        costs = self._run.costs()
        is_known = played.turn in self._task.known_turns
        wanted = len(self._task.expected(played.turn).calls) if is_known else None
        store_s = self._writer.commit_turn(self._where, played, score, costs, wanted)
        self._run.begin_clock()
        self._totals.add(played, store_s, costs)
        if score is not None:
            self._totals.add_score(score.counts)
        self._run.emit(TurnFinished(self._where, played.turn, self._totals.counts, self._totals.speed))

    def _left(self, done: int) -> int:
        """How many turns are still to be played, 0 where nobody knows."""
        return max(len(self._task.known_turns) - done, 0)

    def _score(self, episode: Episode) -> ConversationScore:
        return ConversationScore(self._run.grader, episode.score())
