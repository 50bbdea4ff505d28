"""What is stored about a run, in the form in which readers get it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Literal, NamedTuple

from rig.config.limits import CutAnswers
from rig.core.calls import ByName, Fault, JsonObject
from rig.core.errors import RigError, counted
from rig.core.events import Speed
from rig.core.meters import Costs
from rig.core.metrics import TASKS, Counts, Declaration, nothing_played
from rig.core.tasks import PlayedTurn, Task

if TYPE_CHECKING:
    from rig.methods.base import Grading

FAILED_ARM = "arm"
"""The kind of error of an attempt where a whole arm failed and was tried again."""

State = Literal["waiting", "started", "finished"]

_ANSWERS = re.compile(r", answers [0-9a-f]{8}")


@dataclass(frozen=True, slots=True)
class GraderInfo(ByName):
    """The grader that made a score: its mode, its version and its similarity of texts."""

    grader: str
    grader_version: str
    similarity: str

    @classmethod
    def of(cls, grading: Grading) -> GraderInfo:
        """Return what the store keeps beside a score about a method's grader."""
        return cls(grading.grader, grading.version, grading.similarity)

    @property
    def has_answers(self) -> bool:
        """Whether people's answers decided what no rule could judge."""
        return _ANSWERS.search(self.similarity) is not None

    @property
    def rules(self) -> GraderInfo:
        """The same without people's answers; scores are comparable if these are equal."""
        return replace(self, similarity=_ANSWERS.sub("", self.similarity))

    def __str__(self) -> str:
        similarity = f", similarity {self.similarity}" if self.similarity else ""
        return f"{self.grader}, version {self.grader_version}{similarity}"


@dataclass(frozen=True, slots=True)
class NewRun:
    """A run to be stored. `settings` holds, as JSON, all that is needed to start it again.

    `declaration` is its method's.
    """

    id: str
    name: str | None
    settings: JsonObject
    arms: tuple[str, ...]
    conversations: tuple[Task, ...]
    declaration: Declaration
    repeats: int = 1


@dataclass(frozen=True, slots=True)
class Cell:
    """One conversation as one arm ran it, `turns_done` of `turns` so far. It is scored once finished."""

    arm: int
    conversation: str
    repeat: int
    turns: int
    turns_done: int
    counts: Counts | None = None
    errors: Mapping[str, int] = field(default_factory=dict)

    @property
    def state(self) -> State:
        if self.counts is not None:
            return "finished"
        return "started" if self.turns_done else "waiting"


class FailedTurn(NamedTuple):
    """A turn that can be played again, and how many turns that replays: it and those after it."""

    turn: int
    turns: int


def made_from(fingerprint: JsonObject, prefix: str = "") -> str | None:
    """Return what a model's file was made from, if rig made it, and the actual types of its tensors.

    For example, `requantized from smollm2-135m (Q4_1); 180 Q4_0, 1 Q8_0, 30 Q3_K, 61 F32`.
    """
    origin = fingerprint.get(f"{prefix}made_from")
    if not isinstance(origin, dict):
        return None
    types = fingerprint.get(f"{prefix}tensor_types", {})
    return f"{origin['note']}; {', '.join(f'{count} {kind}' for kind, count in types.items())}"


@dataclass(frozen=True, slots=True)
class ArmSums:
    """The sums of an arm's steps and its finished conversations.

    `counts` are those of its conversations, `error_types` and `faults` counts by kind; all three are empty
    until a conversation is finished. `limits` are the known ones of the arm.
    """

    counts: Counts
    speed: Speed
    error_types: Mapping[str, int] = field(default_factory=dict)
    faults: Mapping[str, int] = field(default_factory=dict)
    limits: tuple[CutAnswers, ...] = ()


@dataclass(frozen=True, slots=True)
class StoredArm:
    """One arm with what it has achieved so far.

    `fingerprint` is None until the arm's model has been loaded; `failure` says why it could not go on.
    `costs` are what it cost, and `errors` counts failed steps by kind. `grader` is the one that made its
    scores, None until a conversation is finished. `not_evaluated` says why its numbers say nothing about the
    model, if so. `attempts` counts what was tried again, by what had failed: turns, and the arm. `decided` is
    the verdict on the arm, in words, in a run until a verdict, which then stopped playing it. `notes`
    are what plugins noted on the arm, by name (`rig.running.hooks`). `sums` is None if the run was read
    without sums; using any of them then raises ValueError.
    """

    position: int
    name: str
    fingerprint: JsonObject | None
    failure: str | None
    load_s: float | None
    costs: Costs
    errors: dict[str, int]
    sums: ArmSums | None
    grader: GraderInfo | None = None
    not_evaluated: str | None = None
    attempts: dict[str, int] = field(default_factory=dict)
    decided: str | None = None
    notes: Mapping[str, JsonObject] = field(default_factory=dict)

    @property
    def counts(self) -> Counts:
        return self._summed.counts

    @property
    def speed(self) -> Speed:
        return self._summed.speed

    @property
    def error_types(self) -> Mapping[str, int]:
        return self._summed.error_types

    @property
    def faults(self) -> Mapping[str, int]:
        return self._summed.faults

    @property
    def limits(self) -> tuple[CutAnswers, ...]:
        return self._summed.limits

    @property
    def _summed(self) -> ArmSums:
        if self.sums is None:
            raise ValueError(f"{self.name} was read without its sums")
        return self.sums

    @property
    def rated(self) -> Counts:
        """The counts that rates are made of: empty if the model never answered."""
        return {} if self.not_evaluated else self.counts

    @property
    def made_from(self) -> str | None:
        """What its model's file was made from, if rig made it."""
        return made_from(self.fingerprint or {}, "model.")

    def as_json(self, declaration: Declaration) -> JsonObject:
        """Return the arm as `rig run --json` prints it; texts and notes are left out if empty."""
        return {
            "arm": self.name,
            "conversations": self.counts.get(TASKS, 0),
            **{metric.name: metric.rate(self.rated) for metric in declaration.shown("tables")},
            **declaration.bounds_json(self.rated),
            **{count.name: self.counts.get(count.name, 0) for count in declaration.counts},
            "errors": self.errors,
            "speed": self.speed.as_json(),
            "error_types": self.error_types,
            "faults": self.faults,
            "limits": [limit.as_json() for limit in self.limits],
            "grader": self.grader.as_json() if self.grader else None,
            **{name: value for name in _IN_WORDS if (value := getattr(self, name))},
        }


_IN_WORDS = ("failure", "not_evaluated", "attempts", "decided", "made_from", "notes")


def last_note(notes: Mapping[str, JsonObject]) -> str:
    """Return the words of the last of an arm's notes, in one line; empty if it has none."""
    return str([note["text"] for note in notes.values()][-1]) if notes else ""


def fits_label(name: str, text: str) -> bool:
    """Return whether a text is a name as tables shorten it: `…q8_0`, `smollm2…q8_0`, or its end `q8_0`."""
    first, *others = text.replace("...", "…").split("…")
    if not others:
        return bool(text) and name.endswith(text)
    return name.startswith(first) and name.endswith(others[-1]) and len(name) > len(text.replace("…", ""))


FITS: tuple[Callable[[str, str], bool], ...] = (
    str.__eq__,
    lambda name, text: name.startswith(text),
    fits_label,
)
"""How a text can be meant for a name, in the order in which these are tried."""


@dataclass(frozen=True, slots=True)
class StoredRun:
    """A run as stored. `turns` are those of all arms and repeats, 0 if their number is unknown.

    `is_running` says that a live process is writing it; `declaration` is what its method counts.
    """

    id: str
    name: str | None
    created: datetime
    finished: datetime | None
    rig: str
    settings: JsonObject
    repeats: int
    conversations: tuple[str, ...]
    turns: int
    turns_done: int
    is_running: bool
    arms: tuple[StoredArm, ...]
    declaration: Declaration

    def arm(self, text: str) -> StoredArm:
        """Return the arm that a text is the name of, its beginning, or a label that tables have.

        Raises RigError unless there is one.
        """
        arms: list[StoredArm] = []
        for fits in FITS:
            arms = arms or [arm for arm in self.arms if text and fits(arm.name, text)]
        if len(arms) != 1:
            names = ", ".join(arm.name for arm in arms or self.arms)
            meant = "could be any of" if arms else "is not one of its arms, which are"
            raise RigError(f"run {self.id}: {text!r} {meant}: {names}")
        return arms[0]

    @property
    def begun(self) -> Counts:
        """The counts of an arm that has finished nothing."""
        chooses = self.settings.get("until") is not None
        return nothing_played(len(self.conversations) * self.repeats) if chooses else {}

    @property
    def turns_left(self) -> str:
        """How many turns are still to be played, as the beginning of a sentence."""
        left = self.turns - self.turns_done
        if not self.turns:
            return "an unknown number of turns is"
        return f"{counted(left, 'turn')} {'is' if left == 1 else 'are'}"

    @property
    def state(self) -> Literal["finished", "running", "interrupted"]:
        if self.finished is not None:
            return "finished"
        return "running" if self.is_running else "interrupted"


@dataclass(frozen=True, slots=True)
class Transcript:
    """One conversation with the turns that one arm has played. It has `counts` once it is scored."""

    arm: str
    repeat: int
    conversation: Task
    turns: dict[int, PlayedTurn]
    counts: Counts | None
    declaration: Declaration
    faults: tuple[Fault, ...] = ()

    @property
    def turn_numbers(self) -> list[int]:
        """The assistant turns in order: those known beforehand, and those that were played."""
        return sorted({*self.conversation.known_turns, *self.turns})

    @property
    def pairs_calls(self) -> bool:
        """Whether the verdicts say which true calls were made; some methods judge only where a task ends."""
        steps = (step for turn in self.turns.values() for step in turn.steps if step.executed is not None)
        verdicts = [step.verdict for step in steps]
        return all(verdict and (not verdict.match or verdict.ground_truth) for verdict in verdicts)


@dataclass(frozen=True, slots=True)
class StoredScore:
    """What one grader makes of an arm: sums over the conversations that it has scored.

    `suite` is the suite of these conversations; None stands for all.
    """

    arm: int
    grader: GraderInfo
    counts: Counts
    error_types: dict[str, int]
    faults: dict[str, int]
    suite: str | None = None


class TurnSpeed(NamedTuple):
    """Sums over turns, without costs and the time of storing, with each turn's seconds and the number of
    answers.
    """

    speed: Speed
    walls: Sequence[float]
    answers: int


class ScoredTurn(NamedTuple):
    """An assistant turn: how many calls it should have made, and how many of those were made, in any turn.

    `turn` is its position in the task, `number` counts assistant turns from 1. `wanted` is None if it is
    unknown which calls are due in which turn. `bad_actions` counts the incorrect actions of the turn itself,
    `error` is why it ended without a reply.
    """

    turn: int
    number: int
    wanted: int | None
    matched: int
    bad_actions: int
    error: str | None

    @property
    def right(self) -> bool | None:
        """Whether all due calls were made, and no action or generation was wrong; None if it is unknown what
        was due.
        """
        if self.wanted is None:
            return None
        return self.matched == self.wanted and not self.bad_actions and self.error is None


class ScoredCell(NamedTuple):
    """A finished conversation of an arm. `source` is the SHA-256 of its file, `errors` counts failed steps,
    `cuts` counts the answers that a limit cut off, by its option.
    """

    arm: int
    conversation: str
    source: str
    suite: str
    repeat: int
    counts: Counts
    turns: tuple[ScoredTurn, ...]
    errors: Mapping[str, int]
    error_types: Mapping[str, int]
    faults: Mapping[str, int]
    cuts: Mapping[str, int]

    @property
    def rights(self) -> dict[int, bool]:
        """Whether each turn is right, by its number from 1, for the turns where this is known."""
        return {turn.number: turn.right for turn in self.turns if turn.right is not None}
