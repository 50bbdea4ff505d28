"""Thoughts, words, and calls between markers as a Lark grammar for llguidance.

Markers that are special tokens of a model's file are written as such, because text never passes for them;
others are text. Words continue until the trigger, which llguidance's lexer finds at any boundary between
tokens.
"""

import json
from collections.abc import Mapping

from rig.calls import JsonObject
from rig.engine.grammar.language import (
    CDATA,
    UNSAFE,
    Arguments,
    Language,
    Maybe,
    Part,
    Pattern,
    Raw,
    RegexText,
    Tags,
    as_pattern,
    spelling_of,
)
from rig.engine.grammar.lark import LarkProperty, Writer, in_regex, literal, values_of

_ANY = "/(?s:.+)/"
_GAP = r"/[ \n]{1,4}/"
"""White space that may follow on thoughts where calls must."""


def grammar(language: Language, specials: Mapping[str, int], *, free_order: bool) -> str:
    """The grammar of a language. `specials` are the file's special tokens by spelling.

    Raises ConstraintError as `rig.engine.grammar.lark` does.
    """
    writer = _CallWriter(spelling_of(language), specials, free_order=free_order)
    if language.schema is not None:
        return writer.written(writer.value(language.schema, outermost=True))
    writer.add("ANY", _ANY)
    return writer.written(writer.answer(language))


class _CallWriter(Writer):
    def answer(self, language: Language) -> str:
        """What a generation begins with."""
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
        """Words, and the calls that may follow on the trigger, which words do not hold, not even as text."""
        first = in_regex(self.pieces(language.trigger)[0])
        self.add("WORDS", f"{_ANY} & ~/(?s:.*){first}(?s:.*)/")
        marks = " | ".join(map(self.literal, sorted(language.marks & self._specials.keys())))
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
            case Arguments(schema, _):
                return self.value(schema)
        return self.value(part)

    def _tagged(self, schema: JsonObject, tags: Tags) -> str:
        """All arguments of a call, each with its tags."""
        name, empty = self.fresh("o"), self.literal(tags.empty)
        members = [
            LarkProperty(
                key,
                '""',
                self.literal(tags.join),
                self._argument(key, inner, tags),
                key in schema.get("required", ()),
            )
            for key, inner in schema["properties"].items()
        ]
        body = self.ordered(members, name, '""', empty, free_order=self.free_order) if members else empty
        self.add(name, body)
        return name

    def _argument(self, key: str, schema: JsonObject, tags: Tags) -> str:
        """The rule of one argument: its name, and each way to write its value."""
        name = self.fresh("a")
        parts = [part for option in schema.get("anyOf", [schema]) for part in _by_type(option)]
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
        value = _word(schema, tags) or self.value(schema)
        opened = self.literal(f"{tags.before_key}{key}{tags.other_open}")
        return f"{opened} ({value}) {self.literal(tags.other_close)}"


def _by_type(schema: JsonObject) -> list[JsonObject]:
    """A schema; of values of several types one for its strings, and one for the others."""
    if not isinstance(values := schema.get("enum"), list):
        return [schema]
    texts = [value for value in values if isinstance(value, str)]
    others = [value for value in values if not isinstance(value, str)]
    return [{"enum": group} for group in (texts, others) if group]


def _word(schema: JsonObject, tags: Tags) -> str:
    """True, false or null as a value of its own, in the family's words and in JSON's."""
    values = values_of(schema)
    if not values:
        values = {"boolean": (True, False), "null": (None,)}.get(str(schema.get("type")), ())
    elif not any(isinstance(value, bool) or value is None for value in values):
        return ""
    texts = [text for value in values for text in (tags.value(value), json.dumps(value))]
    return " | ".join(map(literal, dict.fromkeys(texts)))
