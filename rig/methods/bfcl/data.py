"""BFCL's data as it is in its repository: entries by category, and the calls that each should have."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from rig.calls import Call, ExecutedCall, JsonObject, Outcome
from rig.documents import Foreign, Many, json_of, lines_of, parsed
from rig.errors import RigError
from rig.files import PLAIN
from rig.methods.base import Loaded
from rig.methods.bfcl.checker import Truth, language_of
from rig.methods.bfcl.literals import written
from rig.tasks import ExpectedTurn, Task

ANSWERS = "possible_answer"
CATEGORIES = (
    *("simple_python", "simple_java", "simple_javascript", "multiple", "parallel", "parallel_multiple"),
    *("irrelevance", "live_simple", "live_multiple", "live_parallel", "live_parallel_multiple"),
    *("live_irrelevance", "live_relevance"),
)
"""The categories of one turn, in BFCL's order. Each is a suite of its own."""

_FILE = re.compile(r"BFCL_v\d+_(\w+)\.json")


@dataclass(frozen=True)
class SingleTurnEntry(Task):
    """An entry: what is asked, what is on offer, and the calls with the values that are allowed."""

    name: str
    suite: str
    question: Sequence[Mapping[str, str]]
    functions: Sequence[JsonObject]
    truth: Sequence[Mapping[str, Mapping[str, list[Any]]]]
    source: JsonObject = field(default_factory=dict, compare=False, repr=False)

    known_turns = (0,)

    @property
    def ground_truth_count(self) -> int:
        return len(self.truth)

    @property
    def facts(self) -> Mapping[str, str]:
        return {"category": self.suite}

    @property
    def expects_calls(self) -> bool:
        """Whether anything should be called at all."""
        return not self.suite.endswith("irrelevance")

    def expected(self, turn: int) -> ExpectedTurn:
        texts = tuple(message["content"] for message in self.question if message["role"] == "user")
        return ExpectedTurn(texts, tuple(ExecutedCall(call, Outcome()) for call in self.answer()))

    @property
    def language(self) -> str:
        """The language that its functions are of."""
        return language_of(self.suite)

    def as_truth(self, *, underscores: bool) -> Truth:
        """What its calls are checked by."""
        return Truth(self.suite, self.functions, self.truth, underscores)

    def answer(self) -> tuple[Call, ...]:
        """The ground truth answered with itself: of each argument the first value that is allowed."""
        declared = {function["name"]: function for function in reversed(self.functions)}
        calls = []
        for ((name, allowed),) in (true.items() for true in self.truth):
            types = declared.get(name, self.functions[0])["parameters"]["properties"]
            arguments = {
                parameter: written(_first(values[0]), types.get(parameter, {}), self.language)
                for parameter, values in allowed.items()
                if values and values[0] != ""
            }
            calls.append(Call(name, arguments))
        return tuple(calls)


def folder_of_data(place: str) -> Path:
    """The folder of data that `--set data=DIR` or $RIG_BFCL name. Raises RigError if nobody does."""
    if not place:
        raise RigError("where is BFCL's data? Name it with --set data=DIR, or in $RIG_BFCL")
    inside = (Path(place, "data"), Path(place, "bfcl_eval", "data"))
    return next((folder for folder in inside if folder.is_dir()), Path(place))


def load(place: Path) -> Loaded:
    """The entries of a file, or of all files of a folder that are of one turn; faults of those that are none.

    Raises RigError if there is no entry at all, or a file cannot be read.
    """
    entries: list[SingleTurnEntry] = []
    faults: list[str] = []
    for category, file in files(place).items():
        answers = file.parent / ANSWERS / file.name
        is_known = not category.endswith(("irrelevance", "relevance"))
        truths = {row["id"]: row.get("ground_truth") for row, _ in lines(answers)} if is_known else {}
        for entry, where in lines(file):
            if is_known and entry["id"] not in truths:
                raise RigError(f"{where}: {answers} has no answer to {entry['id']}")
            source: JsonObject = {"entry": entry, "truth": truths[entry["id"]] if is_known else []}
            try:
                entries.append(parse(source, where, category))
            except RigError as error:
                faults.append(str(error))
    if not entries:
        none = f"{place}: holds no BFCL_v4_CATEGORY.json of the categories {', '.join(CATEGORIES)}"
        raise RigError(next(iter(faults), none))
    return Loaded(entries, faults)


class Words(Foreign):
    """A message of a conversation."""

    role: str
    content: str


class _Parameters(BaseModel):
    """A JSON Schema with properties; all else of it is kept."""

    model_config = ConfigDict(extra="allow")

    properties: dict[str, JsonObject] = Field({})
    required: list[str] = Field([])


class _EntryFunction(BaseModel):
    model_config = ConfigDict(extra="allow")

    name: str
    parameters: _Parameters


class _Question(Foreign):
    id: str
    question: Annotated[Many[Many[Words]], Field(min_length=1)]
    function: Annotated[Many[_EntryFunction], Field(min_length=1)]


class _EntrySource(Foreign):
    entry: _Question
    truth: Many[Annotated[dict[str, dict[str, list[Any]]], Field(min_length=1, max_length=1)]]


def parse(source: JsonObject, where: str, suite: str) -> SingleTurnEntry:
    """An entry from what is stored of it. Raises RigError."""
    row = parsed(_EntrySource, source, where, "an entry of BFCL")
    entry = SingleTurnEntry(
        row.entry.id,
        suite or row.entry.id.rpartition("_")[0],
        [message.model_dump() for message in row.entry.question[0]],
        [function(declared) for declared in source["entry"]["function"]],
        row.truth,
        source,
    )
    try:
        # An entry whose truth cannot be read as calls would end a run that has begun.
        entry.answer()
    except (KeyError, TypeError, IndexError, ValueError, AttributeError, RecursionError) as error:
        raise RigError(f"{where}: the truth is no calls: {type(error).__name__}: {error}") from error
    return entry


def function(declared: JsonObject) -> JsonObject:
    """A function with all that its declaration may leave out."""
    return {**declared, "parameters": {"properties": {}, "required": [], **declared["parameters"]}}


def _first(value: Any) -> Any:
    """A value that is allowed, of whose members the first alternatives, but those that are better left out.

    Members of an object, and of an object in a list, have alternatives of their own. BFCL's checker compares
    those as they stand, so an object within an alternative is a plain value. Where a member has no list of
    alternatives no answer is right, and it is given as it stands.
    """
    if isinstance(value, list):
        return [_first(element) if isinstance(element, dict) else element for element in value]
    if not isinstance(value, dict):
        return value
    return {
        name: alternatives[0] if isinstance(alternatives, list) else alternatives
        for name, alternatives in value.items()
        if not isinstance(alternatives, list) or (alternatives and alternatives[0] != "")
    }


def files(place: Path, categories: Sequence[str] = CATEGORIES) -> dict[str, Path]:
    """The files of data of these categories, told by their names."""
    paths = sorted(place.glob("BFCL_v*_*.json")) if place.is_dir() else [place]
    matches = ((_FILE.fullmatch(path.name), path) for path in paths)
    by_category = {match[1]: path for match, path in matches if match is not None}
    return {category: by_category[category] for category in categories if category in by_category}


class _Identified(Foreign):
    id: str


def lines(file: Path, kind: type[BaseModel] = _Identified) -> Iterator[tuple[JsonObject, str]]:
    """The objects of a file of JSON lines, and where each stands. Raises RigError, with the line."""
    for line in lines_of(file):
        value = json_of(line.text, line.where, PLAIN)
        parsed(kind, value, line.where, "an object of BFCL")
        yield value, line.where


def declared_in(file: Path) -> list[JsonObject]:
    """The functions that a file of JSON lines declares."""
    return [function(value) for value, where in lines(file, _EntryFunction)]
