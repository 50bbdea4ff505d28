"""The state of a run that the view shows, built from its events alone and independent of a terminal.

Counts and speeds come from the events; nothing here computes them.
"""

from collections import Counter, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import product

from rig.config.limits import cut_off
from rig.core import events
from rig.core.calls import CallPlace, StepPlace
from rig.core.events import ArmInfo, Event, Speed, Where
from rig.core.metrics import UNDECLARED, Counts, Declaration
from rig.plugins.lines.pace import Answered
from rig.show import signs
from rig.show.compare import evidence_line
from rig.show.signs import Sign
from rig.show.steps import Said, TurnHeading, ended
from rig.show.story import Due, due_calls
from rig.show.texts import clip
from rig.store import Cell, StoredArm, last_note
from tui.live.layout import LENGTHS, LiveTranscript, NoticeLine
from tui.text.lines import Span, Tint

MEMORY = 2_000_000
"""The most characters of finished transcripts that are kept; the oldest are dropped first."""


@dataclass(frozen=True, slots=True)
class StoredBefore:
    """What the store held of a run when it was resumed; its events cover only what is played afterwards.

    `begun` are the earlier turns of interrupted conversations, as events; `arms` have the numbers of what was
    played.
    """

    cells: tuple[Cell, ...]
    begun: tuple[Event, ...] = ()
    arms: tuple[StoredArm, ...] = ()


@dataclass(slots=True)
class ConversationState:
    """One conversation of one arm, with its status. `transcript` is None before the start and once dropped.

    `holds` says which ground truth a call matches at present; a later call can change it. `counts` are those
    of a finished conversation.
    """

    where: Where
    turns: int
    status: Sign = signs.WAITING
    turns_done: int = 0
    holds: dict[StepPlace, CallPlace] = field(default_factory=dict)
    incorrect_actions: int = 0
    expected: list[tuple[Due, ...]] = field(default_factory=list)
    """The ground truth of every turn that has begun."""
    transcript: LiveTranscript | None = None
    dropped: bool = False
    counts: Counts | None = None

    @property
    def over(self) -> bool:
        """Whether it was played to the end."""
        return self.failed or self.status in signs.SUCCESSES

    @property
    def failed(self) -> bool:
        """Whether it is over and was not a success."""
        return self.status in (signs.FAILED, signs.ERROR)

    @property
    def sign(self) -> Sign:
        """The sign of its status; if several things made it fail, of the worst."""
        return signs.INCORRECT if self.failed and self.incorrect_actions else self.status

    @property
    def glyph(self) -> Span:
        """Its sign, in the colours of an alarm after any incorrect action."""
        return str(self.sign.glyph), Tint.ALARM if self.incorrect_actions else Tint(self.sign.tint)


@dataclass(slots=True)
class ArmState:
    """One arm, with the latest counts and speed from its events."""

    info: ArmInfo
    loading: bool = False
    read: tuple[int, int] = (0, 0)
    """While it gets ready: the tokens read of the beginning of all its prompts, and how many these are."""
    counts: Counts | None = None
    speed: Speed | None = None
    failure: str | None = None
    evaluated: bool = True
    evidence: str = ""
    """What a run that plays until a verdict has found out about the arm."""
    course: list[bool] = field(default_factory=list)
    """Whether each finished conversation succeeded, in order."""
    answers: int = 0
    cuts: Counter[str] = field(default_factory=Counter)
    """How many of its answers each limit cut off, by option."""

    @property
    def cut_share(self) -> float:
        """The share of its answers that were cut off by the limit that cut off most."""
        return max(self.cuts.values(), default=0) / max(self.answers, 1)

    @property
    def rated(self) -> Counts | None:
        """The counts for the rates, None if the arm is not evaluated because only the machine failed."""
        return self.counts if self.evaluated else None


_CHANGING = (
    *(events.RunStarted, events.RunFinished, events.ArmFinished, StoredBefore),
    *(events.ConversationStarted, events.ConversationFinished, events.ConversationSkipped),
)


@dataclass(slots=True)
class RunState:
    """Everything the screens show. Only `apply` changes it; any prefix of a run's events gives a valid state.

    `changes` counts what can change the list of conversations. `current` is the conversation in progress: it
    changes only when that one is over, so that runs with several sequences do not make the view jump.
    """

    run: str = ""
    store: str = ""
    arms: list[ArmState] = field(default_factory=list)
    conversations: dict[Where, ConversationState] = field(default_factory=dict)
    current: Where | None = None
    declaration: Declaration = UNDECLARED
    repeats: int = 1
    turns_total: int = 0
    turns_done: int = 0
    finished: bool = False
    interrupted: bool = False
    changes: int = 0
    playing: set[Where] = field(default_factory=set)
    """The conversations with a turn in progress."""
    _running: dict[Where, None] = field(default_factory=dict)
    _kept: deque[Where] = field(default_factory=deque)
    _weight: int = 0
    _answered: Answered = field(default_factory=Answered)

    @property
    def failures(self) -> int:
        """The number of conversations that are over and were not a success."""
        return sum(one.failed for one in self.conversations.values())

    def apply_all(self, stream: Iterable[Event | StoredBefore]) -> None:
        """Apply events in order."""
        for event in stream:
            self.apply(event)

    def apply(self, event: Event | StoredBefore) -> None:
        """Apply an event. Questions to a person are handled elsewhere."""
        self.changes += isinstance(event, _CHANGING)
        if not isinstance(event, StoredBefore):
            self._answered.tell(event)
        match event:
            case events.PieceGenerated():
                draft = self._transcript(event.where).draft(StepPlace(event.turn, event.step))
                draft.add(event.text, event.tokens, thought=event.thought, read=event.read)
            case events.PredictionMade():
                arm = self.arm(event.where.arm)
                arm.evaluated = self._answered.evaluated(event.where.arm)
                arm.answers += event.prediction.part == 0
                arm.cuts.update(cut_off(event.prediction, event.role, arm.info.fingerprint))
                place = StepPlace(event.turn, event.step)
                self._transcript(event.where).predicted(place, event.prediction, event.role)
            case events.WentBack():
                self._transcript(event.where).went_back(event.turn, event.parent)
            case events.CallJudged():
                self._call_judged(event)
            case events.TurnStarted():
                self._turn_started(event)
            case events.TurnFinished():
                self._turn_finished(event)
            case events.ConversationStarted():
                self._conversation_started(event)
            case events.ConversationFinished():
                self._conversation_finished(event)
            case events.ConversationSkipped():
                self._break_off(event.where, signs.SKIPPED, "skipped; resuming the run goes on from here")
            case events.EvidenceMoved():
                self.arm(event.arm).evidence = evidence_line(event)
            case events.RunStarted():
                self._run_started(event)
            case events.ArmStarted():
                self.arm(event.arm).loading = True
            case events.PromptRead():
                self.arm(event.arm).read = event.read, event.prompt
            case events.ArmReady():
                arm = self.arm(event.arm)
                arm.info, arm.loading, arm.read = event.info, False, (0, 0)
            case events.ArmFinished():
                self._arm_finished(event)
            case events.RunFinished():
                self.finished, self.interrupted = True, event.interrupted
                for where in list(self._running):
                    self._break_off(where, signs.WAITING, "stopped here; the turn is made again on resume")
            case StoredBefore():
                self._stored_before(event)

    def arm(self, number: int) -> ArmState:
        """Return the arm at a position, a placeholder if the run did not announce it."""
        while len(self.arms) <= number:
            self.arms.append(ArmState(ArmInfo(f"arm {len(self.arms)}")))
        return self.arms[number]

    def conversation(self, where: Where) -> ConversationState:
        """Return a conversation, a placeholder if the run did not announce it."""
        if where not in self.conversations:
            self.conversations[where] = ConversationState(where, turns=0)
        return self.conversations[where]

    def _transcript(self, where: Where) -> LiveTranscript:
        conversation = self.conversation(where)
        if conversation.transcript is None:
            conversation.transcript = LiveTranscript()
        return conversation.transcript

    def _run_started(self, event: events.RunStarted) -> None:
        RunState.__init__(self, changes=self.changes)  # a replay can begin again
        self.run, self.store, self.repeats = event.run, event.store, event.repeats
        self.declaration = event.declaration
        self.arms = [ArmState(info) for info in event.arms]
        self.turns_done = event.finished_turns
        for arm, repeat, info in product(range(len(event.arms)), range(event.repeats), event.conversations):
            where = Where(arm, info.name, repeat)
            self.conversations[where] = ConversationState(where, info.turns)
            self.turns_total += info.turns

    def _stored_before(self, event: StoredBefore) -> None:
        self.apply_all(event.begun)
        self.playing.clear()
        self._answered.stored(arm.position for arm in event.arms if arm.counts and not arm.not_evaluated)
        for arm in event.arms:
            if arm.fingerprint is not None:
                state = self.arm(arm.position)
                state.counts, state.speed = arm.counts, arm.speed
                state.evaluated = not arm.not_evaluated
                state.evidence = arm.decided or last_note(arm.notes)
                state.answers = max((limit.answers for limit in arm.limits), default=0)
                state.cuts = Counter({limit.option: limit.cut for limit in arm.limits if limit.cut})
        for cell in event.cells:
            conversation = self.conversation(Where(cell.arm, cell.conversation, cell.repeat))
            conversation.turns_done = cell.turns_done
            if cell.counts is not None:
                conversation.status = ending(self.declaration, cell.counts, cell.errors)
                conversation.counts = cell.counts
                self.arm(cell.arm).course.append(conversation.status in signs.SUCCESSES)
                conversation.incorrect_actions = self.declaration.faults(cell.counts)
                conversation.dropped = True

    def _conversation_started(self, event: events.ConversationStarted) -> None:
        conversation = self.conversation(event.where)
        conversation.status = signs.RUNNING
        self._running[event.where] = None
        transcript = self._transcript(event.where)
        if event.first_turn:
            transcript.add(NoticeLine("continues after an interruption"))
        if self.current not in self._running:
            self.current = event.where

    def _turn_started(self, event: events.TurnStarted) -> None:
        self.playing.add(event.where)
        conversation = self.conversation(event.where)
        conversation.expected.append(due_calls(event.turn, event.ground_truth, LENGTHS))
        transcript = self._transcript(event.where)
        number = max(len(conversation.expected), conversation.turns_done + 1)
        transcript.add(TurnHeading(event.turn, number))
        for text in event.history:
            transcript.add(Said(clip(text)))

    def _call_judged(self, event: events.CallJudged) -> None:
        conversation = self.conversation(event.where)
        transcript = self._transcript(event.where)
        judged = [(StepPlace(moved.turn, moved.step), moved.verdict) for moved in event.rejudged]
        for place, verdict in judged:
            transcript.rejudged(place, verdict)
        place = StepPlace(event.turn, event.step)
        if event.verdict is not None:
            judged.append((place, event.verdict))
            conversation.incorrect_actions += event.verdict.bad_action
            self.changes += event.verdict.bad_action
        conversation.holds |= {
            place: verdict.ground_truth for place, verdict in judged if verdict.ground_truth
        }
        transcript.judged(place, event.executed.outcome, event.verdict)

    def _arm_finished(self, event: events.ArmFinished) -> None:
        arm = self.arm(event.arm)
        arm.counts, arm.speed = event.counts, event.speed
        arm.loading, arm.read, arm.failure = False, (0, 0), event.failure
        if event.decided and not arm.evidence.endswith(event.decided):  # a curve has its picture before it
            arm.evidence = event.decided
        for where in [
            place for place in self._running if place.arm == event.arm and event.failure is not None
        ]:
            self._break_off(where, signs.WAITING, "the arm failed here")

    def _turn_finished(self, event: events.TurnFinished) -> None:
        self.playing.discard(event.where)
        conversation = self.conversation(event.where)
        conversation.turns_done += 1
        self.turns_done += 1
        arm = self.arm(event.where.arm)
        arm.counts, arm.speed = event.counts, event.speed

    def _conversation_finished(self, event: events.ConversationFinished) -> None:
        conversation = self.conversation(event.where)
        conversation.status = ending(self.declaration, event.counts, event.errors)
        conversation.counts = event.counts
        conversation.incorrect_actions = self.declaration.faults(event.counts)
        arm = self.arm(event.where.arm)
        arm.counts, arm.speed = event.arm_counts, event.speed
        arm.course.append(conversation.status in signs.SUCCESSES)
        transcript = self._transcript(event.where)
        transcript.add(ended(self.declaration, event.counts, event.errors))
        self._leave(event.where)
        self._kept.append(event.where)
        self._weight += transcript.weight
        while self._weight > MEMORY and len(self._kept) > 1:
            oldest = self.conversations[self._kept.popleft()]
            if oldest.transcript is not None:
                self._weight -= oldest.transcript.weight
            oldest.transcript, oldest.dropped = None, True
            oldest.expected, oldest.holds = [], {}

    def _break_off(self, where: Where, status: Sign, remark: str) -> None:
        conversation = self.conversation(where)
        conversation.status = status
        if conversation.transcript is not None:
            conversation.transcript.add(NoticeLine(remark))
        self._leave(where)

    def _leave(self, where: Where) -> None:
        self._running.pop(where, None)
        self.playing.discard(where)
        if self.current == where and self._running:
            self.current = next(iter(self._running))


def ending(declaration: Declaration, counts: Counts, errors: Mapping[str, int]) -> Sign:
    """Return the status of a conversation that ended with these counts and errors by kind."""
    if declaration.succeeded(counts):
        return ended(declaration, counts, errors).sign
    return signs.ERROR if errors else signs.FAILED


IN_ORDER = (
    *(signs.SUCCESS, signs.FAILED, signs.INCORRECT, signs.ERROR),
    *(signs.SKIPPED, signs.RUNNING, signs.WAITING),
)
"""All signs of conversations, those of finished ones first."""

SIGNS = tuple((sign.glyph, signs.SAID.get(sign, sign.word)) for sign in IN_ORDER)
"""The meanings of the signs of conversations, for help and documentation."""
