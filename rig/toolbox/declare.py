"""From a typed function to a `Tool`: the one place where declarations become schemas."""

import inspect
from collections.abc import Callable, Iterator
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from pydantic import TypeAdapter

from rig.calls import Json, JsonObject
from rig.toolbox.spec import Composed, Match, Part, Tool


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

    Its name in capitals is the tool's, its docstring the description; each argument is `Annotated` with a
    pydantic `Field(description=…)`, and with `Composed()` where a model may choose it; arguments with a
    default are optional. What the rest means: `Tool`.
    """

    def declare(function: Callable[..., Json]) -> Tool:
        hints = get_type_hints(function, include_extras=True)
        return Tool(
            name="".join(word.title() for word in function.__name__.split("_")),
            plugin=plugin,
            description=" ".join((function.__doc__ or "").split()),
            parameters=_schema(function, hints),
            returns=returns,
            action=action,
            match=match or Match(),
            function=function,
            injected=injected,
            login=login,
            amends=amends,
            composed=dict(_composed(hints)),
        )

    return declare


def _schema(function: Callable[..., Json], hints: dict[str, Any]) -> JsonObject:
    """The JSON Schema of the arguments after the first, which is the world."""
    parameters = list(inspect.signature(function).parameters.values())[1:]
    return {
        "type": "object",
        "properties": {parameter.name: _property(hints[parameter.name]) for parameter in parameters},
        "required": [
            parameter.name for parameter in parameters if parameter.default is inspect.Parameter.empty
        ],
        "additionalProperties": False,
    }


def _property(hint: Any) -> JsonObject:
    """The schema of one argument. That an optional one may be null is the simulator's courtesy.

    Raises TypeError for a type that no plain schema says.
    """
    generated = TypeAdapter(without_none(hint)).json_schema()
    if "type" not in generated or "type" not in generated.get("items", {"type": ""}):
        raise TypeError(f"a tool's argument cannot be of type {hint}")
    order = ("type", "items", "enum", "minimum", "maximum", "description", "x-format")
    return {name: generated[name] for name in order if name in generated}


def _composed(hints: dict[str, Any]) -> Iterator[tuple[str, Part]]:
    for name, hint in hints.items():
        for mark in getattr(hint, "__metadata__", ()):
            if isinstance(mark, Composed):
                yield name, mark.part


def without_none(hint: Any) -> Any:
    """A type without None, which stands for an argument that is not given."""
    if get_origin(hint) is Annotated:
        inner, *extras = get_args(hint)
        return Annotated[without_none(inner), *extras]
    if get_origin(hint) in (Union, UnionType):
        (inner,) = (arg for arg in get_args(hint) if arg is not NoneType)
        return inner
    return hint
