"""Decide whether a text states a given thing."""

import re
from collections.abc import Sequence, Set
from itertools import takewhile

from rig.plugins.text.reading.amounts import NUMBERED, SIGNS, SMALL, TENS, UNITS
from rig.plugins.text.reading.clauses import Atom, AtomKind, Clause, ReadText, is_past, read_text
from rig.plugins.text.reading.facts import TIMES, Fact, Sort
from rig.plugins.text.reading.lexicon import folded, stem, synonymous, vocabulary

PLACEHOLDER = "Zyxwv"
"""A word that no text has."""
DIMENSION = "\0"
"""Marks a unit that is no word for what is counted."""
DIMENSIONS = frozenset((DIMENSION, *SIGNS.values(), *(dimension for dimension, _ in UNITS.values())))
ANYBODY = frozenset(map(stem, ("people", "persons", "pieces", "items", "things")))
_NUMBERED = frozenset(map(stem, NUMBERED - {"number"} | {"board"}))
DENIALS = vocabulary("not never nobody nothing none nowhere neither without unless except hardly")
HEDGES = vocabulary("maybe might may could would if whether or perhaps probabl guess think either")
REQUESTING = frozenset(map(stem, ("ask", "tell", "provide", "try", "check", "call")))
"""A clause that begins with one of these asks for something, and states nothing."""
_BETWEEN = re.compile(r"[^\w%$€£°]+")
_NEGATIVE = re.compile(r"(?<=[a-z:] )(?:[-−]|minus )\d+(?:\.\d+)?", re.I)
_BELOW_ZERO = re.compile(r"(?:[-−]|minus )(\d+(?:\.\d+)?)(?: ?(?:°|degrees)(?: ?[CF])?)?", re.I)
_POINTED_DATE = re.compile(r"\b(\d{1,2})\.(\d{1,2})\.(\d{4})\b")
_OFFERED = re.compile(
    r"\b(?:would you like|do you want)(?: me)?(?: to)?\b|\b(?:shall|should|may|can|could) i\b", re.I
)
"""What begins an offer, which is read as a request."""
_NUMERAL = rf"(?:{'|'.join((*SMALL, *TENS, 'hundred', 'thousand'))})"
_SPOKEN = re.compile(
    rf"\b(?!(?:{'|'.join(TENS)})[ -][a-z]+\b(?![ -]{_NUMERAL}))"
    rf"{_NUMERAL}[ -](?:and )?{_NUMERAL}\b",
    re.I,
)
"""Several words for one number or time of day, except those such as twenty-nine."""
_COUNTING: dict[object, frozenset[str]] = {
    1: frozenset(("single", "sole", "lone")),
    2: frozenset(("pair", "couple", "both")),
}


def states(text: str, wanted: str, example: str = "") -> bool | None:
    """Return whether a text states a fact or thing, given in words: True if a clause says it, False if none
    does or one denies it, None if that is not clear.

    It is not clear if it is one of several alternatives, a guess, in a question or a request, in a sentence
    that denies something else, or no longer true. Nor is it clear if the text says it about something else
    than `example`, a text that states it, does (the high and the low exchanged), or may say it in a form that
    is not read: in other words, or in several words for one number.
    """
    if _plain(text) == _plain(wanted):
        return True
    if (sign := _sign(wanted)) is not None:
        text, wanted = sign.sub(f" {PLACEHOLDER} ", text), PLACEHOLDER
        example = sign.sub(f" {PLACEHOLDER} ", example)
    text = _OFFERED.sub("whether", _POINTED_DATE.sub(r"\3-\2-\1", _NEGATIVE.sub("below zero", text)))
    read, target = read_text(text), read_text(wanted)
    model = read_text(example)
    own, foreign = _beside(model, target, wanted)
    verdicts, is_elsewhere = set(), False
    for at, clause in enumerate(read.clauses):
        if not _holds(clause.atoms, target, wanted):
            continue
        about = _about(read.clauses, at, target)
        if (target.facts or sign) and _alike(clause, target) < 2 and about & foreign and not about & own:
            is_elsewhere = True
            continue
        following = read.clauses[at + 1 : at + 2]
        choice = any(near.link == "or" for near in (clause, *following))
        choice |= any(near.link in ("so", "but") and _denies(near) for near in following)
        verdict = _stated(clause, target)
        is_open = choice or (verdict and (_is_past(clause, target) or _is_turned(clause, target)))
        verdicts.add(None if is_open else verdict)
    if verdicts:
        verdict = verdicts.pop() if len(verdicts) == 1 else None
        is_doubtful = verdict and target.facts and _is_doubtful(read, model, target, own)
        return None if is_doubtful else verdict
    if is_elsewhere or _may_state(text, read, target, wanted):
        return None
    return None if len(target.atoms) > 1 and _holds(read.atoms, target, wanted) else False


def _is_doubtful(read: ReadText, example: ReadText, target: ReadText, own: Set[str]) -> bool:
    """Return whether a text that holds the target may say it of something else than the example does: in
    another unit, of other things, or beside another value where the example's words are.
    """
    due = _units(example, target)
    if not due and example.facts and all(fact.sort is Sort.NUMBER for fact in target.facts):
        return True  # the 12th is not 12 of them
    if due and not any(_is_unit(one, other) for one in _units(read, target) for other in due):
        return True
    clauses = [(_about(read.clauses, at, target) & own, clause) for at, clause in enumerate(read.clauses)]
    if any(about and _has(clause, target) for about, clause in clauses):
        return False
    facts = example.facts
    return any(
        about and not _has(clause, target) and any(_is_new(atom.fact, facts, target) for atom in clause.atoms)
        for about, clause in clauses
    )


def _has(clause: Clause, target: ReadText) -> bool:
    return any(_agrees(one, atom.fact) for atom in clause.atoms if atom.fact for one in target.facts)


def _is_new(fact: Fact | None, known: Sequence[Fact], target: ReadText) -> bool:
    """Return whether a fact could stand in the target's place, and is not among the known ones."""
    if fact is None or not _is_alike(fact, target):
        return False
    return not any(_agrees(other, fact) or _agrees(fact, other) for other in known)


def _units(read: ReadText, target: ReadText) -> list[frozenset[str]]:
    """Return the unit of each fact that agrees with the target: a dimension, a currency, or the words for
    what is counted or numbered; empty for a bare number.
    """
    return [
        _unit(clause.atoms, at)
        for clause in read.clauses
        for at, atom in enumerate(clause.atoms)
        if atom.fact is not None and any(_agrees(one, atom.fact) for one in target.facts)
    ]


def _unit(atoms: Sequence[Atom], at: int) -> frozenset[str]:
    fact = atoms[at].fact
    assert fact is not None
    if fact.sort in (Sort.MEASURE, Sort.MONEY):
        return frozenset(str(value[-1]) for value in fact.values if isinstance(value, tuple))
    if fact.sort is Sort.LETTER and fact.shown.endswith("f"):
        return frozenset(("fahrenheit",))
    if fact.sort is Sort.DURATION:
        return frozenset((stem(fact.shown.split()[-1]), DIMENSION))
    if fact.sort is not Sort.NUMBER:
        return frozenset((str(fact.sort), DIMENSION))
    before = atoms[at - 1].key if at else ""
    if before in _NUMBERED:
        return frozenset((before,))
    if [atom.shown for atom in atoms[at + 1 : at + 2]] == ["per"]:
        return frozenset(("per", DIMENSION))
    counted = takewhile(
        lambda atom: atom.sort is AtomKind.WORD and not is_past(atom.word), atoms[at + 1 : at + 3]
    )
    return frozenset(atom.key for atom in counted)


def _is_unit(stated: Set[str], due: Set[str]) -> bool:
    """Return whether a unit that an answer states may stand for the one that is due; empty is no unit."""
    if not due:  # What the example leaves bare may be counted in words, as in 3 alarms, but not measured.
        return not stated & (DIMENSIONS - {"fahrenheit"})
    if not stated:
        return DIMENSION not in due or str(Sort.CLOCK) in due
    if stated <= ANYBODY and DIMENSION not in due:
        return True
    return any(word != DIMENSION and synonymous(word, other) for word in stated for other in due)


def _is_past(clause: Clause, target: ReadText) -> bool:
    """Return whether the target is a place or time that another one replaces, or the end of a span."""
    atoms = clause.atoms
    for at, atom in enumerate(atoms):
        if atom.fact is None or not any(_agrees(fact, atom.fact) for fact in target.facts):
            continue
        before = [near.key for near in atoms[max(at - 2, 0) : at]]
        after = [near.key for near in atoms[at + 1 : at + 3]]
        if {"instead", "than"} & set(before) or ("from" in before and "to" in after and atom.fact.of):
            return True
        if atom.fact.sort is Sort.CLOCK and before[-1:] in (["to"], ["until"], ["till"]):
            return before[0] == str(Sort.CLOCK)
    return False


def _is_turned(clause: Clause, target: ReadText) -> bool:
    """Return whether two words of the target stand in the other order: books for the library."""
    words = [atom.key for atom in target.atoms if atom.fact is None and atom.is_content]
    keys = [atom.key for atom in clause.atoms]
    places = [keys.index(word) for word in words if word in keys]
    return places != sorted(places)


def _may_state(text: str, read: ReadText, target: ReadText, wanted: str) -> bool:
    """Return whether a text that does not state the target may do so in a form that is not read."""
    sorts = {fact.sort for fact in target.facts}
    texts = {atom.shown for atom in read.atoms}
    numerals = set(re.findall(r"\d+", text))
    if sorts and _SPOKEN.search(text):
        return True
    if sorts & {Sort.DAY, Sort.RELATIVE}:
        stated = [fact for fact in read.facts if fact.sort in TIMES - {Sort.CLOCK, Sort.PART}]
        is_other = any(fact.sort is Sort.DAY for fact in stated)
        is_same = any(fact.agrees(other) for fact in stated for other in target.facts)
        if any(fact.sort is Sort.RELATIVE for fact in stated) or (is_same and not is_other):
            return True
    for fact in target.facts:
        hours = fact.values if fact.sort is Sort.CLOCK else ()
        clocks = {"{:02}{:02}".format(*value) for value in hours if isinstance(value, tuple)}
        if clocks & numerals:
            return True
        if fact.sort is Sort.NUMBER and texts & _COUNTING.get(fact.bare, frozenset()):
            return True
    if len(wanted.strip()) == 1 and wanted.strip().isalpha():
        lone = rf"(?<![\d°])(?<![\d°] )\b{re.escape(wanted.strip())}\b"
        return Sort.LETTER not in {fact.sort for fact in read.facts} and re.search(lone, text) is not None
    words = [atom.key[:4] for atom in target.atoms if atom.fact is None and atom.is_content]
    near = [part for atom in read.atoms for part in atom.key.split()]
    return len(words) > 1 and all(any(part.startswith(word) for part in near) for word in words)


def _beside(example: ReadText, target: ReadText, wanted: str) -> tuple[set[str], set[str]]:
    """Return the words of an example that go only with the target, and those that go only with the rest."""
    own: set[str] = set()
    foreign: set[str] = set()
    before: set[str] = set()
    for at, clause in enumerate(example.clauses):
        if not at or example.clauses[at - 1].sentence != clause.sentence:
            foreign |= before
            before = set()
        before |= _about(example.clauses, at, target)
        if _holds(clause.atoms, target, wanted):
            own, before = own | before, set()
        elif _alike(clause, target):
            foreign, before = foreign | before, set()
    return own - foreign, (foreign | before) - own


def _about(clauses: Sequence[Clause], at: int, target: ReadText) -> set[str]:
    """Return a clause's words and facts of other kinds, or else those of the clause before (High: 32)."""
    atoms = clauses[at].content
    spans = {atom.fact.said for atom in atoms if atom.fact is not None and _is_alike(atom.fact, target)}
    words = {
        atom.shown if atom.fact else atom.key
        for atom in atoms
        if atom.fact is None or atom.fact.said not in spans
    }
    words.discard(PLACEHOLDER.casefold())
    if words or not at or _alike(clauses[at - 1], target):
        return words
    return {atom.key for atom in clauses[at - 1].content}


COUNTED = frozenset({Sort.NUMBER, Sort.MEASURE, Sort.MONEY, Sort.LETTER, Sort.PERCENT})


def _is_alike(fact: Fact, target: ReadText) -> bool:
    """Return whether a fact is of the same kind as the target: a day is not of an amount's kind."""
    sorts = {other.sort for other in target.facts}
    sorts -= {Sort.MONTH, Sort.YEAR} if Sort.DAY in sorts else set()  # the June invoice is due on July 5
    return fact.sort in COUNTED if sorts & COUNTED or not sorts else fact.sort in sorts


def _alike(clause: Clause, target: ReadText) -> int:
    """Return how many facts of a clause are of the same kind as the target."""
    return len({atom.fact.said for atom in clause.atoms if atom.fact and _is_alike(atom.fact, target)})


def _sign(wanted: str) -> re.Pattern[str] | None:
    """Return a pattern for an address, a phone number, however its parts are separated, or a number below
    zero; else None.
    """
    bare = re.sub(r"[\s().–-]+", "", wanted)
    if "@" in wanted:
        return re.compile(rf"(?<![\w.]){re.escape(wanted)}(?![\w-]|\.\w)", re.I)
    if below := _BELOW_ZERO.fullmatch(wanted.strip()):
        return re.compile(rf"(?<![\d.])(?<!\d )(?:[-−]|minus ){re.escape(below[1])}(?!\.?\d)", re.I)
    if not bare.isdecimal() or len(bare) < 7:
        return None
    return re.compile(rf"(?<!\d)\(?{'[ ().–-]*'.join(bare)}(?!\d)")


def _stated(clause: Clause, target: ReadText) -> bool | None:
    """Return whether a clause states what it holds (True), denies it (False), or leaves it open (None)."""
    keys = {atom.key for atom in clause.atoms}
    asks = clause.asks or "please" in keys or (clause.content and clause.content[0].key in REQUESTING)
    if asks and clause.atoms[0].family != "person":
        return None
    if _hedges(clause) or clause.link in ("if", "unless", "whether"):
        return None
    return not _denies(clause) or any(atom.key in DENIALS for atom in target.atoms)


def _hedges(clause: Clause) -> bool:
    """Return whether a clause guesses; "would have" is not a guess."""
    words = [atom.key for atom in clause.atoms]
    return any(
        word in HEDGES and not (word == "would" and words[at + 1 : at + 2] in (["have"], ["like"], ["need"]))
        for at, word in enumerate(words)
    )


def _holds(atoms: Sequence[Atom], target: ReadText, wanted: str) -> bool:
    """Return whether the atoms say the whole target: all of its facts and words."""
    stated = [atom.fact for atom in atoms if atom.fact is not None]
    if len(wanted.strip()) == 1 and wanted.strip().isalpha():
        return any(fact.sort is Sort.LETTER and wanted.strip().casefold() in fact.values for fact in stated)
    if not all(any(_agrees(fact, other) for other in stated) for fact in target.facts):
        return False
    words = [atom for atom in target.atoms if atom.fact is None and atom.is_content]
    if not (target.facts or words):
        return _plain(wanted) in _plain(" ".join(atom.shown for atom in atoms))
    return all(any(_same(word, atom) for atom in atoms if atom.fact is None) for word in words)


def _agrees(wanted: Fact, other: Fact) -> bool:
    """Return whether a fact is the wanted one. A plain number may have any unit except one of time."""
    if wanted.sort is Sort.NUMBER and other.sort in (Sort.DAY, Sort.MONTH, Sort.YEAR):
        return False  # the 17th is not board 17
    if wanted.agrees(other):
        return True
    text = other.said.shown
    number = re.search(r"\d[\d,]*(?:\.\d+)?", text)
    # "Between 17 and 32" may be hours, or degrees.
    is_plain = text.isdecimal() or other.sort in COUNTED | {Sort.DURATION}
    counted = wanted.sort is Sort.NUMBER and is_plain
    return counted and number is not None and float(number.group().replace(",", "")) in wanted.values


def _same(one: Atom, other: Atom) -> bool:
    return one.key == other.key or (" " in one.key + other.key and synonymous(one.key, other.key))


def _denies(clause: Clause) -> bool:
    return any(atom.key in DENIALS for atom in clause.atoms)


def _plain(text: str) -> str:
    return f" {' '.join(_BETWEEN.sub(' ', folded(text)).split())} "
