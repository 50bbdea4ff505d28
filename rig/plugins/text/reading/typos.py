"""Typing mistakes: an unknown word that resembles one in the other text."""

import re
from collections.abc import Collection, Mapping

from rig.plugins.text.reading.lexicon import given_names, is_common, listed, places, written_words
from rig.plugins.text.reading.words import EMPTY

_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*")
_INNER = re.compile(r"(?<=[\w,;:] )[^\W\d_]+")
SHORTEST = 3
LONG = 8
"""The number of letters from which a word may have two mistakes."""
MOST_WORDS = 400
"""The most words that only one text has. With more, none is a mistake: the texts differ in their subject."""
CALENDAR = listed("calendar")


def corrected(first: str, second: str) -> tuple[str, str]:
    """Return both texts with mistyped words written as in the other. Names stay: Ahmed is not Ahmadi."""
    words = [{word.casefold(): word for word in _WORD.findall(text)} for text in (first, second)]
    only = [[word for word in words[n] if word not in words[1 - n]] for n in (0, 1)]
    if not (only[0] and only[1]) or max(map(len, only)) > MOST_WORDS:
        return first, second
    names = _capitals(first) | _capitals(second)
    corrections: dict[str, str] = {}
    for own, against in (only, only[::-1]):
        for word in own:
            if (right := _meant(word, against, names)) and right not in corrections:
                corrections[word] = right
    return (_written(first, corrections), _written(second, corrections)) if corrections else (first, second)


def _written(text: str, right: Mapping[str, str]) -> str:
    def replaced(match: re.Match[str]) -> str:
        word = match.group()
        other = right.get(word.casefold(), word)
        return other.capitalize() if word[0].isupper() and other != word else other

    return _WORD.sub(replaced, text)


def _capitals(text: str) -> set[str]:
    """Return the words with a capital inside a sentence; none if most such words have one."""
    inner = [match.group() for match in _INNER.finditer(text)]
    capital = {word.casefold() for word in inner if word[0].isupper()}
    return capital if len(capital) <= len(inner) / 2 else set()


def _meant(word: str, candidates: Collection[str], names: Collection[str]) -> str | None:
    """Return the known word that a misspelled one was meant to be. Of two unknown words neither is right:
    they may be two medicines, two names, or two sentences in a script without spaces. What people write is
    right even where the lexicon lacks it: personal is not personnel.
    """
    words = written_words()
    if len(word) < SHORTEST or not word.isalpha() or not words or word in words or _known(word):
        return None
    if word in names or _is_name(word):  # it is no name if a weekday or month was meant
        candidates = CALENDAR.intersection(candidates)
    return min((other for other in candidates if _can_be(other, word)), default=None)


def _can_be(right: str, wrong: str) -> bool:
    return _known(right) and not _is_name(right) and _close(right, wrong)


def _known(word: str) -> bool:
    return word in CALENDAR or word in EMPTY or is_common(word)


def _is_name(word: str) -> bool:
    return (word in given_names() and not is_common(word)) or word in places()


def _close(right: str, wrong: str) -> bool:
    """Return whether few enough letters differ, and the first does not."""
    most = 1 if min(len(right), len(wrong)) < LONG else 2
    return right[0] == wrong[0] and distance(right, wrong, most + 1) <= most


def distance(first: str, second: str, most: int = 3) -> int:
    """Return how many letters are omitted, added, replaced or swapped between two words, at most `most`."""
    if abs(len(first) - len(second)) >= most:
        return most
    older: list[int] = []
    last = list(range(len(second) + 1))
    for m, one in enumerate(first, 1):
        row = [m]
        for n, other in enumerate(second, 1):
            row.append(min(row[-1] + 1, last[n] + 1, last[n - 1] + (one != other)))
            if m > 1 and n > 1 and one == second[n - 2] and first[m - 2] == other:
                row[n] = min(row[n], older[n - 2] + 1)
        older, last = last, row
    return min(last[-1], most)
