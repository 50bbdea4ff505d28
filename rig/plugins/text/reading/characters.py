"""Bring characters and spellings to one form: look-alikes, invisible ones, pictures, short forms."""

import re
import unicodedata

LOOK_ALIKES = str.maketrans(
    "АВЕКМНОРСТУХаеорсухіјѕԁһԛԝіІЈЅӏΑΒΕΖΗΙΚΜΝΟΡΤΥΧοαν",
    "ABEKMHOPCTYXaeopcyxijsdhqwiIJSlABEZHIKMNOPTYXoav",
)
"""Cyrillic and Greek letters that look just like Latin ones."""
_WORD = re.compile(r"[^\W\d_]+")
_FOREIGN = re.compile(r"[Ͱ-ӿԀ-ԯ]")
_FRACTION = re.compile(r"(?:(\d{1,9}) ?)?([¼-¾⅐-⅞])")
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
_MINUS = re.compile(r"(?:(?<=[:=(])|(?<=[^\W\d]\s)|(?<=[:=(]\s)|^)-(?=[$€£]?\d)")
"""A minus sign before a number, not a dash between numbers or before an item of a list."""
_WAYS = tuple(
    (re.compile(rf"\b{pattern}\b", re.IGNORECASE), meant)
    for pattern, meant in (
        (r"(has|have|had) yet to", r"\1 not yet"),
        ("as well as", "and"),
    )
)
"""Small words that always say the same as others."""
_COLOURS = "\U0001f3fb\U0001f3fc\U0001f3fd\U0001f3fe\U0001f3ff"
_MOODS = {
    "no": "CROSS MARK|THUMBS DOWN|NO ENTRY|PROHIBITED|BALLOT X|MULTIPLICATION X|NO GOOD|OCTAGONAL SIGN",
    "yes": "CHECK MARK|THUMBS UP|OK HAND|SQUARED OK|WITH CHECK|OK GESTURE",
    "sad": "CRYING FACE|CRYING CAT|SAD|DISAPPOINTED|BROKEN HEART|NAUSEATED|OPEN MOUTH VOMITING|ANGRY|POUTING"
    "|WEARY|ANGUISHED|FROWNING|WORRIED|FEARFUL|CONFOUNDED|PERSEVERING|PILE OF POO",
    "glad": "SMILING|GRINNING|JOY|HEART|PARTY|SAVOURING|STAR-STRUCK|CLAPPING|KISS|HUGGING",
}


def readable(text: str) -> str:
    """Return a text in characters that can be compared: none invisible, no look-alikes, plain quotes."""
    text = "".join(c for c in text if unicodedata.category(c) not in ("Cf", "Cs") and c not in _COLOURS)
    text = _FRACTION.sub(lambda match: f"{int(match[1] or 0) + unicodedata.numeric(match[2]):g}", text)
    text = unicodedata.normalize("NFKC", text.translate(_SIGNS)).translate(_SIGNS)
    text = _MINUS.sub("minus ", text)
    for pattern, meant in _WAYS:
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
    for pattern, face in _FACES:
        text = pattern.sub(face, text)
    if text.isascii():
        return text, ()
    # A sign that only colours a picture is not a picture.
    pictures = {c for c in set(text) if c >= "\u2190" and unicodedata.category(c) == "So"}
    names = tuple(unicodedata.name(c, "") for c in text if c in pictures) if pictures else ()
    return text.translate(dict.fromkeys(map(ord, (*pictures, "\ufe0f")), " ")), names


def mood(picture: str) -> str:
    """Return what an emoji expresses, by its name: yes, no, glad, sad, or an empty string."""
    return next((name for name, words in _MOODS.items() if re.search(words, picture)), "")


_REPAIRS = (
    (re.compile(r"\b([ap])\.? ?m\.?(?![\w'])", re.I), r"\1m"),
    (re.compile(r"\b(?:[A-Za-z]\.){2,4}"), lambda match: match.group().replace(".", "")),
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
    (re.compile(r"(?<=\d) ?h(?:rs?)? ?(\d{1,2}) ?m(?:ins?)?\b"), r" hours \1 minutes"),
    (re.compile(r"(?<=\d) hr\b"), " hours"),
    (re.compile(r"\bq ?(?:&|and) ?a\b", re.I), "questions and answers"),
    (re.compile(r"&"), " and "),
    (re.compile(r"\bkm ?/ ?h\b|\bkilomet(?:re|er)s? (?:per|an) hour\b", re.I), "kmh"),
    (re.compile(r"\bmiles (?:per|an) hour\b", re.I), "mph"),
    (
        re.compile(r"(?<=\w) ?/ ?(?=(?:hour|hr|day|week|month|year|night|person|head|kg|piece)\b)", re.I),
        " per ",
    ),
    (
        re.compile(
            r"((?<![\d.,])\d[\d.,]*(?: ?[^\W\d]+| ?[€$£%])?"
            r"|\b(?:twice|times|euros|dollars|pounds|miles|cents)) (?:an|a|each) "
            r"(?=(?:hour|day|week|month|year|night|person|head|piece)\b)",
            re.I,
        ),
        r"\1 per ",
    ),
    (re.compile(r"\bonce (?:a|per|every) (?=(?:day|week|month|year)\b)", re.I), "every "),
    (
        re.compile(r"(?<![\w.,])(?:\d(?: \d){2,}|(?<!\d )[1-9]\d{0,2}(?: \d{3})+)(?![\w,])"),
        lambda match: match.group().replace(" ", ""),
    ),
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


def repaired(text: str) -> str:
    """Return the text with short forms written out."""
    for pattern, replacement in _REPAIRS:
        text = pattern.sub(replacement, text)
    text = _DIRECTION.sub(lambda match: _DIRECTIONS[match.group()[0]], text)
    text = _SAINT.sub(_sainted, text)
    text = _NOT.sub(lambda match: _CUT_SHORT.get(match[1].casefold(), match[1]) + " not", text)
    text = _CANNOT.sub("can not", text)
    return _SHORTENED.sub(lambda match: _LONG[match.group().casefold()], text)


def _sainted(match: re.Match[str]) -> str:
    # "St" is a saint in "St Mary's" but a street in "Elm St"; "saint" follows nothing or a small word.
    before = match.string[max(0, match.start() - 30) : match.start()].split()[-1:]
    small = not before or before[0][0].islower() or not before[0][-1].isalnum()
    return "saint " if small and match.string[match.end()].isupper() else match.group()
