"""Negation: whether one text denies what the other says."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise

from rig.reading.lexicon import in_order, meanings, opposites, stem, synonym_sets, vocabulary
from rig.reading.words import EMPTY, Word

NEGATORS = vocabulary(
    "not no never without none nobody nothing neither nor nowhere non hardly barely scarcely "
    "nicht nichts nie niemals niemand kein keine keinen keinem keiner keines ohne ne pas jamais "
    "rien aucun aucune "
    "sans nunca nada nadie ningun ninguno ninguna jamas tampoco nao nenhum nenhuma ninguem nem sem "
    "nessuno niente "
    "nulla senza neppure niet niets geen nooit zonder inte ingen inget aldrig ikke intet nej не нет "
    "никогда ничего "
    "никто ни без nic nigdy bez yok degil ません ない なかった 不 没 没有 未 무 안"
)
"""Negators, of other languages too where they are not English words."""
STILL = vocabulary("longer yet more anymore")
"""As in "no longer", "not yet"."""
LIGHT = vocabulary("be the a an any to is are was were so very really all that")
"""What can stand between a negator and what it is about."""
SCOPE = 4
"""Content words after a negator that it can be about."""
HARMLESS = frozenset(
    stem(word)
    for word in in_order(
        "forget only wait hesitate mind worry later just hesitant problem worries rush hurry pressure doubt "
        "matter but stop issue trouble"
    )
)
"""Words whose negation denies nothing, unless the other text says them: "do not forget to" is "remember
to".
"""
HARMLESS_AFTER = frozenset(("why", "or", "if"))
"""As in "why don't we", "whether or not", "if not"."""
DENYING = frozenset(
    stem(word)
    for word in in_order(
        "unable absent lack fail refuse decline miss cancel stop avoid skip unavailable impossible "
        "closed forget sick ill unlikely instead leave exclude barely hardly out empty except off "
        "quit prevent forbid ban prohibit illegal broken forbidden incomplete missing optional postpone "
        "unfortunately wrong unpaid unsigned until lose remove reject deny gone away "
        "free busy down problem trouble difficulty poorly"
    )
)
"""Words that deny without a negator: "unable to come" for "cannot come"."""
CLAUSES = vocabulary("and but because so")


@dataclass(frozen=True, slots=True)
class Denial:
    """A negation: the stems of what it is about, the first of them first. A harmless one denies nothing,
    unless the other text says the same without it.
    """

    scope: tuple[str, ...]
    harmless: bool = False


def denied(words: Sequence[Word]) -> Iterator[Denial]:
    """The negations in a text."""
    evened: set[int] = set()
    for index, word in enumerate(words):
        if word.text not in NEGATORS or index in evened:
            continue
        following = words[index + 1 : index + 1 + 3 * SCOPE]
        first = next((w.stem for w in following if w.is_word and w.text not in LIGHT), "")
        before = {other.text for other in words[max(0, index - 2) : index]}
        if word.text == "not" and before & HARMLESS_AFTER:
            continue
        second = next(
            (n for n, (a, b) in enumerate(pairwise(following[: SCOPE + 1])) if _without_doing(a, b)), None
        )
        if second is not None:
            # "Do not leave without signing" asks for it.
            evened.add(index + 1 + second)
            continue
        scope = tuple(_scope(following))
        if "until" not in scope:
            # "Not home until eight" is home from eight on.
            yield Denial(scope or ((first,) if first else ()), first in HARMLESS)


def _without_doing(word: Word, following: Word) -> bool:
    """As in "without signing": "win without her" denies another thing."""
    return word.text == "without" and following.text.endswith("ing")


def _scope(following: Iterable[Word]) -> Iterator[str]:
    left = SCOPE
    for word in following:
        if not (word.is_word or word.is_number) or not left or word.text == "without":
            return
        if word.is_word and word.text not in EMPTY | STILL:
            left -= 1
            yield word.stem


def denial(
    first: Sequence[Word], ones: Sequence[Denial], second: Sequence[Word], others: Sequence[Denial]
) -> str | None:
    """Why one text denies the other, given the words of each, expressions among them included, and what it
    denies.
    """
    scopes = _meant(ones, others, second), _meant(others, ones, first)
    if bool(scopes[0]) != bool(scopes[1]):
        denying, plain = (first, second) if scopes[0] else (second, first)
        denials = scopes[0] or scopes[1]
        if _denies_otherwise(denials, plain, denying):
            return None
        return "negation: only one says not " + " ".join(
            next((scope[:2] for scope in denials if scope), ("so",))
        )
    for own, words, against in ((scopes[0], second, scopes[1]), (scopes[1], first, scopes[0])):
        # What a denial is about may stand in the next clause: "No and bring the milk".
        in_denials = {scope[0] for scope in against if scope}
        in_denials |= {word.stem for clause in _clauses(words) if _denies(clause) for word in clause}
        said = {word.stem for word in words}
        for scope in own:
            if scope and scope[0] in said and not _related(scope, in_denials):
                return f"negation: only one says not {scope[0]}"
    return None


def _denies(clause: Sequence[Word]) -> bool:
    # "Came without a coat" denies the coat, and not the coming.
    return any(denied([word for word in clause if word.text != "without"]))


def _meant(own: Sequence[Denial], against: Sequence[Denial], words: Sequence[Word]) -> list[tuple[str, ...]]:
    """What one text denies, the harmless denials only where the other text says it without."""
    said = {word.stem for word in words}
    even = {denial.scope[:1] for denial in against}
    return [
        denial.scope
        for denial in own
        if not denial.harmless or (denial.scope[0] in said and denial.scope[:1] not in even)
    ]


def _clauses(words: Sequence[Word]) -> Iterator[Sequence[Word]]:
    start = 0
    for index, word in enumerate(words):
        if not (word.is_word or word.is_number) or word.text in CLAUSES:
            yield words[start:index]
            start = index + 1
    yield words[start:]


def _related(scope: Iterable[str], stems: set[str]) -> bool:
    meant, sets = meanings(stems), synonym_sets()
    return any(
        one in stems or not meant.isdisjoint(sets.get(one, ())) or bool(opposites(one, stems))
        for one in scope
    )


def _denies_otherwise(
    scopes: Sequence[Sequence[str]], plain: Sequence[Word], denying: Sequence[Word]
) -> bool:
    stems = {word.stem for word in plain} - {word.stem for word in denying}
    scoped = set(chain.from_iterable(scopes))
    return not stems.isdisjoint(DENYING) or any(opposites(one, stems) for one in scoped)
