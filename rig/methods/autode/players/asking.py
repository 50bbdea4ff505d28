"""Which slot a question is about: by its question word, its nouns, and what kind of value the user knows."""

import re

from rig.methods.autode.players.clauses import DialogueAct, content, tokens
from rig.methods.autode.players.slots import Slot
from rig.methods.autode.players.words import stems_of, table
from rig.reading.lexicon import stem

LIKELY, CLEAR, STRONG = 1.6, 2.0, 3.6
"""From which degree on a question is about a slot if nothing else is, from which it is in any case, and from
which the words of its name need not be asked."""

_CANNOT = -1.0
"""The degree of a slot that cannot be what a question word asks for."""

_TIMES, _PLACES, _FROM, _TO, _ENDS = map(stems_of, ("times", "places", "from", "to", "ends"))
_LASTING, _COUNTED, _NAMED = map(stems_of, ("lasting", "counted", "named"))
_ADJECTIVES, _NOUNS = table("adjectives"), table("nouns")

_LASTS = re.compile(r"\bhow many (?:more )?(?:minutes|hours|days|nights|weeks|months|years)\b", re.IGNORECASE)
_OF_KIND = {
    **dict.fromkeys(("who", "whom", "whose"), (stems_of("people"), 2.0)),
    "why": (stems_of("reasons"), 2.4),
    **dict.fromkeys(("what number", "which number"), (stems_of("numbered"), 1.2)),
    **dict.fromkeys(("what name", "which name"), (frozenset({"name"}), 2.0)),
}
"""What a slot is about that a question word asks for, and to which degree."""


def synonyms(word: str) -> frozenset[str]:
    """The stems that an everyday word stands for, with its own."""
    return frozenset((stem(word), *_NOUNS.get(word, _NOUNS.get(word.removesuffix("s"), ()))))


def degree(slot: Slot, clause: DialogueAct, own: str) -> float:
    """How much a question is about a slot, 0 if it cannot be; `own` is what the user has said so far."""
    words = frozenset(content(clause.text))
    total = kind_degree(slot, clause)
    is_told = clause.kind == "wh" and slot.is_known and bool(slot.words) and words.issuperset(slot.words)
    if total < 0 or is_told:
        return 0.0
    also: set[str] = set()
    for token in tokens(clause.text):
        plain = _NOUNS.get(token.stem, _NOUNS.get(token.text.removesuffix("s"), ()))
        also.update(_NOUNS.get(token.text, plain), _ADJECTIVES.get(token.text, ()))
    names, rest = words & slot.named, slot.described - slot.named
    total = total + 2.0 * bool(names) + 0.4 * max(len(names) - 1, 0)
    total += 1.1 * min(len(words & rest), 2)
    total += 1.6 * bool(also & slot.named) + 0.8 * bool(also & rest)
    if slot.words and not slot.is_time:
        total += 1.8 * bool(words.intersection(slot.words))
    if total and slot.is_known:
        total += 0.3 + 0.3 * (not slot.is_said(own))
    return total


def kind_degree(slot: Slot, clause: DialogueAct) -> float:
    """How far a slot is of the kind that a question word asks for; negative if it cannot be."""
    families, stems = slot.families, slot.stems
    is_time = slot.is_time or (not slot.is_known and bool(slot.named & _TIMES))
    match clause.asks.split():
        case _ if clause.asks in _OF_KIND:
            about, of_kind = _OF_KIND[clause.asks]
            return of_kind if stems & about else _CANNOT
        case ["when"] | ["what" | "which", "time" | "day" | "date"]:
            is_other = slot.is_known and bool(families) and not slot.is_time
            is_hour = clause.asks.endswith("time") and "clock" not in families
            if is_other or (is_hour and slot.is_known) or not (is_time or slot.named & _TIMES):
                return _CANNOT
            return 2.0 + _nearness(slot, clause)
        case ["how", "long"]:
            if "duration" in families or stems & _LASTING:
                return 2.6 if "duration" in families else 2.2
            return 0.2 if is_time else _CANNOT
        case ["how", "often" | "soon"]:
            return 2.0 if is_time else _CANNOT
        case ["how", "many"] if _LASTS.search(clause.text):
            return 2.6 if "duration" in families else _CANNOT
        case ["how", "many"]:
            is_number = "number" in families
            return 1.6 + 0.8 * is_number if is_number or stems & _COUNTED else _CANNOT
        case ["how", "much"]:
            if re.search(r"\bhow much (?:time|longer)\b", clause.text, re.IGNORECASE):
                return 2.4 if "duration" in families or stems & _LASTING else _CANNOT
            if families & {"amount of money", "mass", "volume", "number"} or stems & _COUNTED:
                return 2.0 + 0.6 * ("amount of money" in families) + 0.4 * ("much" in stems)
            return _CANNOT
        case ["how", adjective] if adjective in _ADJECTIVES:
            likely = _ADJECTIVES[adjective]
            rank = next((rank for rank, word in enumerate(likely) if word in slot.named), None)
            if rank is not None:
                return 2.6 - 0.2 * rank
            return 2.0 if stems.intersection(likely) else _CANNOT
        case ["where"]:
            return _place_degree(slot, clause.text.casefold())
        case _ if re.search(r"\bwhat\b[^,]*\bfor\W*$", clause.text, re.IGNORECASE):
            return 2.0 * bool(re.search(r"\bwhat .*\bfor$", slot.parameter.description, re.IGNORECASE))
        case _:
            return 1.7 * is_named(slot, clause)


def is_named(slot: Slot, clause: DialogueAct) -> bool:
    """Whether a clause asks what something is called, and the slot has a name as its value."""
    asks_name = re.search(r"\b(?:name|called|title)\b", clause.text, re.IGNORECASE) is not None
    return asks_name and bool(slot.stems & _NAMED)


def _nearness(slot: Slot, clause: DialogueAct) -> float:
    """Which of several days and times is meant: the time of day, the first, or the last."""
    nearness = 0.5 * bool(slot.named & _TIMES)
    if clause.asks.endswith("time"):
        nearness += 0.8 * ("clock" in slot.families) + 0.3 * ("time" in slot.named)
    if clause.asks.endswith(("day", "date")):
        nearness += 0.8 * ("day" in slot.families) + 0.3 * bool(slot.named & {"day", "date"})
    ends = re.search(r"\b(?:until|till|by when|back|return|end|finish|last)\b", clause.text, re.IGNORECASE)
    return nearness + (0.6 if bool(ends) == bool(slot.named & _ENDS) else -0.4)


def _place_degree(slot: Slot, text: str) -> float:
    if re.search(r"\b(?:money|refund|transfer)\b", text) and "account" in slot.stems:
        return 2.4
    if not slot.stems & _PLACES or slot.is_time:
        return _CANNOT
    nearness = 2.0 - 0.6 * bool(slot.parameter.enum)
    if slot.named & _FROM:
        nearness += 0.8 if re.search(r"\bfrom\b", text) else -0.8
    if slot.named & _TO or "arriv" in slot.stems:
        nearness += 0.6 if re.search(r"\b(?:to|instead|going|bring)\b", text) else -0.4
    return nearness
