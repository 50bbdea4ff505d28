"""Thoughts, words, and calls between markers as a Lark grammar for llguidance.

Markers that are special tokens of a model's file are written as such, because text never passes for them;
others are text. Words continue until the trigger, which llguidance's lexer finds at any boundary between
tokens.
"""

from collections.abc import Mapping

from rig.calls import JsonObject
from rig.engine.grammar.language import (
    Arguments,
    Language,
    Matching,
    Maybe,
    Part,
    Pattern,
    Raw,
    Thoughts,
    as_pattern,
    spelling_of,
)
from rig.engine.grammar.lark_arguments import TagsWriter, ValueWriter, in_regex
from rig.engine.grammar.spelling import Tags

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
