"""A JSON Schema as a regular expression over JSON text, written with Outlines' terms.

Outlines' own way from a schema to a regular expression is not taken: it knows other escapes than llguidance,
leaves quotes in names as they are, allows numbers of any length, and reads past keywords it does not know.
This one means what llguidance means, schema by schema; tests hold the two together.
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

_CHARACTER = r'[^"\\\x00-\x1f\x7f]|\\(?:["\\bfnrt]|u00(?:[01][0-9a-fA-F]|7[fF]))'
_SHORT = {"\b": "b", "\f": "f", "\n": "n", "\r": "r", "\t": "t"}


def answer_regex(schema: JsonObject) -> str:
    """The texts of a narrowed schema of an object.

    An object, since outlines_core's automata stop at the first alternative that matches: of 1|12 they would
    never see the 12. No text of an object is the beginning of another, so that no alternative is lost.
    """
    return str(to_regex(_term(schema)))


def _term(schema: JsonObject) -> Term:
    if "anyOf" in schema:
        return Alternatives([_term(each) for each in schema["anyOf"]])
    if "enum" in schema:
        return Alternatives([_value(each) for each in schema["enum"]])
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
        case _:
            return _object(schema)


def _value(value: Json) -> Term:
    if isinstance(value, str):
        return Sequence([String('"'), *map(_spellings, value), String('"')])
    return String(json.dumps(value))


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


def _string(schema: JsonObject) -> Term:
    if "pattern" in schema:
        return Regex(f'"{schema["pattern"][1:-1]}"')
    return Sequence(
        [
            String('"'),
            _repeated(Regex(_CHARACTER), schema.get("minLength", 0), schema.get("maxLength")),
            String('"'),
        ]
    )


def _repeated(term: Term, low: int, high: int | None) -> Term:
    return QuantifyMinimum(term, low) if high is None else QuantifyBetween(term, low, high)


def _array(schema: JsonObject) -> Term:
    item = _term(schema["items"])
    low, high = schema.get("minItems", 0), schema.get("maxItems")
    if high == 0:
        return String("[]")
    others = _repeated(
        Sequence([String(BETWEEN_ITEMS), item]), max(low - 1, 0), None if high is None else high - 1
    )
    some: Term = Sequence([item, others])
    return Sequence([String("["), some if low else Optional(some), String("]")])


def _object(schema: JsonObject) -> Term:
    """The properties in their order. What may come first differs; after that there is one way on."""
    required = schema.get("required", ())
    members: list[tuple[Term, bool]] = []
    for name, inner in schema["properties"].items():
        key = json.dumps(name, ensure_ascii=False) + BETWEEN_KEY_AND_VALUE
        members.append((Sequence([String(key), _term(inner)]), name in required))
    firsts: list[Term] = []
    for number, (member, is_required) in enumerate(members):
        firsts.append(Sequence([member, *_rest(members[number + 1 :])]))
        if is_required:
            return Sequence([String("{"), Alternatives(firsts), String("}")])
    return Sequence([String("{"), Optional(Alternatives(firsts)), String("}")]) if firsts else String("{}")


def _rest(members: Several[tuple[Term, bool]]) -> list[Term]:
    following = [(Sequence([String(BETWEEN_ITEMS), member]), needed) for member, needed in members]
    return [member if needed else Optional(member) for member, needed in following]
