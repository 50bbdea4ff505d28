"""Labelled answers and pairs that measure a judge: rig's own, the user's, and ToolBench's.

A file holds a list. An item has `query`, `available_tools` and `answers`; one answer with `solved`, or two
with `preference`, a list of votes for the first (0) or the second (1), as people cast them or as one label.
For two answers, `solved` may also be a list.
"""

from pathlib import Path
from typing import Annotated, NamedTuple

from pydantic import BeforeValidator, Field

from rig import files
from rig.calls import Json, JsonObject
from rig.documents import Foreign, Many, parsed
from rig.errors import RigError
from rig.paths import CONVERSATIONS
from rig.solutions.judgements import Judgement, require_unique
from rig.solutions.reading import parse

OURS = CONVERSATIONS / "labels"
LARGEST = 256 << 20
"""Bytes of a file that is read."""

FIRST, SECOND = "0", "1"
"""What the answers of an item are called."""


_Vote = Annotated[int, Field(strict=True, ge=0, le=1)]


def _listed(value: Json) -> Json:
    return value if isinstance(value, list) else [value]


class Labels(NamedTuple):
    """The labels to measure a judge by."""

    answers: tuple[Judgement, ...]
    pairs: tuple[Judgement, ...]


class _Item(Foreign):
    name: str = ""
    query: str
    available_tools: Many[JsonObject]
    answers: Many[Json]
    preference: Annotated[Many[_Vote], BeforeValidator(_listed)] = Field([])
    solved: Annotated[Many[bool] | None, BeforeValidator(_listed)] = None


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
            task = _item(item, f"{path}, item {number}", f"{path.stem}-{number}", votes, pair_votes)
            (pairs if task.preferred else answers).append(task)
    if not answers and not pairs:
        raise RigError(f"{place}: holds no labels (*.json)")
    for tasks in (answers, pairs):
        require_unique(tasks, str(place))
    return Labels(tuple(answers), tuple(pairs))


def _item(value: Json, where: str, name: str, votes: int, pair_votes: int) -> Judgement:
    item = parsed(_Item, value, where, "a labelled item")
    shared = {"query": item.query, "available_tools": item.available_tools}
    solutions = [parse({**shared, "answer": answer}, where) for answer in item.answers]
    preferred = tuple(item.preference)
    if not preferred and item.solved is None:
        raise RigError(f"{where}: not a labelled item: solved is missing")
    if len(solutions) != (2 if preferred else 1):
        fault = f"a preference is between two answers, `solved` is of one; got {len(solutions)}"
        raise RigError(f"{where}: {fault}")
    answers = dict(zip((FIRST, SECOND), solutions, strict=False))
    truths = dict(zip((FIRST, SECOND), item.solved or (), strict=False))
    name, number = item.name or name, pair_votes if preferred else votes
    return Judgement(name, name, answers, number, truths, preferred=preferred)
