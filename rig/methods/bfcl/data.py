"""BFCL's data as it is in its repository: entries by category, and the calls that each should have."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rig.calls import Call, ExecutedCall, JsonObject, Outcome
from rig.errors import RigError
from rig.files import read_text
from rig.methods.bfcl.checker import Truth
from rig.methods.bfcl.writing import written
from rig.tasks import ExpectedTurn

ANSWERS = "possible_answer"
CATEGORIES = (
    *("simple_python", "simple_java", "simple_javascript", "multiple", "parallel", "parallel_multiple"),
    *("irrelevance", "live_simple", "live_multiple", "live_parallel", "live_parallel_multiple"),
    *("live_irrelevance", "live_relevance"),
)
"""The categories of one turn, in BFCL's order. Each is a suite of its own."""

_FILE = re.compile(r"BFCL_v\d+_(\w+)\.json")
_WITHOUT_TRUTH = ("irrelevance", "relevance")


@dataclass(frozen=True)
class Entry:
    """An entry: what is asked, what is on offer, and the calls with the values that are allowed."""

    name: str
    suite: str
    question: Sequence[Mapping[str, str]]
    functions: Sequence[JsonObject]
    truth: Sequence[Mapping[str, Mapping[str, list[Any]]]]
    source: JsonObject = field(default_factory=dict, compare=False, repr=False)

    known_turns = (0,)
    closing = ()

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
        said = tuple(each["content"] for each in self.question if each["role"] == "user")
        return ExpectedTurn(said, tuple(ExecutedCall(call, Outcome()) for call in self.answer()))

    def as_truth(self, *, underscores: bool) -> Truth:
        """What its calls are checked by."""
        return Truth(self.suite, self.functions, self.truth, underscores)

    def answer(self) -> tuple[Call, ...]:
        """The ground truth answered with itself: of each argument the first value that is allowed."""
        return tuple(self._calls())

    def _calls(self) -> Iterator[Call]:
        language = self.as_truth(underscores=False).language
        for true in self.truth:
            ((name, allowed),) = true.items()
            declared = next((each for each in self.functions if each["name"] == name), self.functions[0])
            types = declared["parameters"]["properties"]
            values = {
                parameter: written(_first(each), types.get(parameter, {}), language)
                for parameter, each in allowed.items()
                if each and each[0] != ""
            }
            yield Call(name, values)


def holds_entries(place: Path) -> bool:
    """Whether a file, or a folder's files, are such data, told by their names."""
    return bool(_files(place))


def folder_of_data(place: str) -> Path:
    """The folder of data that `--set data=DIR` or $RIG_BFCL name. Raises RigError if nobody does."""
    if not place:
        raise RigError("where is BFCL's data? Name it with --set data=DIR, or in $RIG_BFCL")
    return next(
        (each for each in (Path(place, "data"), Path(place, "bfcl_eval", "data")) if each.is_dir()),
        Path(place),
    )


def load(place: Path) -> list[Entry]:
    """The entries of a file, or of all files of a folder that are of one turn. Raises RigError."""
    files = _files(place)
    found = [entry for category, file in files.items() for entry in _entries(file, category)]
    if not found:
        raise RigError(f"{place}: holds no BFCL_v4_CATEGORY.json of the categories {', '.join(CATEGORIES)}")
    return found


def parse(source: JsonObject, where: str, suite: str) -> Entry:
    """An entry from what is stored of it. Raises RigError."""
    try:
        entry = source["entry"]
        return Entry(
            str(entry["id"]),
            suite or str(entry["id"]).rpartition("_")[0],
            [{"role": each["role"], "content": each["content"]} for each in entry["question"][0]],
            [_function(each) for each in entry["function"]],
            [dict(each) for each in source["truth"]],
            source,
        )
    except (KeyError, TypeError, IndexError, ValueError, AttributeError) as error:
        raise RigError(f"{where}: no entry of BFCL: {type(error).__name__}: {error}") from error


def _function(declared: JsonObject) -> JsonObject:
    parameters = declared["parameters"]
    return {**declared, "parameters": {"properties": {}, "required": [], **parameters}}


def _first(allowed: list[Any]) -> Any:
    """The first value that is allowed; each member of an object has values of its own."""
    return _concrete(allowed[0])


def _concrete(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            key: _concrete(each[0])
            for key, each in value.items()
            if not isinstance(each, list) or (each and each[0] != "")
        }
    return [_concrete(each) for each in value] if isinstance(value, list) else value


def _files(place: Path) -> dict[str, Path]:
    """The files of data by category."""
    paths = sorted(place.glob("BFCL_v*_*.json")) if place.is_dir() else [place]
    named = ((_FILE.fullmatch(path.name), path) for path in paths)
    found = {match[1]: path for match, path in named if match is not None}
    return {category: found[category] for category in CATEGORIES if category in found}


def _entries(file: Path, category: str) -> Iterator[Entry]:
    answers = file.parent / ANSWERS / file.name
    is_known = not category.endswith(_WITHOUT_TRUTH)
    truths = {each["id"]: each["ground_truth"] for each in lines(answers)} if is_known else {}
    for number, entry in enumerate(lines(file), 1):
        where = f"{file}: line {number}"
        if is_known and entry["id"] not in truths:
            raise RigError(f"{where}: {answers} has no answer to {entry['id']}")
        yield parse({"entry": entry, "truth": truths.get(entry["id"], [])}, where, category)


def lines(file: Path, key: str = "id") -> list[JsonObject]:
    """The objects of a file of JSON lines, each with an id. Raises RigError, with the line."""
    found = []
    for number, line in enumerate(read_text(file).splitlines(), 1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise RigError(f"{file}: line {number}: not JSON: {error}") from error
        if not isinstance(value, dict) or not isinstance(value.get(key), str):
            article = "an" if key == "id" else "a"
            raise RigError(f"{file}: line {number}: no object with {article} {key}")
        found.append(value)
    return found
