"""Thoughts, words, and calls between markers as a Lark grammar for llguidance.

Markers that are special tokens of a model's file are written as such, because text never passes for them;
others are text. Words continue until the trigger, which llguidance's lexer finds at any boundary between
tokens.
"""

import json
import re
from collections.abc import Mapping

from rig.calls import Json, JsonObject
from rig.engine.grammar.language import (
    CDATA,
    UNSAFE,
    Arguments,
    Language,
    Matching,
    Maybe,
    Part,
    Pattern,
    Raw,
    Spelling,
    Tags,
    Thoughts,
    as_pattern,
    spelling_of,
)
from rig.engine.grammar.lark import Member, Writer, literal
from rig.engine.grammar.numbers import integers

BARE_NAME = "[A-Za-z0-9_.-]{1,200}"
"""A name without quotes, in an object that declares none."""
_PYTHON_TEXT = (
    r"'(?:[^'\\\x00-\x1f]|\\(?:['\"\\nrt]|x[0-9a-f]{2}))*'"
    r"|\"(?:[^\"\\\x00-\x1f]|\\(?:['\"\\nrt]|x[0-9a-f]{2}))*\""
)
ASCII_CHARACTER = (
    r'(?:[ !#-\[\]-~]|\\["\\bfnrt]|\\u(?:[0-9a-cA-CefEF][0-9a-fA-F]{3}|[dD][0-7][0-9a-fA-F]{2})'
    r"|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})"
)


class ValueWriter(Writer):
    """Writes values in a spelling. `specials` are the file's special tokens by how they are spelled."""

    def __init__(
        self, options: JsonObject, free_order: bool, spelling: Spelling, specials: Mapping[str, int]
    ) -> None:
        separators = {
            "item_separator": spelling.between_items,
            "key_separator": spelling.between_key_and_value,
        }
        super().__init__({**options, **separators}, free_order)
        self._spelling = spelling
        self._specials = specials
        longest_first = sorted(specials, key=len, reverse=True)
        self._special = re.compile(f"({'|'.join(map(re.escape, longest_first)) or '(?!)'})")

    def body(self, schema: JsonObject, name: str, outermost: bool) -> str:
        spelling = self._spelling
        if spelling.indent:
            layout = {"whitespace_flexible": True, "whitespace_pattern": r"[\n ]{0,40}"}
            return f"%json {json.dumps({**schema, 'x-guidance': layout}, ensure_ascii=False)}"
        if spelling.is_json and not spelling.ascii:
            return super().body(schema, name, outermost)
        if "enum" in schema or "const" in schema:
            values = schema["enum"] if "enum" in schema else [schema["const"]]
            return " | ".join(self.literal(spelling.write(value)) for value in values)
        match schema.get("type"):
            case "string":
                return self._string(schema)
            case "integer":
                return f"/{integers(schema['minimum'], schema['maximum'])}/"
            case "boolean":
                return " | ".join(map(literal, dict.fromkeys((*spelling.words[:2], "true", "false"))))
            case "null":
                return " | ".join(map(literal, dict.fromkeys((spelling.words[2], "null"))))
            case "array":
                return self._items(schema)
        return super().body(schema, name, outermost)

    def any_name(self) -> str:
        return f"/{BARE_NAME}/" if self._spelling.bare_keys else super().any_name()

    def _string(self, schema: JsonObject) -> str:
        spelling = self._spelling
        if spelling.quote:
            return f"{self.literal(spelling.quote)} {self.raw(schema, spelling.quote)}"
        if "pattern" in schema:
            quotes = ["'", '"'] if spelling.python else ['"']
            inner = _in_slashes(schema["pattern"][1:-1])
            return " | ".join(f"/{_in_slashes(quote)}{inner}{_in_slashes(quote)}/" for quote in quotes)
        low, high = schema.get("minLength", 0), schema.get("maxLength")
        counted = f"{{{low},{'' if high is None else high}}}"
        if spelling.python:
            return f"/{_in_slashes(_PYTHON_TEXT.replace(')*', f'){counted}'))}/"
        return f'/"{_in_slashes(ASCII_CHARACTER)}{counted}"/'

    def raw(self, schema: JsonObject, close: str) -> str:
        """A string as it is, and the text that closes it, which is not in it."""
        if "enum" in schema or "const" in schema:
            values = schema["enum"] if "enum" in schema else [schema["const"]]
            return " | ".join(f"{self.literal(value)} {self.literal(close)}" for value in values)
        if "pattern" in schema:
            return self._closed(_in_slashes(schema["pattern"][1:-1]), close)
        low, high = schema.get("minLength", 0), schema.get("maxLength")
        if low or high is not None:
            return self._closed(f"(?s:.){{{low},{'' if high is None else high}}}", close)
        return self.until(close)

    def _closed(self, content: str, close: str) -> str:
        """Text of a regular expression and what closes it."""
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
        """Any text up to and including this one."""
        first, *rest = self.pieces(text)
        if first in self._specials:
            return f"ANY? {self.literal(text)}"
        key = f"until {first}"
        if key not in self._names:
            self._names[key] = f"until_{len(self._names)}"
            self.add(f"{self._names[key]}[lazy]", f"/(?s:.*){in_regex(first)}/")
        return " ".join([self._names[key], *map(self._piece, rest)])

    def literal(self, text: str) -> str:
        """A text, its special tokens as such."""
        return " ".join(map(self._piece, self.pieces(text)))

    def _piece(self, piece: str) -> str:
        return f"<[{self._specials[piece]}]>" if piece in self._specials else literal(piece)

    def pieces(self, text: str) -> list[str]:
        """Special tokens, and what is between them."""
        return [piece for piece in self._special.split(text) if piece] or [""]

    def _key(self, before: str, name: str) -> str:
        spelling = self._spelling
        if spelling.is_json and not spelling.ascii:
            return super()._key(before, name)
        key = name if spelling.bare_keys else repr(name) if spelling.python else spelling.write(name)
        return literal(before + key + spelling.between_key_and_value)


class TagsWriter:
    """Writes arguments in tags, with the values that a writer writes."""

    def __init__(self, writer: ValueWriter, tags: Tags) -> None:
        self._writer = writer
        self._tags = tags

    def arguments(self, schema: JsonObject, name: str) -> str:
        """All arguments of a call, each with its tags."""
        required = schema.get("required", ())
        members = [
            Member(
                key, '""', self._writer.literal(self._tags.join), self._argument(key, inner), key in required
            )
            for key, inner in schema["properties"].items()
        ]
        if not members:
            return self._writer.literal(self._tags.empty)
        empty = self._writer.literal(self._tags.empty)
        free = self._writer.free_order
        return self._writer.ordered(members, name, '""', empty, free_order=free)

    def _argument(self, key: str, schema: JsonObject) -> str:
        """The rule of one argument: its name, and each way to write its value."""
        name = self._writer.fresh("a")
        options = schema.get("anyOf", [schema])
        parts = [part for option in options for part in by_type(option)]
        self._writer.add(name, " | ".join(self._written(key, part) for part in parts))
        return name

    def _written(self, key: str, schema: JsonObject) -> str:
        tags, writer = self._tags, self._writer
        if is_text(schema) and not tags.quoted:
            before = writer.literal(f"{tags.before_key}{key}{tags.text_open}")
            if tags.wrapped:
                return f"{before} ({self._wrapped(schema)})"
            return f"{before} ({writer.raw(schema, tags.text_close)})"
        value = self._word(schema) or writer.value(schema)
        opened = writer.literal(f"{tags.before_key}{key}{tags.other_open}")
        return f"{opened} ({value}) {writer.literal(tags.other_close)}"

    def _word(self, schema: JsonObject) -> str:
        """True, false or null as a value of its own, in the family's words and in JSON's."""
        words = self._tags.words
        values = {"boolean": (True, False), "null": (None,)}.get(str(schema.get("type")), ())
        if "enum" in schema or "const" in schema:
            values = tuple(schema["enum"] if "enum" in schema else [schema["const"]])
            if not any(isinstance(value, bool) or value is None for value in values):
                return ""
        spelled = [text for value in values for text in self._spellings(value, words)]
        return " | ".join(map(literal, dict.fromkeys(spelled)))

    def _spellings(self, value: Json, words: tuple[str, str, str]) -> tuple[str, ...]:
        return self._tags.value(value), json.dumps(value)

    def _wrapped(self, schema: JsonObject) -> str:
        writer, close = self._writer, self._tags.text_close
        if schema.keys() - {"type"}:
            return writer.raw(schema, close)
        plain = writer.fresh("PLAIN")
        writer.add(plain, f"/[^{in_regex(UNSAFE)}]+/")
        section = f"{literal(CDATA[0])} {writer.until(CDATA[1] + close)}"
        return f"{section} | {plain}? {writer.literal(close)}"


def by_type(schema: JsonObject) -> list[JsonObject]:
    """A schema; of values of several types one for its strings, and one for the others."""
    values = schema.get("enum")
    if not isinstance(values, list):
        return [schema]
    texts = [value for value in values if isinstance(value, str)]
    others = [value for value in values if not isinstance(value, str)]
    return [{"enum": group} for group in (texts, others) if group]


def is_text(schema: JsonObject) -> bool:
    """Whether a narrowed schema is one of strings."""
    if "enum" in schema or "const" in schema:
        values = schema["enum"] if "enum" in schema else [schema["const"]]
        return isinstance(values[0], str)
    return schema.get("type") == "string"


def in_regex(text: str) -> str:
    """A text as a regular expression between slashes."""
    return "".join(char if char.isalnum() or not char.isascii() else f"\\x{ord(char):02x}" for char in text)


def _in_slashes(regex: str) -> str:
    """A regular expression between slashes."""
    return re.sub(r"(?<!\\)((?:\\\\)*)/", r"\1\\/", regex)


_ANY = "/(?s:.+)/"
_GAP = r"/[ \n]{1,4}/"
"""White space that may follow on thoughts where calls must."""


def grammar(language: Language, specials: Mapping[str, int], options: JsonObject, *, free_order: bool) -> str:
    """The grammar of a language that has no `schema`. `specials` are the file's special tokens by spelling.

    Raises ConstraintError as `rig.engine.grammar.lark` does.
    """
    writer = ValueWriter(options, free_order, spelling_of(language), specials)
    return _Calls(writer, specials).written(language)


class _Calls:
    def __init__(self, writer: ValueWriter, specials: Mapping[str, int]) -> None:
        self._writer = writer
        self._specials = specials
        writer.add("ANY", _ANY)

    def written(self, language: Language) -> str:
        self._calls(language)
        answer = self._answer(language)
        if language.thoughts:
            answer = self._after_thoughts(language, language.thoughts, answer)
        return self._writer.written(answer)

    def _calls(self, language: Language) -> None:
        """The rule of all calls, from behind the trigger."""
        calls = language.calls + (() if language.choice == "required" else language.replies)
        self._writer.add("call", " | ".join(map(self._pattern, calls)) or '""')
        another = f"({self._pattern(as_pattern(language.separator))} call)*" if language.separator else ""
        prefix, suffix = (self._pattern(as_pattern(part)) for part in (language.prefix, language.suffix))
        self._writer.add("calls", " ".join((prefix, "call", another, suffix)))

    def _answer(self, language: Language) -> str:
        calls = "calls" if language.calls and language.choice != "none" else ""
        if language.choice == "required" and calls:
            opened = "" if language.lead else self._writer.literal(language.call_lead + language.trigger)
            return f"{opened} {calls}"
        if not language.trigger:
            return calls or "ANY?"
        words = self._words(language, calls)
        if not language.lead:
            return words
        return " | ".join(filter(None, [calls, f"{self._writer.literal(language.lead)} ({words})"]))

    def _words(self, language: Language, calls: str) -> str:
        """Words, and the calls that may follow on the trigger, which words do not hold, not even as text."""
        first = in_regex(self._writer.pieces(language.trigger)[0])
        self._writer.add("WORDS", f"{_ANY} & ~/(?s:.*){first}(?s:.*)/")
        marks = " | ".join(
            self._writer.literal(mark) for mark in sorted(language.marks) if mark in self._specials
        )
        marked = f"(WORDS? ({marks}))* " if marks else ""
        following = f" | {self._writer.until(language.trigger)} {calls}" if calls else ""
        return f"{marked}(WORDS?{following})"

    def _after_thoughts(self, language: Language, thoughts: Thoughts, answer: str) -> str:
        gap = ""
        if language.choice == "required":
            self._writer.add("GAP", _GAP)
            gap = "GAP?"
        thought = f"{self._writer.until(thoughts.close)} {gap}"
        if not thoughts.is_open:
            thought = f"({self._writer.literal(thoughts.open)} {thought})?"
        return f"{thought} ({answer})"

    def _pattern(self, pattern: Pattern) -> str:
        return " ".join(map(self._part, pattern)) or '""'

    def _part(self, part: Part) -> str:
        match part:
            case str():
                return self._writer.literal(part)
            case Raw(until):
                return self._writer.until(until)
            case Matching(regex):
                return f"/{regex}/"
            case Maybe(parts):
                return f"({self._pattern(parts)})?"
            case Arguments(schema, Tags() as tags):
                return self._arguments(schema, tags)
            case Arguments(schema, _):
                return self._writer.value(schema)
        return self._writer.value(part)

    def _arguments(self, schema: JsonObject, tags: Tags) -> str:
        name = self._writer.fresh("o")
        body = TagsWriter(self._writer, tags).arguments(schema, name)
        self._writer.add(name, body)
        return name
