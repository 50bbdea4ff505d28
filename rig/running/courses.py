"""Playing a task as a course: the rest of it is played turn by turn, and every turn is stored."""

from collections import Counter
from dataclasses import replace
from typing import Protocol, cast

from rig.episodes import PlayedTurn
from rig.events import ConversationFinished, ConversationStarted, Event, PieceGenerated, TurnFinished, Where
from rig.meters import Costs
from rig.methods.episode import Ask, Episode, Playing
from rig.metrics import Counts
from rig.models import Piece, Sibling
from rig.running.control import Control
from rig.running.drive import Asking
from rig.running.totals import Totals, errors_of
from rig.store import ConversationScore, GraderInfo, RunWriter
from rig.tasks import Task


class Playground(Protocol):
    """What a course needs of the run that it is part of."""

    control: Control
    grader: GraderInfo

    def emit(self, event: Event) -> None: ...
    def emit_unless_stopped(self, event: Event) -> None: ...
    def is_over(self, arm: int) -> bool: ...
    def finished(self, where: Where, counts: Counts) -> None: ...
    def played(self, where: Where) -> list[PlayedTurn]: ...
    def siblings(self, where: Where, writer: RunWriter) -> dict[tuple[int, int, str], Sibling]: ...
    def skips(self, where: Where, turns_left: int) -> bool: ...
    def start(self, where: Where, task: Task, slot: int) -> Episode: ...
    def announce(self, where: Where, ask: Ask) -> None: ...
    def share_of_time(self, played: PlayedTurn) -> PlayedTurn: ...
    def costs(self) -> Costs: ...
    def begin_clock(self) -> None: ...


class TaskCourse:
    """What is left of a task, as a course: it is played turn by turn, and every turn is stored."""

    def __init__(self, run: Playground, where: Where, task: Task, writer: RunWriter, totals: Totals) -> None:
        self._run = run
        self._where = where
        self._task = task
        self._writer = writer
        self._totals = totals
        self._siblings: dict[tuple[int, int, str], Sibling] = {}

    def listen(self, ask: Ask, piece: Piece) -> None:
        key, where = ask.request.key, self._where
        content = piece.text, piece.tokens, piece.forced, ask.role, piece.thought, piece.read
        self._run.emit_unless_stopped(PieceGenerated(where, key.turn, key.step, *content))

    def begin(self, slot: int) -> Asking:
        run, where = self._run, self._where
        if run.is_over(where.arm):
            return
        done = run.played(where)
        self._siblings = run.siblings(where, self._writer)
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
        run.finished(where, score.counts)

    def _announced(self, playing: Playing) -> Playing:
        """The turn, with everybody who is asked announced."""
        prediction = None
        while True:
            try:
                ask = playing.send(prediction) if prediction else next(playing)
            except StopIteration as end:
                return cast(PlayedTurn, end.value)
            self._run.announce(self._where, ask)
            key = ask.request.key
            if sibling := self._siblings.get((key.turn, key.step, ask.role)):
                ask = ask._replace(request=replace(ask.request, sibling=sibling))
            prediction = yield ask

    def _store(self, played: PlayedTurn, score: ConversationScore | None) -> None:
        costs = self._run.costs()
        is_known = played.turn in self._task.known_turns
        due = len(self._task.expected(played.turn).calls) if is_known else None
        store_s = self._writer.commit_turn(self._where, played, score, costs, due)
        self._run.begin_clock()
        self._totals.add(played, store_s, costs)
        if score is not None:
            self._totals.add_score(score.counts)
        self._run.emit(TurnFinished(self._where, played.turn, self._totals.counts, self._totals.speed))

    def _left(self, done: int) -> int:
        """How many turns are still to be played, 0 if nobody knows."""
        return max(len(self._task.known_turns) - done, 0)

    def _score(self, episode: Episode) -> ConversationScore:
        return ConversationScore(self._run.grader, episode.score())
