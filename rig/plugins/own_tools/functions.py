"""Your own functions as tools: `@tool` takes their names, docstrings and annotations as they are.

They run like any program of yours, and can do whatever you can.
"""

import inspect
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path
from typing import Any, get_type_hints

from pydantic import TypeAdapter, ValidationError, create_model
from pydantic_core import PydanticSerializationError, to_jsonable_python

from rig.core.budget import parse_json
from rig.core.calls import Json, JsonObject
from rig.core.errors import RigError
from rig.plugins.documents.documents import DocumentPart
from rig.plugins.matching.agreement import simple
from rig.plugins.own_tools.code import LIMIT_S, Overdue, in_time, place_of
from rig.plugins.own_tools.listing import LOOKUPS, ToolDeclaration, matching
from rig.plugins.own_tools.parameters import ParameterReader
from rig.world.schemas import without_keys
from rig.world.spec import Stuck, Tool, ToolError, ToolFunction, described, quoted, without_none
from rig.world.world import World

LONGEST = 2**20
"""The most characters of a result. No model reads as much."""


def as_json(value: Any) -> Json:
    """Return a copy of a result as JSON. Raises ValueError if it is not JSON, or is too long."""
    try:
        text = json.dumps(to_jsonable_python(value), allow_nan=False)
    except (PydanticSerializationError, ValueError, TypeError, RecursionError) as error:
        raise ValueError(f"it returned something that is not JSON: {error}") from error
    if len(text) > LONGEST:
        raise ValueError(f"it returned {len(text):,} characters, more than {LONGEST:,}")
    return parse_json(text)


_SECTIONS = re.compile(r"\n\s*(?:Args|Arguments|Parameters|Returns|Raises):\s*\n")
_WRAPPED = re.compile(r"(?<=\S)[ \t]*\n(?!\d+[.)])(?=\w)")
"""Where a line goes on in the next one: not before an empty line, an item of a list, or an indented line."""
"""Matches where the description in a docstring ends."""
_ARGUMENT = re.compile(r"^\s*(\w+)\s*(?:\([^)]*\))?\s*:\s*(.*)$")


@dataclass(slots=True)
class Function:
    """A function called with a time limit and arguments converted to its types; its result is JSON.

    `first` is `db` or `world` if the first parameter has that name: it is given the tables, or the world that
    they are part of. `faults` and `printed` are what went wrong in it and what it printed, by place.
    """

    function: Callable[..., Any]
    seconds: float
    first: str
    adapters: Mapping[str, TypeAdapter[Any]]
    faults: dict[str, str] = field(default_factory=dict)
    printed: dict[str, str] = field(default_factory=dict)

    def __call__(self, world: World, **arguments: Json) -> Json:
        name, file = self.function.__name__, Path(inspect.getfile(self.function))
        line = f"{file}, line {self.function.__code__.co_firstlineno}"
        typed = {}
        for argument, value in arguments.items():
            try:
                typed[argument] = self.adapters[argument].validate_python(value)
            except ValidationError as error:
                raise ToolError(f"{argument}: {error.errors()[0]['msg']}.") from error
        first = [{"db": world.database, "world": world}[self.first]] if self.first else []
        try:
            done = in_time(lambda: self.function(*first, **typed), self.seconds, file.parent)
        except Overdue as error:
            self.faults[error.place] = f"{name} {error}"
            world.interrupt()
            raise (ToolError if error.is_over else Stuck)(f"{name} {error}.") from error
        if printed := done.printed.getvalue().strip():
            self.printed[line] = quoted(printed)
        if done.fault is not None:
            text = f"{type(done.fault).__name__}: {done.fault}"
            if not isinstance(done.fault, ToolError):
                self.faults[place_of(done.fault, file.parent)] = f"{name}: {text}"
            if isinstance(done.fault, Exception):
                raise done.fault
            # Nothing may end more than this call.
            raise ToolError(f"{name} failed: {text}") from done.fault
        try:
            return as_json(done.result)
        except ValueError as error:
            self.faults[line] = f"{name}: {error}"
            raise


def tool_of(declared: ToolFunction) -> Tool:
    """Return the tool that a function is declared to be. Raises RigError, with the place."""
    function = declared.function
    name = function.__name__
    if not inspect.isfunction(function):
        raise RigError(f"@tool stands before a function, not before {name}")
    where = f"{inspect.getfile(function)}, line {function.__code__.co_firstlineno}: {name}"
    doc = inspect.getdoc(function) or ""
    first, adapters, schema = _declared(function, doc, where)
    try:
        rules = {argument: simple(rule) for argument, rule in declared.match.items()}
    except RigError as error:
        raise RigError(f"{where}: match: {error}") from error
    if unknown := sorted(rules.keys() - schema["properties"].keys()):
        raise RigError(f"{where}: match names {unknown[0]}, which is not an argument")
    seconds = LIMIT_S if declared.seconds is None else declared.seconds
    declaration = ToolDeclaration(
        name=name,
        description=_WRAPPED.sub(" ", _SECTIONS.split(doc)[0].strip()),
        parameters=schema,
        action=_acts(function) if declared.action is None else declared.action,
        returns=declared.returns,
        match=matching(schema, rules),
    )
    return declaration.made("", Function(function, seconds, first, adapters))


_VERBS = frozenset(
    re.findall(
        r"\w+",
        "add book buy call cancel change clear close complete create delete edit insert lock mark modify move"
        " open order pay post put register remove rename replace reply report reserve reset save schedule"
        " send set share start stop submit subscribe switch transfer turn unlock update upload write",
    )
)
_WRITES = re.compile(r"\b(?:insert|upsert|update|delete|replace|drop|alter|write|append)\w*", re.IGNORECASE)


def _acts(function: Callable[..., Any]) -> bool:
    """Guess whether a function changes something: by the verb in its name, else by its code."""
    verb = function.__name__.strip("_").split("_")[0].lower()
    if verb in LOOKUPS or verb in _VERBS:
        return verb in _VERBS
    try:
        return _WRITES.search(inspect.getsource(function)) is not None
    except (OSError, TypeError):
        return True


def _declared(
    function: Callable[..., Any], doc: str, where: str
) -> tuple[str, dict[str, TypeAdapter[Any]], JsonObject]:
    """Return what a function is given first, the adapters that check its arguments, and their schema."""
    parameters = dict(inspect.signature(function).parameters)
    first = next(iter(parameters), "")
    first = first if first in ("db", "world") else ""
    parameters.pop(first, None)
    for name, parameter in parameters.items():
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise RigError(f"{where}: the argument {name} has no single value; give it a name of its own")
    try:
        hints = get_type_hints(function, include_extras=True)
    except Exception as error:
        raise RigError(f"{where}: its annotations cannot be read: {error}") from error
    if missing := [name for name in parameters if name not in hints]:
        raise RigError(f"{where}: the argument {missing[0]} has no type; annotate it")
    fields: dict[str, Any] = {}
    for name, parameter in parameters.items():
        hint = hints[name] = described(hints[name])
        is_required = parameter.default is parameter.empty
        fields[name] = (hint, ...) if is_required else (without_none(hint), parameter.default)
    try:
        raw = create_model(function.__name__, **fields).model_json_schema()
    except Exception as error:
        raise RigError(f"{where}: its arguments have no JSON Schema: {error}") from error
    untitled = without_keys(raw, ("title",))  # pydantic makes them of names
    closed = {**untitled, "additionalProperties": False}  # Python would refuse any other argument
    schema = ParameterReader(DocumentPart(closed, Path(where))).parameters()
    for name, words in _arguments(doc).items():
        if name in schema["properties"]:
            schema["properties"][name].setdefault("description", words)
    for argument in schema["properties"].values():
        if argument.get("default", ...) is None:
            del argument["default"]
    return first, {name: TypeAdapter(hints[name]) for name in parameters}, schema


def _arguments(doc: str) -> dict[str, str]:
    """Return what a docstring says about each argument under `Args:`."""
    lines = takewhile(lambda line: not line or line[0].isspace(), doc.partition("Args:\n")[2].splitlines())
    return {match[1]: match[2].strip() for line in lines if (match := _ARGUMENT.match(line))}
