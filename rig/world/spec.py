"""How a tool is declared, once: its function, its documentation, its flags and how its calls are matched.

Everything else is derived from the declaration: the JSON Schema for prompt and grammar, the validation of
model-made arguments, and the matcher that scoring builds. `x-format` in a schema says what a string must look
like, so that a grammar can enforce it.
"""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeAlias, Union, get_args, get_origin, get_type_hints, overload

from pydantic import Field, TypeAdapter

from rig.core.calls import Json, JsonObject
from rig.core.errors import RigError
from rig.world.rules import Rule

NAME_CHARACTER = r"[\w.:/@$+-]"
NAME_REGEX = rf"{NAME_CHARACTER}{{1,200}}"
"""What a tool may be called. Models' own forms show where such a name ends."""


class ToolError(Exception):
    """A tool's refusal, in words for the model. `upstream` is ToolTalk's text where that differs."""

    def __init__(self, message: str, upstream: str | None = None) -> None:
        super().__init__(message)
        self.upstream = message if upstream is None else upstream


class Stuck(ToolError):
    """A tool did not finish and was given up on; it may still hold the world's database."""


class Unavailable(RigError):
    """A server cannot be used at all. This ends a run, which can be resumed; it is no outcome of a call."""


def quoted(value: object, limit: int = 80) -> str:
    """Shorten a value so that an error text may quote it; what a model wrote can be of any length."""
    text = str(value)
    return text if len(text) <= limit else f"{text[:limit]}…"


@dataclass(frozen=True, slots=True)
class Text:
    """A kind of free text, such as the body of an email. Texts of a kind mean the same from a threshold on.

    `like` names the kind whose calibrated threshold it shares, if not its own; `cosine` is the threshold of
    ToolTalk's plain cosine. Texts of a `place` are also the same if they differ only in case and spaces. In a
    `personal` text "my" and "your" say whose a thing is; elsewhere they are the user and the assistant
    speaking of the same thing.
    """

    name: str
    like: str = "body"
    cosine: float = 0.9
    place: bool = False
    personal: bool = False


FREE_TEXT = Text("text")
"""Any text that may be put into other words."""


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
    """What is required of the response to a call."""

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
    simulator fills them with the session's token. `login` means that a success logs somebody in or out; the
    argument `username` names whom. `amends(world, **arguments)` is called after a success to fix what
    upstream forgets, and so is skipped in upstream's mode. `composed` names the arguments that a model may
    word by itself.
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
        """Whether it needs a login, because only a session has a token to inject."""
        return bool(self.injected)


@dataclass(frozen=True, slots=True)
class ToolFunction:
    """A function that the code of a folder declares to be a tool. The tool is made as the folder is loaded.

    `match` names the rules that compare arguments, `seconds` is how long a call may take.
    """

    function: Callable[..., Any]
    action: bool | None = None
    returns: str = ""
    match: Mapping[str, str] = field(default_factory=dict)
    seconds: float | None = None


@overload
def tool(function: Callable[..., Any], /) -> ToolFunction: ...
@overload
def tool(plugin: str, /, *, action: bool, **declared: Any) -> Callable[[Callable[..., Json]], Tool]: ...
@overload
def tool(
    *,
    action: bool | None = None,
    returns: str = "",
    match: Mapping[str, str] = ...,
    seconds: float | None = None,
) -> Callable[[Callable[..., Any]], ToolFunction]: ...
def tool(first: Any = None, /, **declared: Any) -> Any:
    """Declare a function to be a tool: `@tool`, or `@tool(action=True, match={"note": "text"})`.

    The tool takes the function's name, and its docstring as the description; arguments are described under
    `Args:` or by `Annotated`. If the name of a plugin comes first, the tool is declared as rig's own are.
    """
    if isinstance(first, str):
        return _of_plugin(first, **declared)
    if first is not None:
        return ToolFunction(first, **declared)
    return lambda function: ToolFunction(function, **declared)


def _of_plugin(
    plugin: str,
    *,
    action: bool,
    returns: str = "",
    injected: tuple[str, ...] = (),
    login: Literal["in", "out"] | None = None,
    amends: Callable[..., None] | None = None,
    match: Match | None = None,
) -> Callable[[Callable[..., Json]], Tool]:
    """Declare a tool of a plugin: a function that takes a world and keyword arguments.

    Its name in CamelCase becomes the tool's, its docstring the description. Each argument is `Annotated` with
    words or a pydantic `Field(description=…)`, and with `Composed()` where a model may choose it. Arguments
    with a default are optional. `Tool` explains the other parameters.
    """

    def declare(function: Callable[..., Json]) -> Tool:
        hints = get_type_hints(function, include_extras=True)
        hints = {name: described(hint) for name, hint in hints.items()}
        arguments = list(inspect.signature(function).parameters.values())[1:]  # the first is the world
        marks = ((name, mark) for name, hint in hints.items() for mark in getattr(hint, "__metadata__", ()))
        return Tool(
            name="".join(word.title() for word in function.__name__.split("_")),
            plugin=plugin,
            description=" ".join((function.__doc__ or "").split()),
            parameters={
                "type": "object",
                "properties": {argument.name: _property(hints[argument.name]) for argument in arguments},
                "required": [argument.name for argument in arguments if argument.default is argument.empty],
                "additionalProperties": False,
            },
            returns=returns,
            action=action,
            match=match or Match(),
            function=function,
            injected=injected,
            login=login,
            amends=amends,
            composed={name: mark.part for name, mark in marks if isinstance(mark, Composed)},
        )

    return declare


def _property(hint: Any) -> JsonObject:
    """Return the schema of one argument, without the null that the simulator accepts for optional ones.

    Raises TypeError for a type that no plain schema expresses.
    """
    generated = TypeAdapter(without_none(hint)).json_schema()
    if "type" not in generated or "type" not in generated.get("items", {"type": ""}):
        raise TypeError(f"a tool's argument cannot be of type {hint}")
    order = ("type", "items", "enum", "minimum", "maximum", "description", "x-format")
    return {name: generated[name] for name in order if name in generated}


def described(hint: Any) -> Any:
    """Return a type with `Annotated[str, "words"]` made a description, as in FastMCP and `llm`."""
    if get_origin(hint) is not Annotated:
        return hint
    inner, *extras = get_args(hint)
    notes = [Field(description=extra) if isinstance(extra, str) else extra for extra in extras]
    return Annotated[(inner, *notes)]


def without_none(hint: Any) -> Any:
    """Return a type without None, which stands for an argument that is not given."""
    if get_origin(hint) is Annotated:
        inner, *extras = get_args(hint)
        return Annotated[without_none(inner), *extras]
    if get_origin(hint) in (Union, UnionType):
        (inner,) = (arg for arg in get_args(hint) if arg is not NoneType)
        return inner
    return hint
