"""Tool calls and their outcomes, and what scoring says about them: the types that all parts of rig share."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Any, NamedTuple, TypeAlias

Json: TypeAlias = Any
"""A value that `json.loads` can return."""

JsonObject: TypeAlias = dict[str, Any]


class ByName:
    """A dataclass that is printed as JSON by the names of its fields."""

    __slots__ = ()

    def as_json(self) -> JsonObject:
        """Return the fields by name, with the values in tuples and mappings converted in the same way."""
        # Not `asdict`, which copies values recursively: what a model wrote can be nested deeply.
        return {of.name: _by_name(getattr(self, of.name)) for of in fields(self)}  # type: ignore[arg-type]


def _by_name(value: Any) -> Json:
    if hasattr(value, "as_json"):
        return value.as_json()
    if type(value) is tuple:
        return [_by_name(inner) for inner in value]
    if isinstance(value, Mapping):
        return {name: of.as_json() if hasattr(of, "as_json") else of for name, of in value.items()}
    return value


SESSION_TOKEN = "session_token"
"""The argument that a simulator gives to tools that need a login; no model ever writes it."""
SIGNED_IN = "4f1c9b27-a3e6-58d0"
"""The token of every user who is logged in at the start of a conversation that rig made."""


def without_token(arguments: Json) -> Json:
    """Return the arguments as a model would write them, without the injected session token."""
    if not isinstance(arguments, dict):
        return arguments
    return {name: value for name, value in arguments.items() if name != SESSION_TOKEN}


@dataclass(frozen=True, slots=True)
class Call:
    """One tool call as it was asked for.

    `arguments` is a JSON object in every well-formed call. A model decoded without a grammar can produce
    any JSON value, or text that is not JSON at all; the latter is held as None, as ToolTalk does.
    """

    name: str
    arguments: Json = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a tool returned: a response, or the text of an exception, never both."""

    response: Json = None
    exception: str | None = None

    def as_json(self) -> JsonObject:
        """Return the form that a model reads: `{"response": …, "exception": …}`."""
        return {"response": self.response, "exception": self.exception}


@dataclass(frozen=True, slots=True)
class ExecutedCall:
    """A call together with its outcome.

    `call.arguments` are the arguments as executed: tools that need a login carry the injected
    `session_token`. `username` is who was logged in when the call was made, if that is known (it is not part
    of any file; replaying the ground truth establishes it).
    """

    call: Call
    outcome: Outcome
    username: str | None = None

    @property
    def name(self) -> str:
        return self.call.name

    @property
    def arguments(self) -> Json:
        return self.call.arguments

    @property
    def response(self) -> Json:
        return self.outcome.response

    @property
    def exception(self) -> str | None:
        return self.outcome.exception

    def as_json(self) -> JsonObject:
        """Return a call as ToolTalk's files have it: `{"request": {…}, "response": …, "exception": …}`."""
        return {"request": {"api_name": self.name, "parameters": self.arguments}, **self.outcome.as_json()}


class CallPlace(NamedTuple):
    """Where a ground-truth call is: its turn, and its number among the turn's calls."""

    turn: int
    call: int


class StepPlace(NamedTuple):
    """Where a step is: its turn, and its number in the turn."""

    turn: int
    step: int


@dataclass(frozen=True, slots=True)
class Difference(ByName):
    """One reason why a predicted call is not the ground-truth call it was checked against.

    `what` names an argument, or is `arguments` (of the wrong type), `response`, `exception` or
    `logged-in user`. For free text, `similarity` was below `threshold`, or `note` says why texts of any
    similarity differ. `unclear` says that they may mean the same: the rules do not settle it, and it
    counts as no match.
    """

    what: str
    expected: Json
    got: Json
    similarity: float | None = None
    threshold: float | None = None
    note: str | None = None
    unclear: bool = False


@dataclass(frozen=True, slots=True)
class Verdict(ByName):
    """The match status of one predicted call.

    `ground_truth` is the call it matched, None without a match. `bad_action` follows
    ToolTalk: an action tool that executed without an error and matched nothing. `reason` is one line for
    people; `differences` are those to the nearest ground-truth call of the same tool, if there is one.
    """

    match: bool
    ground_truth: CallPlace | None = None
    bad_action: bool = False
    reason: str = ""
    differences: tuple[Difference, ...] = ()


UNREAD = "not clear: in a language that is not read"
"""The note on two texts of which one is in a language that the judge of texts does not know."""


@dataclass(frozen=True, slots=True)
class Doubt(ByName):
    """Two texts that no rule can tell apart or equate, on which a match depends.

    With them equal, the call `step` of the assistant turn at position `turn` would match `ground_truth`.
    """

    turn: int
    step: int
    ground_truth: CallPlace
    tool: str
    argument: str
    expected: str
    got: str
    note: str = ""

    @property
    def pair(self) -> tuple[str, str]:
        """Both texts, in an order that does not depend on which was expected."""
        first, second = sorted((self.expected, self.got))
        return first, second


class FaultKind(StrEnum):
    """The ways in which a turn of a failed conversation goes wrong, named so that a user can act on them."""

    MADE_UP = "made-up value"
    """A call was made too early: the model had not yet seen the value of an argument."""
    MISSING_CALL = "missing call"
    """A call that was due was not even tried."""
    WRONG_TOOL = "wrong tool"
    """The tool that was called is not the one that was due, or does not exist."""
    WRONG_ARGUMENT = "wrong argument"
    """The right tool was called with an argument that is not the expected one."""
    WRONG_FORMAT = "wrong format"
    """An argument does not fit the tool's schema, so that the call failed."""
    REPEATED_CALL = "repeated call"
    """A call was made again, although it had been made or was right before."""
    FORBIDDEN_CALL = "forbidden call"
    """A tool was called that the conversation forbids."""
    UNNEEDED_ACTION = "unneeded action"
    """The world was changed although no such change was due, or more calls were made than were due."""
    GAVE_UP = "gave up after an error"
    """The last call failed, something was still to be done, and the model replied instead."""
    CLAIMED_SUCCESS = "claims success without a call"
    """The reply claims an action that the model did not take."""
    WORLD_DIFFERS = "world differs"
    """At the end the world is not as it should be."""
    NOT_SAID = "not said"
    """The user was not told what they had asked for."""
    NOT_RECORDED = "not recorded"
    """No answer to a call was recorded, and no server was asked: nobody's fault."""
    GENERATION_FAILED = "generation failed"
    """The model gave no answer, so what was due is missing. Its error says why."""


@dataclass(frozen=True, slots=True)
class Fault(ByName):
    """One thing that went wrong in the assistant turn at position `turn` of a failed conversation.

    `step` counts the calls of the turn, None if no call is at fault; `ground_truth` is the call that should
    have been made, if there is one. `argument` names the argument at fault, with what was expected and got.
    `text` is one line for people.
    """

    kind: FaultKind
    turn: int
    text: str
    step: int | None = None
    ground_truth: CallPlace | None = None
    tool: str = ""
    argument: str = ""
    expected: Json = None
    got: Json = None


def leaves(value: Json) -> Iterator[Json]:
    """Yield every value that is neither a list nor an object, in order. The nesting can be deep."""
    left = [value]
    while left:
        element = left.pop()
        if isinstance(element, Mapping | list | tuple):
            parts = element.values() if isinstance(element, Mapping) else element
            left.extend(reversed(list(parts)))
        else:
            yield element
