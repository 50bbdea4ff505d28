"""What a text claims: the facts and names in it, a yes or a no, and whether it states a given thing."""

import re
from collections.abc import Iterable, Sequence

from rig.reading.clauses import Atom, Clause, ReadText, read_text
from rig.reading.clauses import Sort as AtomSort
from rig.reading.facts import Fact, Sort
from rig.reading.lexicon import folded, synonymous, vocabulary
from rig.reading.words import opened

YES = vocabulary("yes yeah yep yup sure correct right exactly indeed absolutely certainly definitely ok okay")
NO = vocabulary("no nope nah not wrong incorrect never")
DENIALS = vocabulary("not never nobody nothing none nowhere neither without unless except hardly")
HEDGES = vocabulary("maybe might may could would if whether about or perhaps probably guess think either")
ASKING = vocabulary("ask again tell provide confirm check")
_BETWEEN = re.compile(r"[^\w%$€£°]+")


def facts(text: str) -> tuple[Fact, ...]:
    """The days, times, amounts and numbers that a text states, in order."""
    return read_text(text).facts


def names(text: str) -> tuple[str, ...]:
    """The names of people and places in a text, in lower case, greeting and signature included."""
    read = read_text(text)
    inner = (atom.shown for atom in read.atoms if atom.sort is AtomSort.NAME)
    return tuple(dict.fromkeys((*read.greeted, *inner, *read.signed)))


def is_denied(text: str) -> bool:
    """Whether any clause of a text denies something."""
    return any(_denies(clause) for clause in read_text(text).clauses)


def yes_or_no(text: str) -> bool | None:
    """What an answer to a closed question says: True for yes, False for no, None where that is not clear."""
    words = [word for word in _BETWEEN.split(folded(text)) if word]
    first = next((word for word in words if word in YES | NO), None)
    if first is None or words.index(first) > 3:
        return None
    if first in YES and any(word in ("not", "no", "but") for word in words[words.index(first) + 1 :][:4]):
        return None
    return first in YES


def states(text: str, wanted: str) -> bool | None:
    """Whether a text states a fact or a thing, given in words: True if some clause says it, False if none
    does or one denies it. None where that is not clear: it is said among
    alternatives, as a guess, in a question, or in a clause that denies something else.
    """
    read, target = read_text(text), read_text(wanted)
    if not target.atoms:
        return None
    verdicts = [verdict for clause in read.clauses for verdict in _said(clause, target, wanted)]
    if not verdicts:
        return _elsewhere(read, target)
    if len(set(verdicts)) == 1:
        return verdicts[0]
    return None


def _said(clause: Clause, target: ReadText, wanted: str) -> Iterable[bool | None]:
    """How a clause speaks of it, if it does."""
    if not _holds(clause.atoms, target, wanted):
        return
    keys = {atom.key for atom in clause.atoms}
    if clause.asks or keys & HEDGES or clause.link in ("if", "or", "unless", "whether"):
        yield None
    elif _denies(clause) and not any(atom.key in DENIALS for atom in target.atoms):
        yield False
    else:
        yield True


def _holds(atoms: Sequence[Atom], target: ReadText, wanted: str) -> bool:
    """Whether the atoms say all that is wanted: each of its facts, and its words in one row."""
    stated = [atom.fact for atom in atoms if atom.fact is not None]
    if not all(any(fact.agrees(other) for other in stated) for fact in target.facts):
        return False
    words = [atom for atom in target.atoms if atom.fact is None and atom.is_content]
    if not target.facts and not words:
        return _plain(wanted) in _plain(" ".join(atom.shown for atom in atoms))
    keys = [atom for atom in atoms if atom.fact is None]
    return all(any(one.key == word.key or synonymous(one.key, word.key) for one in keys) for word in words)


def _elsewhere(read: ReadText, target: ReadText) -> bool | None:
    """A thing of several words that clauses share out is unclear; what nobody says is not said."""
    if len(target.clauses) > 1 or len(target.atoms) > 2:
        said = [any(_holds(read.atoms, ReadText((Clause((atom,)),)), atom.shown) for atom in target.atoms)]
        if all(said) and _holds(read.atoms, target, ""):
            return None
    return False


def _denies(clause: Clause) -> bool:
    return any(atom.key in DENIALS for atom in clause.atoms)


def _plain(text: str) -> str:
    return f" {' '.join(_BETWEEN.sub(' ', folded(text)).split())} "


__all__ = ["Fact", "Sort", "facts", "is_denied", "names", "opened", "states", "yes_or_no"]
