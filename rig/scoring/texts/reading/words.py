"""A text as the checks read it: words brought to one form, with greeting and signature set apart."""

import re
from dataclasses import dataclass, replace
from typing import NamedTuple

from rig.scoring.texts.reading.characters import emoji, readable
from rig.scoring.texts.reading.lexicon import abbreviations, fillers, given_names
from rig.scoring.texts.reading.listed import vocabulary
from rig.scoring.texts.reading.stems import folded, stem

MAX_CHARACTERS = 4_096
MAX_WORDS = 512
"""Of a piece. Long texts are read piece by piece."""

_REPAIRS = (
    (re.compile(r"\b([ap])\.? ?m\.?(?![\w'])", re.I), r"\1m"),
    (re.compile(r"\b(?:[A-Za-z]\.){2,4}"), lambda found: found.group().replace(".", "")),
    (re.compile(r"\bb4\b", re.I), "before"),
    (re.compile(r"\b(?:bi-?weekly|fortnightly)\b", re.I), "every other week"),
    (re.compile(r"\b([a-z]+)-free\b", re.I), r"without \1"),
    (re.compile(r"\bw/o\b", re.I), "without "),
    (re.compile(r"\bw/", re.I), "with "),
    (re.compile(r"\bb/c\b", re.I), "because"),
    (re.compile(r"\b(e|wi|t|x|b|kick|check|follow|catch)-(?=[a-z])", re.I), r"\1"),
    (re.compile(r"\bsept?\.? ?(?=\d)", re.I), "september "),
    (re.compile(r"(?<=\w)-(?=[^\W\d])"), " "),
    (re.compile(r"\b(?:no|nr)\.? ?(?=\d)", re.I), "#"),
    (re.compile(r"&"), " and "),
    (re.compile(r"\b(?:1[:-]1|1-on-1|one[- ]on[- ]one|one[- ]to[- ]one)\b", re.I), "oneonone"),
    (re.compile(r"\bno longer\b|\b(?:anywhere|anything) but\b", re.I), "not"),
    (re.compile(r"\b(?:any ?more|any longer)\b", re.I), " "),
    (
        re.compile(
            r"\b(have|has|had|haven't|hasn't|'ve|'s) got\b(?= (?:a|an|any|no|the|some|my|your|to|\d))", re.I
        ),
        r"\1",
    ),
    (re.compile(r"\b(?:a |one )?couple of\b", re.I), "two"),
)
_SAINT = re.compile(r"\bst\.? (?=[A-Z])", re.I)
_DIRECTION = re.compile(r"(?<=\d )([NSEW])\.?(?= )|^([NSEW])\.?(?= \d)")
_DIRECTIONS = {"N": "north", "S": "south", "E": "east", "W": "west"}
_SHORTENED = re.compile(r"(?<=\w)('m|'re|'ve|'ll|'d)\b", re.I)
_LONG = {"'m": " am", "'re": " are", "'ve": " have", "'ll": " will", "'d": " would"}
_NOT = re.compile(
    r"\b(ca|wo|do|does|did|is|are|was|were|have|has|had|should|could|would|must|ai|need|might|ought)n'?t\b",
    re.I,
)
_CUT_SHORT = {"ca": "can", "wo": "will", "ai": "is"}
_CANNOT = re.compile(r"\bcannot\b", re.I)

_TOKEN = re.compile(
    r"\d{4}-\d{1,2}-\d{1,2}|\d{1,2}:\d{2}(?::\d{2})?|\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?"
    r"|[不没]|(?:(?![不没])[一-鿿々])+|ません|ない|なかった|(?:(?!ません|ない|なかった)[぀-ゟ])+|[゠-ヿ]+"
    r"|[^\W\d_]+(?:'[^\W\d_]+)*|[$€£%#@]|\n|[.!?,;:()/\-–—、。！？]"
)

_REPLY = re.compile(r"\s*(?:(?:re|fw|fwd)\s?:\s*)+(?=\S)", re.I)
_GREETING = re.compile(
    r"\s*(?:hi|hey|hello|dear|hiya|yo|greetings|good (?:morning|afternoon|evening|day))\b[ ,]*"
    r"(?P<name>(?:(?:mr|mrs|ms|dr|prof|professor)\b\.? )?(?:[^\W\d_][\w'-]*[ ]?(?:, )?(?:(?:and) )?){0,3}?)"
    r" ?(?:[,!.:\n–-]|$)\s*",
    re.I,
)
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
    greeted, body, signed = (_prepared(part[:MAX_CHARACTERS]) for part in parts[:3])
    said = fillers().sub(" ", body)
    if said.strip(" .,!?"):
        body = said
    return Reading(_words(body), _words(greeted), _words(signed))


def _greeted(text: str) -> tuple[str, str]:
    found = _GREETING.match(text, 0, _ENVELOPE)
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


def _prepared(text: str) -> str:
    for pattern, replacement in _REPAIRS:
        text = pattern.sub(replacement, text)
    text = _DIRECTION.sub(lambda found: _DIRECTIONS[found.group()[0]], text)
    text = _SAINT.sub(_sainted, text)
    text = _NOT.sub(lambda found: _CUT_SHORT.get(found[1].casefold(), found[1]) + " not", text)
    text = _CANNOT.sub("can not", text)
    return _SHORTENED.sub(lambda found: _LONG[found.group().casefold()], text)


def _sainted(found: re.Match[str]) -> str:
    # Mary's is a saint's hospital, but Elm is a street; the one stands after nothing or a small word.
    before = found.string[max(0, found.start() - 30) : found.start()].split()[-1:]
    small = not before or before[0][0].islower() or not before[0][-1].isalnum()
    return "saint " if small and found.string[found.end()].isupper() else found.group()


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
        # The "rd" of "3rd" is no road.
        long = None if joined and words and words[-1].is_number else abbreviations().get(word.text)
        words.extend(replace(word, text=part, stem=stem(part), capital=False) for part in long or ())
        if long is None:
            words.append(word)
    return tuple(words)
