"""A run's stored turns as the typed events that its runner emitted, with the pauses between them."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby, pairwise
from operator import itemgetter
from typing import NamedTuple

from rig.core import events
from rig.core.events import Event, Where
from rig.core.metrics import Counts
from rig.core.models import Prediction, Usage
from rig.core.tasks import PlayedTurn, Task
from rig.running.stored_state import Totals, errors_of
from rig.store import Cell, StoredArm, StoredRun, last_note

_BATCH = 512
"""The tokens of a prompt that are read at once, unless a run says otherwise."""


class Moment(NamedTuple):
    """An event, and the seconds since the previous one."""

    after_s: float
    event: Event


class StoredEvents:
    """Converts turns of a run into events. Turns of one conversation have to come in order.

    `earlier` conversations were finished before and are not replayed. If `seeded`, the arms' sums begin with
    all that is stored.
    """

    def __init__(
        self,
        run: StoredRun,
        store: str,
        conversations: Mapping[str, Task],
        earlier: Sequence[Cell] = (),
        *,
        seeded: bool = False,
    ) -> None:
        self.run = run
        """The run as it is stored now."""
        self._store = store
        self._conversations = conversations
        self._earlier = {Where(cell.arm, cell.conversation, cell.repeat): cell for cell in earlier}
        self._tallies = {arm.position: Totals(run.begun) for arm in run.arms}
        self._errors: dict[Where, Counter[str]] = {}
        self.begun: set[int] = set()
        """The arms that were announced."""
        self._through: set[int] = set()
        if seeded:
            for arm in run.arms:
                self._tallies[arm.position] = Totals(arm.counts, arm.speed, Counter(arm.errors))

    def start(self) -> events.RunStarted:
        """Return the first event."""
        run = self.run
        return events.RunStarted(
            run=run.id,
            store=self._store,
            arms=tuple(events.ArmInfo(arm.name, arm.fingerprint or {}) for arm in run.arms),
            conversations=tuple(
                events.ConversationInfo(name, len(one.known_turns), one.ground_truth_count, one.known_turns)
                for name, one in self._conversations.items()
            ),
            repeats=run.repeats,
            finished_turns=sum(cell.turns_done for cell in self._earlier.values()),
            finished_conversations=len(self._earlier),
            declaration=run.declaration,
        )

    def turn(
        self, where: Where, played: PlayedTurn, score: Counts | None, *, is_counted: bool = True
    ) -> Iterator[Moment]:
        """Yield the events of a stored turn; `score` is its conversation's if this was the last turn.

        A turn that is not counted is already in the sums.
        """
        yield from self._begin_arm(where.arm)
        self._through.discard(where.arm)
        if where not in self._errors:
            self._errors[where] = Counter()
            yield Moment(0, events.ConversationStarted(where))
        yield from turn_moments(where, self._conversations[where.conversation], played)
        tally = self._tallies[where.arm]
        if is_counted:
            tally.add(played, 0.0)
        self._errors[where].update(errors_of(played))
        if score is not None and is_counted:
            tally.add_score(score)
        _, rest = _tempo(played)
        yield Moment(rest, events.TurnFinished(where, played.turn, tally.counts, tally.speed))
        if score is not None:
            errors = dict(self._errors[where])
            yield Moment(0, events.ConversationFinished(where, score, tally.counts, tally.speed, errors))

    def end(self, run: StoredRun) -> Iterator[Moment]:
        """Yield the events that end a run: its arms with their stored numbers, and the run."""
        self.run = run
        for arm in run.arms:
            if arm.fingerprint is not None or arm.failure is not None:
                yield from self._begin_arm(arm.position)
                if arm.position not in self._through:
                    self._tallies[arm.position] = Totals(arm.counts, arm.speed, Counter(arm.errors))
                    yield self._arm_through(arm)
        yield Moment(0, events.RunFinished(run.id, interrupted=run.state != "finished"))

    def _begin_arm(self, position: int) -> Iterator[Moment]:
        if position in self.begun:
            return
        for before in self.run.arms[:position]:
            if before.failure is not None:
                yield from self._begin_arm(before.position)
            if before.position in self.begun - self._through:
                yield self._arm_through(before)
        self.begun.add(position)
        arm = self.run.arms[position]
        yield Moment(0, events.ArmStarted(position))
        if arm.load_s is not None:
            # The seconds are shown, not waited for: nobody watches a replay to see a model load.
            yield Moment(
                0, events.ArmReady(position, events.ArmInfo(arm.name, arm.fingerprint or {}), arm.load_s)
            )

    def _arm_through(self, arm: StoredArm) -> Moment:
        self._through.add(arm.position)
        tally = self._tallies[arm.position]
        if tally.speed.steps == arm.speed.steps:
            # All of it was played, so that what was measured of the arm as a whole holds, such as its memory.
            tally = self._tallies[arm.position] = Totals(arm.counts, arm.speed, Counter(arm.errors))
        verdict = arm.decided or last_note(arm.notes) or None
        ended = tally.counts, tally.speed, dict(tally.errors), arm.failure, verdict
        return Moment(0, events.ArmFinished(arm.position, *ended))


def turn_moments(where: Where, task: Task, played: PlayedTurn) -> Iterator[Moment]:
    """Yield what happened within a turn, from its start to its last prediction.

    Verdicts are as stored, which is final once the conversation is finished. Predictions take as long as they
    did when they were made; the rest of the turn's time passes before its calls are judged. A turn made along
    with others has less time than its predictions took, so these are shortened.
    """
    expected = task.expected(played.turn)
    yield Moment(0, events.TurnStarted(where, played.turn, *expected))
    pace, rest = _tempo(played)
    for number, step in enumerate(played.steps):
        prediction = step.prediction
        if step.parent is not None and step.parent != number - 1:
            yield Moment(0, events.WentBack(where, played.turn, number, step.parent))
        for wait, read in _reading(prediction.usage):
            piece = events.PieceGenerated(where, played.turn, number, "", 0, False, step.role, read=read)
            yield Moment(wait * pace, piece)
        thoughts = prediction.usage.reasoning_tokens
        for wait, text, tokens, forced in _pieces(prediction):
            fields = text, tokens, forced, step.role, thoughts > 0
            yield Moment(wait * pace, events.PieceGenerated(where, played.turn, number, *fields))
            thoughts -= tokens
        yield Moment(0, events.PredictionMade(where, played.turn, number, prediction, step.role))
        if step.executed is not None:
            yield Moment(rest, events.CallJudged(where, played.turn, number, step.executed, step.verdict))


def _tempo(played: PlayedTurn) -> tuple[float, float]:
    """Return the factor that shortens a turn's predictions to its time, and the other seconds per step."""
    usages = [step.prediction.usage for step in played.steps]
    spent = sum(usage.prefill_s + usage.decode_s for usage in usages)
    pace = played.wall_s / spent if spent > played.wall_s > 0 else 1.0
    return pace, max(played.wall_s - spent, 0.0) / max(len(usages), 1)


def _reading(usage: Usage) -> list[tuple[float, tuple[int, int]]]:
    """Return (seconds, (tokens read, tokens of the prompt)) before each batch of a prompt that was read."""
    if not usage.prefill_s:
        return []
    starts = range(usage.cached_tokens, max(usage.prompt_tokens, usage.cached_tokens + 1), _BATCH)
    batch_s = usage.prefill_s * _BATCH / max(usage.prompt_tokens - usage.cached_tokens, 1)
    return [(batch_s if n else 0.0, (start, usage.prompt_tokens)) for n, start in enumerate(starts)]


def _pieces(prediction: Prediction) -> Iterator[tuple[float, str, int, bool]]:
    """Yield (seconds, text, tokens, forced) of each piece; chosen tokens are assumed to take equally long."""
    runs, usage = _token_runs(prediction), prediction.usage
    chosen = sum(not forced for _, _, forced in runs)
    token_s = usage.decode_s / chosen if chosen else 0.0
    wait, start = usage.prefill_s - sum(seconds for seconds, _ in _reading(usage)), 0
    for chars, tokens, forced in runs:
        wait += 0.0 if forced else token_s
        yield wait, prediction.raw[start : start + chars], tokens, forced
        wait, start = 0.0, start + chars


def _token_runs(prediction: Prediction) -> list[tuple[int, int, bool]]:
    """Return (characters, tokens, forced) of tokens that came together: a chosen one, or a run of forced
    ones.

    A prediction stored without its tokens' characters comes in as many equal pieces as it has tokens.
    """
    tokens, chars = prediction.usage.completion_tokens, len(prediction.raw)
    if not prediction.token_chars or len(prediction.token_chars) != len(prediction.token_forced):
        ends = [number * chars // tokens for number in range(tokens + 1)] if tokens else []
        return [(end - start, 1, False) for start, end in pairwise(ends)] or [(chars, 0, False)]
    runs: list[tuple[int, int, bool]] = []
    pairs = zip(prediction.token_forced, prediction.token_chars, strict=True)
    for forced, run in groupby(pairs, itemgetter(0)):
        sizes = [size for _, size in run]
        runs += [(sum(sizes), len(sizes), True)] if forced else [(size, 1, False) for size in sizes]
    return runs
