"""Entries of several turns: what the user says, the initial world, and the calls due in each turn."""

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import Field

from rig.calls import Call, ExecutedCall, JsonObject, Outcome
from rig.documents import Foreign, Many, parsed
from rig.errors import RigError
from rig.methods.bfcl.data import ANSWERS, Words, declared_in, lines
from rig.methods.bfcl.turns.classes import FILES, PythonCall
from rig.tasks import ExpectedTurn, Task

CATEGORIES = tuple(f"multi_turn_{name}" for name in ("base", "miss_func", "miss_param", "long_context"))
DOCUMENTATION = "multi_turn_func_doc"
MORE_FUNCTIONS = "I have updated some more functions you can choose from. What about now?"
"""What the user says in a turn in which functions appear that were kept back."""

_FILE = re.compile(r"BFCL_v\d+_(multi_turn_\w+)\.json")


@dataclass(frozen=True)
class MultiTurnEntry(Task):
    """An entry. `functions` are those of its classes; `kept_back` names those that come with a turn."""

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
        return {"category": self.suite, "classes": ", ".join(self.involved)}

    @property
    def is_long(self) -> bool:
        return "long_context" in self.suite

    def texts(self, turn: int) -> tuple[str, ...]:
        """What the user says in a turn."""
        if turn in self.kept_back:
            return (MORE_FUNCTIONS,)
        return tuple(message["content"] for message in self.turns[turn] if message["role"] == "user")

    def expected(self, turn: int) -> ExpectedTurn:
        calls = tuple(ExecutedCall(call, Outcome()) for call in self.calls(turn))
        return ExpectedTurn(self.texts(turn), calls)

    def calls(self, turn: int) -> Iterator[Call]:
        """The true calls of a turn, all arguments by name."""
        declared = {
            function["name"]: list(function["parameters"]["properties"]) for function in self.functions
        }
        for true in self.truth[turn] if turn < len(self.truth) else ():
            places = dict(zip(declared.get(true.name, ()), true.places, strict=False))
            yield Call(true.name, {**places, **true.names})

    def offered(self, turn: int) -> list[JsonObject]:
        """The functions that are on offer by a turn."""
        later = {name for at, names in self.kept_back.items() if at > turn for name in names}
        return [function for function in self.functions if function["name"] not in later]


def category_of(file: Path) -> str | None:
    """The category that a file is of, None for any other file."""
    match = _FILE.fullmatch(file.name)
    return match[1] if match and match[1] in CATEGORIES else None


def load(file: Path) -> list[MultiTurnEntry]:
    """The entries of a file. Raises RigError."""
    category = category_of(file)
    if category is None or not file.is_file():
        raise RigError(f"{file}: is not a BFCL_v4_CATEGORY.json of the categories {', '.join(CATEGORIES)}")
    answers = {row["id"]: row.get("ground_truth") for row, _ in lines(file.parent / ANSWERS / file.name)}
    docs: dict[str, list[JsonObject]] = {}
    entries = []
    for entry, where in lines(file):
        classes = parsed(_Classes, entry, where, "an entry of BFCL").involved_classes
        for name in (name for name in classes if name not in docs):
            folder = file.parent / DOCUMENTATION
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
    functions: Many[JsonObject]
    truth: Many[Many[str]]


def parse(source: JsonObject, where: str, suite: str) -> MultiTurnEntry:
    """An entry from what is stored of it. Raises RigError."""
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
        row.functions,
        truth,
        source,
    )


def true_call(text: str) -> PythonCall:
    """A call of the data, whose arguments are literals. Raises ValueError for anything else."""
    try:
        node = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, RecursionError, MemoryError) as error:
        raise ValueError(f"no call: {text[:80]!r}") from error
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        raise ValueError(f"no call: {text[:80]!r}")
    names = {keyword.arg: ast.literal_eval(keyword.value) for keyword in node.keywords if keyword.arg}
    return PythonCall(node.func.id, tuple(map(ast.literal_eval, node.args)), names)
