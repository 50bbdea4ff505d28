"""A given answer as the tokens that a model would write it with under the grammar."""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rig.calls import Call, Json
from rig.engine.core.assessment import Kind
from rig.engine.core.tokenizer import Tokenizer
from rig.engine.formats.base import Span
from rig.engine.grammar import Constraint
from rig.models import ToolDoc

_LONGEST_PIECE = 256


class NotInGrammar(Exception):
    """The grammar does not let the answer be written."""


class AnswerToken(NamedTuple):
    """One token, and the byte at which it begins. `allowed` are the ids it was chosen from, ascending.

    None if the grammar left no other.
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
    constraint: Constraint,
    tokenizer: Tokenizer,
    text: str,
    until: int,
    *,
    fast_forward: bool,
    specials: Iterable[int] = (),
) -> AnswerTokens:
    """The tokens of `text` up to byte `until`, as the decoder would arrive at them.

    If the grammar forces tokens, it is those; if it allows one of the `specials` that the text spells, it is
    that. Elsewhere, they are as the text is tokenized in a prompt. Raises NotInGrammar if they lead out of
    the grammar, and ConstraintError.
    """
    marks = frozenset(specials)
    spelled = [(token, piece) for token in marks if (piece := tokenizer.shown(token, marks))]
    data = text.encode()
    tokens: list[AnswerToken] = []
    planned = tokenizer.content(text)[::-1]
    at = 0

    def add(token: int, allowed: npt.NDArray[np.intp] | None) -> None:
        nonlocal at, planned
        piece = tokenizer.shown(token, marks)
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
        special = (
            candidate for candidate, piece in spelled if mask[candidate] and data.startswith(piece, at)
        )
        token = next(special, planned[-1] if planned else -1)
        if token < 0 or not mask[token] or not data.startswith(tokenizer.shown(token, marks), at):
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
        if (piece := tokenizer.shown(token)) and rest.startswith(piece)
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


def length_of(spans: Sequence[Span]) -> int:
    """The bytes of an answer up to the last that decides something."""
    last = max((number for number, span in enumerate(spans) if span.kind is not None), default=-1)
    return sum(len(span.text.encode()) for span in spans[: last + 1])


def kinds_of(spans: Sequence[Span]) -> Callable[[int], Kind]:
    """What a token decides that begins at a byte of the answer that these spans are."""
    text = "".join(span.text for span in spans).encode()
    starts = [0, *accumulate(len(span.text.encode()) for span in spans)][:-1]

    def of(start: int) -> Kind | None:
        return spans[bisect_right(starts, start) - 1].kind

    def kind(start: int) -> Kind:
        # A token's leading space is a separator's; what it decides comes after.
        while start < len(text) - 1 and text[start : start + 1] == b" " and of(start) != "value":
            start += 1
        span_kind = of(start)
        assert span_kind is not None
        return span_kind

    return kind
