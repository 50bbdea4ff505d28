"""Compare what surrounds the clauses of texts: greetings, signatures, pictures and other arguments."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from itertools import product

from rig.plugins.text.judge.findings import Finding, different, unclear
from rig.plugins.text.judge.passages import same_name
from rig.plugins.text.reading.characters import mood
from rig.plugins.text.reading.clauses import ReadText, read_parts
from rig.plugins.text.reading.facts import Fact, Sort, TextSpan
from rig.plugins.text.reading.times import WEEKDAYS
from rig.plugins.text.reading.words import opened

_POINT = rf"({'|'.join(name[:3] for name in WEEKDAYS)}|\d\d?(?::\d\d)?)(?: ?[a-z]*\b)"
_TWO_POINTS = re.compile(
    rf"(\bbetween (?:[a-z]+ )?)?\b{_POINT}\s*(\b(?:and|to|till|until|through)\b|[-–—])\s*(?:[a-z]+ )?{_POINT}"
)


def _spans(text: ReadText) -> dict[tuple[str, str], bool]:
    """Return the pairs of days or times that a text names together, and whether all between are meant."""
    pairs = _TWO_POINTS.findall(" ".join(text.sentences).casefold())
    return {(one, other): bool(between) or link != "and" for between, one, link, other in pairs}


def around(first: ReadText, second: ReadText) -> Iterator[Finding]:
    """Yield what differs in greeting, signature and pictures; no reader decides about these."""
    for ones, others in ((first.greeted, second.greeted), (first.signed, second.signed)):
        if ones and others and not any(same_name(one, other) for one in ones for other in others):
            yield different(f"name: {ones[0].capitalize()} is not {others[0].capitalize()}")
    spans, other_spans = _spans(first), _spans(second)
    if any(spans[pair] != other_spans[pair] for pair in spans.keys() & other_spans.keys()):
        yield different("one names the first and the last day or time, the other these two")
    if first.pictures == second.pictures:
        return
    moods = [{mood(picture) for picture in text.pictures} - {""} for text in (first, second)]
    against = (("yes", "no"), ("glad", "sad"))
    if any(a in one and b in other for a, b in against for one, other in (moods, moods[::-1])):
        yield different(f"emoji: {min(moods[0])} is not {min(moods[1])}")
        return
    pictures = [set(text.pictures) for text in (first, second)]
    alone = bool(pictures[0]) != bool(pictures[1]) and not (first.atoms and second.atoms)
    other = all(pictures) and pictures[0].isdisjoint(pictures[1]) and (moods[0] != moods[1] or not moods[0])
    if alone or other or (moods[0] ^ moods[1]) & {"no", "sad"}:
        yield unclear("emoji")


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """What is said elsewhere, in other arguments than the texts: a fact found there is not missing."""

    facts: tuple[Fact, ...] = ()
    stems: frozenset[str] = frozenset()


NOWHERE = Elsewhere()


def beside(values: Iterable[str]) -> Elsewhere:
    """Return the facts and words of the other arguments. A date also says its weekday."""
    facts: list[Fact] = []
    stems: set[str] = set()
    for value in values:
        read = read_parts(opened(value))
        facts += [*read.facts, *_weekday(read.facts)]
        stems.update(atom.key for atom in read.atoms)
    return Elsewhere(tuple(facts), frozenset(stems))


def _weekday(facts: Iterable[Fact]) -> Iterator[Fact]:
    facts = list(facts)
    sorts = (Sort.YEAR, Sort.MONTH, Sort.DAY)
    parts = [[fact.values for fact in facts if fact.sort is sort] for sort in sorts]
    for year, month, day in product(*(values[0] if values else () for values in parts)):
        try:
            name = WEEKDAYS[date(int(str(year)), int(str(month)), int(str(day))).weekday()]
        except ValueError:
            continue
        yield Fact(Sort.WEEKDAY, frozenset({name}), TextSpan(name, 0, 0))
