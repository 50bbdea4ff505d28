"""Your own functions as tools: `@tool` takes their names, docstrings and annotations as they are.

They run like any program of yours, and can do whatever you can. The guards that keep them from hanging a run
or printing into the display are against accidents only.
"""

import ctypes
import inspect
import io
import json
import os
import re
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path
from traceback import extract_tb
from types import FrameType, ModuleType
from typing import Any, TextIO, get_type_hints, overload

from pydantic import TypeAdapter, ValidationError, create_model
from pydantic_core import PydanticSerializationError, to_jsonable_python

from rig.core.budget import parse_json
from rig.core.calls import Json, JsonObject
from rig.core.documents import DocumentPart
from rig.core.errors import RigError
from rig.core.registry import module_of
from rig.world.listing import LOOKUPS, ToolDeclaration, matching
from rig.world.parameters import ParameterReader
from rig.world.rules import simple
from rig.world.schemas import without_keys
from rig.world.spec import Stuck, Tool, ToolError, described, quoted, without_none
from rig.world.spec import tool as declare_tool
from rig.world.world import World

LIMIT_S = 10.0
"""The seconds that a call may take."""
LONGEST = 2**20
"""The most characters of a result. No model reads as much."""
_STANDING_IN = threading.RLock()
_LAST_WORDS_S = 0.5
"""The seconds that a function has to end in, once it is asked to."""


class Overdue(Exception):
    """A function did not finish in time. `place` is where it was, `is_over` whether it could be stopped."""

    def __init__(self, limit_s: float, place: str, is_over: bool) -> None:
        super().__init__(f"did not finish within {limit_s:g} s")
        self.place = place
        self.is_over = is_over


class _Stop(BaseException):
    """Raised in a function that has to end."""


@dataclass(slots=True)
class Done:
    """The outcome of a function: its result or its fault, and what it printed."""

    result: Any = None
    fault: BaseException | None = None
    printed: io.StringIO = field(default_factory=io.StringIO)


def in_time(work: Callable[[], Any], limit_s: float, within: Path) -> Done:
    """Run a function of the files `within` a folder; its own fault is in the outcome. Raises Overdue."""
    done = Done()

    def run() -> None:
        with suppress(_Stop):  # whenever it comes
            try:
                done.result = work()
            except BaseException as fault:  # a tool may well call exit()
                done.fault = fault

    thread = threading.Thread(target=run, daemon=True, name="a tool of yours")
    # `_Stop` can arrive just after the function has ended; it is no fault then.
    thread._invoke_excepthook = lambda *_: None  # type: ignore[attr-defined]
    with _kept_quiet(thread, done.printed):
        thread.start()
        thread.join(limit_s)
        if thread.is_alive():
            place = _where(sys._current_frames().get(thread.ident or 0), within)
            # It ends as soon as it executes anything of Python's.
            identity = ctypes.c_ulong(thread.ident or 0)
            ctypes.pythonapi.PyThreadState_SetAsyncExc(identity, ctypes.py_object(_Stop))
            thread.join(_LAST_WORDS_S)
            raise Overdue(limit_s, place, not thread.is_alive())
    return done


def loaded(file: Path, within: Path) -> ModuleType:
    """Run a file and return its module. Raises RigError, with the place, for any fault in it."""
    try:
        done = in_time(lambda: module_of(str(file)), LIMIT_S, within)
    except Overdue as error:
        raise RigError(f"{error.place}: loading it {error}") from error
    fault = done.fault
    if isinstance(fault, RigError):
        raise fault
    if fault is not None:
        text = fault.msg if isinstance(fault, SyntaxError) else str(fault)
        raise RigError(f"{place_of(fault, within)}: {type(fault).__name__}: {text}") from fault
    module: ModuleType = done.result
    return module


@contextmanager
def standing_in(members: Mapping[str, Mapping[str, Any]], **variables: str) -> Iterator[None]:
    """A context in which loaded code can import modules with these members, but nothing else of their
    packages.

    The modules have no files unless a `__path__` is named. The environment has the variables. Afterwards, the
    process has neither these packages nor the variables.
    """
    roots = {name.partition(".")[0] for name in members}
    parents = {name[: dot.start()] for name in members for dot in re.finditer(r"\.", name)}
    modules = {name: ModuleType(name) for name in (*parents, *members)}
    for name, module in modules.items():
        vars(module).update({"__path__": [], **members.get(name, {})})

    def removed() -> dict[str, ModuleType]:
        names = [name for name in sys.modules if name.partition(".")[0] in roots]
        return {name: sys.modules.pop(name) for name in names}

    with _STANDING_IN:
        before, environment = removed(), {name: os.environ.get(name) for name in variables}
        sys.modules.update(modules)
        os.environ.update(variables)
        try:
            yield
        finally:
            removed()
            sys.modules.update(before)
            for name, value in environment.items():
                os.environ.pop(name, None)
                os.environ.update({} if value is None else {name: value})


def as_json(value: Any) -> Json:
    """Return a copy of a result as JSON. Raises ValueError if it is not JSON, or is too long."""
    try:
        text = json.dumps(to_jsonable_python(value), allow_nan=False)
    except (PydanticSerializationError, ValueError, TypeError, RecursionError) as error:
        raise ValueError(f"it returned something that is not JSON: {error}") from error
    if len(text) > LONGEST:
        raise ValueError(f"it returned {len(text):,} characters, more than {LONGEST:,}")
    return parse_json(text)


def place_of(fault: BaseException, within: Path) -> str:
    """Return the file and line of a fault: the innermost in a folder or, if none is there, of all."""
    if isinstance(fault, SyntaxError):
        return f"{fault.filename}, line {fault.lineno}" if fault.filename else str(within)
    frames = extract_tb(fault.__traceback__)
    own = [frame for frame in frames if Path(frame.filename).is_relative_to(within)] or frames
    return f"{own[-1].filename}, line {own[-1].lineno}" if own else str(within)


def _where(frame: FrameType | None, within: Path) -> str:
    while frame is not None:
        if Path(frame.f_code.co_filename).is_relative_to(within):
            return f"{frame.f_code.co_filename}, line {frame.f_lineno}"
        frame = frame.f_back
    return str(within)


@contextmanager
def _kept_quiet(thread: threading.Thread, printed: io.StringIO) -> Iterator[None]:
    """A context that keeps what this thread prints; what others print goes where it always did."""
    before, errors = sys.stdout, sys.stderr
    mine: list[Any] = [_Apart(thread, printed, stream) for stream in (before, errors)]
    sys.stdout, sys.stderr = mine
    try:
        yield
    finally:
        if [sys.stdout, sys.stderr] == mine:
            sys.stdout, sys.stderr = before, errors


class _Apart(io.TextIOBase):
    """A stream that keeps one thread's output apart from everybody else's."""

    _MOST = 10_000

    def __init__(self, thread: threading.Thread, own: io.StringIO, others: TextIO) -> None:
        self._thread, self._own, self._others = thread, own, others

    def write(self, text: str) -> int:
        if threading.current_thread() is not self._thread:
            return self._others.write(text)
        return self._own.write(text[: max(self._MOST - self._own.tell(), 0)])

    def __getattr__(self, name: str) -> Any:
        return getattr(self._others, name)

    def flush(self) -> None:
        self._others.flush()


_SECTIONS = re.compile(r"\n\s*(?:Args|Arguments|Parameters|Returns|Raises):\s*\n")
_WRAPPED = re.compile(r"(?<=\S)[ \t]*\n(?!\d+[.)])(?=\w)")
"""Where a line goes on in the next one: not before an empty line, an item of a list, or an indented line."""
"""Matches where the description in a docstring ends."""
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

    The tool takes the function's name, and its docstring as the description; arguments are described under
    `Args:` or by `Annotated`. `match` names the rules that compare arguments. If the name of a plugin comes
    first, the tool is declared as rig's own are (`rig.world.spec`).
    """
    if isinstance(first, str):
        return declare_tool(first, **declared)
    return _own(first, **declared) if callable(first) else lambda function: _own(function, **declared)


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
    declared = ToolDeclaration(
        name=name,
        description=_WRAPPED.sub(" ", _SECTIONS.split(doc)[0].strip()),
        parameters=schema,
        action=_acts(function) if action is None else action,
        returns=returns,
        match=matching(schema, rules),
    )
    return declared.made("", Function(function, seconds, first, adapters))


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
