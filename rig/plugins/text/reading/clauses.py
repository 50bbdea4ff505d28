"""A text as clauses, and each clause as atoms: facts, words that carry meaning, and closed-class words.

Each item of a list is a clause. A polite request is read as the request itself.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache, lru_cache
from itertools import chain

from rig.plugins.text.reading.amounts import quantities
from rig.plugins.text.reading.characters import repaired
from rig.plugins.text.reading.facts import Fact, Scan
from rig.plugins.text.reading.lexicon import (
    entries,
    fillers,
    given_names,
    is_common,
    lines,
    pasts,
    places,
    vocabulary,
)
from rig.plugins.text.reading.times import clocks, dates, in_part
from rig.plugins.text.reading.words import Parts, Word, is_courtesy, opened, words_of

CACHED_TEXTS = 2048
LONGEST_SENTENCE = 80
"""In words. A longer run without a full stop is cut."""
SIGNS = frozenset(".,!?;:()/-–—\n、。！？")
SPLITTING = frozenset(",;:()–—\n!?。！？、")
LINKS = vocabulary("and or but though so because if when while unless whether plus")
ASKING = vocabulary("is are am was were do does did has have had can could will would should may shall")
SUBJECTS = vocabulary("i you he she it we they there the this that these those my your his her our their any")
_END = re.compile(r"(?<=[.!?。！？])[\"')\]]*\s+|(?<=[。！？])")
_WRAPPED = re.compile(r"(?<=[^\n.!?:;,])\n(?=[a-z(])")
_ABBREVIATED = re.compile(
    r"(?:(?:^|[\s(])(?:mr|mrs|ms|dr|prof|st|no|nr|vs|etc|jr|sr|approx|dept|tel|e\.g|i\.e)|(?<!\d)[\s(][a-z])\.$",
    re.I,
)
_BULLET = re.compile(r"^\s*(?:[-*•>]+|\(?\d{1,2}[.)]|\(?[a-e]\))\s+(?=\S)")
_MARKUP = re.compile(r"</?[a-z][^<>]{0,80}>|[*_`~#]{2,}|(?<!\w)[*_`](?=\w)|(?<=\w)[*_`](?!\w)", re.I)
_TOO = re.compile(r",? too(?=\s*[.!?,]|$)", re.I)
_REASON = re.compile(
    r",? (?:since|as) (?=(?:i|you|he|she|it|we|they|there|nobody|everybody)\b(?! usual))", re.I
)
_TOLD = re.compile(r"\blet (\w+(?: \w+)?) know\b", re.I)
_FROM_TO = re.compile(r"\bbetween (?=(\S+(?: [ap]m)?) and \d)", re.I)


class AtomKind(StrEnum):
    """What an atom is."""

    FACT = "fact"
    WORD = "word"
    NAME = "name"
    CLOSED = "closed"


@dataclass(frozen=True, slots=True)
class Atom:
    """A word as it is compared: by `key`. `family` is the sort of a closed-class word ("place", "modal")."""

    key: str
    sort: AtomKind
    shown: str
    word: Word
    fact: Fact | None = None
    family: str = ""

    @property
    def is_content(self) -> bool:
        """Whether the atom carries meaning of its own."""
        return self.sort is not AtomKind.CLOSED


@dataclass(frozen=True, slots=True)
class Clause:
    """Atoms in order. `link` is what joins it to the clause before; `sentence` numbers its sentence."""

    atoms: tuple[Atom, ...]
    link: str = ""
    asks: bool = False
    sentence: int = 0

    @property
    def content(self) -> tuple[Atom, ...]:
        """The atoms that carry meaning."""
        return tuple(atom for atom in self.atoms if atom.is_content)

    @property
    def joined(self) -> tuple[Atom, ...]:
        """The atoms, with what joins them to the clause before if that matters to their meaning."""
        if self.link in ("", "and"):
            return self.atoms
        return (Atom(self.link, AtomKind.CLOSED, self.link, Word(self.link, self.link)), *self.atoms)


@dataclass(frozen=True, slots=True)
class ReadText:
    """A text as it was read. `greeted` and `signed` are the names in its greeting and signature; `sentences`
    are the sentences to which the numbers in its clauses refer.
    """

    clauses: tuple[Clause, ...]
    greeted: tuple[str, ...] = ()
    signed: tuple[str, ...] = ()
    pictures: tuple[str, ...] = ()
    sentences: tuple[str, ...] = ()

    @property
    def facts(self) -> tuple[Fact, ...]:
        """All facts that the text states."""
        return tuple(atom.fact for atom in self.atoms if atom.fact is not None)

    @property
    def atoms(self) -> tuple[Atom, ...]:
        """The atoms of all clauses."""
        return tuple(chain.from_iterable(clause.atoms for clause in self.clauses))


def is_past(word: Word) -> bool:
    """Return whether a word is a past form: booked, paid. "Feed" and "garage" are not."""
    text = word.text
    return text in pasts() or (text.endswith("ed") and text != word.stem and text.isalpha())


def read_text(text: str) -> ReadText:
    """Read any string. Never raises."""
    return read_parts(opened(text))


@lru_cache(CACHED_TEXTS)
def read_parts(parts: Parts) -> ReadText:
    """Read a text whose greeting and signature are set apart."""
    told = [sentence for sentence in sentences(parts.body) if not is_courtesy(sentence)]
    told = told or sentences(parts.body)
    clauses = chain.from_iterable(_clauses(sentence, number) for number, sentence in enumerate(told))
    people = [tuple(word.stem for word in words_of(part) if _is_name(word)) for part in (parts[0], parts[2])]
    return ReadText(tuple(clauses), people[0], people[1], parts.pictures, tuple(told))


def sentences(text: str) -> list[str]:
    """Return the sentences of a text and the items of its lists, in order."""
    cut: list[str] = []
    for line in _WRAPPED.sub(" ", text).split("\n"):
        for number, part in enumerate(_END.split(line)):
            part = _BULLET.sub("", part or "")
            # An abbreviation ends no sentence, but a line does: "It is 25 °C."
            if number and cut and _ABBREVIATED.search(cut[-1][-8:]):
                cut[-1] += f" {part}"
            elif part.strip():
                cut.append(part.strip())
    return list(chain.from_iterable(map(_pieces, cut)))


def _pieces(sentence: str) -> Iterator[str]:
    words = sentence.split()
    for start in range(0, len(words), LONGEST_SENTENCE):
        yield " ".join(words[start : start + LONGEST_SENTENCE])


@cache
def _forms() -> tuple[re.Pattern[str], Mapping[str, str]]:
    table = {form.strip(): canonical for canonical, forms in entries("forms") for form in forms.split(",")}
    longest = sorted(table, key=len, reverse=True)
    return re.compile(rf"\b(?:{'|'.join(map(re.escape, longest))})\b", re.I), table


@cache
def _requests() -> re.Pattern[str]:
    return re.compile(
        rf"^\W*(?:(?:please|so|and|also|then|but),? )*(?:{'|'.join(lines('requests'))})\b,?", re.I
    )


def canonical(sentence: str) -> tuple[str, bool]:
    """Return a sentence with its small words in one form, and whether it is a polite request."""
    text = repaired(_MARKUP.sub(" ", sentence))
    if (bare := fillers().sub(" ", text)).strip(" .,!?"):
        text = bare
    requested = _requests().search(text)
    if requested and text[requested.end() :].strip(" .?!"):
        text = text[requested.end() :]
    text = _TOLD.sub(r"tell \1", text)
    text = _REASON.sub(", because ", _TOO.sub(" also", _FROM_TO.sub("from ", text)))
    pattern, table = _forms()
    return pattern.sub(lambda match: table[match.group().casefold()], text), requested is not None


def _clauses(sentence: str, number: int) -> Iterator[Clause]:
    text, requested = canonical(sentence)
    words = words_of(text)
    scan, stated = facts_of(words)
    facts: dict[int, list[Fact]] = {}
    for fact in stated:
        facts.setdefault(fact.said.start, []).append(fact)
    asks = not requested and _asks(words)
    runs: list[list[Atom]] = [[]]
    links = [""]
    for atom in _atoms(words, facts, scan.taken):
        if atom.key in SPLITTING or (atom.sort is AtomKind.CLOSED and atom.key in LINKS):
            link = "" if atom.key in SPLITTING else atom.key
            if runs[-1]:
                runs.append([])
                links.append(link)
            else:
                links[-1] = link or links[-1]
        elif atom.key not in SIGNS:
            runs[-1].append(atom)
    for atoms, link in zip(runs, links, strict=True):
        if atoms:
            yield Clause(tuple(atoms), link, asks, number)


def facts_of(words: Sequence[Word]) -> tuple[Scan, list[Fact]]:
    """Return the facts that words state, and which words these are."""
    scan = Scan(words)
    return scan, in_part(chain(dates(scan), clocks(scan), quantities(scan)))


def _asks(words: Sequence[Word]) -> bool:
    texts = [word.text for word in words if word.is_word]
    if any(word.text in ("?", "？") for word in words):
        return True
    if len(texts) < 2:
        return False
    return texts[0] in ASKING and texts[1] in SUBJECTS


def _atoms(words: Sequence[Word], facts: Mapping[int, Sequence[Fact]], taken: set[int]) -> Iterator[Atom]:
    for at, word in enumerate(words):
        for fact in facts.get(at, ()):
            yield Atom(str(fact.sort), AtomKind.FACT, fact.shown, word, fact)
        if at not in facts and at not in taken:
            yield _atom(word)


def _atom(word: Word) -> Atom:
    family, key = closed_class().get(word.text, ("", ""))
    if family and not (word.acronym and len(word.text) > 1 and word.text not in ("not", "no", "i")):
        return Atom(key, AtomKind.CLOSED, word.text, word, family=family)
    if not word.is_word:
        return Atom(word.text, AtomKind.WORD if word.text not in SIGNS else AtomKind.CLOSED, word.text, word)
    return Atom(word.stem, AtomKind.NAME if _is_name(word) else AtomKind.WORD, word.text, word)


def _is_name(word: Word) -> bool:
    if not word.is_word:
        return False
    if word.text in given_names() or word.text in places():
        return word.capital or not is_common(word.text)
    return word.capital and not word.first and not is_common(word.text)


@cache
def closed_class() -> Mapping[str, tuple[str, str]]:
    """Return for each closed-class word its family, and the word that represents it and its equals."""
    table = {}
    for family, sets in entries("closed"):
        for equals in sets.split(", "):
            words = equals.split()
            table.update(dict.fromkeys(words, (family, words[0])))
    return table
