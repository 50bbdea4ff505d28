"""A given answer as the tokens in which a model would write it under the grammar."""

import json
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rig.calls import Call, Json
from rig.engine.forcing.assessment import Kind
from rig.engine.formats.rig import call_text
from rig.engine.grammar import Constraint
from rig.engine.tokenizer import Tokenizer
from rig.models import ToolDoc

_LONGEST_PIECE = 256


class NotInGrammar(Exception):
    """The grammar does not let the answer be written."""


class AnswerToken(NamedTuple):
    """One token, and the byte at which it begins. `allowed` are the ids it was chosen from, ascending.

    None where the grammar left no other.
    """

    token: int
    start: int
    allowed: npt.NDArray[np.intp] | None


@dataclass(frozen=True, slots=True)
class AnswerTokens:
    """The tokens of an answer from its beginning, and all of its text in bytes."""

    tokens: tuple[AnswerToken, ...]
    text: bytes


def follow(
    constraint: Constraint, tokenizer: Tokenizer, text: str, until: int, *, fast_forward: bool
) -> AnswerTokens:
    """The tokens of `text` up to byte `until`, as the decoder would come by them.

    Where the grammar forces tokens they are those; elsewhere they are as the text is tokenised in a prompt.
    Raises NotInGrammar where they lead out of the grammar, and ConstraintError.
    """
    data = text.encode()
    tokens: list[AnswerToken] = []
    planned = tokenizer.content(text)[::-1]
    at = 0

    def add(token: int, allowed: npt.NDArray[np.intp] | None) -> None:
        nonlocal at, planned
        piece = tokenizer.piece(token)
        if not data.startswith(piece, at) or not piece:
            raise NotInGrammar(f"the grammar forces {piece!r} where {_shown(data[at:])} should follow")
        tokens.append(AnswerToken(token, at, allowed))
        at += len(piece)
        if planned and planned[-1] == token:
            planned.pop()
        else:
            planned = []

    while at < until:
        if fast_forward:
            for token in constraint.forced():
                add(token, None)
            if at >= until:
                break
        mask = constraint.allowed()
        if not planned:
            planned = tokenizer.content(data[at:].decode("utf-8", "replace"))[::-1]
        token = planned[-1] if planned else -1
        if token < 0 or not mask[token] or not data.startswith(tokenizer.piece(token), at):
            token = _longest(mask, tokenizer, data[at : at + _LONGEST_PIECE])
        allowed = np.flatnonzero(mask)
        constraint.accept(token)
        add(token, None if len(allowed) == 1 else allowed)
    return AnswerTokens(tuple(tokens), data)


def _longest(mask: npt.NDArray[np.bool_], tokenizer: Tokenizer, rest: bytes) -> int:
    """The allowed token that takes most of what is to follow."""
    fitting = [
        (len(piece), -token)
        for token in np.flatnonzero(mask).tolist()
        if (piece := tokenizer.piece(token)) and rest.startswith(piece)
    ]
    if not fitting:
        raise NotInGrammar(f"the grammar does not allow {_shown(rest)} here")
    return -max(fitting)[1]


def _shown(rest: bytes) -> str:
    return repr(rest[:24].decode("utf-8", "replace"))


def arranged(call: Call, tools: Sequence[ToolDoc]) -> Call:
    """The call with its arguments in the order of the tool's schema, in which the grammar wants them."""
    schema = next((tool.parameters for tool in tools if tool.name == call.name), {})
    return Call(call.name, _arranged(call.arguments, schema))


def _arranged(value: Json, schema: Json) -> Json:
    if not isinstance(schema, dict):
        return value
    if isinstance(value, dict):
        properties = schema.get("properties", {})
        names = [name for name in properties if name in value]
        names += [name for name in value if name not in properties]
        return {name: _arranged(value[name], properties.get(name)) for name in names}
    if isinstance(value, list):
        return [_arranged(item, schema.get("items")) for item in value]
    return value


def kinds_of_call(call: Call) -> Callable[[int], Kind]:
    """What a token decides that begins at a byte of the call's text."""
    starts: list[int] = []
    kinds: list[Kind] = []
    length = 0

    def part(text: str, kind: Kind) -> None:
        nonlocal length
        starts.append(length)
        kinds.append(kind)
        length += len(text.encode())

    part('{"tool": ', "answer")
    part(json.dumps(call.name, ensure_ascii=False), "tool")
    part(', "arguments": {', "parameter")
    for number, (name, value) in enumerate(call.arguments.items()):
        part((", " if number else "") + json.dumps(name, ensure_ascii=False) + ": ", "parameter")
        part(json.dumps(value, ensure_ascii=False), "value")
    part("}}", "parameter")
    text = call_text(call).encode()
    if length != len(text):
        raise ValueError("a call's text is not what its parts are")

    def kind(start: int) -> Kind:
        # A token's leading space is a separator's; what it decides comes after.
        while start < length - 1 and text[start : start + 1] == b" " and not _inside_value(start):
            start += 1
        return kinds[bisect_right(starts, start) - 1]

    def _inside_value(start: int) -> bool:
        return kinds[bisect_right(starts, start) - 1] == "value"

    return kind
