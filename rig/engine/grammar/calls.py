"""Words and calls between markers as a Lark grammar for llguidance.

Markers that are special tokens of a model's file are written as such, as text never passes for them; others
are text. Words go on until the trigger, which llguidance's lexer finds by itself wherever tokens are cut.
"""

import re
from collections.abc import Mapping

from rig.calls import JsonObject
from rig.engine.grammar.language import Language, Maybe, Part, Pattern, Raw
from rig.engine.grammar.lark import Writer, literal

_ANY = "/(?s:.+)/"


def grammar(language: Language, specials: Mapping[str, int], options: JsonObject, *, free_order: bool) -> str:
    """The grammar of a language that has no `schema`. `specials` are the file's special tokens by spelling.

    Raises ConstraintError as `rig.engine.grammar.lark` does.
    """
    return _Calls(Writer(options, free_order), specials).written(language)


class _Calls:
    def __init__(self, writer: Writer, specials: Mapping[str, int]) -> None:
        self._writer = writer
        self._specials = specials
        longest_first = sorted(specials, key=len, reverse=True)
        self._special = re.compile(f"({'|'.join(map(re.escape, longest_first)) or '(?!)'})")
        self._untils: dict[str, str] = {}
        writer.add("ANY", _ANY)

    def written(self, language: Language) -> str:
        self._writer.add("call", " | ".join(map(self._pattern, language.calls)) or '""')
        another = f"({self._literal(language.separator)} call)*" if language.separator else ""
        parts = self._literal(language.prefix), "call", another, self._literal(language.suffix)
        self._writer.add("calls", " ".join(parts))
        if language.trigger:
            return self._writer.written(self._words(language))
        return self._writer.written("calls" if language.calls else "ANY?")

    def _words(self, language: Language) -> str:
        """Words, and the calls that may follow on the trigger, which words do not hold, not even as text."""
        first = _regex(self._pieces(language.trigger)[0])
        self._writer.add("WORDS", f"{_ANY} & ~/(?s:.*){first}(?s:.*)/")
        marks = " | ".join(self._literal(mark) for mark in sorted(language.marks) if mark in self._specials)
        said = f"(WORDS? ({marks}))* " if marks else ""
        calls = f" | {self._until(language.trigger)} calls" if language.calls else ""
        return f"{said}(WORDS?{calls})"

    def _pattern(self, pattern: Pattern) -> str:
        return " ".join(map(self._part, pattern)) or '""'

    def _part(self, part: Part) -> str:
        match part:
            case str():
                return self._literal(part)
            case Raw(until):
                return self._until(until)
            case Maybe(parts):
                return f"({self._pattern(parts)})?"
        return self._writer.value(part)

    def _until(self, text: str) -> str:
        """Any text up to and including this one."""
        first, *rest = self._pieces(text)
        if first in self._specials:
            return f"ANY? {self._literal(text)}"
        if first not in self._untils:
            self._untils[first] = f"until_{len(self._untils)}"
            self._writer.add(f"{self._untils[first]}[lazy]", f"/(?s:.*){_regex(first)}/")
        return " ".join([self._untils[first], *map(self._literal, rest)])

    def _literal(self, text: str) -> str:
        pieces = self._pieces(text)
        return " ".join(f"<[{self._specials[p]}]>" if p in self._specials else literal(p) for p in pieces)

    def _pieces(self, text: str) -> list[str]:
        """Special tokens, and what is between them."""
        return [piece for piece in self._special.split(text) if piece] or [""]


def _regex(text: str) -> str:
    """A text as a regular expression between slashes."""
    return "".join(char if char.isalnum() or not char.isascii() else f"\\x{ord(char):02x}" for char in text)
