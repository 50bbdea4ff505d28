"""Texts in a language that the lexicon does not cover: only their words are known."""

from collections import Counter

from rig.reading.clauses import ReadText
from rig.reading.words import is_small
from rig.scoring.texts.checks import Finding, Meaning, different
from rig.scoring.texts.residue import Residue

MAX_PAIRS = 100_000
"""Pairs of words that are looked at for one within the other."""


def foreign(first: ReadText, second: ReadText) -> Finding:
    """Of other languages only the words are known: the same ones, in an order that moves no name."""
    atoms = [text.atoms for text in (first, second)]
    bags = [sorted(atom.shown for atom in side if not is_small(atom.shown)) for side in atoms]
    left = [
        [word for word in bag if word not in other]
        for bag, other in zip(bags, map(set, bags[::-1]), strict=True)
    ]
    is_short = len(left[0]) * len(left[1]) <= MAX_PAIRS
    within = is_short and any(one in other or other in one for one in left[0] for other in left[1])
    if left[0] and left[1] and not within:
        return different(f"other word: {left[0][0]} is not {left[1][0]}")
    if left[0] or left[1]:
        return Finding(Meaning.UNCLEAR, f"only one says: {(left[0] or left[1])[0]}")
    small = [Counter(atom.shown for atom in side if is_small(atom.shown)) for side in atoms]
    capital = [{atom.shown for atom in side if atom.word.capital and not atom.word.first} for side in atoms]
    rows = [[atom.shown for atom in side if atom.shown in capital[0] & capital[1]] for side in atoms]
    if rows[0] != rows[1] or small[0] != small[1]:
        return Finding(Meaning.UNCLEAR, "the small words and their order")
    return Finding(Meaning.SAME, "the same words")


def foreign_clause(found: Residue) -> Finding:
    """A clause of another language: the same words, in any order."""
    ones, others = found.left
    if found.content[0] and found.content[1]:
        return different(f"other word: {ones[0]} is not {others[0]}")
    if ones or others:
        return Finding(Meaning.UNCLEAR, f"only one says: {(ones or others)[0]}")
    return Finding(Meaning.SAME, "the same words")
