"""What a model may write as a Lark grammar for llguidance: thoughts, words, calls between markers, values.

llguidance's own way to write JSON leaves out some numbers between bounds, such as 0.1 between 0 and 0.15.
Where objects can stand side by side, all are written here and none in llguidance's way: its lexer takes the
longest piece that begins like the text, and would lose objects that are cut into other pieces.

Markers that are special tokens of a model's file are written as such, because text never passes for them;
others are text. Words continue until the trigger, which llguidance's lexer finds at any boundary between
tokens.
"""

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

from rig.core.budget import parse_json
from rig.core.calls import JsonObject
from rig.plugins.llama.grammar.language import (
    CDATA,
    KIND,
    KINDS,
    UNSAFE,
    Arguments,
    Elements,
    Language,
    Maybe,
    Part,
    Pattern,
    Raw,
    RegexText,
    Spelling,
    Tags,
    as_pattern,
    kind_of,
    spelling_of,
)
from rig.plugins.llama.grammar.patterns import (
    by_llguidance,
    by_type,
    canonical,
    counted,
    decimals,
    in_doubles,
    in_regex,
    in_slashes,
    integers,
    literal,
    unescaped,
    values_of,
    word,
)
from rig.world.schemas import fits

_BARE_NAME = "[A-Za-z0-9_.-]{1,200}"
"""A name without quotes, in an object whose names are not declared."""
_PYTHON_TEXT = (
    r"'(?:[^'\\\x00-\x1f]|\\(?:['\"\\nrt]|x[0-9a-f]{2}))*'"
    r"|\"(?:[^\"\\\x00-\x1f]|\\(?:['\"\\nrt]|x[0-9a-f]{2}))*\""
)
_ASCII_CHARACTER = (
    r'(?:[ !#-\[\]-~]|\\["\\bfnrt]|\\u(?:[0-9a-cA-CefEF][0-9a-fA-F]{3}|[dD][0-7][0-9a-fA-F]{2})'
    r"|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})"
)
_MOST_RAW = 256
"""The highest count of characters where a text has no quotes around it: it has to be told from its end."""
_ANY_NUMBER = r"-?(?:0|[1-9][0-9]{0,99})(?:\.[0-9]{1,99})?(?:[eE][+\-]?[0-9]{1,2})?"
"""Any number that is finite as a double."""
_ANY = "/(?s:.+)/"
_LAID_OUT: JsonObject = {"whitespace_flexible": True, "whitespace_pattern": r"[\n ]{0,40}"}
"""llguidance's options for JSON that a model lays out over lines."""
_GAP = r"/[ \n]{1,4}/"
"""White space that may follow thoughts where calls are required."""


def grammar(language: Language, specials: Mapping[str, int]) -> str:
    """Return the grammar of a language. `specials` are the file's special tokens by spelling."""
    writer = _Writer(spelling_of(language), specials)
    if language.schema is not None:
        return writer.written(writer.value(language.schema))
    writer.add("ANY", _ANY)
    return writer.written(writer.answer(language))


def json_options(spelling: Spelling) -> JsonObject:
    """Return llguidance's options for JSON: both separators, and no other white space."""
    return {
        "whitespace_flexible": False,
        "item_separator": spelling.between_items,
        "key_separator": spelling.between_key_and_value,
    }


def laid_out(schema: str) -> str:
    """Return the rule of JSON that satisfies a schema, given as text, with any usual white space."""
    return by_llguidance(in_doubles(parse_json(schema)), _LAID_OUT)


class _Property(NamedTuple):
    """A property of an object in Lark: what precedes its value as the first or a later one, and its rule."""

    name: str
    first: str
    later: str
    value: str
    is_required: bool


class _Writer:
    """Collects the rules of a grammar whose values share one spelling."""

    def __init__(self, spelling: Spelling, specials: Mapping[str, int]) -> None:
        self._spelling = spelling
        self._is_json = spelling.is_json and not spelling.ascii
        self._between = literal(spelling.between_items)
        self._specials = specials
        longest_first = sorted(specials, key=len, reverse=True)
        self._special = re.compile(f"({'|'.join(map(re.escape, longest_first)) or '(?!)'})")
        self._rules: list[str] = []
        self._names: dict[str, str] = {}
        self._fresh = 0

    def written(self, start: str) -> str:
        """Return the whole grammar: the start rule and all rules so far."""
        return "\n".join([f"start: {start}", *self._rules, ""])

    def add(self, name: str, body: str) -> None:
        """Add a rule."""
        self._rules.append(f"{name}: {body}")

    def fresh(self, kind: str) -> str:
        """Return a name that no rule has yet."""
        self._fresh += 1
        return f"{kind}{self._fresh}"

    def value(self, schema: JsonObject) -> str:
        """Return the name of a value's rule, adding the rule if needed; equal schemas share one."""
        key = json.dumps(schema)
        if key not in self._names:
            name = self._names[key] = f"v{len(self._names)}"
            self.add(name, self._body(schema, name))
        return self._names[key]

    def _body(self, schema: JsonObject, name: str) -> str:
        spelling = self._spelling
        if spelling.indent:
            return by_llguidance(in_doubles(schema), _LAID_OUT)
        if not schema:
            return self._anything(name)
        match schema:
            case {"enum": _} | {"const": _} if not self._is_json:
                return " | ".join(self.literal(spelling.write(value)) for value in values_of(schema))
            case {"enum": values}:
                texts = [value for value in values if isinstance(value, str)]
                others = [literal(spelling.write(value)) for value in values if not isinstance(value, str)]
                choice = [by_llguidance({"enum": texts}, json_options(spelling))] if texts else []
                return " | ".join([*choice, *others])
            case {"anyOf": options}:
                return " | ".join(map(self.value, options))
            case {"type": "object", "additionalProperties": dict(inner)}:
                any_name = f"/{_BARE_NAME}/" if spelling.bare_keys else self.value({"type": "string"})
                colon = literal(spelling.between_key_and_value)
                self.add(f"{name}_pair", f"{any_name} {colon} {self.value(inner)}")
                return f'"{{" {name}_pair ({self._between} {name}_pair)* "}}" | "{{}}"'
            case {"type": "object"}:
                return self.ordered(self._members(schema), name, '"}"', '"{}"')
            case {"type": "number", "minimum": low, "maximum": high}:
                return f"/{decimals(low, high)}/"
            case {"type": "integer", "minimum": low, "maximum": high}:
                return f"/{integers(low, high)}/"
            case {"type": "array"}:
                return self._items(schema)
        return by_llguidance(schema, json_options(spelling)) if self._is_json else self._scalar(schema)

    def _scalar(self, schema: JsonObject) -> str:
        """Return the rule of a value that is neither list nor object, in a spelling other than JSON's."""
        spelling = self._spelling
        true, false, null = spelling.words
        match schema["type"]:
            case "boolean":
                return " | ".join(map(literal, dict.fromkeys((true, false, "true", "false"))))
            case "null":
                return " | ".join(map(literal, dict.fromkeys((null, "null"))))
        if spelling.quote:
            return f"{self.literal(spelling.quote)} {self.raw(schema, spelling.quote)}"
        if "pattern" in schema:
            quotes = ["'", '"'] if spelling.python else ['"']
            with suppress(ValueError):
                # Only characters that are not escaped: Python and ASCII escape others than JSON does.
                inner = in_slashes(canonical(schema["pattern"], unescaped)[1:-1])
                return " | ".join(f"/{quote}{inner}{quote}/" for quote in quotes)
        if spelling.python:
            return f"/{in_slashes(_PYTHON_TEXT.replace(')*', f'){counted(schema)}'))}/"
        return f'/"{in_slashes(_ASCII_CHARACTER)}{counted(schema)}"/'

    def _anything(self, name: str) -> str:
        """Return the rule, named `name`, of any JSON value."""
        kinds = [self.value({"type": kind}) for kind in ("string", "boolean", "null")]
        any_name = f"/{_BARE_NAME}/" if self._spelling.bare_keys else kinds[0]
        self.add(f"{name}_pair", f"{any_name} {literal(self._spelling.between_key_and_value)} {name}")
        many = [
            f'"{opened}" {inner} ({self._between} {inner})* "{closed}" | "{opened}{closed}"'
            for opened, inner, closed in (("[", name, "]"), ("{", f"{name}_pair", "}"))
        ]
        return " | ".join([f"/{_ANY_NUMBER}/", *kinds, *many])

    def _members(self, schema: JsonObject) -> list[_Property]:
        properties, spelling = schema["properties"], self._spelling
        values = {name: self.value(properties[name]) for name in reversed(properties)}
        members = []
        for name in properties:
            key = spelling.key(name) + spelling.between_key_and_value
            first, later = literal("{" + key), literal(spelling.between_items + key)
            members.append(_Property(name, first, later, values[name], name in schema.get("required", ())))
        return members

    def ordered(self, members: Sequence[_Property], name: str, end: str, empty: str) -> str:
        """Return an object of these members and `end`, or `empty` for none. Rules are named after `name`."""
        # Rule by rule from the last property back: what may follow after all earlier ones.
        following, firsts, may_be_empty = end, [], True
        for number, member in reversed(list(enumerate(members))):
            firsts.append(f"{member.first} {member.value} {following}")
            this = f"{member.later} {member.value} {following}"
            if member.is_required:
                may_be_empty, firsts = False, firsts[-1:]
            else:
                this = f"{this} | {following}"
            if number:
                self.add(f"{name}_{number}", this)
                following = f"{name}_{number}"
        return " | ".join([*reversed(firsts), *([empty] if may_be_empty else [])])

    def _items(self, schema: JsonObject) -> str:
        item = self.value(schema["items"])
        low, high = schema.get("minItems", 0), schema.get("maxItems")
        if high == 0:
            return '"[" "]"'
        most = "" if high is None else high - 1
        more = "" if high == 1 else f"({self._between} {item}){{{max(low - 1, 0)},{most}}}"
        some = f'"[" {item} {more} "]"'
        return some if low else f'{some} | "[" "]"'

    def raw(self, schema: JsonObject, close: str) -> str:
        """Return the rule of an unescaped string that ends at the first `close`."""
        if "enum" in schema or "const" in schema:
            return " | ".join(f"{self.literal(value)} {self.literal(close)}" for value in values_of(schema))
        content = ""
        with suppress(ValueError):
            content = (
                in_slashes(canonical(schema["pattern"], most=_MOST_RAW)[1:-1]) if "pattern" in schema else ""
            )
        if not content and (counts := counted(schema, _MOST_RAW)) != "{0,}":
            content = f"(?s:.){counts}"
        if not content:
            return self.until(close)
        first, *rest = self.pieces(close)
        after = " ".join(map(self._piece, rest))
        name = self.fresh("TEXT")
        if first in self._specials:
            self.add(name, f"/{content}/ & ~/(?s:.*){in_regex(close)}(?s:.*)/")
            empty = "?" if re.fullmatch(content.replace("(?s:", "(?:"), "") else ""
            return f"{name}{empty} {self._piece(first)} {after}"
        self.add(name, f"/(?:{content}){in_regex(first)}/ & ~/(?s:.*){in_regex(first)}(?s:.+)/")
        return f"{name} {after}"

    def until(self, text: str) -> str:
        """Return the rule of any text up to and including the first `text`."""
        first, *rest = self.pieces(text)
        if first in self._specials:
            return f"ANY? {self.literal(text)}"
        key = f"until {first}"
        if key not in self._names:
            self._names[key] = f"until_{len(self._names)}"
            self.add(f"{self._names[key]}[lazy]", f"/(?s:.*){in_regex(first)}/")
        return " ".join([self._names[key], *map(self._piece, rest)])

    def literal(self, text: str) -> str:
        """Return the rule of a fixed text; special tokens in it are written as tokens."""
        return " ".join(map(self._piece, self.pieces(text)))

    def _piece(self, piece: str) -> str:
        return f"<[{self._specials[piece]}]>" if piece in self._specials else literal(piece)

    def pieces(self, text: str) -> list[str]:
        """Split a text into its special tokens and the pieces between them."""
        return [piece for piece in self._special.split(text) if piece] or [""]

    def answer(self, language: Language) -> str:
        """Return the rule of a whole answer."""
        calls = language.calls + (() if language.choice == "required" else language.replies)
        self.add("call", " | ".join(map(self._pattern, calls)) or '""')
        another = f"({self._pattern(as_pattern(language.separator))} call)*" if language.separator else ""
        prefix, suffix = (self._pattern(as_pattern(part)) for part in (language.prefix, language.suffix))
        self.add("calls", " ".join((prefix, "call", another, suffix)))
        answer, thoughts = self._after_thoughts(language), language.thoughts
        if not thoughts:
            return answer
        gap = ""
        if language.choice == "required":
            self.add("GAP", _GAP)
            gap = "GAP?"
        thought = f"{self.until(thoughts.close)} {gap}"
        if not thoughts.is_open:
            thought = f"({self.literal(thoughts.open)} {thought})?"
        return f"{thought} ({answer})"

    def _after_thoughts(self, language: Language) -> str:
        calls = "calls" if language.calls and language.choice != "none" else ""
        if language.choice == "required" and calls:
            opened = "" if language.lead else self.literal(language.call_lead + language.trigger)
            return f"{opened} {calls}"
        if not language.trigger:
            return calls or "ANY?"
        words = self._words(language, calls)
        if not language.lead:
            return words
        return " | ".join(filter(None, [calls, f"{self.literal(language.lead)} ({words})"]))

    def _words(self, language: Language, calls: str) -> str:
        """Return the rule of words and calls after them; words never contain the trigger, even as text."""
        first = in_regex(self.pieces(language.trigger)[0])
        self.add("WORDS", f"{_ANY} & ~/(?s:.*){first}(?s:.*)/")
        tokens = (mark for mark in sorted(language.marks) if self.pieces(mark)[0] in self._specials)
        marks = " | ".join(map(self.literal, tokens))
        marked = f"(WORDS? ({marks}))* " if marks else ""
        following = f" | {self.until(language.trigger)} {calls}" if calls else ""
        return f"{marked}(WORDS?{following})"

    def _pattern(self, pattern: Pattern) -> str:
        return " ".join(map(self._part, pattern)) or '""'

    def _part(self, part: Part) -> str:
        match part:
            case str():
                return self.literal(part)
            case Raw(until):
                return self.until(until)
            case RegexText(regex):
                return f"/{regex}/"
            case Maybe(parts):
                return f"({self._pattern(parts)})?"
            case Arguments(schema, Tags() as tags):
                return self._tagged(schema, tags)
            case Arguments(schema, Elements() as style):
                return self._elements(schema, style)
            case Arguments(schema, _):
                return self.value(schema)
        return self.value(part)

    def _tagged(self, schema: JsonObject, tags: Tags) -> str:
        """Return the name of the rule of a call's arguments, each with its tags."""
        name, empty, later = self.fresh("o"), self.literal(tags.empty), self.literal(tags.join)
        arguments = {key: self._argument(key, inner, tags) for key, inner in schema["properties"].items()}
        required = schema.get("required", ())
        members = [_Property(key, '""', later, rule, key in required) for key, rule in arguments.items()]
        self.add(name, self.ordered(members, name, '""', empty))
        return name

    def _elements(self, schema: JsonObject, style: Elements) -> str:
        """Return the name of the rule of an object's members, each as an element."""
        name, required = self.fresh("e"), schema.get("required", ())
        members = []
        for key, inner in schema["properties"].items():
            is_required = key in required and not fits(None, inner)
            members.append(_Property(key, '""', '""', self._element(key, inner, style), is_required))
        self.add(name, self.ordered(members, name, '""', '""'))
        return name

    def _element(self, key: str, schema: JsonObject, style: Elements) -> str:
        """Return the name of the rule of an element, with each way to write its value."""
        name = self.fresh("n")
        ways = [self._content(part, style, style.closed(key)) for part in by_type(schema)]
        self.add(name, f"{self.literal(style.opened(key))} ({' | '.join(ways)})")
        return name

    def _content(self, schema: JsonObject, style: Elements, close: str) -> str:
        """Return the rule of a value and the tag behind it."""
        values, end = values_of(schema), self.literal(close)
        if isinstance((values or [None])[0], str) or schema.get("type") == "string":
            return self.raw(schema, close)
        match schema:
            case {"type": "object", "additionalProperties": dict(inner)}:
                return f"({self._any_element(inner, style)})* {end}"
            case {"type": "object"}:
                return f"{self._elements(schema, style)} {end}"
            case {"type": "array", "items": items}:
                low, high = schema.get("minItems", 0), schema.get("maxItems", "")
                return f"{self._element('item', items, style)}{{{low},{high}}} {end}"
            case {"type": "null"}:
                return end
            case {"type": "boolean" | "integer" | "number"}:
                return f"{self.value(schema)} {end}"
        if values:
            texts = (self.literal(style.write(value)) if value is not None else '""' for value in values)
            return f"({' | '.join(texts)}) {end}"
        # Any text can be read as a value of some type, and so can elements.
        return f"({self.until(close)} | {self._any_element({}, style)}+ {end})"

    def _any_element(self, inner: JsonObject, style: Elements) -> str:
        """Return the name of the rule of an element of any name, whose value is of a plain type or any."""
        inner = inner if inner.get("type") in ("boolean", "integer", "number") else {}
        key = f"any {json.dumps(inner)}"
        if key in self._names:
            return self._names[key]
        name = self._names[key] = f"any_{len(self._names)}"
        mark, tag = in_regex(style.mark), f"{_BARE_NAME}>"
        if style.mark in self._specials:
            token = self.literal(style.mark)
            opened, closed = f"{token} /<{tag}/", f"{token} /<\\/{tag}/"
            text = f"ANY? {closed}"
        else:  # mark and tag are one lexeme, since the tag that closes begins alike
            opened, closed = f"/{mark}<{tag}/", f"/{mark}<\\/{tag}/"
            text = self.fresh("TEXT")
            self.add(text, f"/(?s:.*){mark}<\\/{tag}/ & ~/(?s:.*){mark}(?s:.*){mark}(?s:.*)/")
        value = text if not inner else f"({self.value(inner)}) {closed}"
        nested = "" if inner else f" | {name}+ {closed}"
        self.add(name, f"{opened} ({value}{nested})")
        return name

    def _argument(self, key: str, schema: JsonObject, tags: Tags) -> str:
        """Return the name of the rule of one argument: its tags, and each way to write its value."""
        name = self.fresh("a")
        parts = by_type(schema)
        if not schema and not tags.quoted:
            # Any text that is no string there can be read as another value.
            is_marked = (tags.text_open, tags.text_close) != (tags.other_open, tags.other_close)
            parts = [{"type": "string"}, *([schema] if is_marked else [])]
        self.add(name, " | ".join(self._written(key, part, tags) for part in parts))
        return name

    def _written(self, key: str, schema: JsonObject, tags: Tags) -> str:
        is_text = isinstance((values_of(schema) or [None])[0], str) or schema.get("type") == "string"
        if is_text and not tags.quoted:
            before = self.literal(f"{tags.before_key}{key}{tags.text_open}")
            if not tags.wrapped or schema.keys() - {"type"}:
                return f"{before} ({self.raw(schema, tags.text_close)})"
            plain = self.fresh("PLAIN")
            self.add(plain, f"/[^{in_regex(UNSAFE)}]+/")
            section = f"{literal(CDATA[0])} {self.until(CDATA[1] + tags.text_close)}"
            return f"{before} ({section} | {plain}? {self.literal(tags.text_close)})"
        value = word(schema, tags) or self.value(schema)
        kinds = [kind_of(value) for value in values_of(schema)] or [str(schema.get("type", ""))]
        kinds = ["number" if kind == "integer" else kind for kind in dict.fromkeys(kinds)]
        before, *behind = f"{tags.before_key}{key}{tags.other_open}".split(KIND)
        choice = f"/{'|'.join(kinds if set(kinds) <= set(KINDS) else KINDS)}/"
        opened = f" {choice} ".join(map(self.literal, (before, *behind)))
        return f"{opened} ({value}) {self.literal(tags.other_close)}"
