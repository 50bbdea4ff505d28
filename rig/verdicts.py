"""What scoring says: of one prediction, and of many. The numbers every display and report shows."""

from collections.abc import Iterable
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Any

from rig.calls import Json, JsonObject


@dataclass(frozen=True, slots=True)
class Difference:
    """One reason why a predicted call is not the ground-truth call it was held against.

    `what` names an argument, or is `arguments` (of the wrong type), `response`, `exception` or
    `logged-in user`. For free text, `similarity` was below `threshold`, or `note` says why texts of any
    similarity differ.
    """

    what: str
    expected: Json
    got: Json
    similarity: float | None = None
    threshold: float | None = None
    note: str | None = None

    def as_json(self) -> JsonObject:
        """All of it by name."""
        return _by_name(self)


@dataclass(frozen=True, slots=True)
class Verdict:
    """The match status of one predicted call.

    `ground_truth` is the (turn, call) position it matched, None without a match. `bad_action` follows
    ToolTalk: an action tool that executed without an error and matched nothing. `reason` is one line for
    people; `differences` are those to the nearest ground-truth call of the same tool, if there is one.
    """

    match: bool
    ground_truth: tuple[int, int] | None = None
    bad_action: bool = False
    reason: str = ""
    differences: tuple[Difference, ...] = ()

    def as_json(self) -> JsonObject:
        """All of it by name."""
        return {**_by_name(self), "differences": [each.as_json() for each in self.differences]}


class FaultKind(StrEnum):
    """What a user can act on: the ways in which a turn of a failed conversation goes wrong."""

    MADE_UP = "made-up value"
    """A call was made before its value was given: an argument is nothing that the model had seen."""
    MISSING_CALL = "missing call"
    """A call that was due was not even tried."""
    WRONG_TOOL = "wrong tool"
    """Another tool was called than the one that was due, or one that does not exist."""
    WRONG_ARGUMENT = "wrong argument"
    """The right tool was called with an argument that is not the expected one."""
    WRONG_FORMAT = "wrong format"
    """An argument does not fit the tool's schema, so that the call failed."""
    REPEATED_CALL = "repeated call"
    """A call was made again that had been made, or had been right, already."""
    UNNEEDED_ACTION = "unneeded action"
    """The world was changed though nothing of the kind was due."""
    GAVE_UP = "gave up after an error"
    """The last call failed, something was still to be done, and the model replied instead."""
    CLAIMED_SUCCESS = "claims success without a call"
    """The reply says that an action was done which the model did not do."""
    GENERATION_FAILED = "generation failed"
    """No answer could be had of the model, so that what was due is missing. Its error says why."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that went wrong in the assistant turn at position `turn` of a failed conversation.

    `step` counts the calls of the turn, None for what is no call; `ground_truth` is the (turn, call) that was
    due, if one was. `argument` names the argument at fault with what was expected and got. `text` is one line
    for people.
    """

    kind: FaultKind
    turn: int
    text: str
    step: int | None = None
    ground_truth: tuple[int, int] | None = None
    tool: str = ""
    argument: str = ""
    expected: Json = None
    got: Json = None

    def as_json(self) -> JsonObject:
        """All of it by name."""
        return _by_name(self)


@dataclass(frozen=True, slots=True)
class Metrics:
    """Counts over calls and conversations, and the rates ToolTalk makes of them.

    Counts add up over conversations, so the rates are micro-averages (upstream's summary), except
    `success_rate` and `soft_success`, which are means over conversations. A rate with nothing to divide by
    is None. Source: ToolTalk, section 3.4 and Algorithm 2; `soft_success` from its repository (2024-05).
    """

    conversations: int = 0
    successes: int = 0
    soft_successes: float = 0.0
    predictions: int = 0
    ground_truths: int = 0
    matches: int = 0
    actions: int = 0
    valid_actions: int = 0
    bad_actions: int = 0

    def __add__(self, other: "Metrics") -> "Metrics":
        return Metrics(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))

    @classmethod
    def total(cls, parts: Iterable["Metrics"]) -> "Metrics":
        """The sum of many."""
        total = cls()
        for part in parts:
            total += part
        return total

    @property
    def precision(self) -> float | None:
        return _rate(self.matches, self.predictions)

    @property
    def recall(self) -> float | None:
        return _rate(self.matches, self.ground_truths)

    @property
    def action_precision(self) -> float | None:
        return _rate(self.valid_actions, self.actions)

    @property
    def incorrect_action_rate(self) -> float | None:
        return _rate(self.bad_actions, self.actions)

    @property
    def success_rate(self) -> float | None:
        return _rate(self.successes, self.conversations)

    @property
    def soft_success(self) -> float | None:
        return _rate(self.soft_successes, self.conversations)

    def as_json(self) -> JsonObject:
        """Counts and rates by name; rates are fractions or None."""
        counts = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "soft_successes"}
        rates = {
            name: getattr(self, name)
            for name in (
                "success_rate",
                "recall",
                "precision",
                "incorrect_action_rate",
                "action_precision",
                "soft_success",
            )
        }
        return {**rates, **counts}


def _rate(part: float, whole: int) -> float | None:
    return part / whole if whole else None


def _by_name(instance: Any) -> JsonObject:
    """Its fields. Not `asdict`, which copies values recursively: what a model wrote can be nested deeply."""
    return {field.name: getattr(instance, field.name) for field in fields(instance)}
