"""Bring the words of a text to one form, and set its greeting and signature apart."""

import re
import unicodedata
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

from rig.plugins.text.reading.characters import emoji, readable, repaired
from rig.plugins.text.reading.lexicon import (
    abbreviations,
    fillers,
    folded,
    given_names,
    is_common,
    listed,
    stem,
    vocabulary,
)

MAX_CHARACTERS = 4_096
MAX_WORDS = 512
"""The most words of a text that are read at once; long texts are read piece by piece."""

CACHED_TEXTS = 2048
"""Texts whose parts are kept, as each prediction is compared with many true calls."""

_TOKEN = re.compile(
    r"\d{4}-\d{1,2}-\d{1,2}(?!\d)|\d{1,2}:\d{2}(?::\d{2})?(?![\d:])|\d+(?::\d+)+"
    r"|\d{1,3}(?:,\d{3})+(?!\d)(?:\.\d+)?|\d+(?:\.\d+)?"
    r"|[不没]|(?:(?![不没])[一-鿿々])+|ません|ない|なかった|(?:(?!ません|ない|なかった)[぀-ゟ])+|[゠-ヿ]+"
    r"|[^\W\d_]+(?:'[^\W\d_]+)*|[$€£%#@]|\n|[.!?,;:()/\-–—、。！？]"
)

_SPACES = re.compile(r"[ \t]+")
_REPLY = re.compile(
    r"\A\s*(?:\W{0,2}\b(?:re|fw|fwd|task|to-?do|event|reminder|friendly reminder|note|message|attention"
    r"|important|urgent|update|news|info|psa|warning|notice|quick question|question|ps)\b"
    r"\W{0,3}:\W{0,3}\s*)+(?=\S)",
    re.I,
)
"""A label in front of a text, such as "Important:"."""
_GREETINGS = tuple(
    re.compile(
        r"\s*(?:hi|hey|hello|dear|hiya|yo|greetings|good (?:morning|afternoon|evening|day))\b[ ,]*"
        r"(?P<name>(?:(?:mr|mrs|ms|dr|prof|professor)\b\.? )?"
        rf"(?:[^\W\d_][\w'-]*[ ]?{between}(?:(?:and) )?){{0,3}}?)"
        r" ?(?:[,!.:\n–-]|$)\s*",
        re.I,
    )
    for between in ("(?:, )?", "")
)
"""Who is greeted: up to three names with commas between, or else what precedes the first comma."""
_CALLED = re.compile(
    r"\s*(?P<name>[^\W\d_][\w'-]*)(?:,| [-–])\s+"
    r"(?!(?:my|your|our|his|her|their|the|an?) [\w' -]{1,40}, "
    r"(?:is|was|has|had|will|would|wants?|needs?|says|said|told|asked)\b(?! you\b))"
)
"""Who is called at the start: "Sara, we are late", but not "Sara, my boss, is late"."""
_SIGNATURE = re.compile(
    r"(?:^|[\n.!?,)])\s*(?:(?:(?:many|kind|best|warm|warmest|with) )*(?:regards|wishes)|best|cheers"
    r"|sincerely(?: yours)?|yours(?: (?:sincerely|truly|faithfully))?|love|xoxo|many thanks|thanks(?: again"
    r"| so much| a lot| in advance)?|thank you(?: (?:so|very) much)?(?: in advance)?|take care|talk soon"
    r"|all the best|see you(?: soon| later| then| there)?|greetings|respectfully)\s*[,!.\n–-]?\s*"
    r"(?P<name>[^\n.!?,;:]{0,40})[\s.!]*$",
    re.I,
)
_ENVELOPE = 120
"""How many characters at either end are searched for a greeting and a signature."""
KIN = listed("kin")
"""Words that address somebody without a name: "Mum, I arrived"."""
ABBREVIATED = listed("abbreviated")
"""After these, a full stop does not end a sentence."""
_NOBODY = listed("nobody")


@dataclass(frozen=True, slots=True)
class Word:
    """A word, number or sign. `stem` is compared; `text` is what was written, in lower case.

    `capital` means that it begins with a capital letter, `first` that it begins a sentence, `joined` that
    nothing separates it from the word before, and `acronym` that it is written in capitals.
    """

    text: str
    stem: str
    capital: bool = False
    first: bool = False
    joined: bool = False
    acronym: bool = False

    @property
    def is_number(self) -> bool:
        """Whether it is written in digits."""
        return self.text[0].isdecimal()

    @property
    def is_word(self) -> bool:
        return self.text[0].isalpha()


class Parts(NamedTuple):
    """The parts of a text: greeting, signature, what lies between, and its pictures (emoji) by name."""

    greeted: str
    body: str
    signed: str
    pictures: tuple[str, ...] = ()


@lru_cache(CACHED_TEXTS)
def opened(text: str) -> Parts:
    """Split any string into its parts. Never raises."""
    text = _SPACES.sub(" ", readable(text))
    text, pictures = emoji(_REPLY.sub("", text, count=1))
    greeted, body = _greeted(text)
    body, signed = _signed(body)
    return Parts(greeted, body, signed, pictures)


def _greeted(text: str) -> tuple[str, str]:
    for greeting in _GREETINGS:
        match = greeting.match(text, 0, _ENVELOPE)
        if match and match.end() < len(text) and _may_be_names(match["name"]):
            return match["name"], text[match.end() :]
    match = _CALLED.match(text, 0, _ENVELOPE)
    if match and (folded(match["name"]) in given_names() or folded(match["name"]) in KIN):
        return match["name"], text[match.end() :]
    return "", text


def _signed(text: str) -> tuple[str, str]:
    match = _SIGNATURE.search(text, max(0, len(text) - _ENVELOPE))
    # In "OK, see you then" the end is not a mere signature.
    if match and len(text[: match.start()].split()) > 1 and _may_be_names(match["name"]):
        return text[: match.start() + 1], match["name"]
    return text, ""


def _may_be_names(text: str) -> bool:
    # "Thanks for the photos" is no signature, and "Hi, we are late" greets nobody by name.
    words = text.replace(",", " ").split()
    return all(word[0].isupper() or word in _NOBODY or folded(word) in given_names() for word in words)


def words_said(text: str) -> tuple[Word, ...]:
    """Return the words of a text without greeting, signature and phrases that say nothing."""
    body = repaired(opened(text).body[:MAX_CHARACTERS])
    told = fillers().sub(" ", body)
    return words_of(told if told.strip(" .,!?") else body)


def words_of(text: str) -> tuple[Word, ...]:
    """Return the words, numbers and signs of a text."""
    words: list[Word] = []
    first, end = True, -1
    loud = text.isupper() and " " in text.strip()
    for match in _TOKEN.finditer(text):
        if len(words) >= MAX_WORDS:
            break
        raw = match.group()
        joined, end = match.start() == end, match.end()
        if not raw[0].isalpha():
            words.append(Word(raw, raw, joined=joined))
            abbreviated = raw == "." and words[-2:-1] != [] and words[-2].text in ABBREVIATED
            first = first or (raw in ".!?\n" and not abbreviated)
            continue
        bare = raw.removesuffix("'s").removesuffix("'S").removesuffix("'")
        acronym = len(bare) > 1 and bare.isupper() and not loud
        capital = bare[0].isupper() and not loud
        word = Word(folded(bare), stem(bare), capital, first, joined, acronym)
        first = False
        # The "rd" of "3rd" is not a road.
        long = None if joined and words and words[-1].is_number else abbreviations().get(word.text)
        words.extend(replace(word, text=part, stem=stem(part), capital=False) for part in long or ())
        if long is None:
            words.append(word)
    return tuple(words)


FUNCTION_WORDS = listed("foreign")
"""Small words of other languages, and numbers."""
ENGLISH = listed("english")
_WORD = re.compile(r"[^\W\d_]+")
_ELIDED = re.compile(r"\b(?:l|d|j|n|qu|c|s)'(?=[aeiouyhéèêà])", re.I)


def is_foreign(text: str, *, is_name: bool = False) -> bool:
    """Return whether a text is in another language than English, judged by its script, its accents and its
    small words. Those of names count for nothing: Los Angeles.
    """
    words = _WORD.findall(unicodedata.normalize("NFC", _ELIDED.sub("le ", text)))
    if sum(not unicodedata.name(word[0], "").startswith("LATIN") for word in words) * 2 > len(words):
        return True
    bases = [folded(word) for word in words]
    native = frozenset() if is_name else FUNCTION_WORDS
    foreign = sum(not word.isascii() or base in native for word, base in zip(words, bases, strict=True))
    longer = [base for base in bases if len(base) > 1 and base not in FUNCTION_WORDS]
    return foreign > sum(base in ENGLISH or is_common(base) for base in longer) + bases.count("i")


POLITE = listed("polite")
CORDIAL = listed("cordial")
"""Every sentence of mere courtesy has one of these."""
NO_COURTESY = vocabulary("yes no not never yeah okay ok nothing none without")
"""Words that answer or deny something."""
LONGEST_COURTESY = 16
_WORD_OR_DIGIT = re.compile(r"[^\W\d_]+|\d")


def is_courtesy(sentence: str) -> bool:
    """Return whether a sentence is mere courtesy and says nothing."""
    words = _WORD_OR_DIGIT.findall(sentence.casefold())
    if len(words) > LONGEST_COURTESY or not NO_COURTESY.isdisjoint(words):
        return False
    if not fillers().sub(" ", sentence).strip(" .,!?-"):
        return True
    return not CORDIAL.isdisjoint(words) and POLITE.union(EMPTY).issuperset(words)


EMPTY = listed("empty")
"""Words that say little by themselves."""
