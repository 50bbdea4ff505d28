"""Negation: whether one text denies what the other says."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from rig.scoring.texts.content import EMPTY
from rig.scoring.texts.lexicon import meanings, opposites, synonym_sets
from rig.scoring.texts.listed import in_order, vocabulary
from rig.scoring.texts.reading import Word
from rig.scoring.texts.stems import stem

NEGATORS = vocabulary("not no never without none nobody nothing neither nor nowhere non")
SCOPE = 4
"""Content words after a negator that it can be about."""
HARMLESS = {
    ("not", stem(word))
    for word in in_order(
        "forget only wait hesitate mind worry later just sure yet hesitant necessarily"
    )
} | {
    ("no", stem(word)) for word in in_order(
        "problem worries rush hurry later pressure doubt matter longer reply"
    )
} | {("nothing", "but"), ("non", "stop")}  # fmt: skip
"""Negations that deny nothing: "do not forget to" is "remember to"."""
HARMLESS_AFTER = frozenset(("why", "or", "if"))
"""As in "why don't we", "whether or not", "if not"."""
DENYING = frozenset(
    stem(word)
    for word in in_order(
        "unable absent lack fail refuse decline miss cancel stop avoid skip unavailable impossible "
        "closed forget sick ill unlikely instead leave exclude barely hardly out empty except off "
        "quit prevent forbid ban broken forbidden incomplete missing optional postpone "
        "unfortunately still wrong unpaid unsigned only until lose remove reject deny gone away "
        "free busy down problem trouble difficulty poorly"
    )
)
"""Words that deny without a negator: "unable to come" for "cannot come"."""
CLAUSES = vocabulary("and but because so")


def denied(words: Sequence[Word]) -> Iterator[tuple[str, ...]]:
    """For each negation that matters, the stems of the content words that it is about."""
    evened: set[int] = set()
    for index, word in enumerate(words):
        if word.text not in NEGATORS or index in evened:
            continue
        following = words[index + 1 : index + 1 + 3 * SCOPE]
        first = next((w.stem for w in following if w.is_word and w.text not in ("be", "the", "a", "to")), "")
        before = {other.text for other in words[max(0, index - 2) : index]}
        if (word.text, first) in HARMLESS or (word.text == "not" and before & HARMLESS_AFTER):
            continue
        second = next((n for n, other in enumerate(following[:SCOPE]) if other.text == "without"), None)
        if second is not None:
            # "Do not leave without signing" asks for it.
            evened.add(index + 1 + second)
            continue
        scope = tuple(_scope(following))
        if "until" not in scope:
            # "Not home until eight" is home from eight on.
            yield scope


def _scope(following: Iterable[Word]) -> Iterator[str]:
    left = SCOPE
    for word in following:
        if not (word.is_word or word.is_number) or not left:
            return
        if word.is_word and word.text not in EMPTY:
            left -= 1
            yield word.stem


def denial(
    first: Sequence[Word],
    ones: Sequence[Sequence[str]],
    second: Sequence[Word],
    others: Sequence[Sequence[str]],
) -> str | None:
    """Why one text denies the other, given the words of each and what it denies."""
    if bool(ones) != bool(others):
        scopes, denying, plain = (ones, first, second) if ones else (others, second, first)
        if _denies_otherwise(scopes, plain, denying):
            return None
        return "negation: only one says not " + " ".join(
            next((scope[:2] for scope in scopes if scope), ("so",))
        )
    for scopes, words, denials in ((ones, second, others), (others, first, ones)):
        # What a denial is about may stand in the next clause: "No and bring the milk".
        in_denials = {scope[0] for scope in denials if scope}
        in_denials |= {word.stem for clause in _clauses(words) if any(denied(clause)) for word in clause}
        said = {word.stem for word in words}
        for scope in scopes:
            if scope and scope[0] in said and not _related(scope, in_denials):
                return f"negation: only one says not {scope[0]}"
    return None


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
