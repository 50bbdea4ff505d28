"""What others wrote, parsed through typed models: what does not fit is one line that says where it stands.

`rig.documents` is for files that people write by hand, this for files that programs wrote: large ones, lines
of JSON, and shapes that are read leniently where nothing depends on them.
"""

import json
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypeVar, cast

from pydantic import BaseModel, ConfigDict, FailFast, Field, TypeAdapter, ValidationError

from rig.calls import Json
from rig.errors import RigError
from rig.files import DEEPEST, LARGEST, read_text, values_at

Value = TypeVar("Value")


class _AtFirst(FailFast):
    """As pydantic's, but hashable, which `Many[X] | None` needs."""

    def __hash__(self) -> int:
        return hash(self.fail_fast)


Many = Annotated[list[Value], _AtFirst()]
"""A list whose first fault is the only one that is looked for."""

Count = Annotated[int, Field(strict=True, ge=0, le=1_000_000)]
"""A number of things in a file."""


class Foreign(BaseModel):
    """A value of a file that somebody else's program wrote. Names that are not declared are left out."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class Line(NamedTuple):
    """A line of a file, which says where it stands."""

    where: str
    text: str


def lines_of(path: Path, largest: int = LARGEST) -> Iterator[Line]:
    """The lines of a file that are not blank. Raises RigError if it cannot be read."""
    for number, text in enumerate(read_text(path, largest).removeprefix("\ufeff").split("\n"), 1):
        if text.strip():
            yield Line(f"{path}, line {number}", text)


def read_lines(path: Path, read: Callable[[Json, str], Value], faults: list[str]) -> Iterator[Value]:
    """What is in each line of JSON. One that cannot be read adds a line to `faults`, and costs no other."""
    for line in lines_of(path):
        try:
            value = read(json_of(line.text, line.where), line.where)
        except RigError as error:
            faults.append(str(error))
        else:
            yield value


def json_of(text: str, where: str, deepest: int = DEEPEST) -> Json:
    """The value of a JSON text. Raises RigError if it is none, or is nested too deeply."""
    try:
        value: Json = json.loads(text)
    except json.JSONDecodeError as error:
        raise RigError(f"{where}: not JSON: {error.msg} (column {error.colno})") from error
    except (ValueError, RecursionError) as error:
        raise RigError(f"{where}: not JSON: {error}") from error
    if any(isinstance(inner, dict | list) for inner in values_at(value, deepest)):
        raise RigError(f"{where}: nested deeper than {deepest} levels")
    return value


def parsed(kind: type[Value], value: Json, where: str, what: str) -> Value:
    """A value as a model, or as another type. Raises RigError with the path to the first fault in it.

    `what` says what it should have been: "a converted answer".
    """
    try:
        instance: Value = _adapter(cast(Any, kind)).validate_python(value)
    except ValidationError as error:
        raise RigError(f"{where}: not {what}: {_first(error)}") from None
    return instance


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def _first(error: ValidationError) -> str:
    """The first fault: the path to it, with positions from 1, and what is wrong."""
    fault = error.errors(include_url=False, include_context=False, include_input=False)[0]
    steps = [str(step + 1) if isinstance(step, int) else step[:60] for step in fault["loc"]]
    place = ".".join(steps) or "it"
    text = _WORDS.get(fault["type"], fault["msg"])
    if text.startswith("Value error, "):
        return f"{place}: {text.removeprefix('Value error, ')}"
    return f"{place} {text.removeprefix('Input ')}"


_WORDS = {
    "missing": "is missing",
    "model_type": "should be an object",
    "dict_type": "should be an object",
    "list_type": "should be a list",
    "string_type": "should be a text",
    "too_short": "has too few values",
    "too_long": "has too many values",
    "recursion_depth_exceeded": "is nested too deeply",
}
"""pydantic's kinds of fault in the words of JSON."""
