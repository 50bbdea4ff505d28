"""Labelled answers and pairs that measure a judge: rig's own, the user's, and ToolBench's.

A file holds a list. An item has `query`, `available_tools` and `answers`; one answer with `solved`, or two
with `preference`, a list of votes for the first (0) or the second (1), as people cast them or as one label.
For two answers, `solved` may also be a list.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from rig import files
from rig.calls import Json
from rig.errors import RigError
from rig.paths import CONVERSATIONS
from rig.solutions.judgements import Judgement, require_unique
from rig.solutions.solution import parse

OURS = CONVERSATIONS / "labels"
LARGEST = 256 << 20
"""Bytes of a file that is read."""

FIRST, SECOND = "0", "1"
"""What the answers of an item are called."""


class Labels(NamedTuple):
    """The labels to measure a judge by."""

    answers: tuple[Judgement, ...]
    pairs: tuple[Judgement, ...]


def load_labels(place: Path, votes: int, pair_votes: int) -> Labels:
    """The labels of a folder or file. Raises RigError if it is not one."""
    paths = [place] if place.is_file() else sorted(place.glob("*.json"))
    answers: list[Judgement] = []
    pairs: list[Judgement] = []
    for path in paths:
        data = files.read_json(path, LARGEST)
        if not isinstance(data, list):
            raise RigError(f"{path}: not labels: it holds no list")
        for number, item in enumerate(data, start=1):
            found = _item(item, f"{path}, item {number}", f"{path.stem}-{number}", votes, pair_votes)
            (pairs if found.preferred else answers).append(found)
    if not answers and not pairs:
        raise RigError(f"{place}: holds no labels (*.json)")
    for tasks in (answers, pairs):
        require_unique(tasks, str(place))
    return Labels(tuple(answers), tuple(pairs))


def _item(item: Json, where: str, name: str, votes: int, pair_votes: int) -> Judgement:
    try:
        answers = item["answers"]
        shared = {"query": item["query"], "available_tools": item["available_tools"]}
        found = [parse({**shared, "answer": answer}, where) for answer in answers]
        preferred = tuple(_side(each, where) for each in _listed(item.get("preference", ())))
        name = str(item.get("name") or name)
        solved = _listed(item.get("solved", ()) if preferred else item["solved"])
    except KeyError as error:
        raise RigError(f"{where}: no labelled item: {error.args[0]} is missing") from error
    except (TypeError, AttributeError) as error:
        raise RigError(f"{where}: no labelled item: {error}") from error
    if len(found) != (2 if preferred else 1):
        raise RigError(f"{where}: a preference is between two answers, `solved` is of one; got {len(found)}")
    solutions = dict(zip((FIRST, SECOND), found, strict=False))
    known = {side: bool(each) for side, each in zip((FIRST, SECOND), solved, strict=False)}
    return Judgement(name, name, solutions, pair_votes if preferred else votes, known, preferred=preferred)


def _listed(value: Json) -> Sequence[Json]:
    return value if isinstance(value, list | tuple) else [value]


def _side(value: Json, where: str) -> int:
    if isinstance(value, bool) or value not in (0, 1):
        raise RigError(f"{where}: a preference is 0 or 1, not {value!r}")
    return int(value)
