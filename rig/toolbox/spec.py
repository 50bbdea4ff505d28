"""How a tool is declared, once: its function, its documentation, its flags and how its calls are matched.

Everything else is derived from the declaration: the JSON Schema for prompt and grammar, the validation of
model-made arguments, and the matcher that scoring builds.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum, StrEnum

from rig.calls import Json, JsonObject


class Plugin(StrEnum):
    """ToolTalk's seven plugins, by the names its files use (`suites_used`)."""

    ACCOUNT = "AccountTools"
    ALARM = "Alarm"
    CALENDAR = "Calendar"
    EMAIL = "Email"
    MESSAGES = "Messages"
    REMINDER = "Reminder"
    WEATHER = "Weather"


class Text(StrEnum):
    """The kinds of free text, each with its own similarity threshold."""

    EVENT = "event"
    """Event names and descriptions."""
    LOCATION = "location"
    """Event locations."""
    TASK = "task"
    """Reminder tasks."""
    SUBJECT = "subject"
    """Email subjects."""
    BODY = "body"
    """Email bodies and messages."""


class Equality(Enum):
    """How an argument that is not free text is compared, by default and in upstream's way."""

    EXACT = "equal values; upstream: the same"
    TIME = "equal times of day (%H:%M:%S); upstream: equal strings"
    INSTANT = "equal instants (%Y-%m-%d %H:%M:%S); upstream: equal strings"
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
    """How a call of a tool is held against a ground-truth call (ToolTalk's compare functions).

    `arguments` names the arguments that are compared where the ground truth has them; an argument not named
    is compared with EXACT when `others` is true, and ignored otherwise. `ids` is (list, key) in the response
    for `Response.IDS`, such as `("alarms", "alarm_id")`. Arguments that only the prediction has are
    disregarded, except that upstream wants `whole` requests equal.
    """

    response: Response = Response.EQUAL
    arguments: Mapping[str, Equality | Text] = field(default_factory=dict)
    others: bool = True
    ids: tuple[str, str] | None = None
    whole: bool = False


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool and all that is known of it. `function(world, **arguments)` returns its response.

    `parameters` is a JSON Schema of type object with a description for each property; `returns` describes
    the response in words. `action` tools change the world; `auth` tools need a login.
    """

    name: str
    plugin: Plugin
    description: str
    parameters: JsonObject
    returns: str
    action: bool
    auth: bool
    match: Match
    function: Callable[..., Json]
