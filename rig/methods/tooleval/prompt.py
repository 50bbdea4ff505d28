"""What an assistant reads while it works on a query, and the settings of a run.

The words are rig's own. They keep the rules of ToolBench's prompts: end with Finish, give up if a path leads
nowhere, and do something else if other attempts were made from the same place.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

from rig.calls import Call, ExecutedCall, Json, JsonObject, Outcome, without_token
from rig.errors import RigError
from rig.methods.tooleval.queries import Query
from rig.methods.tooleval.search import BUDGET, DEPTH, SearchNode, Strategy
from rig.models import CallMessage, Message, ReplyMessage, Request, StepKey, ToolDoc, UserMessage
from rig.solutions.trajectory import FINISH_TOOL
from rig.toolbox.toolbox import Toolbox
from rig.tooltalk import TOOLTALK

INSTRUCTIONS = """\
You work on a user's query with tools. At each step you call one tool, see its result, and go on.
Nobody can be asked: take what the query, the facts below and the tools give, and never invent values.
When the query is done, call Finish with return_type give_answer and a final_answer that says all that was
asked. The user sees the final answer alone. If you are stuck and the calls so far lead nowhere, call Finish
with return_type give_up_and_restart."""

GO_ON = "Go on: call a tool, or call Finish with the final answer."
"""Said after words that come with no call."""

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
"""Characters of a tool's response that a model is shown."""

Tools = Literal["plugins", "all"]
"""Whether the tools of the query's plugins are on offer, or all."""


@dataclass(frozen=True, slots=True)
class ToolEvalSettings:
    """How to search for answers, with which tools, and how many questions a search may ask."""

    search: str = "cot@1"
    tools: Tools = "plugins"
    max_queries: int = BUDGET
    toolbox: Toolbox = field(default=TOOLTALK, repr=False)

    def __post_init__(self) -> None:
        Strategy.parse(self.search)
        if self.tools not in get_args(Tools):
            raise RigError(f"--set offer={self.tools}: choose from: {', '.join(get_args(Tools))}")
        if self.max_queries < 1:
            raise RigError("--set max_queries must be at least 1")

    @property
    def strategy(self) -> Strategy:
        """How to search."""
        return Strategy.parse(self.search)

    @property
    def fingerprint(self) -> JsonObject:
        """All that can change an answer."""
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
            **({"comparison": "2"} if self.strategy.ranks else {}),
        }


def offered(query: Query, settings: ToolEvalSettings) -> tuple[ToolDoc, ...]:
    """The tools of a query, Finish the last of them. Raises RigError for plugins that there are not."""
    tools = settings.toolbox.tools
    unknown = sorted(set(query.plugins) - set(settings.toolbox.plugins))
    if unknown:
        raise RigError(
            f"{query.name}: the toolbox {settings.toolbox.name} has no plugin {', '.join(unknown)}"
        )
    names = [name for name, tool in tools.items() if settings.tools == "all" or tool.plugin in query.plugins]
    return (*settings.toolbox.docs(names), FINISH_TOOL)


def opening(query: Query, settings: ToolEvalSettings) -> Request:
    """How every request for a query begins: without messages."""
    user = query.user or "nobody is logged in"
    context = f"Location: {query.location}\nDate and time: {query.now:%Y-%m-%d %H:%M:%S}\nUser: {user}"
    is_shared = settings.tools == "all"
    return Request(StepKey(query.name, 0, 0), INSTRUCTIONS, offered(query, settings), context, (), is_shared)


def messages(query: Query, path: Sequence[SearchNode], tried: Sequence[SearchNode]) -> tuple[Message, ...]:
    """What was said and called up to a node, and what was tried from it before."""
    history: list[Message] = [UserMessage(query.query)]
    beside = ""
    for node in path:
        if node.kind == "input":
            executed: ExecutedCall = node.state.executed
            call = Call(executed.name, without_token(executed.arguments))
            history.append(CallMessage(call, seen_outcome(executed), beside))
            beside = ""
        elif node.kind == "thought" and any(
            child.kind == "action" and child.step == node.step for child in node.children
        ):
            beside = node.text
        elif node.kind == "thought":
            history += [ReplyMessage(node.text), UserMessage(GO_ON)]
    if tried:
        lines = "\n".join(_json(attempt) for node in tried for attempt in _attempt(node))
        if lines:
            history.append(UserMessage(OTHERWISE.format(tried=lines)))
    return tuple(history)


def which_is_better(query: Query, first: SearchNode, second: SearchNode) -> tuple[Message, ...]:
    """The question which of two nodes is better."""
    attempts = [_json([told for part in node.path for told in _told(part)]) for node in (first, second)]
    return (UserMessage(COMPARE.format(query=query.query, first=attempts[0], second=attempts[1])),)


def _told(node: SearchNode) -> list[JsonObject]:
    """The text about a node that is compared. A call, which is two nodes, appears once."""
    if node.kind == "thought":
        return [{"thought": node.text}]
    return _attempt(node) if node.kind == "input" else []


def seen_outcome(executed: ExecutedCall) -> Outcome:
    """The outcome of a call as a model sees it: a long response is cut, as upstream does."""
    outcome = executed.outcome
    text = _json(outcome.response)
    if outcome.exception is not None or len(text) <= LONGEST_OBSERVATION:
        return outcome
    return Outcome(f"{text[:LONGEST_OBSERVATION]}...")


def _attempt(node: SearchNode) -> list[JsonObject]:
    """A call among the nodes of one step, as the text shows it."""
    last = node
    while last.kind != "input" and any(child.step == node.step for child in last.children):
        last = next(child for child in last.children if child.step == node.step)
    if last.kind != "input" or last.parent is None:
        return []
    return [{"name": last.parent.text, "arguments": last.text, "function_output": last.observation}]


def _json(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False)
