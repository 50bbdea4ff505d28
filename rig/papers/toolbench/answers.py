"""Folders of answers: read in any of upstream's layouts, and written as files of converted answers.

Raw answers are in `MODEL/TEST_SET/ID_METHOD.json`, converted ones in `MODEL/TEST_SET.json`.
"""

import json
import os
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from rig import files
from rig.calls import Json
from rig.errors import RigError
from rig.files import filling
from rig.papers.toolbench.raw import convert, is_raw, method_of, query_id, raw_of
from rig.solutions.judgements import SEED, ModelAnswers, Shape, own_id, parse
from rig.solutions.solution import Solution
from rig.solutions.trajectory import Finished

LARGEST = 256 << 20
"""Bytes of a file that is read."""


def holds_answers(place: Path) -> bool:
    """Whether there are answers in a folder or file, told from the first file alone."""
    try:
        first = next(_files(place), None)
        data = read_json(first) if first else None
    except RigError:
        return False
    return is_raw(data) or is_converted(data)


def load(
    place: Path, shape: Shape = "seeded", seed: int = SEED, faults: list[str] | None = None
) -> list[ModelAnswers]:
    """All answers in a folder or file, by model and test set. Raises RigError if there are none.

    A file that cannot be read stops it, unless `faults` are asked for, which then have a line on each.
    """
    by_key: dict[tuple[str, str], dict[str, Solution]] = {}
    for path in _files(place):
        try:
            for key, solutions in _read(path, shape, seed):
                others = by_key.setdefault(key, {})
                for name, solution in solutions.items():
                    if others.setdefault(name, solution) != solution:
                        raise RigError(
                            f"{path}: {key[0]} has another answer to query {name} of {key[1]}; name one file,"
                            " or a folder for each way of search"
                        )
        except RigError as error:
            if faults is None:
                raise
            faults.append(str(error))
    if not by_key:
        raise RigError(next(iter(faults or ()), f"{place}: holds no answers, neither raw nor converted ones"))
    return [ModelAnswers(*key, solutions) for key, solutions in by_key.items()]


def _read(path: Path, shape: Shape, seed: int) -> Iterator[tuple[tuple[str, str], dict[str, Solution]]]:
    """The answers in a file, with their model and test set. Nothing where it is a file of something else."""
    data = read_json(path)
    folder = path.absolute().parent
    if is_raw(data):
        method = method_of(path.stem)
        answer = convert(data, method, str(path), shape, seed)
        yield (folder.parent.name, folder.name), {query_id(path.stem): answer}
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


def write(answers: Sequence[ModelAnswers], directory: Path) -> list[Path]:
    """Write a file of converted answers for each model and test set, byte for byte as upstream does."""
    return [
        _written(json.dumps(answer.as_json()), directory, answer.model, f"{file_name(answer.test_set)}.json")
        for answer in answers
    ]


def export(rows: Sequence[Finished], directory: Path) -> Sequence[Path]:
    """Write a run of any method: raw answers, converted answers, and the ids of the queries; all or nothing.

    Raises RigError unless the directory is new or empty.
    """
    sets: dict[tuple[str, str], dict[str, Finished]] = {}
    ids: dict[str, dict[str, int]] = {}
    for row in rows:
        suite = row.suite or "tasks"
        name = own_id(row.name, suite)
        ids.setdefault(suite, {})[name] = 0
        if row.solution is not None:
            sets.setdefault((row.model, suite), {})[name] = row
    with filling(directory) as folder:
        solutions = ({name: row.solution for name, row in of.items() if row.solution} for of in sets.values())
        answers = [ModelAnswers(*key, of_set) for key, of_set in zip(sets, solutions, strict=True)]
        written = write(answers, folder / "converted")
        for answer in answers:
            for name, solution in answer.solutions.items():
                row = sets[answer.model, answer.test_set][name]
                method, raw = raw_of(solution, row.tree, row.search)
                file = f"{file_name(name).replace('_', '-')}_{method}.json"
                names = answer.model, file_name(answer.test_set), file
                written.append(_written(json.dumps(raw, indent=2), folder / "answer", *names))
        for suite, query_ids in ids.items():
            written.append(_written(json.dumps(query_ids), folder, "test_ids", f"{file_name(suite)}.json"))
    return [directory / path.relative_to(folder) for path in written]


def _written(text: str, directory: Path, model: str, *names: str) -> Path:
    path = directory.joinpath(file_name(model), *names)
    files.write(text, path, folders=True)
    return path


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
