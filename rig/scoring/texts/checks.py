"""The checks: each says in a few words why two texts cannot mean the same, or nothing."""

from collections.abc import Callable, Collection, Mapping
from typing import TypeAlias

from rig.scoring.texts.contrasts import other_thing
from rig.scoring.texts.facts import TIMES, Sort, conflict
from rig.scoring.texts.names import other_name
from rig.scoring.texts.negation import denial
from rig.scoring.texts.opposites import contrary
from rig.scoring.texts.pair import Pair
from rig.scoring.texts.roles import owned_otherwise, swapped

Check: TypeAlias = Callable[[Pair], str | None]
AMOUNTS = frozenset(Sort) - TIMES
LONGEST_REASON = 100


def _times(pair: Pair) -> str | None:
    return conflict(pair.first.facts, pair.second.facts, TIMES)


def _amounts(pair: Pair) -> str | None:
    return conflict(pair.first.facts, pair.second.facts, AMOUNTS)


def _names(pair: Pair) -> str | None:
    return other_name(pair.first.reading, pair.second.reading, titles=pair.kind.place)


def _negation(pair: Pair) -> str | None:
    first, second = pair.first, pair.second
    return denial(first.plain, first.denials, second.plain, second.denials)


def _opposites(pair: Pair) -> str | None:
    first, second = pair.first, pair.second
    return contrary(first.merged, first.denied, second.merged, second.denied)


def _things(pair: Pair) -> str | None:
    return other_thing(pair.unshared)


def _roles(pair: Pair) -> str | None:
    if reason := swapped(pair.first.merged, pair.second.merged):
        return reason
    # Of a reminder "your passport" is the user's own, as the assistant puts it.
    if pair.kind.personal:
        return owned_otherwise(pair.first.merged, pair.second.merged)
    return None


CHECKS: Mapping[str, Check] = {
    "days and times": _times,
    "amounts": _amounts,
    "names": _names,
    "negation": _negation,
    "opposites": _opposites,
    "things of one sort": _things,
    "roles": _roles,
}


def refusal(pair: Pair, without: Collection[str] = ()) -> str | None:
    """Why the texts cannot mean the same, in one line; None where no check objects. Checks named in
    `without` are left out.
    """
    if pair.first == pair.second:
        return None  # whatever a check makes of such a text, it says what it says
    for name, check in CHECKS.items():
        if name not in without and (reason := check(pair)):
            return reason[:LONGEST_REASON]
    return None
