"""Values and arguments in the spellings of models' own forms, as terms of a regular expression.

It means what `rig.engine.grammar.spelled` means as Lark. Special tokens are characters of their own here,
which no text holds.
"""

import json
import re
from collections.abc import Callable

from outlines.types.dsl import Alternatives, Regex, Sequence, String, Term

from rig.calls import Json, JsonObject
from rig.engine.grammar.automaton.regex import Values, counted, in_order
from rig.engine.grammar.automaton.until import Characters, until
from rig.engine.grammar.constraint import ConstraintError
from rig.engine.grammar.spelled import ASCII_CHARACTER, BARE_NAME, by_type, is_text
from rig.engine.grammar.spelling import CDATA, UNSAFE, Spelling, Tags

Spell = Callable[[str], str]
"""A text with its special tokens as the characters that stand for them."""


class SpelledValues(Values):
    """Values in a spelling."""

    def __init__(self, spelling: Spelling, spell: Spell, never: str) -> None:
        if spelling.indent:
            raise ConstraintError(
                "outlines_core takes no arguments that are laid out over lines;"
                " use llguidance with this --format"
            )
        super().__init__(spelling, never)
        self.spell = spell
        self.characters = Characters(never)

    def literal(self, text: str) -> Term:
        """A text, its special tokens as such."""
        return String(self.spell(text))

    def until(self, text: str) -> Term:
        """Any text up to and including this one."""
        return Regex(until(self.spell(text), self.characters) if text else "")

    def value(self, value: Json) -> Term:
        if self.spelling.is_json and not self.spelling.ascii:
            return super().value(value)
        return self.literal(self.spelling.write(value))

    def word(self, kind: str) -> Term:
        words = self.spelling.words
        known = (*words[:2], "true", "false") if kind == "boolean" else (words[2], "null")
        return Alternatives([String(each) for each in dict.fromkeys(known)])

    def string(self, schema: JsonObject) -> Term:
        spelling = self.spelling
        if spelling.quote:
            return Sequence([self.literal(spelling.quote), self.raw(schema, spelling.quote)])
        if not spelling.python:
            return super().string(schema)
        if "pattern" in schema:
            inner = schema["pattern"][1:-1]
            return Alternatives([Regex(f"{quote}{inner}{quote}") for quote in "'\""])
        inside = (rf"[^{quote}\\\x00-\x1f{self.never}]|\\(?:['\"\\nrt]|x[0-9a-f]{{2}})" for quote in "'\"")
        return Alternatives(
            [
                Sequence([String(quote), counted(Regex(each), schema), String(quote)])
                for quote, each in zip("'\"", inside, strict=True)
            ]
        )

    def any_name(self) -> Term:
        return Regex(BARE_NAME) if self.spelling.bare_keys else super().any_name()

    def character(self) -> str:
        return ASCII_CHARACTER if self.spelling.ascii else super().character()

    def key(self, name: str) -> str:
        return name if self.spelling.bare_keys else self.spelling.write(name)

    def raw(self, schema: JsonObject, close: str) -> Term:
        """A string as it is, and the text that closes it, which is not in it."""
        if "enum" in schema or "const" in schema:
            values = schema["enum"] if "enum" in schema else [schema["const"]]
            return Sequence([Alternatives([String(each) for each in values]), self.literal(close)])
        if "pattern" in schema:
            return Sequence([self._apart(schema["pattern"][1:-1], close), self.literal(close)])
        low, high = schema.get("minLength", 0), schema.get("maxLength")
        if not low and high is None:
            return self.until(close)
        # Only what is too short to hold the closing text may begin as that does.
        begins = "" if high is not None and high < len(close) else close[:1]
        some = counted(Regex(self.characters.but(begins)), {**schema, "maxLength": high or low})
        return Sequence([some, self.literal(close) if high is not None else self.until(close)])

    def _apart(self, pattern: str, close: str) -> Term:
        """Text of a pattern in which there is nothing that the closing text begins with."""
        if re.search(f"[{re.escape(close[:1])}]", "".join(filter(_printable(pattern), close[:1]))):
            raise ConstraintError(
                "outlines_core cannot tell a parameter with a pattern from the text that closes it;"
                " use llguidance with this --format"
            )
        return Regex(f"(?:{pattern})")


def _printable(pattern: str) -> Callable[[str], bool]:
    """Whether a character is one that some part of a pattern matches."""
    parts = re.findall(r"\[(?:\\.|[^\]\\])*\]|\\.|[^\\()|*+?{}]", pattern)
    return lambda letter: any(re.fullmatch(part, letter) for part in parts)


class TagsTerms:
    """Arguments in tags, with values in a spelling."""

    def __init__(self, values: SpelledValues, tags: Tags) -> None:
        self._values = values
        self._tags = tags

    def arguments(self, schema: JsonObject) -> Term:
        """All arguments of a call, each with its tags."""
        tags, values = self._tags, self._values
        required = schema.get("required", ())
        members = [(self._argument(*each), each[0] in required) for each in schema["properties"].items()]
        some = in_order(members, values.literal(tags.join))
        if not tags.empty or any(needed for _, needed in members):
            return some
        return Alternatives([some, values.literal(tags.empty)]) if members else values.literal(tags.empty)

    def _argument(self, key: str, schema: JsonObject) -> Term:
        options = schema.get("anyOf", [schema])
        parts = [each for option in options for each in by_type(option)]
        return Alternatives([self._written(key, part) for part in parts])

    def _written(self, key: str, schema: JsonObject) -> Term:
        tags, values = self._tags, self._values
        if is_text(schema) and not tags.quoted:
            before = values.literal(f"{tags.before_key}{key}{tags.text_open}")
            return Sequence(
                [before, self._wrapped(schema) if tags.wrapped else values.raw(schema, tags.text_close)]
            )
        opened = values.literal(f"{tags.before_key}{key}{tags.other_open}")
        return Sequence([opened, self._value(schema), values.literal(tags.other_close)])

    def _value(self, schema: JsonObject) -> Term:
        """A value of its own; true, false and null in the family's words and in JSON's."""
        words = {"boolean": (True, False), "null": (None,)}.get(str(schema.get("type")), ())
        if "enum" in schema or "const" in schema:
            words = tuple(schema["enum"] if "enum" in schema else [schema["const"]])
            if not any(isinstance(each, bool) or each is None for each in words):
                words = ()
        spelled = [text for word in words for text in (self._tags.value(word), json.dumps(word))]
        if not spelled:
            return self._values.term(schema)
        return Alternatives([String(each) for each in dict.fromkeys(spelled)])

    def _wrapped(self, schema: JsonObject) -> Term:
        values, close = self._values, self._tags.text_close
        if schema.keys() - {"type"}:
            return values.raw(schema, close)
        section = Sequence([String(CDATA[0]), values.until(CDATA[1] + close)])
        plain = Regex(f"{values.characters.but(UNSAFE)}*")
        return Alternatives([section, Sequence([plain, values.literal(close)])])
