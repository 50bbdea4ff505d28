"""Names of people, places and firms: whether two texts name different ones."""

from collections.abc import Iterable, Sequence

from rig.reading.lexicon import given_names, is_common, places, roots, synonymous, vocabulary
from rig.reading.words import EMPTY, Reading, Word

WORDS_TOO = vocabulary(
    "al april art ash august basil bea bill cam carol cat chase chuck cole daisy dale dawn dean "
    "dick don dot drew eve faith frank gail gene georgia grace guy hank hope ida iris jack jade jay "
    "jean jordan june ken lance lane lily lin lou luna mark mason max may mel mo nat olive penny "
    "pat pam ray rich rob robin rose ruby sally san sid sue taylor terry tori val vic viv violet "
    "wade will amber aria ariel ada china cork lima turkey jersey miles norm barb rod sandy"
)
"""Names that are words as well, and names only with a capital."""
TITLES = vocabulary("mr mrs ms miss doctor professor prof sir aunt auntie uncle coach captain")
LONGEST_ACRONYM = 4
MAX_NAMES = 64
"""A text names no more; a hostile one does."""


def other_name(first: Reading, second: Reading, titles: bool = False) -> str | None:
    """Why the texts are about different people or places: each names one that the other does not.

    With `titles` an unknown word in title case is a name too, as in "Alder Park".
    """
    for ones, others in ((first.greeted, second.greeted), (first.signed, second.signed)):
        if reason := _differ(_people(ones), _people(others)):
            return reason
    wholes = [(*reading.words, *reading.greeted, *reading.signed) for reading in (first, second)]
    names = _named(first, second, titles), _named(second, first, titles)
    unsaid = _unshared(names[0], (*names[1], *wholes[1])), _unshared(names[1], (*names[0], *wholes[0]))
    if not titles and all(_may_begin(name) for names in unsaid for name in names[:1]):
        return None
    return _reason(*unsaid)


def only_name(
    first: tuple[Reading, frozenset[int]], second: tuple[Reading, frozenset[int]], elsewhere: frozenset[str]
) -> str | None:
    """What name only one of the texts has, as the reason why they differ, given the indices of the words
    that state facts. A surname beside a first name that both have is not a new one.
    """
    for (reading, stated), (other, _) in ((first, second), (second, first)):
        facts = {reading.words[at].text for at in stated}
        words = (*other.words, *other.greeted, *other.signed)
        sure = [name for name in _named(reading, other, titles=False) if not _may_begin(name)]
        alone = [
            name
            for name in _unshared(sure, words)
            if name.stem not in elsewhere
            and name.text not in facts
            and not any(name.text in word.text for word in words)
        ]
        known = {word.stem for word in words}
        for name in alone:
            if not (_beside(reading.words, name) & known):
                return f"only one says: {name.text.capitalize()}"
    return None


def _beside(words: Sequence[Word], name: Word) -> set[str]:
    """The stems of the names that stand directly before and after a name."""
    at = words.index(name)
    near = [words[n] for n in (at - 1, at + 1) if 0 <= n < len(words)]
    return {word.stem for word in near if word.is_word and word.capital and not is_common(word.text)}


def _people(words: Iterable[Word]) -> list[Word]:
    # "[Your Name]" names nobody.
    return [
        word
        for word in words
        if word.is_word and word.capital and (word.text in given_names() or not is_common(word.text))
    ]


def _named(reading: Reading, other: Reading, titles: bool) -> list[Word]:
    """The names in a text. A word that the other text writes small is none."""
    small = {word.text for word in other.words if word.is_word and not word.capital}
    title_case = reading.title_case
    found = []
    for index, word in enumerate(reading.words):
        if (
            not word.is_word
            or len(word.text) < 2
            or word.text in TITLES
            or (word.text in EMPTY and not word.acronym)
        ):
            continue
        titled = titles and word.capital and not is_common(word.text)
        if titled or _is_name(word, _before(reading.words, index), title_case, word.text in small):
            found.append(word)
    return found[:MAX_NAMES]


def _before(words: Sequence[Word], index: int) -> str:
    """The word before, the full stop of "Mr." left out."""
    back = index - 1 - (index > 1 and words[index - 1].text == ".")
    return words[back].text if back >= 0 else ""


def _is_name(word: Word, before: str, title_case: bool, small_elsewhere: bool) -> bool:
    if before in TITLES and word.capital:
        return True
    known = word.text in given_names() or word.text in places()
    if known and word.text not in WORDS_TOO:
        return True
    if not word.capital or small_elsewhere:
        return False
    if known and not word.first:
        return True
    if word.acronym and len(word.text) <= LONGEST_ACRONYM:
        return True
    if is_common(word.text):
        # A capital within a sentence: Delta flies, and so does United.
        return not (word.first or title_case)
    return True


def same_name(first: str, second: str) -> bool:
    """Whether two words can be one name: equal but for a plural, forms of one, or its first letters."""
    if first.removesuffix("s") == second.removesuffix("s"):
        return True
    if abbreviates(first, second) or abbreviates(second, first):
        return True
    names = given_names()
    return not names.get(first, frozenset()).isdisjoint(names.get(second, frozenset()))


def abbreviates(short: str, long: str) -> bool:
    """Whether the one is two or three letters of the other, in order: WA for Washington."""
    if not 1 < len(short) <= 3 < len(long) or short[0] != long[0]:
        return False
    rest = iter(long)
    return all(letter in rest for letter in short)


def _differ(first: Sequence[Word], second: Sequence[Word]) -> str | None:
    return _reason(_unshared(first, second), _unshared(second, first))


def _reason(ones: Sequence[Word], others: Sequence[Word]) -> str | None:
    if ones and others:
        return f"name: {ones[0].text.capitalize()} is not {others[0].text.capitalize()}"
    return None


def _may_begin(word: Word) -> bool:
    """Whether only its place at the beginning makes a rare word look like a name: "Descale the kettle"."""
    return word.first and word.text not in given_names() and word.text not in places()


def _unshared(names: Iterable[Word], elsewhere: Iterable[Word]) -> list[Word]:
    words = [word for word in elsewhere if word.is_word]
    others = {(word.text, word.stem) for word in words}
    initials = "".join(word.text[0] for word in words)
    return [
        name
        for name in names
        if not (name.acronym and name.text in initials)
        and not any(
            same_name(name.text, text)
            or synonymous(name.stem, stem)
            or not roots(name.stem).isdisjoint(roots(stem))
            for text, stem in others
        )
    ]
