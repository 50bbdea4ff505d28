"""What a training is made of: conversations as tokens, and a file of them for machines without llama.cpp."""

import gzip
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rig.core.errors import RigError


@dataclass(frozen=True, slots=True)
class Lesson:
    """One conversation behind the prefix that all conversations share.

    `weights` says of each token how much it counts that the model predicts it: 0 for all that it is told.
    """

    name: str
    tokens: tuple[int, ...]
    weights: tuple[float, ...]
    tools: frozenset[str] = frozenset()
    """Those that it calls."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which conversations are to be rendered, and how. The same is always the same lessons."""

    base: str
    """The name of the model's file, whose tokenizer and chat template are used."""
    forms: tuple[str, ...]
    """Of the answers. The conversations take turns."""
    seed: int
    conversations: int
    held_out: int


@dataclass(frozen=True, slots=True)
class Lessons:
    """In one form: the shared prefix, where tools are declared in it, and conversations."""

    prefix: tuple[int, ...]
    declarations: dict[str, range]
    taught: list[Lesson]
    held_out: list[Lesson]


def batches(lessons: Sequence[Lesson], size: int) -> list[list[Lesson]]:
    """Lessons in order, as many together as fit into `size` tokens, or one that alone is longer."""
    packed: list[list[Lesson]] = []
    room = 0
    for lesson in lessons:
        if len(lesson.tokens) > room:
            packed.append([])
            room = size
        packed[-1].append(lesson)
        room -= len(lesson.tokens)
    return packed


def save(path: Path, lessons: Sequence[Lessons], wanted: Wanted) -> None:
    """Write lessons, and what they are."""
    content = {"wanted": _json(wanted), "parts": [_part(each) for each in lessons]}
    path.write_bytes(gzip.compress(json.dumps(content).encode(), mtime=0))


def load(path: Path, wanted: Wanted) -> list[Lessons]:
    """Lessons of a file. Raises RigError if they are others than are wanted."""
    content = json.loads(gzip.decompress(path.read_bytes()))
    if content["wanted"] != _json(wanted):
        raise RigError(f"{path}: holds the lessons of {content['wanted']}, not of {_json(wanted)}; delete it")
    return [
        Lessons(
            tuple(part["prefix"]),
            {name: range(*places) for name, places in part["declarations"].items()},
            [_from_json(each) for each in part["taught"]],
            [_from_json(each) for each in part["held_out"]],
        )
        for part in content["parts"]
    ]


def _json(wanted: Wanted) -> dict[str, Any]:
    return {**asdict(wanted), "forms": list(wanted.forms)}


def _part(lessons: Lessons) -> dict[str, Any]:
    return {
        "prefix": lessons.prefix,
        "declarations": {name: (part.start, part.stop) for name, part in lessons.declarations.items()},
        "taught": [_as_json(lesson) for lesson in lessons.taught],
        "held_out": [_as_json(lesson) for lesson in lessons.held_out],
    }


def _as_json(lesson: Lesson) -> list[object]:
    return [lesson.name, lesson.tokens, lesson.weights, sorted(lesson.tools)]


def _from_json(read: list[Any]) -> Lesson:
    name, tokens, weights, tools = read
    return Lesson(name, tuple(tokens), tuple(weights), frozenset(tools))
