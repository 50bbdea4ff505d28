"""Folders of answers: upstream's layouts read, whatever is in them, and files of converted answers written.

Raw answers lie in `MODEL/TEST_SET/ID_METHOD.json`, converted ones in `MODEL/TEST_SET.json`.
"""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rig.calls import Json, JsonObject
from rig.errors import RigError
from rig.solutions import converting
from rig.solutions.converting import SEED, Shape
from rig.solutions.solution import Solution, parse

LARGEST = 256 << 20
"""Bytes of a file that is read."""


@dataclass(frozen=True)
class Answers:
    """What one model answered to one test set, by the ids of the queries."""

    model: str
    test_set: str
    solutions: Mapping[str, Solution]

    def as_json(self) -> JsonObject:
        """A file of converted answers."""
        return {name: solution.as_json() for name, solution in self.solutions.items()}


def holds_answers(place: Path) -> bool:
    """Whether there are answers in a folder or file, told from the first file alone."""
    try:
        first = next(_files(place), None)
        data = read_json(first) if first else None
    except RigError:
        return False
    return converting.is_raw(data) or is_converted(data)


def load(place: Path, shape: Shape = "seeded", seed: int = SEED) -> list[Answers]:
    """All answers in a folder or file, by model and test set. Raises RigError where there are none."""
    found: dict[tuple[str, str], dict[str, Solution]] = {}
    for path in _files(place):
        data = read_json(path)
        if converting.is_raw(data):
            name = converting.query_id(path.stem)
            method = converting.method_of(path.stem)
            key = path.absolute().parent.parent.name, path.absolute().parent.name
            found.setdefault(key, {})[name] = converting.convert(data, method, str(path), shape, seed)
        elif is_converted(data):
            key = path.absolute().parent.name, path.stem
            found[key] = {name: parse(each, f"{path}, {name}") for name, each in data.items()}
    if not found:
        raise RigError(f"{place}: holds no answers, neither raw nor converted ones")
    return [Answers(*key, solutions) for key, solutions in found.items()]


def is_converted(data: Json) -> bool:
    """Whether this is a file of converted answers."""
    first = next(iter(data.values()), None) if isinstance(data, dict) else None
    return isinstance(first, dict) and {"query", "available_tools", "answer"} <= first.keys()


def write(answers: Sequence[Answers], directory: Path) -> list[Path]:
    """Write a file of converted answers for each model and test set, byte for byte as upstream does."""
    written = []
    for each in answers:
        path = directory / file_name(each.model) / f"{file_name(each.test_set)}.json"
        write_text(path, json.dumps(each.as_json(), ensure_ascii=False))
        written.append(path)
    return written


def write_text(path: Path, text: str) -> None:
    """Write a text. Raises RigError where it cannot be written."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", errors="surrogatepass", newline="")
    except OSError as error:
        raise RigError(f"{path}: cannot be written: {error.strerror}") from error


def file_name(name: str) -> str:
    """A name as it can stand in a path."""
    safe = name.replace(os.sep, "-").replace("\0", "-").replace(":", "-")
    return safe if safe.strip(".") else "-"


def read_json(path: Path) -> Json:
    """What a JSON file holds. Raises RigError for what is none, and for what is too large."""
    try:
        if path.stat().st_size > LARGEST:
            raise RigError(f"{path}: larger than {LARGEST >> 20} MiB")
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise RigError(f"{path}: cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise RigError(f"{path}: not JSON: {error}") from error


def _files(place: Path) -> Iterator[Path]:
    if place.is_file():
        yield place
    elif place.is_dir():
        yield from sorted(path for path in place.rglob("*.json") if path.is_file())
    else:
        raise RigError(f"{place}: no such folder or file")
