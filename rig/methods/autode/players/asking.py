"""Which slot a question is about: by its question word, its nouns, and what kind of value the user knows."""

import re
from collections.abc import Mapping

from rig.methods.autode.players.clauses import Clause, content, tokens
from rig.methods.autode.players.slots import Slot
from rig.reading.lexicon import stem

CLEAR, STRONG = 2.0, 3.6
"""From which degree on a question is about a slot, and from which the words of its name need not be asked."""

_CANNOT = -1.0
"""The degree of a slot that cannot be what a question word asks for."""


def _stemmed(words: str) -> frozenset[str]:
    return frozenset(map(stem, words.split()))


def _table(lines: str) -> Mapping[str, tuple[str, ...]]:
    """Lines of words, a colon, and the words that they stand for, as stems."""
    table: dict[str, tuple[str, ...]] = {}
    for line in lines.split(";"):
        words, _, others = line.partition(":")
        for word in words.split():
            table[word] = (*table.get(word, ()), *map(stem, others.split()))
    return table


_TIMES = _stemmed(
    "time date day when schedule period start end until month arrival departure urgent deadline access"
)
_PLACES = _stemmed(
    "where location place address area room station origin destination branch store city zone pharmacy "
    "shop town"
    " flat library departure"
)
_PEOPLE = _stemmed("who whom recipient person doctor author visitor passenger contact patient artist name")
_REASONS = _stemmed("why reason problem wrong purpose happened description damage matter trouble")
_LASTING = _stemmed("duration long months weeks until hours minutes")
_COUNTED = _stemmed("many much people quantity")
_NUMBERED = _stemmed("number phone code")
_NAMED = _stemmed("name title called who")
_FROM, _TO = _stemmed("origin source departure from"), _stemmed("destination new target arrival")
_ENDS = _stemmed("end until target back return")

_ADJECTIVES = _table(
    "heavy: weight; big: size weight quantity; large: size; hot warm cold: temperature; bright: brightness;"
    "short: height length; high: height limit level; tall: height; low: height level limit; loud: volume;"
    "far: distance; fast: power speed; urgent: urgency day; soon: day time urgency; late: delay time;"
    "often: time frequency interval; old: age; strong: dose strength; good experienced: level;"
    "expensive: price budget value"
)
"""What "how heavy" asks for, the likeliest first."""

_NOUNS = _table(
    "plate registration car: license; strength: dose; mode heat: program; shop: store; postcode zip: post;"
    "membership: member; phone reach: phone; rating: star; allergy dietary vegetarian: diet;"
    "eat: note diet dish; request special: note instruction; worth: value; wrote writer author: author;"
    "color: colour; spend: budget price amount; cost: budget price; pay: budget amount price;"
    "food: cuisine dish flavour; dinner: dish; shift: time; trouble matter wrong: reason problem;"
    "happen: reason problem description; describe: description; damage: description damage; about: reason;"
    "heading headed: destination; bag: weight; size: size weight; person guest: people; compartment: "
    "carriage;"
    "seated: seat; hour: time duration; note: message note; reference: message; call label: label"
)
"""Everyday words, and the words of names or descriptions that they stand for."""


def synonyms(word: str) -> frozenset[str]:
    """The stems that an everyday word stands for, with its own."""
    return frozenset((stem(word), *_NOUNS.get(word, _NOUNS.get(word.removesuffix("s"), ()))))


def degree(slot: Slot, clause: Clause, said: str) -> float:
    """How much a question is about a slot, 0 if it cannot be; `said` is what the user has said so far."""
    words = frozenset(content(clause.text))
    kind = kind_degree(slot, clause)
    is_told = clause.kind == "wh" and slot.is_known and bool(slot.words) and words.issuperset(slot.words)
    if kind < 0 or is_told:
        return 0.0
    also: set[str] = set()
    for token in tokens(clause.text):
        also |= {
            *_NOUNS.get(token.text, _NOUNS.get(token.stem, _NOUNS.get(token.text.removesuffix("s"), ())))
        }
        also |= {*_ADJECTIVES.get(token.text, ())}
    names, rest = words & slot.named, slot.described - slot.named
    total = kind + 2.0 * bool(names) + 0.4 * max(len(names) - 1, 0)
    total += 1.1 * min(len(words & rest), 2)
    total += 1.6 * bool(also & slot.named) + 0.8 * bool(also & rest)
    if slot.words and not slot.families & {"day", "clock"}:
        total += 1.8 * bool(words.intersection(slot.words))
    if total and slot.is_known:
        total += 0.3 + 0.3 * (not slot.is_said(said))
    return total


def kind_degree(slot: Slot, clause: Clause) -> float:
    """How far a slot is of the kind that a question word asks for; negative if it cannot be."""
    families, stems = slot.families, slot.stems
    is_time = bool(families & {"day", "clock"}) or (not slot.is_known and bool(slot.named & _TIMES))
    match clause.asks.split():
        case ["when"] | ["what" | "which", "time" | "day" | "date"]:
            return 2.0 + _nearness(slot, clause) if is_time or slot.named & _TIMES else _CANNOT
        case ["how", "long"]:
            if "duration" in families or stems & _LASTING:
                return 2.6 if "duration" in families else 2.2
            return 0.2 if is_time else _CANNOT
        case ["how", "often" | "soon"]:
            return 2.0 if is_time else _CANNOT
        case ["how", "many"]:
            is_number = "number" in families
            return 1.6 + 0.8 * is_number if is_number or stems & _COUNTED else _CANNOT
        case ["how", "much"]:
            return _amount_degree(slot, clause)
        case ["how", adjective] if adjective in _ADJECTIVES:
            wanted = _ADJECTIVES[adjective]
            rank = next((rank for rank, word in enumerate(wanted) if word in slot.named), None)
            if rank is not None:
                return 2.6 - 0.2 * rank
            return 2.0 if stems.intersection(wanted) else _CANNOT
        case ["where"]:
            return _place_degree(slot, clause)
        case ["who" | "whom" | "whose"]:
            return 2.0 if stems & _PEOPLE else _CANNOT
        case ["why"]:
            return 2.4 if stems & _REASONS else _CANNOT
        case ["what" | "which", "number"]:
            return 1.2 if stems & _NUMBERED else _CANNOT
        case ["what" | "which", "name"]:
            return 2.0 if "name" in stems else _CANNOT
        case _ if re.search(r"\bwhat\b[^,]*\bfor\W*$", clause.text, re.IGNORECASE):
            return 2.0 * bool(re.search(r"\bwhat .*\bfor$", slot.parameter.description, re.IGNORECASE))
        case _:
            return 1.7 * is_named(slot, clause)


def is_named(slot: Slot, clause: Clause) -> bool:
    """Whether a clause asks what something is called, and the slot has a name as its value."""
    return bool(re.search(r"\b(?:name|called|title)\b", clause.text, re.IGNORECASE)) and bool(
        slot.stems & _NAMED
    )


def _nearness(slot: Slot, clause: Clause) -> float:
    """Which of several days and times is meant: the time of day, the first, or the last."""
    degree = 0.5 * bool(slot.named & _TIMES)
    if clause.asks.endswith("time"):
        degree += 0.8 * ("clock" in slot.families) + 0.3 * ("time" in slot.named)
    if clause.asks.endswith(("day", "date")):
        degree += 0.8 * ("day" in slot.families) + 0.3 * bool(slot.named & {"day", "date"})
    is_end = (
        re.search(r"\b(?:until|till|by when|back|return|end|finish|last)\b", clause.text, re.I) is not None
    )
    return degree + (0.6 if is_end == bool(slot.named & _ENDS) else -0.4)


def _amount_degree(slot: Slot, clause: Clause) -> float:
    if re.search(r"\bhow much (?:time|longer)\b", clause.text, re.IGNORECASE):
        return 2.4 if "duration" in slot.families or slot.stems & _LASTING else _CANNOT
    if slot.families & {"amount of money", "mass", "volume", "number"} or slot.stems & _COUNTED:
        return 2.0 + 0.6 * ("amount of money" in slot.families) + 0.4 * ("much" in slot.stems)
    return _CANNOT


def _place_degree(slot: Slot, clause: Clause) -> float:
    text = clause.text.casefold()
    if re.search(r"\b(?:money|refund|transfer)\b", text) and "account" in slot.stems:
        return 2.4
    if not slot.stems & _PLACES or slot.families & {"day", "clock"}:
        return _CANNOT
    degree = 2.0 - 0.6 * bool(slot.parameter.enum)
    if slot.named & _FROM:
        degree += 0.8 if re.search(r"\bfrom\b", text) else -0.8
    if slot.named & _TO or "arriv" in slot.stems:
        degree += 0.6 if re.search(r"\b(?:to|instead|going|bring)\b", text) else -0.4
    return degree
