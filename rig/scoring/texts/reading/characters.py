"""Characters that look like others, that cannot be seen, or that are pictures."""

import re
import unicodedata

LOOK_ALIKES = str.maketrans(
    "АВЕКМНОРСТУХаеорсухіјѕԁһԛԝіІЈЅӏΑΒΕΖΗΙΚΜΝΟΡΤΥΧοαν",
    "ABEKMHOPCTYXaeopcyxijsdhqwiIJSlABEZHIKMNOPTYXoav",
)
"""Cyrillic and Greek letters that nobody can tell from Latin ones."""
_WORD = re.compile(r"[^\W\d_]+")
_FOREIGN = re.compile(r"[Ͱ-ӿԀ-ԯ]")
_FRACTION = re.compile(r"(\d{0,9}) ?([¼-¾⅐-⅞])")
_FACES = (
    (re.compile(r"(?<!\w)[:;=]-?[)D](?!\w)"), "\N{SLIGHTLY SMILING FACE}"),
    (re.compile(r"(?<!\w)[:=]-?\((?!\w)"), "\N{SLIGHTLY FROWNING FACE}"),
    (re.compile(r"<3(?!\d)"), "\N{HEAVY BLACK HEART}"),
)
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
_MINUS = re.compile(r"(?:(?<=[:=(])|(?<=[^\W\d]\s)|(?<=[:=(]\s)|^)-(?=\d)")
"""A sign before a number, not a dash between two or before an item of a list."""
_WAYS = tuple(
    (re.compile(rf"\b{said}\b", re.IGNORECASE), meant)
    for said, meant in (
        (r"(has|have|had) yet to", r"\1 not yet"),
        ("as well as", "and"),
        ("need not", "do not have to"),
        ("needn't", "don't have to"),
    )
)
"""Small words that say the same as others do, wherever they stand."""
_COLOURS = "\U0001f3fb\U0001f3fc\U0001f3fd\U0001f3fe\U0001f3ff"
_MOODS = {
    "no": "CROSS MARK|THUMBS DOWN|NO ENTRY|PROHIBITED|BALLOT X|MULTIPLICATION X|NO GOOD|OCTAGONAL SIGN",
    "yes": "CHECK MARK|THUMBS UP|OK HAND|SQUARED OK|WITH CHECK|OK GESTURE",
    "sad": "CRYING FACE|CRYING CAT|SAD|DISAPPOINTED|BROKEN HEART|NAUSEATED|OPEN MOUTH VOMITING|ANGRY|POUTING"
    "|WEARY|ANGUISHED|FROWNING|WORRIED|FEARFUL|CONFOUNDED|PERSEVERING|PILE OF POO",
    "glad": "SMILING|GRINNING|JOY|HEART|PARTY|SAVOURING|STAR-STRUCK|CLAPPING|KISS|HUGGING",
}


def readable(text: str) -> str:
    """The text in characters that can be compared: nothing invisible, no look-alikes, plain quotes."""
    text = "".join(c for c in text if unicodedata.category(c) not in ("Cf", "Cs") and c not in _COLOURS)
    text = _FRACTION.sub(lambda found: f"{int(found[1] or 0) + unicodedata.numeric(found[2]):g}", text)
    text = unicodedata.normalize("NFKC", text.translate(_SIGNS)).translate(_SIGNS)
    text = _MINUS.sub("minus ", text)
    for said, meant in _WAYS:
        text = said.sub(meant, text)
    return _WORD.sub(_latin, text) if _FOREIGN.search(text) else text


def _latin(found: re.Match[str]) -> str:
    """A word with its look-alikes replaced, if nothing foreign is left then."""
    word = found.group()
    if not _FOREIGN.search(word):
        return word
    turned = word.translate(LOOK_ALIKES)
    if _FOREIGN.search(turned):
        return word
    return turned if turned.isascii() and (any(c.isascii() for c in word) or _alone(found)) else word


def _alone(found: re.Match[str]) -> bool:
    # A Russian word of such letters alone, "сор", stands among Russian words.
    return not any(
        _FOREIGN.search(word) and _FOREIGN.search(word.translate(LOOK_ALIKES)) for word in _near(found)
    )


def _near(found: re.Match[str]) -> list[str]:
    return _WORD.findall(found.string[max(0, found.start() - 40) : found.end() + 40])


def emoji(text: str) -> tuple[str, tuple[str, ...]]:
    """The text without its pictures, and the pictures in order, each by its name."""
    for pattern, face in _FACES:
        text = pattern.sub(face, text)
    if text.isascii():
        return text, ()
    pictures = {c for c in set(text) if is_picture(c)}
    names = tuple(unicodedata.name(c, "") for c in text if c in pictures) if pictures else ()
    return text.translate(dict.fromkeys(map(ord, (*pictures, "\ufe0f")), " ")), names


def is_picture(character: str) -> bool:
    """Whether it is an emoji. What only colours one is none."""
    if character < "\u2190":
        return False
    return unicodedata.category(character) == "So"


def mood(picture: str) -> str:
    """What the name of an emoji says: yes, no, glad, sad, or nothing of the kind."""
    return next((name for name, words in _MOODS.items() if re.search(words, picture)), "")
