"""What words say of a truth value: that it is true, or that it is not, and in which word."""

import re
from typing import NamedTuple

from rig.methods.autode import questions
from rig.methods.autode.clauses import stems_of, tokens
from rig.methods.autode.slots import Slot

_SIDES = tuple(
    (frozenset(says.split()), frozenset(denies.split()))
    for says, denies in (
        ("first new", "before already again existing regular returning earlier previously"),
        ("outside outdoors terrace patio garden", "inside indoors indoor"),
        ("loan courtesy replacement rental substitute spare", ""),
        ("screen projector display monitor", ""),
    )
)
"""Words for what is true or false of a slot, and for the opposite."""
_STOPS = stems_of("flag_stops")
_NEGATED = re.compile(r"\b(?:without|not|no|don['’]t|doesn['’]t|won['’]t|never)\b", re.IGNORECASE)
_NEGATED_VERB = re.compile(r"\b\w+ (?:is|are|was|were|have|has)n['’]t\b", re.IGNORECASE)
_QUESTION_TAG = re.compile(r",? \w+n['’]t (?:you|it|we)\W*$", re.IGNORECASE)


class Flag(NamedTuple):
    """What a clause says of a truth value; `side` is its word for what is true, if it has one."""

    value: bool
    is_either: bool = False
    side: str = ""
    is_named: bool = False


def flag_said(slot: Slot, text: str) -> Flag | None:
    """What a text says or asks of a slot that is true or false; None if nothing."""
    heard = tokens(text)
    asked = {token.text for token in heard}
    own = {token.text for token in tokens(f"{questions.spoken(slot.name)} {slot.parameter.description}")}
    sides = [(says, denies) for says, denies in _SIDES if says & own]
    positive = frozenset().union(*(says & asked for says, _ in sides))
    negative = frozenset().union(*(denies & asked for _, denies in sides))
    same = not (frozenset(token.stem for token in heard) & slot.stems).issubset(_STOPS)
    if not (same or positive or negative):
        return None
    rest = _QUESTION_TAG.sub("", text)
    is_negated = bool(_NEGATED.search(rest)) and not re.match(r"\W*\w+n['’]t\b", rest)
    is_negated |= bool(_NEGATED_VERB.search(rest))
    value = not ((bool(negative) and not positive) ^ is_negated)
    is_either = bool(positive and negative) and "or" in asked
    return Flag(
        value, is_either, min(positive if slot.value else negative, default=""), bool(positive or negative)
    )
