"""Answers as calls: those of a model, and those of BFCL's files of results, whichever handler wrote them."""

import ast
import json
from collections.abc import Mapping, Sequence
from typing import Any

from rig.calls import Call, Json, JsonObject
from rig.methods.bfcl.data import Entry
from rig.methods.bfcl.prompt import AS_TEXT, Settings, tools

LONGEST = 200_000
"""Characters of an answer that is read."""


class Undecodable(ValueError):
    """An answer that holds no calls in a form that is known."""


def output_of(calls: Sequence[Call], entry: Entry, settings: Settings) -> list[dict[str, Any]]:
    """Calls of a model as BFCL has them; objects that were asked for as texts are objects again."""
    declared = {tool.name: tool.parameters["properties"] for tool in tools(entry, settings)}
    return [{call.name: _read(call.arguments, declared.get(call.name, {}))} for call in calls]


def _read(arguments: Json, declared: Mapping[str, JsonObject]) -> Any:
    if not isinstance(arguments, dict):
        return arguments
    return {name: _object(value, declared.get(name, {})) for name, value in arguments.items()}


def _object(value: Json, declared: JsonObject) -> Any:
    if not isinstance(value, str) or not declared.get("description", "").endswith(AS_TEXT):
        return value
    try:
        found = json.loads(value)
    except (ValueError, RecursionError):
        return value
    return found if isinstance(found, dict) else value


def decode(result: Json) -> Json:
    """What a line of results says was called: from text with Python's calls, or from functions and arguments.

    Raises Undecodable for anything else.
    """
    if isinstance(result, str):
        return _python(result)
    if isinstance(result, dict):
        result = [result]
    if not isinstance(result, list):
        raise Undecodable("neither a text nor a list of calls")
    return [{name: _arguments(value) for name, value in _fields(each).items()} for each in result]


def _fields(call: Json) -> JsonObject:
    if not isinstance(call, dict):
        raise Undecodable("a call is no object")
    return call


def _arguments(value: Json) -> Json:
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError) as error:
        raise Undecodable(f"arguments that are no JSON: {error}") from error


def _python(text: str) -> list[dict[str, Any]]:
    """Calls written in Python, in a list or one alone: nothing is executed."""
    text = text.strip("`\n ")
    if not text.startswith("["):
        text = f"[{text}"
    if not text.endswith("]"):
        text = f"{text}]"
    if len(text) > LONGEST:
        raise Undecodable("too long")
    try:
        body = ast.parse(text.strip().strip("'"), mode="eval").body
        elements = [body] if isinstance(body, ast.Call) else getattr(body, "elts", None)
        if elements is None or not all(isinstance(each, ast.Call) for each in elements):
            raise Undecodable("no list of calls")
        return [_call(each) for each in elements]
    except (SyntaxError, ValueError, RecursionError, MemoryError, AttributeError, TypeError) as error:
        raise Undecodable(f"no Python: {error}") from error


def _call(node: ast.Call) -> dict[str, Any]:
    """A call by its keywords; others are not read."""
    return {_name(node.func): {str(each.arg): _value(each.value) for each in node.keywords}}


def _name(node: ast.expr) -> str:
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join(reversed([*parts, *([node.id] if isinstance(node, ast.Name) else [])]))


def _value(node: ast.expr) -> Any:
    match node:
        case ast.Constant(value):
            return "..." if value is Ellipsis else value
        case ast.UnaryOp(operand=ast.Constant(value)) if isinstance(value, int | float):
            return -value
        case ast.List(elements):
            return [_value(each) for each in elements]
        case ast.Tuple(elements):
            return tuple(_value(each) for each in elements)
        case ast.Dict(keys, values):
            return {_value(key): _value(each) for key, each in zip(keys, values, strict=True) if key}
        case ast.Name(name):
            return name
        case ast.Call():
            return _call(node) if node.keywords else ast.unparse(node)
        case ast.BinOp(left, operator, right):
            return _computed(_value(left), operator, _value(right))
        case ast.Subscript(value, inner):
            return f"{ast.unparse(value)}[{ast.unparse(inner)}]"
    raise Undecodable(f"a {type(node).__name__} is no value")


def _computed(left: Any, operator: ast.operator, right: Any) -> Any:
    """Arithmetic, as BFCL's reader does it, without powers, which have no bound."""
    if isinstance(operator, ast.Add) and type(left) is type(right) and isinstance(left, str | list):
        return left + right
    if not (isinstance(left, int | float) and isinstance(right, int | float)):
        raise Undecodable("arithmetic without numbers")
    match operator:
        case ast.Add():
            return left + right
        case ast.Sub():
            return left - right
        case ast.Mult():
            return left * right
        case ast.Div() if right:
            return left / right
        case ast.FloorDiv() if right:
            return left // right
        case ast.Mod() if right:
            return left % right
        case ast.Pow() if abs(left) < 1e6 and abs(right) < 100:
            return left**right
    raise Undecodable("arithmetic that is not read")
