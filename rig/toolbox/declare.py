"""From a typed function to a `Tool`: the one place where declarations become schemas."""

import inspect
from collections.abc import Callable
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

from pydantic import TypeAdapter

from rig.calls import Json, JsonObject
from rig.toolbox.spec import Match, Plugin, Tool


def tool(
    plugin: Plugin, *, action: bool, returns: str, auth: bool = True, match: Match | None = None
) -> Callable[[Callable[..., Json]], Tool]:
    """Declare a function of a world and keyword arguments to be a tool.

    Its name in capitals is the tool's, its docstring the description; each argument is `Annotated` with a
    pydantic `Field(description=…)`; arguments with a default are optional.
    """

    def declare(function: Callable[..., Json]) -> Tool:
        return Tool(
            name="".join(word.title() for word in function.__name__.split("_")),
            plugin=plugin,
            description=" ".join((function.__doc__ or "").split()),
            parameters=_schema(function),
            returns=returns,
            action=action,
            auth=auth,
            match=match or Match(),
            function=function,
        )

    return declare


def _schema(function: Callable[..., Json]) -> JsonObject:
    """The JSON Schema of the arguments after the first, which is the world."""
    hints = get_type_hints(function, include_extras=True)
    parameters = list(inspect.signature(function).parameters.values())[1:]
    return {
        "type": "object",
        "properties": {each.name: _property(hints[each.name]) for each in parameters},
        "required": [each.name for each in parameters if each.default is inspect.Parameter.empty],
        "additionalProperties": False,
    }


def _property(hint: Any) -> JsonObject:
    """The schema of one argument. That an optional one may be null is the simulator's courtesy."""
    generated = TypeAdapter(_without_none(hint)).json_schema()
    order = ("type", "items", "enum", "description", "x-format")
    return {name: generated[name] for name in order if name in generated}


def _without_none(hint: Any) -> Any:
    if get_origin(hint) is Annotated:
        inner, *extras = get_args(hint)
        return Annotated[_without_none(inner), *extras]
    if get_origin(hint) in (Union, UnionType):
        (inner,) = (each for each in get_args(hint) if each is not NoneType)
        return inner
    return hint
