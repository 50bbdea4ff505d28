"""Words brought to one form: spelling, irregular forms and endings. English only, and blunt on purpose."""

import unicodedata
from collections.abc import Iterator
from functools import cache, lru_cache
from importlib.resources import files

from rig.scoring.texts.reading.listed import in_order, vocabulary

VOWELS = "aeiou"
SHORTEST_ROOT = 5
DERIVED = in_order("ation ition ion ance ence ment ing ed able y i e ness")
"""Endings that leave the meaning as it is; a photographer is not a photograph."""
UNCHANGED = vocabulary(
    "morning evening during nothing something anything everything wedding spring string ceiling "
    "pudding sibling king thing bring sing ring red bed need feed seed speed shed sled weed indeed "
    "wing swing sting cling sling being does united used hundred sacred naked early daily family "
    "july italy reply apply supply ally fly only really emily lily molly sally kelly billy holly "
    "this his its us bus gas plus yes always perhaps news series species paris texas christmas "
    "thanks lens chess dress class glass grass boss loss toss kiss miss mass pass less unless "
    "across address process access success progress"
)
"""Words that only look as if they had an ending."""


def lines(name: str) -> Iterator[str]:
    """The lines of a file of the lexicon, without comments."""
    text = files("rig.scoring.texts").joinpath(f"lexicon/{name}.txt").read_text(encoding="utf-8")
    return (line for line in text.splitlines() if line and not line.startswith("#"))


def folded(text: str) -> str:
    """Lower case, without accents."""
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    return "".join(letter for letter in decomposed if not unicodedata.combining(letter)) or text


@cache
def _forms() -> dict[str, str]:
    table = {}
    for name in ("irregular", "spelling"):
        for line in lines(name):
            word, _, forms = line.partition(":")
            table.update(dict.fromkeys(forms.split(), word))
    return table


@lru_cache(20_000)
def stem(word: str) -> str:
    """A form that inflected and differently spelt forms of one word share; not always a word itself."""
    word = folded(word)
    table = _forms()
    if word in table:
        return _ended(table[word])
    if word in UNCHANGED or len(word) < 4 or not word.isalpha():
        return _ended(word)
    word = _plural(word)
    for suffix in ("ing", "ed"):
        base = word.removesuffix(suffix)
        if base != word and word not in UNCHANGED and len(base) > 2 and any(v in base for v in VOWELS + "y"):
            word = _base(base)
            break
    else:
        base = word.removesuffix("ly")
        word = base if len(base) > 3 else word
    return _ended(_american(table.get(word, word)))


@lru_cache(20_000)
def roots(stemmed: str) -> frozenset[str]:
    """What a word may be derived from, itself included: "translat" of "translation"."""
    return frozenset(
        stemmed.removesuffix(suffix)
        for suffix in ("", *DERIVED)
        if len(stemmed) - len(suffix) >= SHORTEST_ROOT or not suffix
    )


def _plural(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "xes", "ches", "shes", "zes")):
        return word[:-2]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


def _base(word: str) -> str:
    """What an ending was put to: "sitting" to "sit", and "making" to "make"."""
    if word[-1] == word[-2] and word[-1] not in "lszf":
        return word[:-1]
    short = len(word) == 3 and word[0] not in VOWELS and word[1] in VOWELS and word[2] not in VOWELS + "wxy"
    return word + "e" if short else word


def _american(word: str) -> str:
    if word.endswith("our") and len(word) > 5:
        return word[:-3] + "or"
    if word.endswith(("ise", "yse")) and len(word) > 6:
        return word[:-2] + "ze"
    if word.endswith("is") and len(word) > 6:
        return word[:-1] + "z"
    return word


def _ended(word: str) -> str:
    # What is left of "scheduling" and "schedule" must be the same.
    if len(word) > 4 and word.endswith("e"):
        word = word[:-1]
    return word[:-1] + "i" if len(word) > 3 and word.endswith("y") else word
