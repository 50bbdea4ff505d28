"""Queries: what a user wants from an assistant with tools, and what the assistant reads meanwhile.

A query has the calls that leave the world as it should end, and the facts that an answer must name. The
prompts are in rig's own words. They keep the rules of ToolBench's: end with Finish, give up if a path leads
nowhere, and do something else if other attempts were made from the same place.
"""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from rig.core import times
from rig.core.calls import SESSION_TOKEN, Call, ExecutedCall, Json, JsonObject, Outcome, without_token
from rig.core.errors import RigError
from rig.core.files import beginning, read_json
from rig.core.models import CallMessage, Message, ReplyMessage, Request, StepKey, ToolDoc, UserMessage
from rig.core.paths import real
from rig.core.tasks import ExpectedTurn, Task, require_unique
from rig.plugins.solutions.solution import FINISH_TOOL, readable
from rig.plugins.text.reading.clauses import read_text
from rig.plugins.text.reading.facts import Sort
from rig.plugins.tooleval.claims import states
from rig.plugins.tooleval.search import BUDGET, DEPTH, SearchNode, Strategy
from rig.plugins.tooltalk_tools import TOOLTALK
from rig.world.toolbox import Toolbox

TOKEN = "4f1c9b27-a3e6-58d0"
"""The session of the user who is logged in."""

MOST_FACTS = 100
"""The most facts that an answer has to name. Each is looked for in all of its text."""

_MARK = '"queries"'


@dataclass(frozen=True)
class Query(Task):
    """A task. `calls` leave the world as it should end. `named` has the wordings of each fact of an answer.

    `answer` is a right one; the tools of `plugins` are on offer; without `user`, nobody is logged in.
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
        """How its world begins: the clock, the user, and the user's credentials."""
        return self.now, self.user, {SESSION_TOKEN: TOKEN} if self.user else {}

    @property
    def facts(self) -> Mapping[str, str]:
        """Where, when and for whom it takes place, and what an answer names."""
        told = "; ".join(" or ".join(ways) for ways in self.named)
        user = self.user or "nobody is logged in"
        facts = {"location": self.location, "time": self.source["now"], "user": user}
        return {**facts, **({"an answer names": told} if told else {})}

    def expected(self, turn: int) -> ExpectedTurn:
        """Return the query and a right answer. No calls are expected, because only the world's end counts."""
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
    """Make a query from its `source`. Raises RigError if it is not one."""
    try:
        return Query(
            name=_text(source, "name"),
            query=_text(source, "query"),
            now=times.read(_text(source, "now"), times.INSTANT),
            location=_text(source, "location"),
            user=str(source.get("user") or ""),
            plugins=tuple(map(str, source["plugins"])),
            calls=tuple(_call(call) for call in source["calls"]),
            named=_named(source["facts"]),
            answer=_text(source, "answer"),
            suite=suite,
        )
    except KeyError as error:
        raise RigError(f"{where}: not a query: {error.args[0]} is missing") from error
    except (TypeError, ValueError, AttributeError) as error:
        raise RigError(f"{where}: not a query: {error}") from error


def load(place: Path) -> list[Query]:
    """Read the queries of every `*.json` in a folder, or of one file. Raises RigError if there are none."""
    paths = [place] if place.is_file() else sorted(place.glob("*.json"))
    suite = real(place.parent if place.is_file() else place).name
    queries = []
    for path in paths:
        try:
            data: Any = read_json(path)
            rows = list(data["queries"])
        except (KeyError, TypeError) as error:
            raise RigError(f"{path}: no file of queries: {error}") from error
        queries += [parse(row, f"{path}, query {number}", suite) for number, row in enumerate(rows, start=1)]
    if not queries:
        raise RigError(f"{place}: holds no queries (*.json)")
    require_unique(queries, place)
    return queries


def holds_queries(place: Path) -> bool:
    """Return whether a folder or file seems to hold queries, from the beginning of its first file."""
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


def _named(data: Json) -> tuple[tuple[str, ...], ...]:
    named = tuple(map(_ways, data))
    if sum(map(len, named)) > MOST_FACTS:
        raise ValueError(f"an answer names at most {MOST_FACTS} facts, all wordings counted")
    return named


def _ways(data: Json) -> tuple[str, ...]:
    ways = (data,) if isinstance(data, str) else tuple(data)
    if not ways or not all(isinstance(way, str) and plain(way) for way in ways):
        raise TypeError("a fact is a text, or a list of texts that say the same")
    return ways


def names(answer: str, ways: Sequence[str], example: str = "") -> bool | None:
    """Return whether an answer states a fact in any of these ways; None if that is unclear.

    `example` is a right answer. If a way says which half of the day is meant, 3:40 cannot mean the other.
    """
    verdicts = {states(answer, way, example) for way in _precise(ways)}
    return True if True in verdicts else None if None in verdicts else False


def _precise(ways: Sequence[str]) -> Sequence[str]:
    """Return the ways, without ambiguous times and bare numbers if another way tells the half of the day."""
    hours = {
        way: [len(fact.values) for fact in read_text(way).facts if fact.sort is Sort.CLOCK] for way in ways
    }
    if [1] not in hours.values():
        return ways
    return [way for way in ways if 2 not in hours[way] and not way.isdecimal()]


_BETWEEN = re.compile(r"[^\w.:%@/+-]+")
_ENDS = re.compile(r"[.:/-]+(?=\s|$)|(?<=\s)[.:/-]+")


def plain(text: str) -> str:
    """Return a text in lower case, as words separated by spaces, without punctuation around them."""
    spaced = f" {_BETWEEN.sub(' ', text.casefold())} "
    return " ".join(_ENDS.sub(" ", spaced).split())


INSTRUCTIONS = """\
You work on a user's query with tools. At each step you call one tool, see its result, and go on.
Nobody can be asked: take what the query, the facts below and the tools give, and never invent values.
When the query is done, call Finish with return_type give_answer and a final_answer that says all that was
asked. The user sees the final answer alone. If you are stuck and the calls so far lead nowhere, call Finish
with return_type give_up_and_restart."""

GO_ON = "Go on: call a tool, or call Finish with the final answer."
"""Said after words without a call."""

OTHERWISE = """\
From this very state others were tried before:
{tried}
Now do something else: another tool, or the same with other arguments."""

COMPARE = """\
Two attempts at the query are below. Which of them is closer to solving it? Answer with the letter alone.
Query: {query}
Attempt A:
{first}
Attempt B:
{second}"""

LONGEST_OBSERVATION = 1024
"""The most characters of a tool's response that a model sees; a longer one is cut, as in upstream."""

Tools = Literal["plugins", "all"]
"""Which tools are on offer: those of the query's plugins, or all."""


@dataclass(frozen=True, slots=True)
class ToolEvalSettings:
    """How to search for answers, with which tools, and with how many questions to the model at most."""

    search: str = "cot@1"
    tools: Tools = "plugins"
    max_queries: int = BUDGET
    toolbox: Toolbox = field(default=TOOLTALK, repr=False)

    def __post_init__(self) -> None:
        Strategy.parse(self.search)

    @property
    def strategy(self) -> Strategy:
        """The strategy of the search."""
        return Strategy.parse(self.search)

    @property
    def fingerprint(self) -> JsonObject:
        """All settings and prompts that can change an answer."""
        told = json.dumps([INSTRUCTIONS, GO_ON, OTHERWISE, COMPARE, FINISH_TOOL.description]).encode()
        return {
            "protocol": "tooleval",
            "search": self.search,
            "offer": self.tools,
            "max_queries": self.max_queries,
            "depth": DEPTH,
            "prompt_sha256": hashlib.sha256(told).hexdigest(),
            "toolbox": self.toolbox.name,
            "toolbox_sha256": self.toolbox.sha256,
            **self.toolbox.fingerprint,
            **({"comparison": "2"} if self.strategy.ranks else {}),
        }


def offered(query: Query, settings: ToolEvalSettings) -> tuple[ToolDoc, ...]:
    """Return the tools on offer for a query, Finish last. Raises RigError for unknown plugins."""
    tools = settings.toolbox.tools
    unknown = sorted(set(query.plugins) - set(settings.toolbox.plugins))
    if unknown:
        raise RigError(
            f"{query.name}: the toolbox {settings.toolbox.name} has no plugin {', '.join(unknown)}"
        )
    names = [name for name, tool in tools.items() if settings.tools == "all" or tool.plugin in query.plugins]
    return (*settings.toolbox.docs(names), FINISH_TOOL)


def opening(query: Query, settings: ToolEvalSettings) -> Request:
    """Return how every request for a query begins, without messages."""
    user = query.user or "nobody is logged in"
    context = f"Location: {query.location}\nDate and time: {query.now:%Y-%m-%d %H:%M:%S}\nUser: {user}"
    is_shared = settings.tools == "all"
    key = StepKey(query.name, 0, 0)
    tools = offered(query, settings)
    return Request(key, INSTRUCTIONS, tools, context, (), is_shared, now=query.now)


def messages(query: Query, path: Sequence[SearchNode], tried: Sequence[SearchNode]) -> tuple[Message, ...]:
    """Return the messages with the words and calls up to a node, and with what was tried from it before."""
    history: list[Message] = [UserMessage(query.query)]
    beside = ""
    for node in path:
        has_call = any(child.kind == "action" and child.step == node.step for child in node.children)
        if node.kind == "input":
            executed: ExecutedCall = node.state.executed
            call = Call(executed.name, without_token(executed.arguments))
            outcome, text = executed.outcome, readable(executed.response)
            if outcome.exception is None and len(text) > LONGEST_OBSERVATION:
                outcome = Outcome(f"{text[:LONGEST_OBSERVATION]}...")
            history.append(CallMessage(call, outcome, beside))
            beside = ""
        elif node.kind == "thought" and has_call:
            beside = node.text
        elif node.kind == "thought":
            history += [ReplyMessage(node.text), UserMessage(GO_ON)]
    if lines := "\n".join(readable(attempt) for node in tried for attempt in _attempt(node)):
        history.append(UserMessage(OTHERWISE.format(tried=lines)))
    return tuple(history)


def which_is_better(query: Query, first: SearchNode, second: SearchNode) -> tuple[Message, ...]:
    """Return the question which of two nodes is better."""
    attempts = [readable([told for part in node.path for told in _told(part)]) for node in (first, second)]
    return (UserMessage(COMPARE.format(query=query.query, first=attempts[0], second=attempts[1])),)


def _told(node: SearchNode) -> list[JsonObject]:
    """Return the description of a node for a comparison. A call, which is two nodes, appears once."""
    if node.kind == "thought":
        return [{"thought": node.text}]
    return _attempt(node) if node.kind == "input" else []


def _attempt(node: SearchNode) -> list[JsonObject]:
    """Return the description of the call among the nodes of one step; empty if there is none."""
    last = node
    while last.kind != "input" and any(child.step == node.step for child in last.children):
        last = next(child for child in last.children if child.step == node.step)
    if last.kind != "input" or last.parent is None:
        return []
    return [{"name": last.parent.text, "arguments": last.text, "function_output": last.observation}]
