"""Find what each clause of an assistant's words does: ask openly, ask for a yes, or state."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from importlib.resources import files
from itertools import chain
from typing import Literal, NamedTuple, TypeAlias

from rig.core.budget import parse_toml
from rig.plugins.text.reading.amounts import quantities
from rig.plugins.text.reading.facts import Fact, Scan, Sort
from rig.plugins.text.reading.lexicon import stem
from rig.plugins.text.reading.times import clocks, dates, in_part
from rig.plugins.text.reading.words import words_said

WORDS = parse_toml(files(__package__).joinpath("words.toml").read_text(encoding="utf-8"))


def words(name: str) -> frozenset[str]:
    """Return the words listed under a name."""
    return frozenset(WORDS[name].split())


def stems_of(name: str) -> frozenset[str]:
    """Return the stems of the words listed under a name."""
    return frozenset(map(stem, WORDS[name].split()))


def table(name: str) -> Mapping[str, tuple[str, ...]]:
    """Return the stems that each word of a table stands for, in order."""
    stems: dict[str, tuple[str, ...]] = {}
    for several, others in WORDS[name].items():
        for word in several.split():
            for form in dict.fromkeys((word, stem(word))):
                stems[form] = (*stems.get(form, ()), *map(stem, others.split()))
    return stems


Kind: TypeAlias = Literal["wh", "tell", "closed", "claim", "fragment", "statement", "chat"]


class DialogueAct(NamedTuple):
    """A clause. `asks` is what its question word asks for ("when", "how heavy"), empty if it has none.

    A claim asks to be confirmed: You are leaving on Monday, right?
    """

    text: str
    kind: Kind
    asks: str = ""

    @property
    def question(self) -> str:
        """The clause as a separate question."""
        return f"{self.text.rstrip('?.! ')}?"


class Token(NamedTuple):
    """A word with its stem; `capital` is true if its first letter suggests a name."""

    text: str
    stem: str
    capital: bool

    @property
    def is_content(self) -> bool:
        """Whether the word carries meaning and is no mere function word."""
        return self.text not in FUNCTION_WORDS and len(self.text) > 1


FUNCTION_WORDS = words("function")

_WH = re.compile(
    r"\b(?P<how>how) (?P<adjective>\w+)|\b(?P<word>when|where|who|whom|whose|why|what|which)(?:['’](?:s"
    r"|re))?\b"
    r"(?: (?P<noun>time|day|date|number|name|place))?",
    re.IGNORECASE,
)
_VERB = (
    r"(?:is|are|was|were|am|do|does|did|have|has|had|will|would|could|can|should|shall|may|might|must|isn't"
    r"|aren't|don't|doesn't|didn't|won't|wouldn't|haven't)"
)
_CLOSED = re.compile(
    r"^(?:(?:and|so|then|also|or|but|well|okay|ok|great|perfect|alright|fine|oh|(?:just )?to confirm|by "
    r"the way"
    rf"|in that case)[,:]? )*(?:{_VERB}|any)\b",
    re.IGNORECASE,
)
_SAY = (
    r"(?:tell|read (?:me|out)|spell|repeat|remind me|give|provide|share|specify|describe|confirm|enter"
    r"|choose|select|state"
)
_TELL = re.compile(
    rf"\b(?:(?:can|could|would|will|may) (?:you|i) (?:\w+ ){{0,2}}?{_SAY}|let|have|get|ask|know"
    r"|note (?:a|the|your))"
    r"|(?:mind|care to|wonder|curious)\b"
    rf"|please (?:\w+ )?{_SAY}|let)|(?:tell|give) me|let me know"
    r"|i(?:'ll| will|'d| would)? (?:\w+ ){0,2}?need (?:to know )?(?:your|the|an?|to|more|some|further)"
    r"|do you (?:know|have(?! (?:\d|one|two|three|four|five|six|ten|half)\b)|happen to know|remember)"
    r"|(?:is|are) (?:required|missing|needed))\b",
    re.IGNORECASE,
)
_LEAD = re.compile(r"^[ ,:]*(?:(?:me|us|know|exactly|please|yet|already) )*")
_CHECK = re.compile(
    r"^(?:(?:and )?(?:is|was|are) (?:that|this|it|everything|these|all)(?: all)? (?:right|correct|ok"
    r"|okay|fine|so)"
    r"|(?:is|was) (?:that|this) it|right|correct|okay|ok|yes|(?:do|did|is|are|was|wo)(?:n't)?"
    r" (?:you|it|he|she|they)"
    r"|is this what you want(?:ed)?|does that (?:sound|look|work) ?\w*|sounds? (?:good|right)|alright|fine"
    r"|good|deal|agreed|(?:all )?(?:correct|right|okay|fine)|i (?:understand|take it|suppose|assume"
    r"|believe|guess)"
    r"|then)\W*$",
    re.IGNORECASE,
)
_CLAIMS = re.compile(
    r"(?:and |okay,? |ok,? )?(?:so\b|(?:you|we|i|he|she|they|your \w+)(?:['’]\w+)?\b"
    r"|(?:it|that|there)(?:['’]s| is)\b"
    r"|(?:the|your) (?:\w+ ){1,3}(?:is|are|was|were|has|have)\b)",
    re.IGNORECASE,
)
_CHAT = re.compile(
    r"(?:anything|something|what) else|(?<!how )can i (?:help|assist)|how are you|further (?:help|assistance)"
    r"|anything more",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"(?<=[?!])\s+|(?<=[\w)'\"%][\w)'\"%]\.)\s+(?=[A-Z\d\"(])|\n+")
_BY = r"(?:for|from|by|until|till|at|in|on|to|since|starting|beginning)"
_JOINT = re.compile(
    rf"(?:,|;| -| –| —)\s+(?:and |or |but )?(?=(?:how|when|where|who|why|what|which|{_VERB}|right"
    rf"|correct|okay|ok|fine|yes|i (?:understand|take it|suppose|assume|believe|guess)"
    rf"|then|{_BY} (?:how|when|where|what|which|whom))\b)"
    rf"|\s+and\s+(?=(?:{_BY}\s+)?(?:how|when|where|who|whom|why|what|which)\b)"
    r"|,\s+and\s+(?=[^,?]+ or [^,?]+\?)"
    r"|\s+and\s+(?=(?:is|are|do|does|will|would|shall|should|can|could|have)\s+(?:it|you|there|i|we|that|\d))",
    re.IGNORECASE,
)
_INDIRECT = re.compile(
    r"\b(?:ask|know|say|about|tell)\b.*\b(?:how|when|where|who|why|what|which)\b", re.IGNORECASE
)
_EMAIL = re.compile(r"\be-mail", re.IGNORECASE)
_TITLES = re.compile(r"\b(Dr|Mr|Mrs|Ms|St|No|Prof)\.(?=\s)")
_TITLED = re.compile(r"\b(?:Dr|Mr|Mrs|Ms|St|Prof)\.$")
_REWORDED = tuple((re.compile(pattern, re.IGNORECASE), word) for pattern, word in WORDS["reworded"].items())
"""What is reworded before a text is read, and the words that replace it."""
_LISTED = re.compile(r"\bwhat(?:['’]s| is| are| was)\b(?!.*\bbetween\b)", re.IGNORECASE)
_AND_THE = re.compile(r"(?:, and|,| and) (?=(?:your|the|its|his|her|their)\b)", re.IGNORECASE)
"""As in: what is the day, and your name?"""


def sentences(text: str) -> Iterator[str]:
    """Yield the sentences of an assistant's words, in order."""
    return filter(None, (part.replace("․", ".").strip() for part in _split(text)))


def _split(text: str) -> list[str]:
    """Split a text at the ends of its sentences; the full stop of a title becomes another character."""
    return _SENTENCE.split(_TITLES.sub(r"\1․", text))


def is_check(sentence: str) -> bool:
    """Return whether a sentence only asks to confirm what came before it: is that correct?"""
    return _CHECK.match(sentence.strip()) is not None


def clauses(text: str) -> Iterator[DialogueAct]:
    """Yield the clauses of an assistant's words, in order."""
    for sentence in _split(_EMAIL.sub("email", text)):
        is_question = sentence.rstrip(' "*)').endswith("?")
        text = sentence.strip()
        for pattern, word in _REWORDED:
            text = pattern.sub(word, text)
        if is_question and (start := _LISTED.search(text)):
            text = text[: start.end()] + _AND_THE.sub(", and what is ", text[start.end() :])
        parts = [part.strip(" ,;-–—").replace("․", ".") for part in _JOINT.split(text)]
        sequence: list[DialogueAct] = []
        for part in filter(None, parts):
            goes_on = any(clause.kind in ("tell", "wh") for clause in sequence) and _WH.match(part)
            sequence.append(_clause(part, is_question or bool(goes_on)))
        is_checked = len(sequence) > 1 and _CHECK.match(sequence[-1].text) is not None
        for clause in sequence:
            is_claim = clause.kind == "fragment" and (is_checked or _CLAIMS.match(clause.text))
            yield clause._replace(kind="claim") if is_claim else clause


def _clause(text: str, is_question: bool) -> DialogueAct:
    if _CHAT.search(text):
        return DialogueAct(text, "chat")
    if _CHECK.match(text) and is_question:
        return DialogueAct(text, "closed")
    lead, asks = _TELL.search(text), asked(text)
    if lead and not _WH.match(_LEAD.sub("", text[lead.end() :])):
        # "The name of the room where it is" asks for a name, and not where.
        asks = asked(text[: lead.start()]) if _WH.match(text) else ""
    if is_question and _CLOSED.match(text) and not (lead or (asks and _INDIRECT.search(text))):
        return DialogueAct(text, "closed")
    if asks and (is_question or lead):
        return DialogueAct(text, "wh", asks)
    if lead or (is_question and re.search(r"\bplease\b", text, re.IGNORECASE)):
        return DialogueAct(text, "tell")
    return DialogueAct(text, "fragment" if is_question else "statement")


def asked(text: str) -> str:
    """Return what the first question word of a text asks for: "when", "what time", "how heavy"."""
    match = _WH.search(text)
    if match is None:
        return ""
    if match["how"]:
        return f"how {match['adjective'].casefold()}"
    return " ".join(filter(None, (match["word"].casefold(), (match["noun"] or "").casefold())))


@lru_cache(4096)
def tokens(text: str) -> tuple[Token, ...]:
    """Return the words of a text in order; the first word of a sentence never counts as a name."""
    sequence = []
    for match in re.finditer(r"\w+(?:['’]\w+)?", text):
        before = text[: match.start()].rstrip(" \"'(")
        plain = re.sub(r"['’]s$", "", match[0].casefold()).replace("’", "'")
        is_inside = bool(before) and (before[-1] not in ".?!:" or _TITLED.search(before) is not None)
        is_name = match[0][0].isupper() and is_inside
        sequence.append(Token(plain, stem(plain), is_name))
    return tuple(sequence)


def content(text: str) -> tuple[str, ...]:
    """Return the stems of the words that say what a text is about."""
    return tuple(token.stem for token in tokens(text) if token.is_content)


@lru_cache(4096)
def stems(text: str) -> frozenset[str]:
    """Return the stems of all words of a text."""
    return frozenset(token.stem for token in tokens(text))


@lru_cache(4096)
def facts(text: str) -> tuple[Fact, ...]:
    """Return the days, times and amounts that a text states."""
    scan = Scan(words_said(text))
    return tuple(map(_as_year, in_part(chain(dates(scan), clocks(scan), quantities(scan)))))


def _as_year(fact: Fact) -> Fact:
    """Return a plain number as a year if it is likely one, and any other fact as it is."""
    is_year = fact.sort is Sort.NUMBER and re.fullmatch(r"(?:19|20)\d\d", fact.said.shown)
    return replace(fact, sort=Sort.YEAR) if is_year else fact


_FAMILIES: dict[Sort, str] = {
    **dict.fromkeys((Sort.WEEKDAY, Sort.MONTH, Sort.DAY, Sort.YEAR, Sort.RELATIVE, Sort.WHICH), "day"),
    **dict.fromkeys((Sort.CLOCK, Sort.PART), "clock"),
}


def family(fact: Fact) -> str:
    """Return the family of a fact. Only facts of one family can contradict each other, as days do."""
    if fact.sort is Sort.MEASURE:
        return str(next(iter(fact.values))[-1])  # type: ignore[index]  # (size, dimension)
    return _FAMILIES.get(fact.sort, str(fact.sort))
