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
from rig.engine.grammar.spelling import JSON, Spelling

_ESCAPES = r'\\(?:["\\bfnrt]|u00(?:[01][0-9a-fA-F]|7[fF]))'
_SHORT = {"\b": "b", "\f": "f", "\n": "n", "\r": "r", "\t": "t"}


def answer_regex(schema: JsonObject) -> str:
    """The texts of a narrowed schema of an object.

    An object, since outlines_core's automata stop at the first alternative that matches: of 1|12 they would
    never see the 12. No text of an object is the beginning of another, so that no alternative is lost.
    """
    return str(to_regex(Values(JSON).term(schema)))


class Values:
    """Values as terms, in a spelling that is JSON. Of characters that stand as they are `never` are none."""

    def __init__(self, spelling: Spelling, never: str = "") -> None:
        self.spelling = spelling
        self.never = never

    def term(self, schema: JsonObject) -> Term:
        """The texts of a narrowed schema."""
        if "anyOf" in schema:
            return Alternatives([self.term(each) for each in schema["anyOf"]])
        if "enum" in schema:
            return Alternatives([self.value(each) for each in schema["enum"]])
        if "const" in schema:
            return self.value(schema["const"])
        match schema["type"]:
            case "string":
                return self.string(schema)
            case "integer":
                return Regex(integers(schema["minimum"], schema["maximum"]))
            case "number":
                return Regex(decimals(schema["minimum"], schema["maximum"]))
            case "boolean" | "null" as kind:
                return self.word(kind)
            case "array":
                return self._array(schema)
            case _:
                return self._object(schema)

    def value(self, value: Json) -> Term:
        """One value."""
        if isinstance(value, str):
            return Sequence([String('"'), *map(_spellings, value), String('"')])
        return String(json.dumps(value))

    def word(self, kind: str) -> Term:
        """True, false or null."""
        return Regex("true|false") if kind == "boolean" else String("null")

    def string(self, schema: JsonObject) -> Term:
        """A text between quotes."""
        if "pattern" in schema:
            return Regex(f'"{schema["pattern"][1:-1]}"')
        return Sequence([String('"'), counted(Regex(self.character()), schema), String('"')])

    def character(self) -> str:
        """A character of a text, escaped where it has to be."""
        return rf'[^"\\\x00-\x1f\x7f{self.never}]|{_ESCAPES}'

    def key(self, name: str) -> str:
        """A name in an object."""
        return json.dumps(name, ensure_ascii=False)

    def _array(self, schema: JsonObject) -> Term:
        item = self.term(schema["items"])
        low, high = schema.get("minItems", 0), schema.get("maxItems")
        if high == 0:
            return String("[]")
        others = _repeated(
            Sequence([String(self.spelling.between_items), item]),
            max(low - 1, 0),
            None if high is None else high - 1,
        )
        some: Term = Sequence([item, others])
        return Sequence([String("["), some if low else Optional(some), String("]")])

    def any_name(self) -> Term:
        """A name in an object that declares none."""
        return self.string({})

    def _object(self, schema: JsonObject) -> Term:
        free = schema.get("additionalProperties")
        if isinstance(free, dict):
            between = String(self.spelling.between_key_and_value)
            pair = Sequence([self.any_name(), between, self.term(free)])
            others = _repeated(Sequence([String(self.spelling.between_items), pair]), 0, None)
            return Sequence([String("{"), Optional(Sequence([pair, others])), String("}")])
        required = schema.get("required", ())
        members: list[tuple[Term, bool]] = []
        for name, inner in schema["properties"].items():
            key = self.key(name) + self.spelling.between_key_and_value
            members.append((Sequence([String(key), self.term(inner)]), name in required))
        return Sequence([String("{"), in_order(members, String(self.spelling.between_items)), String("}")])


def in_order(members: Several[tuple[Term, bool]], between: Term) -> Term:
    """Members in their order, each required or not. What may come first differs; then there is one way on."""
    firsts: list[Term] = []
    for number, (member, is_required) in enumerate(members):
        firsts.append(Sequence([member, *_rest(members[number + 1 :], between)]))
        if is_required:
            return Alternatives(firsts)
    return Optional(Alternatives(firsts)) if firsts else String("")


def _rest(members: Several[tuple[Term, bool]], between: Term) -> list[Term]:
    following = [(Sequence([between, member]), needed) for member, needed in members]
    return [member if needed else Optional(member) for member, needed in following]


def counted(character: Term, schema: JsonObject) -> Term:
    """As many characters as a schema of a string says."""
    return _repeated(character, schema.get("minLength", 0), schema.get("maxLength"))


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
