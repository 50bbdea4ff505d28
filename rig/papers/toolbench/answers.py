"""Folders of answers: read in any of upstream's layouts, and written as files of converted answers.

Raw answers are in `MODEL/TEST_SET/ID_METHOD.json`, converted ones in `MODEL/TEST_SET.json`.
"""

import json
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

from rig import files
from rig.calls import Json
from rig.errors import RigError
from rig.papers.toolbench import converting
from rig.solutions.judgements import SEED, Answers, Shape
from rig.solutions.reading import parse
from rig.solutions.solution import Solution

LARGEST = 256 << 20
"""Bytes of a file that is read."""


def holds_answers(place: Path) -> bool:
    """Whether there are answers in a folder or file, told from the first file alone."""
    try:
        first = next(_files(place), None)
        data = read_json(first) if first else None
    except RigError:
        return False
    return converting.is_raw(data) or is_converted(data)


def load(
    place: Path, shape: Shape = "seeded", seed: int = SEED, faults: list[str] | None = None
) -> list[Answers]:
    """All answers in a folder or file, by model and test set. Raises RigError if there are none.

    A file that cannot be read stops it, unless `faults` are asked for, which then have a line on each.
    """
    by_key: dict[tuple[str, str], dict[str, Solution]] = {}
    for path in _files(place):
        try:
            for key, solutions in _read(path, shape, seed):
                _add(solutions, by_key.setdefault(key, {}), key, path)
        except RigError as error:
            if faults is None:
                raise
            faults.append(str(error))
    if not by_key:
        raise RigError(next(iter(faults or ()), f"{place}: holds no answers, neither raw nor converted ones"))
    return [Answers(*key, solutions) for key, solutions in by_key.items()]


def _add(
    solutions: Mapping[str, Solution], others: dict[str, Solution], key: tuple[str, str], path: Path
) -> None:
    """Add answers to others of the same model. Raises RigError if one is another than was found before."""
    for name, solution in solutions.items():
        if others.setdefault(name, solution) != solution:
            raise RigError(
                f"{path}: {key[0]} has another answer to query {name} of {key[1]}; name one file, or a folder"
                " for each way of search"
            )


def _read(path: Path, shape: Shape, seed: int) -> Iterator[tuple[tuple[str, str], dict[str, Solution]]]:
    """The answers in a file, with their model and test set. Nothing where it is a file of something else."""
    data = read_json(path)
    folder = path.absolute().parent
    if converting.is_raw(data):
        method = converting.method_of(path.stem)
        answer = converting.convert(data, method, str(path), shape, seed)
        yield (folder.parent.name, folder.name), {converting.query_id(path.stem): answer}
    elif is_converted(data):
        solutions = {name: parse(value, f"{path}, {name}") for name, value in data.items()}
        yield (folder.name, path.stem), solutions


def query_ids(place: Path) -> dict[str, Collection[str]]:
    """The ids of the queries of each test set, by the files' names. Raises RigError for what has none."""
    paths = [place] if place.is_file() else sorted(place.glob("*.json"))
    ids: dict[str, Collection[str]] = {}
    for path in paths:
        data = read_json(path)
        if not isinstance(data, dict):
            raise RigError(f"{path}: not a test set: it holds no object whose keys are ids")
        ids[path.stem] = list(data)
    if not ids:
        raise RigError(f"{place}: holds no test sets (*.json)")
    return ids


def is_converted(data: Json) -> bool:
    """Whether this is a file of converted answers."""
    first = next(iter(data.values()), None) if isinstance(data, dict) else None
    return isinstance(first, dict) and {"query", "available_tools", "answer"} <= first.keys()


def write(answers: Sequence[Answers], directory: Path) -> list[Path]:
    """Write a file of converted answers for each model and test set, byte for byte as upstream does."""
    written = []
    for answer in answers:
        path = directory / file_name(answer.model) / f"{file_name(answer.test_set)}.json"
        files.write(json.dumps(answer.as_json()), path, folders=True)
        written.append(path)
    return written


def file_name(name: str) -> str:
    """A name as it can stand in a path."""
    safe = name.replace(os.sep, "-").replace("\0", "-").replace(":", "-")
    return safe if safe.strip(".") else "-"


def read_json(path: Path) -> Json:
    """What a JSON file of answers holds, which can be large. Raises RigError if it is not one."""
    return files.read_json(path, LARGEST)


def _files(place: Path) -> Iterator[Path]:
    if place.is_file():
        yield place
    elif place.is_dir():
        yield from files.files_below(place)
    else:
        raise RigError(f"{place}: no such folder or file")
