"""Courses, which ask models for predictions, several at once, and tasks played as courses."""

from collections import Counter, deque
from collections.abc import Callable, Collection, Generator, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from time import perf_counter, process_time
from typing import TypeAlias, cast

from rig.core import events, registry
from rig.core.events import Where
from rig.core.meters import CostMeter, Costs
from rig.core.metrics import Score
from rig.core.models import Model, Piece, Prediction
from rig.core.tasks import PlayedTurn, Task, turn_number
from rig.methods.episode import Ask, Playing
from rig.methods.guards import EpisodeGuard, Guard
from rig.running.bus import Bus
from rig.running.control import Control, Person
from rig.running.plan import Plan
from rig.running.stored_state import StoredState, Totals, errors_of
from rig.running.strategy import Scheduler
from rig.store import RunWriter

Asking: TypeAlias = Generator[Ask | None, Prediction | None, None]
"""A running course: it yields requests and is sent the predictions.

It yields None to wait while the run is paused, and is sent None to begin and to continue after a pause.
"""


def drive(
    courses: Iterable["TaskCourse"],
    models: Mapping[str, Model],
    slots: int,
    control: Control,
    resumed: Callable[[], None] = lambda: None,
) -> None:
    """Run courses in order, `slots` at once, with models by role, until all are finished.

    Several roles may have the same model. `resumed` is called after each pause. Raises Stopped if the run is
    stopped while it is paused; exceptions of courses and models are passed on.
    """
    waiting = deque(courses)
    under_way: dict[int, tuple[TaskCourse, Asking]] = {}
    held: set[int] = set()
    # The slots that wait for an answer, by the first of the roles that have the same model.
    busy: dict[str, set[int]] = {role: set() for role in models}
    firsts = {
        role: next(first for first, other in models.items() if other is model)
        for role, model in models.items()
    }

    def go_on(slot: int, prediction: Prediction | None) -> None:
        """Send a course its prediction, and pass on its next request."""
        course, asking = under_way[slot]
        try:
            ask = asking.send(prediction)
        except StopIteration:
            del under_way[slot]
            return
        if ask is None:
            held.add(slot)
        else:
            busy[firsts[ask.role]].add(slot)
            models[ask.role].begin(slot, ask.request, partial(course.listen, ask))

    while True:
        if not control.is_paused:
            for slot in sorted(held):
                held.remove(slot)
                go_on(slot, None)
            for slot in range(slots):
                while slot not in under_way and waiting:
                    course = waiting.popleft()
                    under_way[slot] = course, course.begin(slot)
                    go_on(slot, None)
        if any(busy.values()):
            for role, of_model in busy.items():
                for slot, prediction in models[role].advance() if of_model else ():
                    of_model.remove(slot)
                    go_on(slot, prediction)
        elif under_way or waiting:
            control.wait()
            resumed()
        else:
            return


class Clock:
    """Measures what an arm costs, and how long displays and turns take."""

    def __init__(self, plan: Plan, bus: Bus) -> None:
        self._bus = bus
        self._is_elsewhere = plan.place is not None
        self._before = Costs()
        self._meters: list[CostMeter] = []
        self._models: Collection[Model] = ()
        self._since = self._cpu_since = 0.0

    def begin_arm(self, before: Costs) -> None:
        """Measure an arm's costs from now, in addition to those before the run was interrupted."""
        self._before, self._bus.seconds = before, 0.0
        self._meters = [make() for make in registry.registered().meters.values()]

    def measure(self, models: Iterable[Model]) -> None:
        """Measure what these models take, which are the arm's."""
        self._models = {id(model): model for model in models}.values()

    def begin_turn(self) -> None:
        """Measure the time of turns from now."""
        self._since, self._cpu_since = perf_counter(), process_time()

    def costs(self) -> Costs:
        """Return the arm's costs so far."""
        measured = sum((meter.read() for meter in self._meters), Costs(display_s=self._bus.seconds))
        if memories := [memory for model in self._models if (memory := model.memory)]:
            devices = [memory.device for memory in memories if memory.device is not None]
            measured = replace(measured, peak_memory=sum(memory.main for memory in memories))
            measured = replace(measured, peak_device_memory=sum(devices)) if devices else measured
        return self._before + measured

    def share(self, played: PlayedTurn) -> PlayedTurn:
        """Return a turn with the time since the previous turn ended, even if it had begun before that.

        So the times of turns add up to what the run took, however many are played at once.
        """
        cpu_s = None if self._is_elsewhere else process_time() - self._cpu_since
        return replace(played, wall_s=perf_counter() - self._since, cpu_s=cpu_s)


@dataclass(slots=True)
class ArmSession:
    """What the tasks of an arm need from the run while they are played."""

    state: StoredState
    control: Control
    clock: Clock
    bus: Bus
    scheduler: Scheduler | None
    models: Mapping[str, Model]
    writer: RunWriter
    totals: Totals
    has_skipped: bool = False

    def announce(self, where: Where, ask: Ask) -> None:
        """Announce a request if a person plays its role."""
        if isinstance(self.models.get(ask.role), Person):
            request = ask.request
            place = where, request.key.turn, request.key.step, ask.role
            question = events.PersonAsked(*place, request.context, request.messages, ask.phrases)
            self.control.ask(question)
            self.bus.emit(question)

    def skips(self, where: Where, turns_left: int) -> bool:
        """Return whether a person wants this task left for a later resume, and emit that it is skipped."""
        if not self.control.take_skip(where):
            return False
        self.has_skipped = True
        self.bus.emit(events.ConversationSkipped(where, turns_left))
        self.bus.emit(events.Notice(f"skipped {where.conversation}; resuming the run plays it"))
        return True


class TaskCourse:
    """The rest of a task, as a course: it is played turn by turn, and every turn is stored."""

    def __init__(self, session: ArmSession, where: Where, task: Task) -> None:
        self._session, self._where, self._task = session, where, task
        guards: Iterable[Guard] = registry.registered().guards.values()
        plan = session.state.plan
        self._arm, self._evaluated = plan.arms[where.arm], plan.method.roles[0]
        self._guards: list[EpisodeGuard] = [guard.begin(self._arm.config, self._notice) for guard in guards]

    def _notice(self, turn: int, text: str) -> None:
        place = f"{self._arm.name}, {self._where.conversation}, turn {turn_number(self._task, turn)}"
        self._session.bus.emit(events.Notice(f"{place}: {text}"))

    def listen(self, ask: Ask, piece: Piece) -> None:
        """Emit text as it is generated. An exception here ends all running courses, `Halted` an answer."""
        key, where = ask.request.key, self._where
        content = piece.text, piece.tokens, piece.forced, ask.role, piece.thought, piece.read
        self._session.bus.emit_unless_stopped(events.PieceGenerated(where, key.turn, key.step, *content))
        for guard in self._guards if ask.role == self._evaluated else ():
            guard.hear(key, piece)

    def begin(self, slot: int) -> Asking:
        """Start asking. Of the courses with the same `slot`, only one runs at a time."""
        session, where = self._session, self._where
        emit, scheduler = session.bus.emit, session.scheduler
        if scheduler is not None and scheduler.is_over(where.arm):
            return
        done = session.state.played(where)
        plan = session.state.plan
        if session.skips(where, self._left(len(done))):
            return
        settings, scored = plan.arms[where.arm].settings, plan.setup.scored
        episode = plan.setup.start(self._task, settings, where, session.bus.emit_unless_stopped, slot)
        episode.guards = self._guards
        for played in done:
            episode.resume(played)
        emit(events.ConversationStarted(where, (episode.next_turn or 0) if done else 0))
        errors = Counter(kind for played in done for kind in errors_of(played))
        score: Score | None = None
        while episode.next_turn is not None:
            session.control.check()
            if session.control.is_paused:
                yield None
            if session.skips(where, self._left(len(done))):
                return
            done.append(session.clock.share((yield from self._announced(episode.play()))))
            score = scored(self._task, done, settings, episode.score()) if episode.next_turn is None else None
            self._store(done[-1], score)
            errors.update(errors_of(done[-1]))
        if score is None:
            score = scored(self._task, done, settings, episode.score())
            session.writer.commit_episode(where, (), score)
            session.totals.add_score(score.counts)
        totals = session.totals
        emit(events.ConversationFinished(where, score.counts, totals.counts, totals.speed, dict(errors)))
        for moved in scheduler.finished(where, score.counts) if scheduler else ():
            emit(moved)

    def _announced(self, playing: Playing) -> Playing:
        """Play a turn, announcing every request."""
        prediction = None
        while True:
            try:
                ask = playing.send(prediction) if prediction else next(playing)
            except StopIteration as end:
                return cast(PlayedTurn, end.value)
            self._session.announce(self._where, ask)
            prediction = yield ask

    def _store(self, played: PlayedTurn, score: Score | None) -> None:
        session, totals = self._session, self._session.totals
        costs = session.clock.costs()
        is_known = played.turn in self._task.known_turns
        due = len(self._task.expected(played.turn).calls) if is_known else None
        store_s = session.writer.commit_turn(self._where, played, score, costs, due)
        session.clock.begin_turn()
        totals.add(played, store_s, costs)
        if score is not None:
            totals.add_score(score.counts)
        session.bus.emit(events.TurnFinished(self._where, played.turn, totals.counts, totals.speed))

    def _left(self, done: int) -> int:
        """Return how many turns are still to be played, 0 if unknown."""
        return max(len(self._task.known_turns) - done, 0)
