"""Runs: which conversation next, on which arm. Emits what happens, stores every turn, resumes."""

import json
from collections import Counter, deque
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import fields, replace
from functools import partial
from time import perf_counter
from typing import TypeAlias

from rig import __version__
from rig.calls import JsonObject
from rig.conversations import Conversation
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
    PieceGenerated,
    RunFinished,
    RunStarted,
    TurnFinished,
    Where,
)
from rig.meters import Costs, Meters
from rig.methods.tooltalk.dialogue import Dialogue
from rig.methods.tooltalk.prompt import opening
from rig.models import Model, Notify, Piece, Prediction, Request, StepKey
from rig.running.control import Control, Stopped
from rig.running.plan import Arm, Plan
from rig.running.totals import Totals, errors_of
from rig.store import Cell, ConversationScore, Runs, RunWriter, StoredRun, StoreError
from rig.toolbox.simulator import Simulator

__all__ = ["Arm", "Control", "Plan", "run"]

_Course: TypeAlias = Generator[Request | None, Prediction | None, None]
"""A conversation under way."""


def run(plan: Plan, emit: Emit, control: Control) -> bool:
    """Run a plan, or what is left of it. False when something is left to be resumed.

    Nothing is stored before a model is loaded. An arm that fails does not stop the others. Raises RigError
    when no arm can be loaded, when the store fails, or when an arm is not what it was when the run began.
    """
    plan.check()
    with closing(_Run(plan, emit, control)) as current:
        return current.run()


class _Changed(RigError):
    """What is resumed is not what was started."""


class _Run:
    """A run under way. It has no writer until there is something to store."""

    def __init__(self, plan: Plan, emit: Emit, control: Control) -> None:
        self._plan = plan
        self._listener = emit
        self._display_s = 0.0
        self._control = control
        self._writer: RunWriter | None = None
        self._loaded: tuple[Callable[[Notify], Model], Model] | None = None
        self._stored: StoredRun | None = None
        self._cells: dict[Where, Cell] = {}
        self._failures: dict[int, str] = {}
        self._skipped = False
        self._slots: int | None = None
        self._costs = Costs()
        self._meters: Meters | None = None
        self._since = 0.0

    def close(self) -> None:
        try:
            self._unload()
        finally:
            if self._writer is not None:
                self._writer.close()

    def _emit(self, event: Event) -> None:
        clock = perf_counter()
        self._listener(event)
        self._display_s += perf_counter() - clock

    def run(self) -> bool:
        plan = self._plan
        if plan.resume:
            self._writer = RunWriter.claim(plan.store, plan.run)
            with Runs.open(plan.store) as runs:
                self._stored = runs.get(plan.run)
                cells = runs.cells(self._stored)
            self._cells = {Where(cell.arm, cell.conversation, cell.repeat): cell for cell in cells}
        self._emit(self._started())
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
        self._emit(RunFinished(plan.run, interrupted=not is_whole))
        return is_whole

    def _started(self) -> RunStarted:
        plan, stored = self._plan, self._stored
        known = [arm.fingerprint or {} for arm in stored.arms] if stored else [{} for _ in plan.arms]
        return RunStarted(
            run=plan.run,
            store=str(plan.store),
            arms=tuple(ArmInfo(arm.name, known[position]) for position, arm in enumerate(plan.arms)),
            conversations=tuple(
                ConversationInfo(one.name, len(one.assistant_turns), len(one.ground_truth))
                for one in plan.conversations
            ),
            repeats=plan.repeats,
            finished_turns=stored.turns_done if stored else 0,
        )

    def _arm(self, position: int) -> None:
        tally = Totals()
        if self._stored:
            stored = self._stored.arms[position]
            tally = Totals(stored.metrics, stored.speed, Counter(stored.errors))
        left = [
            (where, conversation)
            for repeat in range(self._plan.repeats)
            for conversation in self._plan.conversations
            if not self._is_finished(where := Where(position, conversation.name, repeat))
        ]
        failure = None
        if left:
            self._control.wait()
            self._emit(ArmStarted(position))
            self._costs = Costs(**{part.name: getattr(tally.speed, part.name) for part in fields(Costs)})
            self._display_s, self._meters = 0.0, Meters()
            clock = perf_counter()
            try:
                model = self._load(position, left[0][1])
                writer = self._ready(position, model, perf_counter() - clock)
                self._play(left, model, writer, tally)
            except (StoreError, _Changed):
                raise
            except (RigError, MemoryError) as error:
                # What failed may fail the next arm too, if that one does not load it anew.
                self._unload()
                failure = self._failures[position] = str(error) or "out of memory"
                if self._writer is not None:
                    self._writer.arm_failed(position, failure)
        following = self._plan.arms[position + 1 : position + 2]
        if not any(arm.load is self._plan.arms[position].load for arm in following):
            self._unload()
        self._emit(ArmFinished(position, tally.metrics, tally.speed, dict(tally.errors), failure))

    def _load(self, position: int, first: Conversation) -> Model:
        """The arm's model: the one that is loaded already if the arm before shared it.

        Where nobody says how many steps it predicts at once, it is as many as when the run was interrupted,
        or as in the arms before, so that the arms of a run differ in what they are to differ in alone.
        """
        arm = self._plan.arms[position]
        if self._loaded is None:
            self._loaded = (arm.load, arm.load(lambda text: self._emit(Notice(text))))
        assert self._loaded[0] is arm.load
        model = self._loaded[1]
        if self._slots is None and self._stored:
            known = [each.fingerprint or {} for each in self._stored.arms]
            self._slots = next((each["model.n_seq"] for each in known if "model.n_seq" in each), None)
        model.prepare(opening(first, arm.settings), self._slots)
        if "n_seq" in model.fingerprint:
            self._slots = self._slots or model.slots
        return model

    def _unload(self) -> None:
        """Close the model that is loaded, if there is one."""
        if self._loaded is not None:
            _, model = self._loaded
            self._loaded = None
            model.close()

    def _is_finished(self, where: Where) -> bool:
        return where in self._cells and self._cells[where].state == "finished"

    def _ready(self, position: int, model: Model, seconds: float) -> RunWriter:
        """Store what exactly the arm is; for the first arm that can be loaded, store the run."""
        plan = self._plan
        arm = plan.arms[position]
        fingerprint: JsonObject = json.loads(
            json.dumps(
                {
                    "rig": __version__,
                    **plan.fingerprint,
                    **{f"model.{name}": value for name, value in model.fingerprint.items()},
                    **{f"protocol.{name}": value for name, value in arm.settings.fingerprint.items()},
                    **{f"grader.{name}": value for name, value in plan.grader.fingerprint.items()},
                }
            )
        )
        if self._stored and (before := self._stored.arms[position].fingerprint) is not None:
            _require_equal(arm.name, before, fingerprint)
        if self._writer is None:
            self._writer = RunWriter.create(plan.store, plan.as_new_run())
            for failed, failure in self._failures.items():
                self._writer.arm_failed(failed, failure)
        self._writer.arm_ready(position, fingerprint, seconds)
        self._emit(ArmReady(position, ArmInfo(arm.name, fingerprint), seconds))
        return self._writer

    def _play(
        self,
        left: Sequence[tuple[Where, Conversation]],
        model: Model,
        writer: RunWriter,
        tally: Totals,
    ) -> None:
        """Put conversations to the model, as many at once as it has slots."""
        simulators = [self._plan.simulator, *(self._plan.simulator.twin() for _ in range(1, model.slots))]
        waiting = deque(left)
        under_way: dict[int, tuple[Where, _Course]] = {}
        held: set[int] = set()

        def go_on(slot: int, prediction: Prediction | None) -> None:
            """Let a conversation take in what was predicted, and pass on what it wants predicted next."""
            where, course = under_way[slot]
            try:
                request = course.send(prediction)
            except StopIteration:
                del under_way[slot]
                return
            if request is None:
                held.add(slot)
            else:
                model.begin(slot, request, partial(self._piece, where, request.key))

        self._since = perf_counter()
        while True:
            if not self._control.is_paused:
                for slot in sorted(held):
                    held.remove(slot)
                    go_on(slot, None)
                for slot in range(model.slots):
                    while slot not in under_way and waiting:
                        where, conversation = waiting.popleft()
                        course = self._conversation(where, conversation, simulators[slot], writer, tally)
                        under_way[slot] = where, course
                        go_on(slot, None)
            if len(held) < len(under_way):
                for slot, prediction in model.advance():
                    go_on(slot, prediction)
            elif under_way or waiting:
                self._control.wait()
                self._since = perf_counter()
            else:
                return

    def _conversation(
        self,
        where: Where,
        conversation: Conversation,
        simulator: Simulator,
        writer: RunWriter,
        tally: Totals,
    ) -> _Course:
        """Take a model through what is left of a conversation.

        Yields requests and is sent predictions; yields None where it may not go on until a pause is over.
        """
        done = self._played(where)
        left = conversation.assistant_turns[len(done) :]
        if self._skips(where, len(left)):
            return
        errors = Counter(kind for played in done for kind in errors_of(played))
        self._emit(ConversationStarted(where, left[0] if done else 0))
        dialogue = Dialogue(
            conversation,
            simulator,
            self._plan.grader,
            self._plan.arms[where.arm].settings,
            where=where,
            emit=self._emit_unless_stopped,
        )
        for played in done:
            dialogue.resume(played.executed, played.turn)
        for turn in left:
            self._control.check()
            if self._control.is_paused:
                yield None
            if turn != left[0] and self._skips(where, len(conversation.assistant_turns) - len(done)):
                return
            played = self._share_of_time((yield from dialogue.play(turn)))
            done.append(played)
            score = self._score(dialogue, done) if turn == left[-1] else None
            costs = self._costs_so_far()
            store_s = writer.commit_turn(where, played, score, costs)
            self._since = perf_counter()
            tally.add(played, store_s, costs)
            errors.update(errors_of(played))
            if score is not None:
                tally.metrics += score.metrics
            self._emit(TurnFinished(where, turn, tally.metrics, tally.speed))
        if not left:
            score = self._score(dialogue, done)
            writer.commit_score(where, score)
            tally.metrics += score.metrics
        self._emit(ConversationFinished(where, dialogue.metrics(), tally.metrics, tally.speed, dict(errors)))

    def _costs_so_far(self) -> Costs:
        """The arm's costs: what it had cost when the run was interrupted, and since then."""
        assert self._meters is not None
        return self._costs + replace(self._meters.read(), display_s=self._display_s)

    def _share_of_time(self, played: PlayedTurn) -> PlayedTurn:
        """A turn with the time since the turn that ended before it, which it may have begun before.

        So the times of turns add up to what the run took, however many are played at once.
        """
        return replace(played, wall_s=perf_counter() - self._since)

    def _piece(self, where: Where, key: StepKey, piece: Piece) -> None:
        self._emit_unless_stopped(
            PieceGenerated(where, key.turn, key.step, piece.text, piece.tokens, piece.forced)
        )

    def _emit_unless_stopped(self, event: Event) -> None:
        """Within a turn: raises Stopped, through the model or the protocol, to abandon the turn."""
        self._control.check()
        self._emit(event)

    def _score(self, dialogue: Dialogue, played: list[PlayedTurn]) -> ConversationScore:
        return ConversationScore(self._plan.grader_info, dialogue.judgement(played))

    def _played(self, where: Where) -> list[PlayedTurn]:
        """The turns of a conversation that are in the store, in order."""
        if where not in self._cells or not self._cells[where].turns_done:
            return []
        assert self._stored is not None
        with Runs.open(self._plan.store) as runs:
            transcript = runs.transcript(self._stored, where.conversation, where.arm, where.repeat)
        return list(transcript.turns.values())

    def _skips(self, where: Where, turns_left: int) -> bool:
        """Whether a person wants this conversation left for a later resume."""
        if not self._control.take_skip(where):
            return False
        self._skipped = True
        self._emit(ConversationSkipped(where, turns_left))
        self._emit(Notice(f"skipped {where.conversation}; resuming the run plays it"))
        return True


def _require_equal(arm: str, before: JsonObject, now: JsonObject) -> None:
    """Raise unless two fingerprints are equal, naming what differs."""
    names = sorted(name for name in before.keys() | now.keys() if before.get(name) != now.get(name))
    if names:
        changes = "; ".join(f"{name} was {before.get(name)!r}, is {now.get(name)!r}" for name in names)
        raise _Changed(f"cannot resume {arm}: {changes}; make them equal or start a new run")
