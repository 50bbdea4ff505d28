"""Overlap of two collections of conversations: common runs of eight words, and names of people and things."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from rig.core.budget import parse_json
from rig.core.calls import leaves

RUN = 8
"""The number of consecutive words that suggest a copied sentence."""

_NAMES = ("username", "email", "name", "subject", "task", "sender")
"""The fields that hold the name of a person or thing."""


def files(*places: Path) -> Iterator[Any]:
    """Read every JSON file below these folders, in order."""
    for place in places:
        for path in sorted(place.rglob("*.json")):
            yield parse_json(path.read_text(encoding="utf-8"))


def runs(sources: Iterable[Any]) -> set[tuple[str, ...]]:
    """Return all runs of RUN words within one text, ignoring case and punctuation. 7:30 is one word."""
    ngrams: set[tuple[str, ...]] = set()
    for source in sources:
        for text in filter(lambda leaf: isinstance(leaf, str), leaves(source)):
            words = re.findall(r"[\w']+(?::\d\d)*", text.lower())
            ngrams.update(tuple(words[at : at + RUN]) for at in range(len(words) - RUN + 1))
    return ngrams


def names(sources: Iterable[Any]) -> set[str]:
    """Return the names of people, addresses, events, tasks and subjects in the sources, in lower case."""
    return {name.lower() for source in sources for name in _named(source)}


def _named(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        yield from (node[field] for field in _NAMES if isinstance(node.get(field), str))
    if isinstance(node, dict | list):
        for value in node.values() if isinstance(node, dict) else node:
            yield from _named(value)
