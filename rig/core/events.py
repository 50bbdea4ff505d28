"""What happens in a run, one typed event for each thing. Displays only listen; nothing flows back.

Events of one conversation are ordered. `Where` addresses them: an arm, a conversation, an assistant turn.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from rig.core.calls import ExecutedCall, JsonObject, Verdict
from rig.core.metrics import UNDECLARED, Counts, Declaration
from rig.core.models import Message, Prediction, Usage


@dataclass(frozen=True, slots=True, order=True)
class Where:
    """A conversation of an arm: `arm` is its position in `RunStarted.arms`."""

    arm: int
    conversation: str
    repeat: int = 0


@dataclass(frozen=True, slots=True)
class ArmInfo:
    """One arm: a model and its settings. `fingerprint` is everything that can change an answer."""

    name: str
    fingerprint: JsonObject = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ConversationInfo:
    """A task to run: its name, how many turns to predict (0 if unknown), and how many calls are due.

    `known_turns` are the numbers that events give these turns; people count the turns from 1 in this order.
    """

    name: str
    turns: int
    ground_truths: int
    known_turns: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Speed(Usage):
    """Tokens, seconds and costs so far: sums over steps, and what turns took besides.

    Rates are in tokens per second, None before any token. `cpu_s` is the CPU time that the process used in
    turns, None if it was not measured. The costs are those of `rig.core.meters`.
    """

    tools_s: float = 0.0
    scoring_s: float = 0.0
    store_s: float = 0.0
    wall_s: float = 0.0
    steps: int = 0
    display_s: float = 0.0
    peak_memory: int | None = None
    peak_device_memory: int | None = None
    energy_j: float | None = None
    cpu_s: float | None = 0.0

    @property
    def prefill_rate(self) -> float | None:
        new = self.prompt_tokens - self.cached_tokens
        return new / self.prefill_s if self.prefill_s and new else None

    @property
    def decode_rate(self) -> float | None:
        return self.completion_tokens / self.decode_s if self.decode_s else None

    @property
    def cached_share(self) -> float | None:
        return self.cached_tokens / self.prompt_tokens if self.prompt_tokens else None

    @property
    def forced_share(self) -> float | None:
        return self.forced_tokens / self.completion_tokens if self.completion_tokens else None

    @property
    def first_token(self) -> float | None:
        """Seconds from a request to the first token of its answer, on average."""
        return self.first_token_s / self.steps if self.steps and self.first_token_s else None

    def cpu_share(self, threads: int) -> float | None:
        """Return the CPU time used, as a share of what this many threads could have used while they had work.

        A share well below 1 means that another process was busy, or the machine waited. None if unknown.
        """
        alone = self.mask_s + self.tools_s + self.scoring_s
        could = threads * (self.prefill_s + self.decode_s - self.mask_s) + alone
        return self.cpu_s / could if self.cpu_s and could > 0 else None

    def as_json(self) -> JsonObject:
        """Return sums, costs and rates by name."""
        return {name: getattr(self, name) for name in (*self.__dataclass_fields__, *_RATES)}


_RATES = ("prefill_rate", "decode_rate", "cached_share", "forced_share", "first_token")


@dataclass(frozen=True, slots=True)
class Event:
    """Anything that happens in a run."""


@dataclass(frozen=True, slots=True)
class RunStarted(Event):
    """First event of a run.

    `finished_turns` and `finished_conversations` count what an earlier, interrupted start left in the store.
    `declaration` says what is counted, and so what the counts of later events mean.
    """

    run: str
    store: str
    arms: tuple[ArmInfo, ...]
    conversations: tuple[ConversationInfo, ...]
    repeats: int = 1
    finished_turns: int = 0
    finished_conversations: int = 0
    declaration: Declaration = UNDECLARED


@dataclass(frozen=True, slots=True)
class ArmStarted(Event):
    """An arm's model is about to be loaded."""

    arm: int


@dataclass(frozen=True, slots=True)
class PromptRead(Event):
    """While an arm gets ready, it has read `read` of the `prompt` tokens with which all its prompts begin."""

    arm: int
    read: int
    prompt: int


@dataclass(frozen=True, slots=True)
class ArmReady(Event):
    """An arm's model is loaded; its fingerprint is now complete."""

    arm: int
    info: ArmInfo
    seconds: float


@dataclass(frozen=True, slots=True)
class ConversationStarted(Event):
    """A conversation begins, or continues after a resume at `first_turn`."""

    where: Where
    first_turn: int = 0


@dataclass(frozen=True, slots=True)
class TurnStarted(Event):
    """An assistant turn is about to be predicted.

    `history` is what was said since the previous assistant turn (usually one user utterance);
    `ground_truth` are the calls this turn should make; `reply` is the recorded reply.
    """

    where: Where
    turn: int
    history: tuple[str, ...]
    ground_truth: tuple[ExecutedCall, ...]
    reply: str


@dataclass(frozen=True, slots=True)
class StepEvent(Event):
    """Anything that happens in a step of a turn."""

    where: Where
    turn: int
    step: int


@dataclass(frozen=True, slots=True)
class WentBack(StepEvent):
    """A search goes back: the next step follows the step `parent` instead of the one before it.

    -1 stands for the beginning of the turn.
    """

    parent: int


@dataclass(frozen=True, slots=True)
class PersonAsked(StepEvent):
    """A role that a person plays has to speak. `Control.answer` takes what they say.

    `script` is what a model in their place would read about this task. `messages` is the conversation so far
    as the role reads it, with its own words as replies. `phrases` are words with a special meaning.
    """

    role: str
    script: str
    messages: tuple[Message, ...]
    phrases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PieceGenerated(StepEvent):
    """Some text of the prediction being made. Displays coalesce these; there is one per decoded batch.

    With `thought`, the text is thinking and not part of the answer. While a prompt is read there is no text,
    and `read` is how many of its tokens have been read, and how many it has.
    """

    text: str
    tokens: int
    forced: bool
    role: str = "assistant"
    thought: bool = False
    read: tuple[int, int] = (0, 0)


@dataclass(frozen=True, slots=True)
class PredictionMade(StepEvent):
    """A step is complete: a call (not yet executed), a reply, or an error, by the role that spoke."""

    prediction: Prediction
    role: str = "assistant"


@dataclass(frozen=True, slots=True)
class Rejudged:
    """An earlier call of a conversation, in this or an earlier turn, matches another ground truth now."""

    turn: int
    step: int
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class CallJudged(StepEvent):
    """A predicted call was executed in the world and matched against the ground truth.

    `verdict` is None where there is nothing to match calls with. `rejudged` are the earlier calls that
    made room for it: a maximum matching may have to move them.
    """

    executed: ExecutedCall
    verdict: Verdict | None
    rejudged: tuple[Rejudged, ...] = ()


@dataclass(frozen=True, slots=True)
class TurnFinished(Event):
    """A turn is in the store. `counts` and `speed` are the arm's so far; `counts` include only finished
    conversations.
    """

    where: Where
    turn: int
    counts: Counts
    speed: Speed


@dataclass(frozen=True, slots=True)
class ConversationFinished(Event):
    """All turns of a conversation are done.

    `counts` and `errors` (failed steps by kind) are its own, `arm_counts` and `speed` the arm's so far.
    """

    where: Where
    counts: Counts
    arm_counts: Counts
    speed: Speed
    errors: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ConversationSkipped(Event):
    """A conversation is left for a later resume, with `turns_left` of its turns still to play."""

    where: Where
    turns_left: int


@dataclass(frozen=True, slots=True)
class EvidenceMoved(Event):
    """With `--until verdict`: after one more conversation, more is known of an arm's loss against the first.

    A note on an arm (`rig.running.hooks`) is sent like this, too.
    `text` is one line, `evidence` the numbers. Once something is `found`, the arm stops, and leaves out
    `turns_left` and `conversations_left`.
    """

    arm: int
    text: str
    evidence: JsonObject
    found: bool = False
    turns_left: int = 0
    conversations_left: int = 0


@dataclass(frozen=True, slots=True)
class ArmFinished(Event):
    """An arm is through, or `failure` says in one line why it could not go on.

    `decided` says what a run until a verdict found out about the arm.
    """

    arm: int
    counts: Counts
    speed: Speed
    errors: dict[str, int] = field(default_factory=dict)
    failure: str | None = None
    decided: str | None = None


@dataclass(frozen=True, slots=True)
class RunFinished(Event):
    """Last event of a run. `interrupted` runs can be resumed."""

    run: str
    interrupted: bool = False


@dataclass(frozen=True, slots=True)
class Notice(Event):
    """Something a person should know that is not part of the result, in one line."""

    text: str


Emit: TypeAlias = Callable[[Event], None]
