"""Changes of a text by a generator: least differences, which change what it says, and harmless ones."""

import random
import re
from collections.abc import Callable, Iterable, Sequence

from rig.plugins.text.reading.lexicon import vocabulary

Change = Callable[[str, random.Random], str | None]


def _exchange(groups: Sequence[Sequence[str]]) -> Change:
    """Exchange one word of the text for another of its group."""
    table = {word: [other for other in group if other != word] for group in groups for word in group}

    def change(text: str, chance: random.Random) -> str | None:
        # What stands beside other letters is no word of its own.
        words = re.finditer(r"(?<![^\W_])(?<!\N{SOFT HYPHEN})[A-Za-z']+(?![^\W_])(?!\N{SOFT HYPHEN})", text)
        places = [match for match in words if match.group() in table]
        if not places:
            return None
        match = chance.choice(places)
        return text[: match.start()] + chance.choice(table[match.group()]) + text[match.end() :]

    return change


def _number(text: str, chance: random.Random) -> str | None:
    places = list(re.finditer(r"(?<![\d.,:/-])\d+(?![\d.,:/-])", text))
    if not places:
        return None
    match = chance.choice(places)
    digits = list(match.group())
    at = chance.randrange(len(digits))
    digits[at] = chance.choice([digit for digit in "123456789" if digit != digits[at]])
    return text[: match.start()] + "".join(digits) + text[match.end() :]


NAMES = (
    "Mara",
    "Jonas",
    "Elif",
    "Bruno",
    "Nadia",
    "Pavel",
    "Ingrid",
    "Tomas",
    "Farah",
    "Leonie",
    "Marek",
    "Selma",
)


def _letters(count: int) -> Change:
    """Exchange letters of a name."""

    def change(text: str, chance: random.Random) -> str | None:
        places = [match for match in re.finditer(r"\b[A-Z][a-z]{3,}\b", text) if match.group() in NAMES]
        if not places:
            return None
        match = chance.choice(places)
        letters = list(match.group())
        for at in chance.sample(range(1, len(letters)), count):
            letters[at] = chance.choice([letter for letter in "aeioulrnst" if letter != letters[at]])
        return text[: match.start()] + "".join(letters) + text[match.end() :]

    return change


def _asked(text: str, chance: random.Random) -> str | None:
    """A statement as a question."""
    match = re.match(
        r"^(I|We|They|You|He|She|It|There) (am|are|is|was|were|can|will|have|has|must) (.*)\.$", text
    )
    return (
        f"{match[2].capitalize()} {match[1].lower() if match[1] != 'I' else 'I'} {match[3]}?"
        if match
        else None
    )


def _denied(text: str, chance: random.Random) -> str | None:
    match = re.search(r"\b(is|are|was|were|will|can|must|should|has|have)\b (?!not\b)", text)
    return f"{text[: match.end()]}not {text[match.end() :]}" if match else None


LEAST: dict[str, Change] = {
    "modal": _exchange([["may", "will", "must", "can", "should"]]),
    "motion": _exchange([["to", "from"], ["into", "out of"]]),
    "preposition": _exchange([["for", "from", "by", "about"], ["with", "without"], ["against", "for"]]),
    "place": _exchange([["in", "outside", "under", "behind"], ["above", "below"], ["on", "under"]]),
    "order of time": _exchange([["before", "after"], ["until", "from", "since"]]),
    "tense of be": _exchange([["is", "was"], ["are", "were"], ["am", "was"]]),
    "tense of have": _exchange([["has", "had"], ["have", "had"]]),
    "tense of do": _exchange([["do", "did"], ["does", "did"]]),
    "tense of will": _exchange([["will", "would"], ["can", "could"]]),
    "past": _exchange(
        [["pay", "paid"], ["send", "sent"], ["buy", "bought"], ["meet", "met"], ["bring", "brought"]]
    ),
    "regular past": _exchange(
        [
            ["call", "called"],
            ["cancel", "cancelled"],
            ["move", "moved"],
            ["need", "needed"],
            ["want", "wanted"],
            ["visit", "visited"],
            ["book", "booked"],
            ["help", "helped"],
        ]
    ),
    "person": _exchange([["I", "you", "we", "they"], ["he", "she"]]),
    "object": _exchange([["me", "him", "them", "us"]]),
    "owner": _exchange([["my", "your", "her", "their", "our", "his"]]),
    "quantifier": _exchange([["all", "some", "both", "most"], ["every", "some"], ["many", "few"]]),
    "everybody": _exchange([["everyone", "nobody", "someone"], ["everything", "nothing"]]),
    "conjunction": _exchange([["and", "or"], ["if", "unless"], ["because", "although"]]),
    "frequency": _exchange([["always", "never", "sometimes"], ["once", "twice"]]),
    "article": _exchange([["the", "a"], ["this", "that"], ["these", "those"]]),
    "comparative": _exchange(
        [
            ["more", "less"],
            ["shorter", "longer"],
            ["bigger", "smaller"],
            ["better", "worse"],
            ["earlier", "later"],
            ["older", "younger"],
            ["cheaper", "dearer"],
            ["tall", "taller"],
        ]
    ),
    "side": _exchange([["left", "right"], ["up", "down"], ["on", "off"], ["in", "out"], ["front", "back"]]),
    "number": _number,
    "number in words": _exchange([["two", "three", "four", "five", "six", "seven", "eight", "ten"]]),
    "name by a letter": _letters(1),
    "name by two letters": _letters(2),
    "name": _exchange([list(NAMES)]),
    "weekday": _exchange([["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]]),
    "day": _exchange([["today", "tomorrow", "yesterday"], ["morning", "evening"]]),
    "question": _asked,
    "negation": _denied,
    "scope": _exchange([["only", "also"], ["except", "including"]]),
}
"""One word, number, name, tense, person or kind of sentence exchanged: the text says something else."""

_CONTRACTED = {
    "do not": "don't",
    "cannot": "can't",
    "is not": "isn't",
    "I am": "I'm",
    "we are": "we're",
    "I will": "I'll",
    "we will": "we'll",
    "you are": "you're",
    "does not": "doesn't",
    "it is": "it's",
}
_NUMBERS = {
    "2": "two",
    "3": "three",
    "4": "four",
    "5": "five",
    "6": "six",
    "7": "seven",
    "8": "eight",
    "10": "ten",
    "12": "twelve",
    "20": "twenty",
    "30": "thirty",
}
_AMERICAN = {
    "colour": "color",
    "favourite": "favorite",
    "theatre": "theater",
    "centre": "center",
    "mum": "mom",
    "neighbour": "neighbor",
    "organise": "organize",
    "cancelled": "canceled",
    "grey": "gray",
    "programme": "program",
}


def _swap(table: dict[str, str]) -> Change:
    both = {**table, **{value: key for key, value in table.items()}}
    pattern = re.compile(
        r"(?<![\d.,:/-])\b("
        + "|".join(map(re.escape, sorted(both, key=len, reverse=True)))
        + r")\b(?![:/.,×-]?\d)"
    )

    def change(text: str, chance: random.Random) -> str | None:
        changed = pattern.sub(lambda match: both[match.group()], text, count=1)
        return changed if changed != text else None

    return change


def _clock(text: str, chance: random.Random) -> str | None:
    match = re.search(r"\b(\d{1,2}):(\d{2})(?![\d:])(?! ?[ap]\.?m)", text)
    if match is None or not 13 <= int(match[1]) <= 23:
        return None
    return f"{text[: match.start()]}{int(match[1]) - 12}:{match[2]} pm{text[match.end() :]}"


_MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)


def _date(text: str, chance: random.Random) -> str | None:
    match = re.search(rf"(?<!to )(?<!- )(?<!-)\b(\d{{1,2}}) ({'|'.join(_MONTHS)})\b", text)
    return f"{text[: match.start()]}{match[2]} {match[1]}{text[match.end() :]}" if match else None


def _list(text: str, chance: random.Random) -> str | None:
    match = re.search(r"\b([a-z]+), ([a-z]+) and ([a-z]+)(?=[.!]?$)", text)
    if match is None or len({*match.groups()}) < 3:
        return None
    items = list(match.groups())
    return f"{text[: match.start()]}{items[2]}, {items[0]} and {items[1]}{text[match.end() :]}"


HARMLESS: dict[str, Change] = {
    "contraction": _swap(_CONTRACTED),
    "number in words": _swap(_NUMBERS),
    "American": _swap(_AMERICAN),
    "clock": _clock,
    "date": _date,
    "greeting": lambda text, chance: f"{chance.choice(['Hi', 'Hello', 'Hey'])}, {text}",
    "sign-off": lambda text, chance: (
        f"{text.rstrip()} {chance.choice(['Thanks!', 'Best regards', 'Cheers'])}"
    ),
    "lower case": lambda text, chance: text.lower() if text != text.lower() else None,
    "upper case": lambda text, chance: text.upper() if text != text.upper() else None,
    "full stop": lambda text, chance: (
        text[:-1] if text.endswith(".") else f"{text}." if text[-1:].isalnum() else None
    ),
    "exclamation": lambda text, chance: f"{text[:-1]}!" if text.endswith(".") else None,
    "spaces": lambda text, chance: text.replace(" ", "  ") if " " in text else None,
    "list": _list,
}
"""Forms in which the same text is written."""


SMALL_WORDS = vocabulary(
    "a an the and or but so if as at by for from in of on to with i you he she it we they me him her us them "
    "my your his our their its is are was were be been am do does did have has had will would can could "
    "should may might must not no yes please thanks hi hello dear just really very quite also too then there "
    "here that this these those still already again maybe now well along together back up down out off over"
)
"""Words that may be left out without a loss."""


def _without_word(text: str, chance: random.Random) -> str | None:
    first, _, rest = text.partition(" ")
    if _has_content(first) and len(first) > 2 and chance.random() < 0.25:
        return rest[:1].upper() + rest[1:] or None
    return with_word(text, "", chance)


def with_word(text: str, word: str, chance: random.Random) -> str | None:
    """A text with another word in the place of one that carries meaning, but the first."""
    places = [match for match in re.finditer(r" [\w'-]{3,}(?=[ .,!?]|$)", text) if _has_content(match[0])]
    if not places:
        return None
    match = chance.choice(places)
    return text[: match.start()] + (word and f" {word}") + text[match.end() :]


def content_words(text: str) -> list[str]:
    """The words that carry meaning, in lower case."""
    return [word for word in re.findall(r"[^\W\d_]{3,}", text.lower()) if _has_content(word)]


def _has_content(word: str) -> bool:
    return word.strip().lower() not in SMALL_WORDS and not word.endswith("ly")


def _cut_off(text: str, chance: random.Random) -> str | None:
    words = text.split(" ")
    kept = chance.randint(1, max(1, len(words) * 3 // 4))
    return " ".join(words[:kept]) if any(map(_has_content, words[kept:])) else None


def _without_part(pattern: str) -> Change:
    """Leave out one of the parts that a pattern splits a text into."""

    def change(text: str, chance: random.Random) -> str | None:
        parts = re.split(pattern, text)
        if len(parts) < 2:
            return None
        at = chance.randrange(len(parts))
        long = sum(map(_has_content, parts.pop(at).split())) >= 3
        return " ".join(parts) if long else None

    return change


OMISSIONS: dict[str, Change] = {
    "word": _without_word,
    "end": _cut_off,
    "clause": _without_part(r"(?<=[,;]) | (?=(?:and|because|but|so|when|after|before|if)\b)"),
    "sentence": _without_part(r"(?<=[.!?]) "),
}
"""A part left out, as small models do: the text says less."""


def changed(
    texts: Iterable[str], changes: dict[str, Change], seed: int = 0
) -> Iterable[tuple[str, str, str]]:
    """(kind of change, text, changed text) for all that a change fits."""
    for number, text in enumerate(texts):
        for kind, change in changes.items():
            other = change(text, random.Random(f"{seed} {number} {kind}"))
            if other is not None and other != text:
                yield kind, text, other
