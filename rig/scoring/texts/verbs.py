"""Verbs as typed values: when something is done, and whether the subject does it or has it done.

"Is coming", "comes" and "will come" are one thing, as are "was delivered" and "has been delivered".
"""

from collections.abc import Sequence, Set
from typing import NamedTuple

from rig.reading.clauses import Atom, is_past
from rig.reading.lexicon import vocabulary

PAST, PRESENT, FUTURE = "past", "present", "future"
BEING = vocabulary("is be was been being")
GETTING = vocabulary("get got getting")
HELPING = BEING | vocabulary("do does did will")
"""The closed-class words that say when and by whom something is done, and nothing else."""
OTHERWISE = vocabulary("would can could may might must should neednot mustnot let to")
"""With one of these the verb says what is possible, due or wanted."""


class VerbForm(NamedTuple):
    """The times that a verb can speak of, its voice, and what else its helpers say."""

    times: Set[str]
    passive: bool
    otherwise: Set[str]

    def agrees(self, other: "VerbForm") -> bool:
        """Whether both can speak of one time, in one voice."""
        same = self.passive == other.passive and self.otherwise == other.otherwise
        return same and not self.times.isdisjoint(other.times)


def is_helper(small: Atom, verb: Atom) -> bool:
    """Whether a closed-class word helps a verb. "Have" and "get" do so before a participle alone."""
    return small.key in HELPING or (small.key in GETTING | {"have", "had"} and is_past(verb.word))


def verb_of(atom: Atom, before: Sequence[Atom]) -> VerbForm:
    """How a word that may be a verb is meant, by the closed-class words before it."""
    keys = {small.key for small in before}
    texts = {small.shown for small in before}
    otherwise = keys & OTHERWISE
    participle = is_past(atom.word)
    passive = participle and bool(keys & (BEING | GETTING))
    perfect = "have" in keys and (participle or "been" in texts)
    if "will" in keys or (otherwise and not passive):
        return VerbForm({FUTURE}, passive, otherwise)
    if not keys.isdisjoint(("was", "did", "had")) or (passive and "got" in keys):
        return VerbForm({PAST}, passive, otherwise)
    if perfect:
        return VerbForm({PAST, PRESENT} if passive else {PAST}, passive, otherwise)
    if participle and not passive:
        return VerbForm({PAST}, False, otherwise)
    return VerbForm({PRESENT, FUTURE}, passive, otherwise)
