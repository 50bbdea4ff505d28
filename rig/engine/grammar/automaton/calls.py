"""Thoughts, words, and calls between markers as one regular expression for outlines_core.

It means what `rig.engine.grammar.calls` means as Lark. Special tokens are characters of their own, and so is
the end, since an automaton of outlines_core cannot go on from a text that might have ended, and the start,
since it is also made for texts that begin anywhere, in exponential time where nothing says where they do.
"""

import re
from collections.abc import Mapping

from outlines.types.dsl import Alternatives, Optional, Regex, Sequence, String, Term, to_regex

from rig.engine.grammar.automaton.spelled import SpelledValues, TagsTerms
from rig.engine.grammar.automaton.until import Characters, until, without
from rig.engine.grammar.language import (
    Arguments,
    Language,
    Matching,
    Maybe,
    Part,
    Pattern,
    Raw,
    as_pattern,
    spelling_of,
)
from rig.engine.grammar.spelling import Tags

FIRST_SPECIAL, LAST_SPECIAL = 0x100000, 0x10FFFD
"""Characters that stand for special tokens, of Unicode's last plane for private use; no text holds them."""
END, START = chr(LAST_SPECIAL), chr(LAST_SPECIAL - 1)
"""What stands for the tokens that end a generation, and what is written before it begins."""
_NEVER = f"{chr(FIRST_SPECIAL)}-{chr(LAST_SPECIAL)}"
_GAP = r"[ \n]{0,4}"


def language_regex(language: Language, specials: Mapping[str, str]) -> str:
    """The texts of a language that has no `schema`. `specials` are special tokens with their characters.

    Raises ConstraintError for a form that cannot be written so.
    """
    return str(to_regex(Sequence([String(START), _Calls(language, specials).answer(), String(END)])))


class _Calls:
    def __init__(self, language: Language, specials: Mapping[str, str]) -> None:
        self._language = language
        longest_first = sorted(specials, key=len, reverse=True)
        self._specials = specials
        self._special = re.compile("|".join(map(re.escape, longest_first)) or "(?!)")
        marks = "".join(specials[mark] for mark in sorted(language.marks) if mark in specials)
        self._characters = Characters(_NEVER, marks)
        self._values = SpelledValues(spelling_of(language), self._spell, _NEVER)

    def _spell(self, text: str) -> str:
        return self._special.sub(lambda found: self._specials[found[0]], text)

    def answer(self) -> Term:
        """All that may be written."""
        thoughts = self._language.thoughts
        if thoughts is None:
            return self._answer(None)
        thought = [self._values.until(thoughts.close)]
        if self._language.choice == "required":
            thought.append(Regex(_GAP))
        if thoughts.is_open:
            return Sequence([*thought, self._answer(None)])
        thought.insert(0, self._values.literal(thoughts.open))
        return self._may_think(Sequence(thought), thoughts.open)

    def _may_think(self, thought: Term, mark: str) -> Term:
        """An answer that may begin with thoughts.

        Words begin otherwise where the mark is text: were they to be told from thoughts only at the end of
        these, the automaton would have to hold all of both at once.
        """
        language = self._language
        is_text = self._spell(mark) == mark and self._spell(language.trigger) == language.trigger
        if not is_text or not language.trigger or language.lead or language.choice == "required":
            return Sequence([Optional(thought), self._answer(None)])
        first = Regex(self._characters.but(mark[0] + language.trigger[0]))
        return self._answer(Alternatives([thought, first]))

    def _calls(self) -> Term:
        """All calls, from behind the trigger."""
        language = self._language
        call = Alternatives([self._pattern(each) for each in language.calls])
        parts = [self._pattern(as_pattern(language.prefix)), call]
        if language.separator:
            another = Sequence([self._pattern(as_pattern(language.separator)), call])
            parts.append(Regex(f"(?:{to_regex(another)})*"))
        return Sequence([*parts, self._pattern(as_pattern(language.suffix))])

    def _answer(self, begun: Term | None) -> Term:
        """Words and calls; `begun` is what words have to begin with."""
        language = self._language
        calls = self._calls() if language.calls and language.choice != "none" else None
        if language.choice == "required" and calls:
            opened = "" if language.lead else language.call_lead + language.trigger
            return Sequence([self._values.literal(opened), calls])
        if not language.trigger:
            return calls or Regex(f"{self._characters.but('')}*")
        words = self._words(calls, begun)
        if not language.lead:
            return words
        led = Sequence([self._values.literal(language.lead), words])
        return Alternatives([calls, led]) if calls else led

    def _words(self, calls: Term | None, begun: Term | None) -> Term:
        """Words, and the calls that may follow on the trigger, which words do not hold, not even as text."""
        trigger, spelled = self._language.trigger, self._spell(self._language.trigger)
        words: Term = Regex(without(trigger, self._characters))
        opened: Term = Regex(until(trigger, self._characters))
        if begun:
            words = Optional(Sequence([begun, words]))
            opened = Alternatives([Sequence([begun, opened]), String(trigger)])
        if calls is None:
            return words
        if spelled != trigger:  # a special token; no text is a beginning of it
            return Sequence([words, Optional(Sequence([String(spelled), calls]))])
        return Alternatives([Sequence([opened, calls]), words])

    def _pattern(self, pattern: Pattern) -> Term:
        return Sequence([self._part(each) for each in pattern]) if pattern else String("")

    def _part(self, part: Part) -> Term:
        match part:
            case str():
                return self._values.literal(part)
            case Raw(text):
                return self._values.until(text)
            case Matching(regex):
                return Regex(f"(?:{regex})")
            case Maybe(parts):
                return Optional(self._pattern(parts))
            case Arguments(schema, Tags() as tags):
                return TagsTerms(self._values, tags).arguments(schema)
            case Arguments(schema, _):
                return self._values.term(schema)
        return self._values.term(part)
