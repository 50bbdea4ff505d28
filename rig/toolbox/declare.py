"""From a typed function to a `Tool`: the one place where declarations become schemas."""

import inspect
from collections.abc import Callable
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from pydantic import Field, TypeAdapter

from rig.calls import Json, JsonObject
from rig.toolbox.spec import Composed, Match, Tool


def tool(
    plugin: str,
    *,
    action: bool,
    returns: str = "",
    injected: tuple[str, ...] = (),
    login: Literal["in", "out"] | None = None,
    amends: Callable[..., None] | None = None,
    match: Match | None = None,
) -> Callable[[Callable[..., Json]], Tool]:
    """Declare a function of a world and keyword arguments to be a tool of a plugin.

    Its name in capitals is the tool's, its docstring the description; each argument is `Annotated` with words
    or a pydantic `Field(description=…)`, and with `Composed()` where a model may choose it; arguments with a
    default are optional. What the rest means: `Tool`.
    """

    def declare(function: Callable[..., Json]) -> Tool:
        hints = {
            name: described(hint) for name, hint in get_type_hints(function, include_extras=True).items()
        }
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
    """The schema of one argument. That an optional one may be null is the simulator's courtesy.

    Raises TypeError for a type that no plain schema says.
    """
    generated = TypeAdapter(without_none(hint)).json_schema()
    if "type" not in generated or "type" not in generated.get("items", {"type": ""}):
        raise TypeError(f"a tool's argument cannot be of type {hint}")
    order = ("type", "items", "enum", "minimum", "maximum", "description", "x-format")
    return {name: generated[name] for name in order if name in generated}


def described(hint: Any) -> Any:
    """A type with `Annotated[str, "words"]` as a description, as FastMCP and `llm` have it."""
    if get_origin(hint) is not Annotated:
        return hint
    inner, *extras = get_args(hint)
    notes = [Field(description=extra) if isinstance(extra, str) else extra for extra in extras]
    return Annotated[(inner, *notes)]


def without_none(hint: Any) -> Any:
    """A type without None, which stands for an argument that is not given."""
    if get_origin(hint) is Annotated:
        inner, *extras = get_args(hint)
        return Annotated[without_none(inner), *extras]
    if get_origin(hint) in (Union, UnionType):
        (inner,) = (arg for arg in get_args(hint) if arg is not NoneType)
        return inner
    return hint
