"""One arm playing one task once, turn by turn."""

from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from time import perf_counter
from typing import Any, NamedTuple, TypeAlias

from rig.core.calls import Call, ExecutedCall, Verdict
from rig.core.events import CallJudged, Emit, PredictionMade, Rejudged, TurnStarted, Where
from rig.core.metrics import Score
from rig.core.models import (
    CallMessage,
    Message,
    Model,
    Prediction,
    ReplyMessage,
    Request,
    StepKey,
    UserMessage,
)
from rig.core.tasks import PlayedTurn, Step
from rig.methods.guards import EpisodeGuard


class Ask(NamedTuple):
    """The role that speaks next, and its request.

    `phrases` are words with a special meaning, such as those that end a conversation. A person who plays the
    role can enter them with a key.
    """

    role: str
    request: Request
    phrases: tuple[str, ...] = ()


Playing: TypeAlias = Generator[Ask, Prediction, PlayedTurn]
"""A turn under way: it yields requests, is sent predictions, and returns the turn once it has ended."""

Asking: TypeAlias = Generator[Ask, Prediction, None]
"""A part of a turn: it yields requests and is sent predictions."""


class Episode:
    """An episode of a method. Subclasses define what happens in a turn, and how the turns are scored.

    `played` are the turns that have ended; `steps` are the steps of the current turn, number `turn`.
    `speaker` is the role whose call is carried out.
    `tools_s` and `scoring_s` are the seconds that the turn spent in tools and in scoring. `guards` are asked
    about each prediction of the evaluated role.
    """

    guards: Sequence[EpisodeGuard] = ()

    def __init__(self, setup: Any, task: Any, settings: Any, where: Where, emit: Emit, slot: int = 0) -> None:
        self.setup, self.task, self.settings = setup, task, settings
        self.where, self.emit, self.slot = where, emit, slot
        self.evaluated: str = setup.method.roles[0]
        self.speaker = self.evaluated
        self.played: list[PlayedTurn] = []
        self.turn = 0
        self.steps: list[Step] = []
        self.tools_s = self.scoring_s = 0.0
        self._log: list[tuple[str, Message]] = []
        self._openings: dict[str, Request] = {}

    # What a method overrides.

    makes_again = False
    """Whether resuming makes the calls of earlier turns again, because they changed the world."""

    @property
    def is_over(self) -> bool:
        """Whether the task has ended: by default after its known turns, or after one if none are known."""
        return len(self.played) >= (len(self.task.known_turns) or 1)

    def begin(self) -> None:
        """Begin the turn: by default, the evaluated role hears what the task's user says in it."""
        for text in self.task.expected(self.turn).said:
            self._log.append(("", ReplyMessage(text)))

    def speak(self) -> Asking:
        """Ask the roles, in the order of the turn. By default, the evaluated role calls until it replies."""
        while not self.steps or self.steps[-1].executed is not None:
            yield from self.ask(self.evaluated)

    def opening(self, role: str) -> Request:
        """Return how every request to a role begins, without messages of the task."""
        if role not in self._openings:
            self._openings[role] = self.setup.method.opening(self.task, self.settings, role)
        return self._openings[role]

    def messages(self, role: str) -> Iterable[Message]:
        """Return the messages as a role reads them: by default its words and calls, and others' words."""
        for speaker, message in self._log:
            if speaker == role:
                yield message
            elif isinstance(message, ReplyMessage):
                yield UserMessage(message.text)

    def phrases(self, role: str) -> tuple[str, ...]:
        """Return the words that have a special meaning when a role says them."""
        return ()

    def read(self, prediction: Prediction, role: str) -> Prediction:
        """Return a prediction as the method reads it."""
        return prediction

    def acts(self, role: str) -> bool:
        """Return whether a role's calls are carried out: by default only those of the evaluated role."""
        return role == self.evaluated

    def execute(self, call: Call) -> ExecutedCall | None:
        """Carry out a call of the `speaker`. Returns None if nothing can be called."""
        return None

    def judge(self, executed: ExecutedCall) -> tuple[Verdict | None, tuple[Rejudged, ...]]:
        """Return the verdict on the next step's call, and new verdicts on earlier calls that it changes."""
        return None, ()

    def add(self, step: Step) -> None:
        """Take in a step that was just played or is resumed: by default, add it to the conversation."""
        prediction = step.prediction
        if step.executed is not None and prediction.call is not None:
            beside = prediction.content, prediction.reasoning, prediction.part > 0
            self._log.append((step.role, CallMessage(prediction.call, step.executed.outcome, *beside)))
        elif prediction.reply is not None:
            self._log.append((step.role, ReplyMessage(prediction.reply, prediction.reasoning)))

    def score(self) -> Score:
        """Return the score of the episode, once it has ended."""
        raise NotImplementedError

    # What is the same in every method.

    @property
    def words(self) -> list[str]:
        """All replies so far, in order."""
        steps = (step for steps in (*(turn.steps for turn in self.played), self.steps) for step in steps)
        return [step.prediction.reply for step in steps if step.prediction.reply is not None]

    @property
    def next_turn(self) -> int | None:
        """The number of the next turn, as the task counts them; None once the task has ended."""
        if self.is_over:
            return None
        numbers = self.task.known_turns
        return numbers[len(self.played)] if numbers else len(self.played)

    def resume(self, played: PlayedTurn) -> None:
        """Take in the next turn as it was played before, and make its calls again if `makes_again`."""
        self.turn, self.steps = played.turn, []
        self.begin()
        for step in played.steps:
            self.steps.append(step)
            self.add(step)
        self.steps = []
        self.played.append(played)
        for step in played.steps if self.makes_again else ():
            if step.executed is not None:
                self.speaker = step.role
                self.execute(step.executed.call)

    def play(self) -> Playing:
        """Play the next turn, and emit an event for all that happens in it."""
        turn = self.next_turn
        assert turn is not None
        began = perf_counter()
        self.turn, self.steps = turn, []
        self.tools_s = self.scoring_s = 0.0
        self.emit(TurnStarted(self.where, turn, *self.task.expected(turn)))
        self.begin()
        yield from self.speak()
        seconds = perf_counter() - began, self.tools_s, self.scoring_s
        self.played.append(PlayedTurn(turn, tuple(self.steps), *seconds))
        self.steps = []
        return self.played[-1]

    def ask(self, role: str) -> Asking:
        """Ask a role. Its answer becomes one step, or one for each call if it makes several at once."""
        key = StepKey(self.task.name, self.turn, len(self.steps), self.where.repeat)
        opening = self.opening(role)
        request = replace(opening, key=key, messages=(*opening.messages, *self.messages(role)))
        prediction = yield Ask(role, request, self.phrases(role))
        for part in self.read(prediction, role).apart():
            if self.note(part, role).prediction.call is None:
                break

    def note(self, prediction: Prediction, role: str, parent: int | None = None) -> Step:
        """Make a prediction the next step; if the role acts, its call is carried out and judged."""
        number = len(self.steps)
        for guard in self.guards if role == self.evaluated else ():
            follows = number - 1 if parent is None else parent
            prediction = guard.checked(prediction, self.turn, self.steps, follows)
        self.emit(PredictionMade(self.where, self.turn, number, prediction, role))
        step = Step(prediction, role=role, parent=parent)
        if prediction.call is not None and self.acts(role):
            self.speaker = role
            clock = perf_counter()
            executed = self.execute(prediction.call)
            self.tools_s += perf_counter() - clock
            if executed is not None:
                clock = perf_counter()
                verdict, rejudged = self.judge(executed)
                self.scoring_s += perf_counter() - clock
                self.emit(CallJudged(self.where, self.turn, number, executed, verdict, rejudged))
                step = Step(prediction, executed, verdict, role, parent)
        self.steps.append(step)
        self.add(step)
        return step


def course(episode: Episode, players: Mapping[str, Model]) -> Iterator[tuple[Ask, Prediction]]:
    """Play an episode to its end with models that answer at once, yielding each request and prediction."""
    while episode.next_turn is not None:
        playing = episode.play()
        try:
            ask = next(playing)
            while True:
                prediction = players[ask.role].predict(ask.request, lambda _piece: None)
                yield ask, prediction
                ask = playing.send(prediction)
        except StopIteration:
            continue
