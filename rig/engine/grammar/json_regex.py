"""A narrowed JSON Schema as a regular expression over JSON text, written with Outlines' terms.

Outlines' own `build_regex_from_schema` cannot be used: it ignores the bounds of numbers, leaves quotes in
names unescaped and passes over keywords it does not know, so it would allow what the validator refuses.
"""

import json
from collections.abc import Sequence as Several

from outlines.types.dsl import (
    Alternatives,
    Optional,
    QuantifyBetween,
    QuantifyMinimum,
    Regex,
    Sequence,
    String,
    Term,
    to_regex,
)

from rig.calls import Json, JsonObject
from rig.engine.grammar.numbers import decimals, integers
from rig.engine.grammar.spelling import BETWEEN_ITEMS, BETWEEN_KEY_AND_VALUE

_ESCAPES = r'\\(?:["\\bfnrt]|u00(?:[01][0-9a-fA-F]|7[fF]))'
_CHARACTER = rf'[^"\\\x00-\x1f\x7f]|{_ESCAPES}'
_SHORT = {"\b": "b", "\f": "f", "\n": "n", "\r": "r", "\t": "t"}


def answer_regex(schema: JsonObject) -> str:
    """The JSON texts that satisfy a narrowed schema, which must be of an object.

    outlines_core's automata stop at the first alternative that matches: of 1|12 they would never see the 12.
    No text of an object is the beginning of another, so objects lose nothing to that.
    """
    return str(to_regex(_term(schema)))


def _term(schema: JsonObject) -> Term:
    if "anyOf" in schema:
        return Alternatives([_term(option) for option in schema["anyOf"]])
    if "enum" in schema:
        return Alternatives([_value(value) for value in schema["enum"]])
    if "const" in schema:
        return _value(schema["const"])
    match schema["type"]:
        case "string":
            return _string(schema)
        case "integer":
            return Regex(integers(schema["minimum"], schema["maximum"]))
        case "number":
            return Regex(decimals(schema["minimum"], schema["maximum"]))
        case "boolean":
            return Regex("true|false")
        case "null":
            return String("null")
        case "array":
            return _array(schema)
    return _object(schema)


def _value(value: Json) -> Term:
    if isinstance(value, str):
        return Sequence([String('"'), *map(_spellings, value), String('"')])
    return String(json.dumps(value))


def _string(schema: JsonObject) -> Term:
    if "pattern" in schema:
        return Regex(f'"{schema["pattern"][1:-1]}"')
    characters = _repeated(Regex(_CHARACTER), schema.get("minLength", 0), schema.get("maxLength"))
    return Sequence([String('"'), characters, String('"')])


def _array(schema: JsonObject) -> Term:
    item = _term(schema["items"])
    low, high = schema.get("minItems", 0), schema.get("maxItems")
    if high == 0:
        return String("[]")
    following = Sequence([String(BETWEEN_ITEMS), item])
    items: Term = Sequence([item, _repeated(following, max(low - 1, 0), None if high is None else high - 1)])
    return Sequence([String("["), items if low else Optional(items), String("]")])


def _object(schema: JsonObject) -> Term:
    values = schema.get("additionalProperties")
    if isinstance(values, dict):
        pair = Sequence([_string({}), String(BETWEEN_KEY_AND_VALUE), _term(values)])
        following = _repeated(Sequence([String(BETWEEN_ITEMS), pair]), 0, None)
        return Sequence([String("{"), Optional(Sequence([pair, following])), String("}")])
    required = schema.get("required", ())
    members = [
        (
            Sequence([String(json.dumps(name, ensure_ascii=False) + BETWEEN_KEY_AND_VALUE), _term(inner)]),
            name in required,
        )
        for name, inner in schema["properties"].items()
    ]
    return Sequence([String("{"), _in_order(members), String("}")])


def _in_order(members: Several[tuple[Term, bool]]) -> Term:
    """Members in their order, each required or not: one alternative for each that can come first."""
    firsts: list[Term] = []
    for number, (member, is_required) in enumerate(members):
        following = [
            (Sequence([String(BETWEEN_ITEMS), later]), needed) for later, needed in members[number + 1 :]
        ]
        firsts.append(Sequence([member, *(term if needed else Optional(term) for term, needed in following)]))
        if is_required:
            return Alternatives(firsts)
    return Optional(Alternatives(firsts)) if firsts else String("")


def _repeated(term: Term, low: int, high: int | None) -> Term:
    return QuantifyMinimum(term, low) if high is None else QuantifyBetween(term, low, high)


def _spellings(character: str) -> Term:
    """How JSON text may hold a character: one way, and for control characters by their number too."""
    if character in '"\\':
        return String(f"\\{character}")
    if character >= " " and character != "\x7f":
        return String(character)
    digits = "".join(
        f"[{digit}{digit.upper()}]" if digit > "9" else digit for digit in f"{ord(character):04x}"
    )
    short = f"|{_SHORT[character]}" if character in _SHORT else ""
    return Regex(rf"\\(?:u{digits}{short})")
