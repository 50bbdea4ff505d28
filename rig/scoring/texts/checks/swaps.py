"""The same words in other places: "Ken beat Lara" and "Lara beat Ken".

Both texts become rows of what has a role: names, things, facts, and the small words that give roles. Two
of one sort have changed places when exchanging them brings the rows together.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

from rig.reading.facts import TIMES
from rig.reading.lexicon import in_order, is_common, stem, synonymous, vocabulary
from rig.reading.words import EMPTY, Word
from rig.scoring.texts.pair import Pair, Side

PERSONS = {
    **dict.fromkeys(in_order("i me my mine we us our ours"), "I"),
    **dict.fromkeys(in_order("you your yours"), "you"),
    **dict.fromkeys(in_order("he him his"), "he"),
    **dict.fromkeys(in_order("she her hers"), "she"),
    **dict.fromkeys(in_order("they them their theirs"), "they"),
}
LINKS = vocabulary(
    "from to by for with without about before after than because instead if unless until in on "
    "under over of as at first then finally"
)
"""Small words that give what follows a role."""
DIRECTED = vocabulary("from to by for about before after than because instead unless first then finally")
"""Of these, the ones whose object cannot change places with anything."""
JOINING = vocabulary("and or , & / + plus vs versus und et y e")
ARTICLES = vocabulary("the a an my our your his her their some")
MUTUAL = frozenset(stem(word) for word in in_order("meet talk chat speak marry date agree match wed"))
"""What each does to the other."""
BE = vocabulary("be is are was were been being get got gets")
MOST = 60
"""Tokens of a row in which places are compared."""
MOST_MOVED = 5
"""Of two and three in a row, those that may still differ when two tokens are exchanged."""
NEAR = 3


@dataclass(frozen=True, slots=True)
class _Token:
    """What has a role: its sort, which only such of its sort can exchange places with, and what is compared.
    `list_` numbers the enumeration it is in.
    """

    sort: str
    key: object
    shown: str
    list_: int


def exchanged(pair: Pair) -> str | None:
    """Why the roles are others: two of one sort have changed places."""
    first, second = _row(pair.first), _row(pair.second)
    if not first or not second or max(len(first), len(second)) > MOST:
        return None
    numbers = _numbered(pair, first, second)
    both = set(numbers[0]) & set(numbers[1])
    rows = [[n for n in row if n in both] for row in numbers]
    if rows[0] == rows[1]:
        return None
    tokens = [dict(zip(row, texts, strict=True)) for row, texts in zip(numbers, (first, second), strict=True)]
    whole = not (pair.unshared.first or pair.unshared.second) and list(map(len, rows)) == list(
        map(len, numbers)
    )
    whole = whole and not pair.kind.place and len(rows[0]) == len(rows[1]) and not pair.foreign
    sentence = whole and pair.kind.like == "body"
    if pair.foreign:
        facts = {n for n, token in tokens[0].items() if token.sort in ("time", "amount")}
        rows = [[n for n in row if n in facts] for row in rows]
    if reason := _closer(rows, tokens, sentence):
        return reason
    return (_directed(rows, tokens) if whole else None) or (_blocks(rows, tokens) if sentence else None)


def _row(side: Side) -> list[_Token]:
    starts: dict[int, list[int]] = {}
    for number, fact in enumerate(side.facts):
        starts.setdefault(fact.said.start, []).append(number)
    words = side.reading.words
    row: list[_Token] = []
    where = _active(words, side.stated)
    lists = _lists(words, side.stated)
    for at in where:
        if at in starts:
            facts = [side.facts[number] for number in starts[at]]
            sort = "time" if facts[0].sort in TIMES else "amount"
            row.append(_Token(sort, tuple(facts), facts[0].shown, lists[at]))
        elif at not in side.stated and (token := _token(words[at], lists[at])):
            row.append(token)
    return row


def _token(word: Word, list_: int) -> _Token | None:
    if not word.is_word:
        return None
    if word.text in PERSONS:
        return _Token("person", PERSONS[word.text], word.text, list_)
    if word.text in LINKS:
        return _Token("link", word.text, word.text, list_)
    if word.text == "one":
        return _Token("amount", "one", "one", list_)
    if word.text in EMPTY and not word.acronym:
        return None
    return _Token(
        "name" if word.capital and not is_common(word.text) else "thing", word.stem, word.text, list_
    )


def _lists(words: Sequence[Word], stated: frozenset[int]) -> list[int]:
    """The number of the enumeration that each word is in."""
    number, lists, joined = 0, [], True
    for at, word in enumerate(words):
        if word.text in JOINING:
            joined = True
        elif not (joined and word.text in ARTICLES):
            number += not joined
            joined = at in stated and at + 1 in stated
        lists.append(number)
    return lists


def _active(words: Sequence[Word], stated: frozenset[int]) -> list[int]:
    """The order in which the words would stand if nothing was in the passive: "paid by Nora" is "Nora
    paid".
    """
    order = list(range(len(words)))
    for by, word in enumerate(words):
        if word.text != "by" or by in stated or by + 1 >= len(words) or not words[by + 1].is_word:
            continue
        be = next((at for at in range(by - 2, max(-1, by - 6), -1) if words[at].text in BE), None)
        if be is None:
            continue
        start = next(
            (at + 1 for at in range(be - 1, -1, -1) if not words[at].is_word and at not in stated), 0
        )
        end = next(
            (at for at in range(by + 2, len(words)) if not words[at].is_word or words[at].text in LINKS),
            len(words),
        )
        return [*order[:start], *order[by + 1 : end], *order[be + 1 : by], *order[start:be], *order[end:]]
    return order


def _numbered(pair: Pair, first: Sequence[_Token], second: Sequence[_Token]) -> tuple[list[int], list[int]]:
    """For each token of both rows a number that those share that mean the same."""
    agreeing = {(id(one), id(other)) for one, other in pair.facts.pairs}
    numbers: list[list[int]] = [[], []]
    classes: list[_Token] = []
    for row, tokens in ((0, first), (1, second)):
        for token in tokens:
            known = (n for n, other in enumerate(classes) if _same(token, other, agreeing))
            number = next(known, len(classes))
            if number == len(classes):
                classes.append(token)
            numbers[row].append(number)
    return numbers[0], numbers[1]


def _same(one: _Token, other: _Token, agreeing: set[tuple[int, int]]) -> bool:
    if isinstance(one.key, tuple) and isinstance(other.key, tuple):
        return any(a.agrees(b) for a in one.key for b in other.key)
    if one.key == other.key:
        return True
    things = {one.sort, other.sort} <= {"thing", "name"}
    return things and synonymous(str(one.key), str(other.key))


def _closer(rows: list[list[int]], tokens: list[dict[int, _Token]], whole: bool) -> str | None:
    """Whom exchanging brings the rows together. Names and facts do so with other words around them; of
    others, the texts must have nothing else of their own.
    """
    wanted = Counter(_steps(rows[0]))
    shared = (wanted & Counter(_steps(rows[1]))).total()
    moved = [n for n in dict.fromkeys(rows[1]) if tokens[1][n].sort != "link"]
    for one, other in combinations(moved, 2):
        if not _may_swap(tokens[0][one], tokens[0][other], tokens[1][one], tokens[1][other]):
            continue
        exchange = {one: other, other: one}
        row = [exchange.get(n, n) for n in rows[1]]
        now = (wanted & Counter(_steps(row))).total()
        fixed = [n for n in rows[0] if n not in exchange]
        if _given(rows, tokens, one, other):
            continue
        sure = {tokens[0][one].sort, tokens[0][other].sort} <= {"name", "time", "amount"}
        if not sure and (row != rows[0] or not whole):
            continue
        if now - shared >= 3 and now >= wanted.total() - MOST_MOVED and fixed:
            deeds = [tokens[0][n].key for n in _between(rows[0], one, other) if tokens[0][n].sort == "thing"]
            if deeds and MUTUAL.issuperset(deeds):
                continue
            return f"roles: {tokens[0][one].shown} and {tokens[0][other].shown} have changed places"
    return None


def _given(rows: list[list[int]], tokens: list[dict[int, _Token]], one: int, other: int) -> bool:
    """Whether they are who is given something and what it is, side by side: "gave Emma the prize" and "gave
    the prize to Emma". Nobody is given to a thing.
    """
    sorts = [{each[one].sort, each[other].sort} for each in tokens]
    beside = all(abs(row.index(one) - row.index(other)) == 1 for row in rows)
    return beside and all(found == {"name", "thing"} for found in sorts)


def _steps(row: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """What stands beside what: every two in a row, and every three."""
    ended = (-1, *row, -1)
    yield from pairwise(ended)
    yield from zip(ended, ended[1:], ended[2:], strict=False)


def _between(row: Sequence[int], one: int, other: int) -> Sequence[int]:
    start, end = sorted((row.index(one), row.index(other)))
    return row[start + 1 : end]


def _may_swap(one: _Token, other: _Token, one_there: _Token, other_there: _Token) -> bool:
    things = {"thing", "name"}
    if one.sort != other.sort and not {one.sort, other.sort} <= things:
        return False
    return not (one.list_ == other.list_ or one_there.list_ == other_there.list_)


def _directed(rows: list[list[int]], tokens: list[dict[int, _Token]]) -> str | None:
    """Why a small word has another object, the old one having become something else."""
    for link in dict.fromkeys(rows[0]):
        if tokens[0][link].sort != "link" or tokens[0][link].key not in DIRECTED:
            continue
        if rows[0].count(link) != 1 or rows[1].count(link) != 1:
            continue
        objects = [_objects(row, link, found) for row, found in zip(rows, tokens, strict=True)]
        if objects[0] and objects[1] and not set(objects[0]) & set(objects[1]):
            one, other = (found[each[0]].shown for found, each in zip(tokens, objects, strict=True))
            return f"roles: {tokens[0][link].shown} {one} is not {tokens[0][link].shown} {other}"
    return None


def _blocks(rows: list[list[int]], tokens: list[dict[int, _Token]]) -> str | None:
    """Why whole parts have changed places around a verb: "Alice's dog bit Bob's cat"."""
    one, other = rows
    start = next((n for n, (a, b) in enumerate(zip(one, other, strict=True)) if a != b), 0)
    end = next((n for n, (a, b) in enumerate(zip(one[::-1], other[::-1], strict=True)) if a != b), 0)
    one, other = one[start : len(one) - end], other[start : len(other) - end]
    for first, last in combinations(range(1, len(one)), 2):
        before, middle, after = one[:first], one[first:last], one[last:]
        if other != [*after, *middle, *before] or any(
            _adverbial(part, tokens[0]) for part in (before, after)
        ):
            continue
        deeds = [tokens[0][n].key for n in middle if tokens[0][n].sort == "thing"]
        if not MUTUAL.issuperset(deeds) or any(tokens[0][n].key in DIRECTED for n in middle):
            return (
                f"roles: {tokens[0][before[-1]].shown} and {tokens[0][after[-1]].shown} have changed places"
            )
    return None


def _adverbial(part: Sequence[int], tokens: dict[int, _Token]) -> bool:
    """Whether it says when, and can stand anywhere: "in the evening"."""
    return all(tokens[number].sort in ("link", "time") for number in part)


def _objects(row: Sequence[int], link: int, tokens: dict[int, _Token]) -> list[int]:
    at = row.index(link)
    found = []
    for number in row[at + 1 : at + 1 + NEAR]:
        if tokens[number].sort == "link":
            break
        if tokens[number].sort != "person":
            found.append(number)
    return found
