"""Entries of several turns: the user's messages, the calls due in each turn, and the classes they act in.

The classes are loaded from a checkout that the user names, and run. A call is a name and arguments, not a
text that is evaluated.
"""

import ast
import copy
import inspect
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any, TypeAlias

from pydantic import Field

from rig.core.calls import Call, ExecutedCall, JsonObject, Outcome
from rig.core.errors import RigError
from rig.core.paths import real
from rig.core.tasks import ExpectedTurn
from rig.plugins.bfcl.data import ANSWERS, EntryFunction, Words, declared_in, files, lines
from rig.plugins.defects.defects import PublicTask
from rig.plugins.documents.documents import Foreign, Many, parsed
from rig.plugins.own_tools.code import loaded, standing_in

CATEGORIES = tuple(f"multi_turn_{name}" for name in ("base", "miss_func", "miss_param", "long_context"))
DOCUMENTATION = "multi_turn_func_doc"
MORE_FUNCTIONS = "I have updated some more functions you can choose from. What about now?"
"""What the user says in a turn that adds functions which were kept back."""

FILES: Mapping[str, str] = {
    "GorillaFileSystem": "gorilla_file_system",
    "MathAPI": "math_api",
    "MessageAPI": "message_api",
    "TwitterAPI": "posting_api",
    "TicketAPI": "ticket_api",
    "TradingBot": "trading_bot",
    "TravelAPI": "travel_booking",
    "VehicleControlAPI": "vehicle_control",
}
"""The modules of the classes, which are also the names of their documentation files."""

_STATELESS = ("MathAPI",)
_REFUSED = ("kill", "exit", "quit", "remove", "unlink", "popen", "Popen", "run")
PACKAGE = "bfcl_eval.eval_checker.multi_turn_eval.func_source_code"
_LONG_CONTEXT = "long_context"


PythonCall: TypeAlias = tuple[str, tuple[Any, ...], Mapping[str, Any]]
"""A call as in the data: its name, its positional arguments, and its keyword arguments."""


@dataclass(frozen=True)
class MultiTurnEntry(PublicTask):
    """An entry of several turns. `functions` are its classes'; `kept_back` names those that a turn adds."""

    name: str
    suite: str
    turns: Sequence[Sequence[Mapping[str, str]]]
    involved: Sequence[str]
    config: Mapping[str, Any]
    kept_back: Mapping[int, Sequence[str]]
    functions: Sequence[JsonObject]
    truth: Sequence[Sequence[PythonCall]]
    source: JsonObject = field(default_factory=dict, compare=False, repr=False)

    @property
    def known_turns(self) -> tuple[int, ...]:
        return tuple(range(len(self.turns)))

    @property
    def ground_truth_count(self) -> int:
        return sum(map(len, self.truth))

    @property
    def facts(self) -> Mapping[str, str]:
        return {"category": self.suite, "classes": ", ".join(self.involved), **self.wrong}

    def texts(self, turn: int) -> tuple[str, ...]:
        """Return what the user says in a turn."""
        if turn in self.kept_back:
            return (MORE_FUNCTIONS,)
        return tuple(message["content"] for message in self.turns[turn] if message["role"] == "user")

    def expected(self, turn: int) -> ExpectedTurn:
        calls = tuple(ExecutedCall(call, Outcome()) for call in self.calls(turn))
        return ExpectedTurn(self.texts(turn), calls)

    def calls(self, turn: int) -> Iterator[Call]:
        """Yield the true calls of a turn, with all arguments by name."""
        declared = {
            function["name"]: list(function["parameters"]["properties"]) for function in self.functions
        }
        for name, places, names in self.truth[turn] if turn < len(self.truth) else ():
            yield Call(name, {**dict(zip(declared.get(name, ()), places, strict=False)), **names})

    def offered(self, turn: int) -> list[JsonObject]:
        """Return the functions that are on offer by a turn."""
        later = {name for at, names in self.kept_back.items() if at > turn for name in names}
        return [function for function in self.functions if function["name"] not in later]


def load(place: Path) -> list[MultiTurnEntry]:
    """Load the entries of a file. Raises RigError."""
    category = next(iter(files(place, CATEGORIES)), None) if place.is_file() else None
    if category is None:
        raise RigError(f"{place}: is not a BFCL_v4_CATEGORY.json of the categories {', '.join(CATEGORIES)}")
    answers = {row["id"]: row.get("ground_truth") for row, _ in lines(place.parent / ANSWERS / place.name)}
    folder = place.parent / DOCUMENTATION
    docs: dict[str, list[JsonObject]] = {}
    entries = []
    for entry, where in lines(place):
        classes = parsed(_Classes, entry, where, "an entry of BFCL").involved_classes
        for name in (name for name in classes if name not in docs):
            if name not in FILES:
                raise RigError(f"{folder}: knows no class {name}; choose from: {', '.join(FILES)}")
            docs[name] = declared_in(folder / f"{FILES[name]}.json")
        functions = [declared for name in classes for declared in docs[name]]
        source = {"entry": entry, "truth": answers.get(entry["id"]), "functions": functions}
        entries.append(parse(source, where, category))
    return entries


class _Classes(Foreign):
    involved_classes: Many[str]


class _TalkEntry(_Classes):
    id: str
    question: Many[Many[Words]]
    initial_config: JsonObject
    missed_function: dict[int, list[str]] = Field({})


class _TalkSource(Foreign):
    entry: _TalkEntry
    functions: Many[EntryFunction]
    truth: Many[Many[str]]


def parse(source: JsonObject, where: str, suite: str) -> MultiTurnEntry:
    """Make an entry from its stored source. Raises RigError."""
    row = parsed(_TalkSource, source, where, "an entry of BFCL")
    try:
        truth = [[true_call(text) for text in turn] for turn in row.truth]
    except (ValueError, TypeError, RecursionError, MemoryError) as error:
        raise RigError(f"{where}: not an entry of BFCL: {error}") from error
    return MultiTurnEntry(
        row.entry.id,
        suite,
        [[message.model_dump() for message in turn] for turn in row.entry.question],
        row.entry.involved_classes,
        row.entry.initial_config,
        row.entry.missed_function,
        source["functions"],
        truth,
        source,
    )


def true_call(text: str) -> PythonCall:
    """Read a call of the data, whose arguments are literals. Raises ValueError for anything else."""
    try:
        node = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, RecursionError, MemoryError) as error:
        raise ValueError(f"no call: {text[:80]!r}") from error
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        raise ValueError(f"no call: {text[:80]!r}")
    names = {keyword.arg: ast.literal_eval(keyword.value) for keyword in node.keywords if keyword.arg}
    return node.func.id, tuple(map(ast.literal_eval, node.args)), names


class Instances:
    """Instances of BFCL's classes by name, whose methods can be called."""

    def __init__(self, instances: Mapping[str, Any]) -> None:
        self._instances = instances
        self._methods = {
            method: bound
            for instance in instances.values()
            for method, bound in inspect.getmembers(instance, predicate=inspect.ismethod)
            if not method.startswith("_")
        }

    @classmethod
    def of(cls, entry: MultiTurnEntry, code: Path) -> "Instances":
        """Make an instance of each class that an entry involves. Raises RigError if `code` lacks one."""
        instances: dict[str, Any] = {}
        for name in entry.involved:
            if name not in FILES:
                raise RigError(f"{name}: no class of BFCL's; choose from: {', '.join(FILES)}")
            instances[name] = class_of(_module(real(code), FILES[name]), name)()
            if name not in _STATELESS:
                config = copy.deepcopy(entry.config.get(name, {}))
                instances[name]._load_scenario(config, long_context=_LONG_CONTEXT in entry.suite)
        return cls(instances)

    def make(self, call: Call) -> str:
        """Return the result of a model's call. Arguments that are no object become one without a name."""
        arguments = call.arguments if isinstance(call.arguments, dict) else {"": call.arguments}
        return self.call(call.name, (), arguments)

    def call(self, name: str, places: tuple[Any, ...], names: Mapping[str, Any]) -> str:
        """Return the result of a call as text. A fault becomes a text, too."""
        try:
            if name in _REFUSED:
                raise NameError(f"Function call {name} is not allowed.")
            if name not in self._methods:
                raise NameError(f"name '{name}' is not defined")
            # The arguments may become part of the state and change with it.
            places, names = copy.deepcopy((places, dict(names)))
            result = self._methods[name](*places, **names)
        except Exception as error:
            return f"Error during execution: {error}"
        try:
            return json.dumps(result) if isinstance(result, dict) else str(result)
        except (TypeError, ValueError):
            return str(result)

    def differences(self, expected: "Instances") -> Iterator[str]:
        """Yield the public attributes whose values differ from the expected ones."""
        for name, instance in expected._instances.items():
            for attribute, value in vars(instance).items():
                if not attribute.startswith("_") and getattr(self._instances[name], attribute) != value:
                    yield f"{name}.{attribute}"


def class_of(module: ModuleType, name: str) -> Any:
    """Return a class of a module. Raises RigError if it has none of that name."""
    cls = getattr(module, name, None)
    if cls is None:
        raise RigError(f"{module.__file__}: has no class {name}")
    return cls


@lru_cache(maxsize=32)
def _module(code: Path, name: str) -> ModuleType:
    needed = {} if name == _LONG_CONTEXT else vars(_module(code, _LONG_CONTEXT))
    with standing_in({f"{PACKAGE}.{_LONG_CONTEXT}": needed}):
        return loaded(code / f"{name}.py", code)
