"""A text as the checks read it: words brought to one form, with greeting and signature set apart."""

import re
from dataclasses import dataclass, replace
from typing import NamedTuple

from rig.scoring.texts.reading.characters import emoji, readable
from rig.scoring.texts.reading.lexicon import abbreviations, fillers, given_names
from rig.scoring.texts.reading.listed import vocabulary
from rig.scoring.texts.reading.repairs import repaired
from rig.scoring.texts.reading.stems import folded, stem

MAX_CHARACTERS = 4_096
MAX_WORDS = 512
"""Of a piece. Long texts are read piece by piece."""

_TOKEN = re.compile(
    r"\d{4}-\d{1,2}-\d{1,2}|\d{1,2}:\d{2}(?::\d{2})?|\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?"
    r"|[不没]|(?:(?![不没])[一-鿿々])+|ません|ない|なかった|(?:(?!ません|ない|なかった)[぀-ゟ])+|[゠-ヿ]+"
    r"|[^\W\d_]+(?:'[^\W\d_]+)*|[$€£%#@]|\n|[.!?,;:()/\-–—、。！？]"
)

_REPLY = re.compile(
    r"\s*(?:\W{0,2}\b(?:re|fw|fwd|task|to-?do|event|reminder|friendly reminder|note|message|attention"
    r"|important|urgent|update|news|info|psa|warning|notice|quick question|question|ps)\b"
    r"\W{0,3}:\W{0,3}\s*)+(?=\S)",
    re.I,
)
"""What a text is said to be before it begins."""
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
"""Who is greeted: up to three names, and where that is none, up to the first comma."""
_CALLED = re.compile(r"\s*(?P<name>[^\W\d_][\w'-]*)(?:,| [-–])\s+")
_SIGNATURE = re.compile(
    r"(?:^|[\n.!?,)])\s*(?:(?:(?:many|kind|best|warm|warmest|with) )*(?:regards|wishes)|best|cheers"
    r"|sincerely(?: yours)?|yours(?: (?:sincerely|truly|faithfully))?|love|xoxo|many thanks|thanks(?: again"
    r"| so much| a lot| in advance)?|thank you(?: (?:so|very) much)?(?: in advance)?|take care|talk soon"
    r"|all the best|see you(?: soon| later| then| there)?|greetings|respectfully)\s*[,!.\n–-]?\s*"
    r"(?P<name>[^\n.!?,;:]{0,40})[\s.!]*$",
    re.I,
)
_ENVELOPE = 120
"""Characters at either end within which greeting and signature are looked for."""
KIN = vocabulary(
    "mum mom mommy mummy dad daddy papa grandma grandpa sis bro mate dude honey love guys team all"
)
"""Who is called without a name: "Mum, I arrived"."""
ABBREVIATED = vocabulary("mr mrs ms dr doctor prof professor saint street vs etc jr sr ext")
"""After these a full stop ends no sentence."""
_NOBODY = vocabulary("all team there and everyone guys folks both everybody again")


@dataclass(frozen=True, slots=True)
class Word:
    """A word, number or sign. `stem` is what is compared; `text` is what was written, in lower case.

    `capital` says that it begins with a capital letter, `first` that it begins a sentence; `joined` that
    nothing stands between it and the one before, `acronym` that it is written in capitals.
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


@dataclass(frozen=True, slots=True)
class Reading:
    """The words of a text, and of its greeting and its signature, which say who and not what."""

    words: tuple[Word, ...]
    greeted: tuple[Word, ...] = ()
    signed: tuple[Word, ...] = ()

    @property
    def title_case(self) -> bool:
        """Whether capitals are a matter of style, so that they say nothing about names."""
        inner = [word for word in self.words if word.is_word and len(word.text) > 3 and not word.first]
        return not inner or sum(word.capital for word in inner) > len(inner) / 2


class Parts(NamedTuple):
    """A text taken apart: its greeting and its signature, what lies between, and the pictures (emoji) in it,
    by name.
    """

    greeted: str
    body: str
    signed: str
    pictures: tuple[str, ...] = ()


def opened(text: str) -> Parts:
    """Take any string apart. Never raises."""
    text, pictures = emoji(_readable(text))
    greeted, body = _greeted(text)
    body, signed = _signed(body)
    return Parts(greeted, body, signed, pictures)


def read(parts: Parts) -> Reading:
    """Read a text, or a piece of one. What lies beyond MAX_CHARACTERS of a piece is not read."""
    greeted, body, signed = (repaired(part[:MAX_CHARACTERS]) for part in parts[:3])
    said = fillers().sub(" ", body)
    if said.strip(" .,!?"):
        body = said
    return Reading(_words(body), _words(greeted), _words(signed))


def _greeted(text: str) -> tuple[str, str]:
    for greeting in _GREETINGS:
        found = greeting.match(text, 0, _ENVELOPE)
        if found and found.end() < len(text) and _may_be_names(found["name"]):
            return found["name"], text[found.end() :]
    found = _CALLED.match(text, 0, _ENVELOPE)
    if found and (folded(found["name"]) in given_names() or folded(found["name"]) in KIN):
        return found["name"], text[found.end() :]
    return "", text


def _signed(text: str) -> tuple[str, str]:
    found = _SIGNATURE.search(text, max(0, len(text) - _ENVELOPE))
    # Of "OK, see you then" the rest says what the beginning does not.
    if found and len(text[: found.start()].split()) > 1 and _may_be_names(found["name"]):
        return text[: found.start() + 1], found["name"]
    return text, ""


def _may_be_names(text: str) -> bool:
    # "Thanks for the photos" is no signature, and "Hi, we are late" greets nobody by name.
    words = text.replace(",", " ").split()
    return all(word[0].isupper() or word in _NOBODY or folded(word) in given_names() for word in words)


def _readable(text: str) -> str:
    text = readable(text)
    found = _REPLY.match(text)
    return text[found.end() :] if found else text


def _words(text: str) -> tuple[Word, ...]:
    words: list[Word] = []
    first, end = True, -1
    for found in _TOKEN.finditer(text):
        if len(words) >= MAX_WORDS:
            break
        raw = found.group()
        joined, end = found.start() == end, found.end()
        if not raw[0].isalpha():
            words.append(Word(raw, raw, joined=joined))
            abbreviated = raw == "." and words[-2:-1] != [] and words[-2].text in ABBREVIATED
            first = first or (raw in ".!?\n" and not abbreviated)
            continue
        bare = raw.removesuffix("'s").removesuffix("'")
        acronym = len(bare) > 1 and bare.isupper()
        word = Word(folded(bare), stem(bare), bare[0].isupper(), first, joined, acronym)
        first = False
        # The "rd" of "3rd" is not a road.
        long = None if joined and words and words[-1].is_number else abbreviations().get(word.text)
        words.extend(replace(word, text=part, stem=stem(part), capital=False) for part in long or ())
        if long is None:
            words.append(word)
    return tuple(words)
