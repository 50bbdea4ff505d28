"""Bring characters and spellings to one form: look-alikes, invisible ones, pictures, short forms."""

import re
import unicodedata
from collections.abc import Sequence
from functools import cache

from rig.plugins.text.reading.lexicon import table

LOOK_ALIKES = str.maketrans(
    "АВЕКМНОРСТУХаеорсухіјѕԁһԛԝіІЈЅӏΑΒΕΖΗΙΚΜΝΟΡΤΥΧοαν",
    "ABEKMHOPCTYXaeopcyxijsdhqwiIJSlABEZHIKMNOPTYXoav",
)
"""Cyrillic and Greek letters that look just like Latin ones."""
_WORD = re.compile(r"[^\W\d_]+")
_FOREIGN = re.compile(r"[Ͱ-ӿԀ-ԯ]")
_FRACTION = re.compile(r"(?:(\d{1,9}) ?)?([¼-¾⅐-⅞])")
_SIGNS = str.maketrans(
    {
        "’": "'",
        "‘": "'",
        "`": "'",
        "´": "'",
        "ʼ": "'",
        "“": '"',
        "”": '"',
        "°": " degrees ",
        "−": "-",
        "×": "x",
    }
)
_MINUS = re.compile(r"(?:(?<=[:=(])|(?<=[^\W\d]\s)|(?<=[:=(]\s)|^)-(?=[$€£]?\d)")
"""A minus sign before a number, not a dash between numbers or before an item of a list."""
_COLOURS = "\U0001f3fb\U0001f3fc\U0001f3fd\U0001f3fe\U0001f3ff"


@cache
def _patterns(name: str) -> Sequence[tuple[re.Pattern[str], str]]:
    return [(re.compile(pattern, re.I), meant) for pattern, meant in table("characters")[name]]


def readable(text: str) -> str:
    """Return a text in characters that can be compared: none invisible, no look-alikes, plain quotes."""
    text = "".join(c for c in text if unicodedata.category(c) not in ("Cf", "Cs") and c not in _COLOURS)
    text = _FRACTION.sub(lambda match: f"{int(match[1] or 0) + unicodedata.numeric(match[2]):g}", text)
    text = unicodedata.normalize("NFKC", text.translate(_SIGNS)).translate(_SIGNS)
    text = _MINUS.sub("minus ", text)
    for pattern, meant in _patterns("ways"):
        text = pattern.sub(meant, text)
    return _WORD.sub(_latin, text) if _FOREIGN.search(text) else text


def _latin(match: re.Match[str]) -> str:
    """Return a word with its look-alikes replaced, or unchanged if foreign letters would remain."""
    word = match.group()
    if not _FOREIGN.search(word):
        return word
    turned = word.translate(LOOK_ALIKES)
    if _FOREIGN.search(turned):
        return word
    return turned if turned.isascii() and (any(c.isascii() for c in word) or _alone(match)) else word


def _alone(match: re.Match[str]) -> bool:
    # A Russian word made only of such letters, "сор", stands among Russian words.
    near = _WORD.findall(match.string[max(0, match.start() - 40) : match.end() + 40])
    return not any(_FOREIGN.search(word) and _FOREIGN.search(word.translate(LOOK_ALIKES)) for word in near)


def emoji(text: str) -> tuple[str, tuple[str, ...]]:
    """Return the text without its pictures, and the names of the pictures in order."""
    for pattern, face in _patterns("faces"):
        text = pattern.sub(face, text)
    if text.isascii():
        return text, ()
    # A sign that only colours a picture is not a picture.
    pictures = {c for c in set(text) if c >= "\u2190" and unicodedata.category(c) == "So"}
    names = tuple(unicodedata.name(c, "") for c in text if c in pictures) if pictures else ()
    return text.translate(dict.fromkeys(map(ord, (*pictures, "\ufe0f")), " ")), names


def mood(picture: str) -> str:
    """Return what an emoji expresses, by its name: yes, no, glad, sad, or an empty string."""
    return next((name for name, words in table("moods").items() if re.search(words, picture)), "")


_SPACED = re.compile(r"(?<![\w.,])(?:\d(?: \d){2,}|(?<!\d )[1-9]\d{0,2}(?: \d{3})+)(?![\w,])")
"""A number with spaces between its digits, or between thousands."""
_SAINT = re.compile(r"\bst\.? (?=[A-Z])", re.I)


def repaired(text: str) -> str:
    """Return the text with short forms written out."""
    for pattern, replacement in _patterns("repairs"):
        text = pattern.sub(replacement, text)
    text = _SPACED.sub(lambda match: match.group().replace(" ", ""), text)
    return _SAINT.sub(_sainted, text)


def _sainted(match: re.Match[str]) -> str:
    # "St" is a saint in "St Mary's" but a street in "Elm St"; "saint" follows nothing or a small word.
    before = match.string[max(0, match.start() - 30) : match.start()].split()[-1:]
    small = not before or before[0][0].islower() or not before[0][-1].isalnum()
    return "saint " if small and match.string[match.end()].isupper() else match.group()
