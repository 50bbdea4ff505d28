"""Your own functions as tools: `@tool` takes name, docstring and annotations as they are."""

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path
from typing import Any, get_type_hints, overload

from pydantic import ConfigDict, TypeAdapter, ValidationError, create_model

from rig.calls import Json, JsonObject
from rig.documents import DocumentPart
from rig.errors import RigError
from rig.toolbox import declare
from rig.toolbox.errors import Stuck, ToolError, quoted
from rig.toolbox.own.declared import Declared
from rig.toolbox.own.guard import LIMIT_S, Overdue, as_json, in_time, place_of
from rig.toolbox.own.listing import LOOKUPS, matching
from rig.toolbox.rules import Rule, simple
from rig.toolbox.spec import FREE_TEXT, Match, Response, Tool
from rig.toolbox.world import World

_SECTIONS = re.compile(r"\n\s*(?:Args|Arguments|Parameters|Returns|Raises):\s*\n")
"""Where the description in a docstring ends."""
_ARGUMENT = re.compile(r"^\s*(\w+)\s*(?:\([^)]*\))?\s*:\s*(.*)$")


@overload
def tool(function: Callable[..., Any], /) -> Tool: ...
@overload
def tool(plugin: str, /, *, action: bool, **declared: Any) -> Callable[[Callable[..., Json]], Tool]: ...
@overload
def tool(
    *,
    action: bool | None = None,
    returns: str = "",
    match: Mapping[str, str] | None = None,
    seconds: float = LIMIT_S,
) -> Callable[[Callable[..., Any]], Tool]: ...
def tool(first: Any = None, /, **declared: Any) -> Any:
    """Declare a function to be a tool: `@tool`, or `@tool(action=True, match={"note": "text"})`.

    Its name is the tool's, its docstring the description; what a docstring's `Args:` say of an argument, or
    an `Annotated`, is the argument's. `match` names rules by which arguments are compared. With the name of
    a plugin first, it is declared as rig's own are (`rig.toolbox.declare`).
    """
    if isinstance(first, str):
        return declare.tool(first, **declared)
    return _own(first, **declared) if callable(first) else lambda function: _own(function, **declared)


@dataclass(slots=True)
class Function:
    """A function that is called in time, with arguments of the types it asks for; its result is JSON.

    A `first` parameter of the name `db` or `world` is given the tables, or the world that they are part of.
    `faults` and `printed` are what went wrong in it and what it printed, by place.
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


def _own(
    function: Callable[..., Any],
    *,
    action: bool | None = None,
    returns: str = "",
    match: Mapping[str, str] | None = None,
    seconds: float = LIMIT_S,
) -> Tool:
    name = function.__name__
    if not inspect.isfunction(function):
        raise RigError(f"@tool stands before a function, not before {name}")
    where = f"{inspect.getfile(function)}, line {function.__code__.co_firstlineno}: {name}"
    doc = inspect.getdoc(function) or ""
    first, adapters, schema = _declared(function, doc, where)
    try:
        rules = {argument: simple(rule) for argument, rule in (match or {}).items()}
    except RigError as error:
        raise RigError(f"{where}: match: {error}") from error
    if unknown := sorted(rules.keys() - schema["properties"].keys()):
        raise RigError(f"{where}: match names {unknown[0]}, which is not an argument")
    return Tool(
        name=name,
        plugin="",
        description=" ".join(_SECTIONS.split(doc)[0].split()),
        parameters=schema,
        returns=returns,
        action=_acts(function) if action is None else action,
        match=match_of(matching(schema, rules)),
        function=Function(function, seconds, first, adapters),
    )


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
    """Whether a function changes something, where nobody says so: by the verb of its name, else its code."""
    verb = function.__name__.strip("_").split("_")[0].lower()
    if verb in LOOKUPS or verb in _VERBS:
        return verb in _VERBS
    try:
        return _WRITES.search(inspect.getsource(function)) is not None
    except (OSError, TypeError):
        return True


def match_of(rules: Mapping[str, Rule]) -> Match:
    """How calls are compared whose arguments have these rules: by them, and by whether they failed."""
    return Match(
        Response.IGNORED, {name: FREE_TEXT if rule.is_text else rule for name, rule in rules.items()}
    )


def _declared(
    function: Callable[..., Any], doc: str, where: str
) -> tuple[str, dict[str, TypeAdapter[Any]], JsonObject]:
    """What a function is given first, what checks its arguments, and their schema."""
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
        hint = hints[name] = declare.described(hints[name])
        is_required = parameter.default is parameter.empty
        fields[name] = (hint, ...) if is_required else (declare.without_none(hint), parameter.default)
    try:
        model = create_model(
            function.__name__, __config__=ConfigDict(arbitrary_types_allowed=False), **fields
        )
        raw = model.model_json_schema()
    except Exception as error:
        raise RigError(f"{where}: its arguments have no JSON Schema: {error}") from error
    schema = Declared(DocumentPart(_without_titles(raw), Path(where))).parameters()
    for name, words in _arguments(doc).items():
        if name in schema["properties"]:
            schema["properties"][name].setdefault("description", words)
    for argument in schema["properties"].values():
        if argument.get("default", ...) is None:
            del argument["default"]
    return first, {name: TypeAdapter(hints[name]) for name in parameters}, schema


def _without_titles(node: Any, names: bool = False) -> Any:
    """A schema without the titles that pydantic makes of names."""
    if isinstance(node, dict):
        return {
            key: _without_titles(value, key == "properties" and not names)
            for key, value in node.items()
            if names or key != "title"
        }
    return [_without_titles(part) for part in node] if isinstance(node, list) else node


def _arguments(doc: str) -> dict[str, str]:
    """What a docstring says of arguments below `Args:`."""
    lines = takewhile(lambda line: not line or line[0].isspace(), doc.partition("Args:\n")[2].splitlines())
    return {match[1]: match[2].strip() for line in lines if (match := _ARGUMENT.match(line))}
