"""Random tools of the kind that people declare, strange names included, and random walks under a grammar."""

import random
from typing import Any

import numpy as np

from rig.core.models import ToolDoc
from rig.plugins.llama.core.tokenizer import Tokenizer
from rig.plugins.llama.grammar.language import Constraint, ConstraintError

NAMES = (
    *("a", "b", "name", "Name", "name ", "start_time", "type", "description", "properties", "x-format"),
    *("arguments", "$ref", "%json", "::=", "null", "", " ", "[x]", "(?:x)", "/", "{", "}", "a'b"),
    *('"', "\\", 'a"b', "\\n", "a\nb", "\x01", "\x7f", "\t", "\u2028", "\ufffe"),
    *("é", "語", "😀", "नमस्ते", "x" * 80),
)
TEXTS = (
    *NAMES,
    *("meeting", "event", "any", "all", "12:00", "true", "1", 'He said "no"', "a, b", ": ", "\x80", "\x1f"),
)
PATTERNS = (
    *("^[A-Z]{3}$", "^(?:a|bc)*$", "^[^,]+$", "^\\d{2}-\\w?$", "^.{0,4}$", "^(red|green) [0-9]+$"),
    *("^é[à-ü]*$", "^\\S+\\.\\D$", "^[\\w.-]{1,3}@[a-z]+$"),
)
HINTS = ("date", "datetime", "email", "month", "phone", "time")
FORMATS = ("date", "date-time", "email", "time", "uuid")


def tools(source: random.Random) -> tuple[ToolDoc, ...]:
    """One to three tools."""
    names = source.sample(NAMES, source.randint(1, 3))
    return tuple(ToolDoc(name, "", parameters(source, 0)) for name in names)


def parameters(source: random.Random, depth: int) -> dict[str, Any]:
    """An object, with anything from no property to five."""
    names = source.sample(NAMES, source.choice((0, 1, 1, 2, 2, 3, 3, 4, 5)) if depth < 2 else 1)
    required = [name for name in names if source.random() < 0.5]
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {name: value(source, depth + 1) for name in names},
    }
    if required or source.random() < 0.5:
        schema["required"] = required
    if source.random() < 0.8:
        schema["additionalProperties"] = source.choice((False, False, True, {"type": "string"}))
    return schema


def value(source: random.Random, depth: int) -> dict[str, Any]:
    """A parameter's schema."""
    kinds = [_plain, _text, _choice, _number]
    if depth < 4:
        kinds += [_list, parameters, _either, _any_names]
    schema = source.choice(kinds)(source, depth)
    if source.random() < 0.2:
        schema |= {"description": "Say what you mean.", "title": "T", "default": None}
    return schema


def _plain(source: random.Random, _: int) -> dict[str, Any]:
    kind = source.choice(("string", "string", "boolean", "null", "integer", "number", ["string", "null"]))
    return {"type": kind}


def _text(source: random.Random, _: int) -> dict[str, Any]:
    low = source.randint(0, 3)
    return {
        "type": "string",
        **source.choice(
            (
                {"minLength": low},
                {"minLength": low, "maxLength": low + source.randint(0, 5)},
                {"maxLength": source.choice((0, 1, 2, 3, 5, 1000))},
                {"pattern": source.choice(PATTERNS)},
                {"x-format": source.choice(HINTS)},
                {"format": source.choice(FORMATS)},
            )
        ),
    }


def _choice(source: random.Random, _: int) -> dict[str, Any]:
    if source.random() < 0.2:
        return {"const": source.choice((*TEXTS, 1, -2.5, 0.0, True, None))}
    if source.random() < 0.3:
        return {"enum": source.sample((*TEXTS, 1, 2, 2.5, 10**15, False, None), 4)}
    if source.random() < 0.2:
        return {"type": "string", "enum": [f"option {number}" for number in range(source.choice((10, 300)))]}
    return {"type": "string", "enum": source.sample(TEXTS, source.randint(1, 6))}


def _number(source: random.Random, _: int) -> dict[str, Any]:
    low = source.choice((-(10**15), -1234, -10, -1, 0, 1, 5, 99))
    high = low + source.choice((0, 1, 9, 10, 455, 10**6))
    bounds = {
        "integer": ({"minimum": low}, {"minimum": low, "maximum": high}, {"exclusiveMinimum": low}),
        "number": (
            *({}, {"minimum": low / 4}, {"minimum": low, "maximum": high + 0.5}),
            *({"exclusiveMinimum": low, "maximum": high + 0.5}, {"minimum": 1e-07, "exclusiveMaximum": 0.25}),
        ),
    }
    kind = source.choice(tuple(bounds))
    return {"type": kind, **source.choice(bounds[kind])}


def _list(source: random.Random, depth: int) -> dict[str, Any]:
    low = source.randint(0, 2)
    sizes = (
        {},
        {"minItems": low},
        {"maxItems": low},
        {"minItems": low, "maxItems": low + source.randint(0, 2)},
    )
    return {"type": "array", "items": value(source, depth + 1), **source.choice(sizes)}


def _any_names(source: random.Random, depth: int) -> dict[str, Any]:
    """An object of which no name is declared, and its values at most."""
    inner = ({}, {"additionalProperties": True}, {"additionalProperties": value(source, depth + 2)})
    return {"type": "object", **source.choice(inner)}


def _either(source: random.Random, depth: int) -> dict[str, Any]:
    return {"anyOf": [value(source, depth + 1) for _ in range(source.randint(1, 3))]}


class Walker:
    """Walks at random through what a constraint allows, in a hurry to close what is open."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._pieces = [tokenizer.piece(token) for token in range(tokenizer.n_vocab)]
        self._closing = np.array([bool(set(piece) & set(b'"}]')) for piece in self._pieces])
        self._bytes = {piece[0]: token for token, piece in enumerate(self._pieces) if len(piece) == 1}

    def walk(
        self, constraint: Constraint, source: random.Random, *, most: int, twin: Constraint
    ) -> bytes | None:
        """The text of a whole walk that takes forced tokens along; None if it takes more than so many steps.

        `twin` is a fresh constraint to the same schema: it follows token by token, and has to allow each.
        """
        text = b""
        for _ in range(most):
            for token in constraint.forced():
                assert twin.allowed()[token], (text, self._pieces[token])
                twin.accept(token)
                text += self._pieces[token]
            assert constraint.complete == twin.complete, text
            if constraint.complete:
                return text
            allowed = constraint.allowed()
            assert allowed.any(), text
            closing = allowed & self._closing
            if closing.any() and source.random() < 0.6:
                allowed = closing
            token = int(source.choice(np.flatnonzero(allowed)))
            constraint.accept(token)
            twin.accept(token)
            text += self._pieces[token]
        return None

    def accepts(self, constraint: Constraint, text: bytes) -> bool:
        """Whether the text, byte by byte, is whole under the constraint."""
        try:
            for byte in text:
                constraint.accept(self._bytes[byte])
            return constraint.complete
        except ConstraintError:
            return False


_ESCAPES = ("\\u0041", "\\n", "\x7f", "\n")


def mutated(source: random.Random, text: str) -> str:
    """The text with one small change."""
    place = source.randrange(len(text))
    piece = source.choice(('"', "\\", "{", "}", "]", ",", ", ", "0", "-", ".", "a", "é", "e5", "", *_ESCAPES))
    return text[:place] + piece + text[place + source.randint(0, 2) :]
