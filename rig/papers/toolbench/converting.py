"""Raw answers, as ToolBench's inference writes them, made into solutions.

Source: upstream's `convert_to_answer_format.py`, and StableToolBench's for messages of OpenAI's newer shape.
What they cannot read is read here: an empty observation, a last call that nobody answered, no messages.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile, zip_longest
from random import Random
from typing import Any, cast, get_args

from rig.calls import Json, JsonObject
from rig.errors import RigError
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
    found = _METHOD.search(rest)
    return found.group() if found else rest


def convert(data: JsonObject, method: str, where: str, shape: Shape = "seeded", seed: int = SEED) -> Solution:
    """A raw answer as a solution. Raises RigError if it is not one.

    Each answer has a walk by chance of its own, so that none depends on the files beside it.
    """
    try:
        return _convert(data, method, checked_shape(shape), Random(seed))
    except KeyError as error:
        raise RigError(f"{where}: not a raw answer: {error.args[0]} is missing") from error
    except (TypeError, ValueError, AttributeError, IndexError) as error:
        raise RigError(f"{where}: not a raw answer: {error}") from error
    except RecursionError as error:
        raise RigError(f"{where}: not a raw answer: nested too deeply") from error


def _convert(data: JsonObject, method: str, shape: Shape, random: Random) -> Solution:
    made = data["answer_generation"]
    messages = made.get("train_messages") or []
    is_valid = bool(made["valid_data"]) and bool(messages)
    if shape == "tree" and "tree" in data:
        following = _tree(data["tree"]["tree"])
    elif is_valid:
        following = chain_of(list(_conversation(messages[-1])))
    elif "tree" in data:
        following = _path(_tree(data["tree"]["tree"]), shape, random)
    else:
        following = chain_of(_try(data["trys"], shape, random))
    details = begun(following)
    final = _text(made.get("final_answer") or "") if is_valid else ""
    tools = tuple(dict(each) for each in made["function"])
    return Solution(_text(made.get("query", "")), tools, method, counted(details), final, details)


def _conversation(messages: Sequence[Any]) -> Iterator[Node]:
    """The steps of a whole conversation, without its first two messages. A thought beside a call is lost."""
    answers = {
        message["tool_call_id"]: message
        for message in messages
        if message.get("role") == "tool" and "tool_call_id" in message
    }
    for number, message in enumerate(messages):
        if number < 2 or message["role"] != "assistant":
            continue
        if message.get("function_call"):
            call = message["function_call"]
            following = messages[number + 1 : number + 2]
            response = following[0].get("content") if following and call["name"] != FINISH else ""
            yield tool_node(call["name"], _text(call["arguments"]), _text(response or ""))
        elif message.get("tool_calls"):
            behind = takewhile(lambda each: each.get("role") in ("tool", "function"), messages[number + 1 :])
            unnamed = (each for each in behind if "tool_call_id" not in each)
            yield from _calls(message["tool_calls"], answers, unnamed)
        else:
            yield Node("assistant", _text(message.get("content") or ""))


def _calls(calls: Sequence[Any], answers: Mapping[str, Any], unnamed: Iterator[Any]) -> Iterator[Node]:
    """The calls of one message in the newer shape, with what came of each: by its id, else in order.

    None counts behind a Finish.
    """
    for each in calls:
        call = each["function"]
        is_finish = call["name"] == FINISH
        found: Mapping[str, Any] = {} if is_finish else answers.get(each.get("id")) or next(unnamed, {})
        yield tool_node(call["name"], _text(call["arguments"]), _text(found.get("content") or ""))
        if is_finish:
            return


def _try(tries: Sequence[Any], shape: Shape, random: Random) -> list[Node]:
    """One of several tries: by chance, or the longest of them."""
    if not tries:
        return []
    if shape == "longest":
        return max((list(_steps(each["chain"])) for each in tries), key=len)
    return list(_steps(random.choice(tries)["chain"]))


def _steps(chain: Sequence[Any]) -> Iterator[Node]:
    for node, following in zip_longest(chain, chain[1:]):
        if node["node_type"] == "Thought":
            yield Node("assistant", node["description"])
        elif node["node_type"] == "Action":
            yield _called(node, following)


def _tree(root: Any) -> tuple[Node, ...]:
    """All below the root. An action and what it was given are one step."""
    return tuple(_step(each) for each in root.get("children", ()))


def _step(node: Any) -> Node:
    if node["node_type"] == "Thought":
        return Node("assistant", node["description"], _tree(node))
    if node["node_type"] != "Action":
        raise ValueError(f"a {node['node_type']} follows on no Action")
    children = node.get("children", ())
    given = children[0] if children else None
    return _called(node, given, _tree(given) if given else ())


def _called(node: Any, given: Any, following: tuple[Node, ...] = ()) -> Node:
    """A call: its name from one node, its arguments and what was observed from the next, if there is one."""
    given = given or {}
    arguments, observed = given.get("description", ""), given.get("observation", "")
    return tool_node(node["description"], _text(arguments), _text(observed), following)


def _path(following: tuple[Node, ...], shape: Shape, random: Random) -> tuple[Node, ...]:
    """One path through a tree: the longest, the first of several, or by chance at every branch."""
    path: list[Node] = []
    depths = _depths(following) if shape == "longest" else {}
    random.choice("u")  # upstream's walk begins at the system node, which has one way on
    while following:
        node = max(following, key=lambda each: depths[id(each)]) if depths else random.choice(following)
        path.append(node)
        following = node.next
    return chain_of(path)


def _depths(roots: tuple[Node, ...]) -> dict[int, int]:
    """How many nodes the longest path from a node has, by the node's identity."""
    order = [node for root in roots for node in root.walk()]
    depths: dict[int, int] = {}
    for node in reversed(order):
        depths[id(node)] = 1 + max((depths[id(each)] for each in node.next), default=0)
    return depths


def _text(value: Json) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
