"""Queries: what a user wants from an assistant with tools, and what a right answer brings about.

A query says how its world ends, by the calls that would leave it so, and the facts that an answer must name.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from rig import times
from rig.calls import SESSION_TOKEN, Call, Json, JsonObject
from rig.errors import RigError
from rig.files import beginning, read_json
from rig.paths import real
from rig.reading import Sort, facts, states
from rig.tasks import ExpectedTurn, Task

TOKEN = "4f1c9b27-a3e6-58d0"
"""The session of the user who is logged in."""

LARGEST = 16 << 20
_MARK = '"queries"'


@dataclass(frozen=True)
class Query(Task):
    """A task. `calls` make the world what it shall be, and of each fact `named` an answer has one wording.

    `answer` is a right one; `plugins` are those whose tools are on offer; nobody is logged in without `user`.
    """

    name: str
    query: str
    now: datetime
    location: str
    user: str
    plugins: tuple[str, ...]
    calls: tuple[Call, ...]
    named: tuple[tuple[str, ...], ...]
    answer: str
    suite: str = field(default="", compare=False)

    known_turns = (0,)
    """A search is one turn."""

    @property
    def start(self) -> tuple[datetime, str, dict[str, Json]]:
        """How its world begins: the clock, the user, and what the user is given."""
        return self.now, self.user, {SESSION_TOKEN: TOKEN} if self.user else {}

    @property
    def facts(self) -> Mapping[str, str]:
        """What a reader should know first."""
        told = "; ".join(" or ".join(ways) for ways in self.named)
        user = self.user or "nobody is logged in"
        facts = {"location": self.location, "time": self.source["now"], "user": user}
        return {**facts, **({"an answer names": told} if told else {})}

    def expected(self, turn: int) -> ExpectedTurn:
        """The query and a right answer. Which calls lead there is open: how the world ends counts."""
        return ExpectedTurn((self.query,), (), self.answer)

    @property
    def source(self) -> JsonObject:
        return {
            "name": self.name,
            "query": self.query,
            "now": self.now.isoformat(sep=" ", timespec="seconds"),
            "location": self.location,
            "user": self.user,
            "plugins": list(self.plugins),
            "calls": [[call.name, call.arguments] for call in self.calls],
            "facts": [list(ways) for ways in self.named],
            "answer": self.answer,
        }


def parse(source: JsonObject, where: str, suite: str = "") -> Query:
    """A query from its `source`. Raises RigError if it is not one."""
    try:
        return Query(
            name=_text(source, "name"),
            query=_text(source, "query"),
            now=times.read(_text(source, "now"), times.INSTANT),
            location=_text(source, "location"),
            user=str(source.get("user") or ""),
            plugins=tuple(map(str, source["plugins"])),
            calls=tuple(_call(call) for call in source["calls"]),
            named=tuple(_ways(fact) for fact in source["facts"]),
            answer=_text(source, "answer"),
            suite=suite,
        )
    except KeyError as error:
        raise RigError(f"{where}: not a query: {error.args[0]} is missing") from error
    except (TypeError, ValueError, AttributeError) as error:
        raise RigError(f"{where}: not a query: {error}") from error


def load(place: Path) -> list[Query]:
    """The queries of every `*.json` in a folder, or of one file. Raises RigError for any other."""
    paths = [place] if place.is_file() else sorted(place.glob("*.json"))
    suite = real(place.parent if place.is_file() else place).name
    queries = []
    for path in paths:
        try:
            data: Any = read_json(path, LARGEST)
            rows = list(data["queries"])
        except (KeyError, TypeError) as error:
            raise RigError(f"{path}: no file of queries: {error}") from error
        queries += [parse(row, f"{path}, query {number}", suite) for number, row in enumerate(rows, start=1)]
    if not queries:
        raise RigError(f"{place}: holds no queries (*.json)")
    names = [query.name for query in queries]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise RigError(f"{place}: names must be unique; repeated: {', '.join(repeated)}")
    return queries


def holds_queries(place: Path) -> bool:
    """Whether a folder or file holds queries, told from the beginning of its first file."""
    path = place if place.is_file() else min(place.glob("*.json"), default=None) if place.is_dir() else None
    return path is not None and _MARK in beginning(path, 200)


def _text(source: JsonObject, name: str) -> str:
    if not isinstance(source[name], str) or not source[name].strip():
        raise ValueError(f"{name} is no text")
    return str(source[name])


def _call(data: Json) -> Call:
    name, arguments = data
    if not isinstance(name, str) or not isinstance(arguments, dict):
        raise TypeError("a call is a tool's name and its arguments")
    return Call(name, arguments)


def _ways(data: Json) -> tuple[str, ...]:
    ways = (data,) if isinstance(data, str) else tuple(data)
    if not ways or not all(isinstance(way, str) and plain(way) for way in ways):
        raise TypeError("a fact is a text, or a list of texts that say the same")
    return ways


def names(answer: str, ways: Sequence[str], example: str = "") -> bool | None:
    """Whether an answer states a fact in any of these ways; None where that is not clear.

    `example` is a right answer. Where a way says which half of the day is meant, 3:40 is not in the other.
    """
    verdicts = {states(answer, way, example) for way in _precise(ways)}
    return True if True in verdicts else None if None in verdicts else False


def _precise(ways: Sequence[str]) -> Sequence[str]:
    """The ways but for times and numbers that leave the half of the day open, where another way tells it."""
    hours = {way: [len(fact.values) for fact in facts(way) if fact.sort is Sort.CLOCK] for way in ways}
    if [1] not in hours.values():
        return ways
    return [way for way in ways if 2 not in hours[way] and not way.isdecimal()]


_BETWEEN = re.compile(r"[^\w.:%@/+-]+")
_ENDS = re.compile(r"[.:/-]+(?=\s|$)|(?<=\s)[.:/-]+")


def plain(text: str) -> str:
    """A text in lower case, its words with a space between them and no marks around them."""
    spaced = f" {_BETWEEN.sub(' ', text.casefold())} "
    return " ".join(_ENDS.sub(" ", spaced).split())
