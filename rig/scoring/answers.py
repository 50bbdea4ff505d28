"""People's answers about unclear texts, one answer per pair, as JSON lines beside a store."""

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from rig.core.budget import parse_json
from rig.core.errors import RigError
from rig.core.files import read_text

_ENDING = ".answers.jsonl"
_LONGEST = 4_000_000
"""The most characters of a line: two texts as long as the judgement reads them, with room for escapes."""


def answers_file(store: Path) -> Path:
    """Return the path of the answers that go with a run store. Raises RigError if no file can have it."""
    if not store.name:
        raise RigError(f"{store}: is a directory; --runs takes a file")
    return store.with_name(f"{store.stem}{_ENDING}")


class Answer(NamedTuple):
    """Whether two texts mean the same, as somebody answered at some time; None withdraws an answer."""

    first: str
    second: str
    same: bool | None
    time: str = ""

    @classmethod
    def now(cls, first: str, second: str, *, same: bool | None) -> "Answer":
        """Return an answer with the current time."""
        return cls(first, second, same, datetime.now(UTC).isoformat(timespec="seconds"))

    @property
    def pair(self) -> tuple[str, str]:
        """Both texts, sorted."""
        return _pair(self.first, self.second)


class Answers:
    """Answers by pair, whichever of its texts was expected. If a pair has several, the last counts."""

    def __init__(self, given: Iterable[Answer] = ()) -> None:
        self._by_pair: dict[tuple[str, str], Answer] = {}
        self.overruled: list[Answer] = []
        """The answers that a later one contradicts."""
        for answer in given:
            self.add(answer)

    def add(self, answer: Answer) -> None:
        """Add an answer, or withdraw the pair's answer if `same` is None."""
        before = self._by_pair.get(answer.pair)
        if answer.same is None:
            self._by_pair.pop(answer.pair, None)
            return
        if before is not None and before.same is not answer.same:
            self.overruled.append(before)
        self._by_pair[answer.pair] = answer

    def of(self, first: str, second: str) -> bool | None:
        """Return whether these texts mean the same; None if there is no answer."""
        answer = self._by_pair.get(_pair(first, second))
        return None if answer is None else answer.same

    def __len__(self) -> int:
        return len(self._by_pair)

    def __iter__(self) -> Iterator[Answer]:
        return iter(self._by_pair.values())

    @property
    def sha256(self) -> str:
        """A hash of the answers that does not depend on their order and times."""
        rows = sorted((*pair, answer.same) for pair, answer in self._by_pair.items())
        return sha256(json.dumps(rows).encode()).hexdigest()


def read_answers(path: Path) -> Answers:
    """Read the answers in a file, none if there is no file. Raises RigError for lines that are not answers.

    A last line that was cut short, as by a power failure, is skipped.
    """
    try:
        text = read_text(path) if path.exists() else ""
    except OSError as error:
        raise RigError(f"{path}: cannot be read: {error.strerror}") from error
    *lines, rest = text.split("\n")
    answers = [_answer(line, path, number) for number, line in enumerate(lines, 1) if line.strip()]
    if rest.strip():
        with suppress(RigError):
            answers.append(_answer(rest, path, len(lines) + 1))
    return Answers(answers)


def add_answers(path: Path, answers: Iterable[Answer]) -> None:
    """Append answers to a file; they are on the disk when this returns. Raises RigError."""
    lines = "".join(f"{json.dumps(answer._asdict())}\n" for answer in answers)
    try:
        if path.exists() and not path.is_file():
            raise RigError(f"{path}: is not a regular file")
        with path.open("ab+") as file:
            file.seek(0)
            *whole, rest = file.read().split(b"\n")
            if rest.strip():
                try:
                    _answer(rest.decode(), path, 0)
                    lines = f"\n{lines}"
                except (RigError, UnicodeDecodeError):  # it was cut short, and would spoil what follows
                    file.truncate(sum(len(line) + 1 for line in whole))
            file.write(lines.encode())
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise RigError(f"{path}: cannot be written: {error.strerror}") from error


def _answer(line: str, path: Path, number: int) -> Answer:
    where = f"{path}: line {number}"
    if len(line) > _LONGEST:
        raise RigError(f"{where}: longer than {_LONGEST} characters; that is not an answer")
    try:
        data = parse_json(line)
    except (ValueError, RecursionError) as error:
        raise RigError(f"{where}: not JSON: {error}") from error
    if not isinstance(data, Mapping):
        raise RigError(f"{where}: not an object with first, second and same")
    first, second, same, time = (data.get(name) for name in ("first", "second", "same", "time"))
    if not (
        isinstance(first, str)
        and isinstance(second, str)
        and (isinstance(same, bool) or ("same" in data and same is None))
    ):
        raise RigError(f"{where}: needs the texts first and second, and same as true, false or null")
    return Answer(first, second, same, time if isinstance(time, str) else "")


def _pair(first: str, second: str) -> tuple[str, str]:
    return (first, second) if first <= second else (second, first)
