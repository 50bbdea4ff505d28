"""How a tool is declared, once: its function, its documentation, its flags and how its calls are matched.

Everything else is derived from the declaration: the JSON Schema for prompt and grammar, the validation of
model-made arguments, and the matcher that scoring builds.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Literal, TypeAlias

from rig.calls import Json, JsonObject
from rig.toolbox.rules import Rule


@dataclass(frozen=True, slots=True)
class Text:
    """A kind of free text, such as the body of an email. Texts of a kind mean the same from a threshold on.

    `like` names the kind whose calibrated threshold it shares, if not its own; `cosine` is the threshold of
    ToolTalk's plain cosine. A `place` is also the same but for case and spaces. In a `personal` text "my" and
    "your" say whose a thing is; elsewhere they are the user and the assistant speaking of the same.
    """

    name: str
    like: str = "body"
    cosine: float = 0.9
    place: bool = False
    personal: bool = False


FREE_TEXT = Text("text")
"""Any text that may be put in other words."""


class Equality(Enum):
    """How an argument that is not free text is compared, by default and in upstream's way."""

    EXACT = "equal values; upstream: the same"
    TIME = "equal times of day (HH:MM:SS); upstream: equal strings"
    INSTANT = "equal instants (YYYY-MM-DD HH:MM:SS); upstream: equal strings"
    DATE = "equal instants, or equal dates where the truth has no time of day; upstream: equal dates"
    PLACE = "equal but for case and surrounding space; upstream: equal strings"
    USERS = "equal sets, the caller left out; upstream: equal lists"
    ADDRESSES = "equal sets; upstream: the same"
    RECEIVER = "equal values; upstream: never compared"


class Response(Enum):
    """What is required of the response."""

    EQUAL = "equal to the recorded response"
    IGNORED = "nothing"
    IDS = "the recorded ids are among those returned"


@dataclass(frozen=True, slots=True)
class Match:
    """How a call of a tool is checked against a ground-truth call (ToolTalk's compare functions).

    `arguments` names the arguments that are compared where the ground truth has them; an argument not named
    is compared with EXACT when `others` is true, and ignored otherwise. `ids` is (list, key) in the response
    for `Response.IDS`, such as `("alarms", "alarm_id")`. Arguments that only the prediction has are
    disregarded, except that upstream wants `whole` requests equal.
    """

    response: Response = Response.EQUAL
    arguments: Mapping[str, Equality | Text | Rule] = field(default_factory=dict)
    others: bool = True
    ids: tuple[str, str] | None = None
    whole: bool = False


Part: TypeAlias = Literal["all", "time of day"]


@dataclass(frozen=True, slots=True)
class Composed:
    """Marks an argument that a model may choose or word by itself, so that its value is never made up.

    Of an instant it can be the time of day alone: when something ends is often left to the model.
    """

    part: Part = "all"


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool and everything that is known about it. `function(world, **arguments)` returns its response.

    `parameters` is a JSON Schema of type object with a description for each property; `returns` describes the
    response in words. `action` tools change the world. `injected` names arguments that no model writes: the
    simulator gives them the session's token. `login` means that a success logs somebody in or out; the
    argument `username` names whom. `amends(world, **arguments)` is called after a success to fix what
    upstream forgets, and therefore not in upstream's way. `composed` names the arguments in the model's own
    words.
    """

    name: str
    plugin: str
    description: str
    parameters: JsonObject
    returns: str
    action: bool
    match: Match
    function: Callable[..., Json]
    injected: tuple[str, ...] = ()
    login: Literal["in", "out"] | None = None
    amends: Callable[..., None] | None = None
    composed: Mapping[str, Part] = field(default_factory=dict)

    @property
    def auth(self) -> bool:
        """Whether it needs a login: only a session has a token to give."""
        return bool(self.injected)
