"""Short forms and spelling variants, brought to one form before words are split."""

import re

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
        lambda found: found.group().replace(" ", ""),
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
    """The text with short forms written out."""
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
