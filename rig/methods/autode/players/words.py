"""The words that the scripted user and its reading of questions go by: those of `words.toml`."""

import tomllib
from collections.abc import Mapping
from importlib.resources import files

from rig.reading.lexicon import stem

WORDS = tomllib.loads(files(__package__).joinpath("words.toml").read_text(encoding="utf-8"))


def words(name: str) -> frozenset[str]:
    """The words of this name."""
    return frozenset(WORDS[name].split())


def stems_of(name: str) -> frozenset[str]:
    """Their stems."""
    return frozenset(map(stem, WORDS[name].split()))


def table(name: str) -> Mapping[str, tuple[str, ...]]:
    """The stems that each word of a table stands for, in order."""
    stems: dict[str, tuple[str, ...]] = {}
    for several, others in WORDS[name].items():
        for word in several.split():
            for form in dict.fromkeys((word, stem(word))):
                stems[form] = (*stems.get(form, ()), *map(stem, others.split()))
    return stems
