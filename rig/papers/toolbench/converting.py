"""Raw answers, as ToolBench's inference writes them, made into solutions.

Source: upstream's `convert_to_answer_format.py`, and StableToolBench's for messages of OpenAI's newer shape.
What they cannot read is read here: an empty observation, a last call that nobody answered, no messages.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile, zip_longest
from random import Random
from typing import cast, get_args

from pydantic import Field

from rig.calls import Json, JsonObject
from rig.errors import RigError
from rig.parsing import Foreign, Many, parsed
from rig.solutions.judgements import SEED, Shape
from rig.solutions.solution import FINISH, Node, Solution, begun, chain_of, counted, tool_node

_METHOD = re.compile(r"(?:CoT@\d+|DFS\w*)$", re.IGNORECASE)


def checked_shape(text: str) -> Shape:
    """The shape of this name. Raises RigError for none."""
    if text not in get_args(Shape):
        raise RigError(f"no shape of answers is called {text}; choose from: {', '.join(get_args(Shape))}")
    return cast(Shape, text)


def is_raw(data: Json) -> bool:
    """Whether this is a raw answer."""
    return isinstance(data, dict) and isinstance(data.get("answer_generation"), dict)


def query_id(stem: str) -> str:
    """The query that a raw answer's file is named after."""
    return stem.partition("_")[0]


def method_of(stem: str) -> str:
    """The way of search that a raw answer's file is named after; all behind the id where none is known."""
    rest = stem.partition("_")[2]
    match = _METHOD.search(rest)
    return match.group() if match else rest


class _RawCall(Foreign):
    name: str
    arguments: Json = ""


class _RawToolCall(Foreign):
    id: str | None = None
    function: _RawCall


class _RawMessage(Foreign):
    role: str
    content: Json = None
    function_call: _RawCall | None = None
    tool_calls: Many[_RawToolCall] | None = None
    tool_call_id: str | None = None


class _RawNode(Foreign):
    node_type: str
    description: Json = ""
    observation: Json = ""
    children: Many["_RawNode"] = Field([])


class _Try(Foreign):
    chain: Many[_RawNode]


class _Root(Foreign):
    children: Many[_RawNode] = Field([])


class _Tree(Foreign):
    tree: _Root


class _Made(Foreign):
    valid_data: bool
    final_answer: Json = ""
    query: str = ""
    function: Many[JsonObject]
    train_messages: Many[Many[_RawMessage]] | None = None


class _Raw(Foreign):
    answer_generation: _Made
    tree: _Tree | None = None
    trys: Many[_Try] = Field([])


def convert(data: Json, method: str, where: str, shape: Shape = "seeded", seed: int = SEED) -> Solution:
    """A raw answer as a solution. Raises RigError if it is not one.

    The walk through each answer is seeded alone, so that none depends on the files beside it.
    """
    raw = parsed(_Raw, data, where, "a raw answer")
    generation, messages = raw.answer_generation, raw.answer_generation.train_messages or []
    is_valid = generation.valid_data and bool(messages)
    tree = raw.tree.tree.children if raw.tree is not None else []
    try:
        if checked_shape(shape) == "tree" and raw.tree is not None:
            following = tuple(map(_step, tree))
        elif is_valid:
            following = chain_of(list(_conversation(messages[-1])))
        elif raw.tree is not None:
            following = _path(tuple(map(_step, tree)), shape, Random(seed))
        else:
            following = chain_of(_try(raw.trys, shape, Random(seed)))
    except ValueError as error:
        raise RigError(f"{where}: not a raw answer: {error}") from error
    details = begun(following)
    final = _text(generation.final_answer or "") if is_valid else ""
    return Solution(generation.query, tuple(generation.function), method, counted(details), final, details)


def _conversation(messages: Sequence[_RawMessage]) -> Iterator[Node]:
    """The steps of a whole conversation, without its first two messages. A thought beside a call is lost."""
    answers = {message.tool_call_id: message for message in messages if message.role == "tool"}
    for number, message in enumerate(messages):
        if number < 2 or message.role != "assistant":
            continue
        if message.function_call:
            call = message.function_call
            following = messages[number + 1 : number + 2]
            response = following[0].content if following and call.name != FINISH else ""
            yield tool_node(call.name, _text(call.arguments), _text(response or ""))
        elif message.tool_calls:
            behind = takewhile(lambda other: other.role in ("tool", "function"), messages[number + 1 :])
            unnamed = (other for other in behind if other.tool_call_id is None)
            yield from _calls(message.tool_calls, answers, unnamed)
        else:
            yield Node("assistant", _text(message.content or ""))


def _calls(
    calls: Sequence[_RawToolCall], answers: Mapping[str | None, _RawMessage], unnamed: Iterator[_RawMessage]
) -> Iterator[Node]:
    """The calls of one message in the newer shape, with what came of each: by its id, else in order.

    None counts behind a Finish.
    """
    for tool_call in calls:
        call = tool_call.function
        is_finish = call.name == FINISH
        by_id = answers.get(tool_call.id) if tool_call.id is not None else None
        answer = None if is_finish else by_id or next(unnamed, None)
        yield tool_node(call.name, _text(call.arguments), _text(answer.content or "") if answer else "")
        if is_finish:
            return


def _try(tries: Sequence[_Try], shape: Shape, random: Random) -> list[Node]:
    """One of several tries: by chance, or the longest of them."""
    if not tries:
        return []
    if shape == "longest":
        return max((list(_steps(attempt.chain)) for attempt in tries), key=len)
    return list(_steps(random.choice(tries).chain))


def _steps(chain: Sequence[_RawNode]) -> Iterator[Node]:
    for node, following in zip_longest(chain, chain[1:]):
        if node.node_type == "Thought":
            yield Node("assistant", _message(node.description))
        elif node.node_type == "Action":
            yield _called(node, following)


def _step(node: _RawNode) -> Node:
    """A step with all below it. An action and what it was given are one."""
    if node.node_type == "Thought":
        return Node("assistant", _message(node.description), tuple(map(_step, node.children)))
    if node.node_type != "Action":
        raise ValueError(f"a {node.node_type} follows on no Action")
    action_input = node.children[0] if node.children else None
    return _called(node, action_input, tuple(map(_step, action_input.children)) if action_input else ())


def _called(node: _RawNode, action_input: _RawNode | None, following: tuple[Node, ...] = ()) -> Node:
    """A call: its name from one node, its arguments and what was observed from the next, if there is one."""
    arguments, observed = (action_input.description, action_input.observation) if action_input else ("", "")
    return tool_node(_text(node.description), _text(arguments), _text(observed), following)


def _message(value: Json) -> Json:
    return value if isinstance(value, dict) else _text(value)


def _path(following: tuple[Node, ...], shape: Shape, random: Random) -> tuple[Node, ...]:
    """One path through a tree: the longest, the first of several, or by chance at every branch."""
    path: list[Node] = []
    depths = _depths(following) if shape == "longest" else {}
    random.choice("u")  # upstream's walk begins at the system node, which has one way on
    while following:
        node = max(following, key=lambda child: depths[id(child)]) if depths else random.choice(following)
        path.append(node)
        following = node.next
    return chain_of(path)


def _depths(roots: tuple[Node, ...]) -> dict[int, int]:
    """How many nodes the longest path from a node has, by the node's identity."""
    order = [node for root in roots for node in root.walk()]
    depths: dict[int, int] = {}
    for node in reversed(order):
        depths[id(node)] = 1 + max((depths[id(child)] for child in node.next), default=0)
    return depths


def _text(value: Json) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
