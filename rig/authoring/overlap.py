"""What two collections of conversations have in common: runs of eight words, people, and things by name."""

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from rig.scoring.seen import leaves

RUN = 8
"""So many words in a row are a sentence that could have been copied."""

_NAMES = ("username", "email", "name", "subject", "task", "sender")
"""Fields that name somebody or something."""


def files(*places: Path) -> Iterator[Any]:
    """The content of every JSON file in some folders."""
    for place in places:
        for path in sorted(place.rglob("*.json")):
            yield json.loads(path.read_text(encoding="utf-8"))


def runs(sources: Iterable[Any]) -> set[tuple[str, ...]]:
    """All runs of RUN words within one text, without regard to case and punctuation. 7:30 is a word."""
    ngrams: set[tuple[str, ...]] = set()
    for source in sources:
        for text in filter(lambda leaf: isinstance(leaf, str), leaves(source)):
            words = re.findall(r"[\w']+(?::\d\d)*", text.lower())
            ngrams.update(tuple(words[at : at + RUN]) for at in range(len(words) - RUN + 1))
    return ngrams


def names(sources: Iterable[Any]) -> set[str]:
    """The people, addresses, events, tasks and subjects that occur, in lower case."""
    return {name.lower() for source in sources for name in _named(source)}


def _named(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        yield from (node[field] for field in _NAMES if isinstance(node.get(field), str))
    if isinstance(node, dict | list):
        for value in node.values() if isinstance(node, dict) else node:
            yield from _named(value)
