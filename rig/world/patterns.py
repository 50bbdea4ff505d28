"""Regular expressions and texts of strangers: both can be hostile, so that sizes and times are limited."""

import re
from collections import Counter
from functools import lru_cache

import regex

from rig.core.calls import Json

LIMIT_S = 0.5
"""The seconds that a regular expression may take for one text, since either can be hostile."""
_LEAST_S = 0.005
"""The lowest limit, reached after many timeouts, so that a list of texts does not take hours."""
_LARGEST_PATTERN = 100_000
"""The most characters of a regular expression with its counts written out, which is how it is compiled."""
_PATTERN_PART = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\{(\d*),?(\d*)\}|.", re.DOTALL)


def fault_of(pattern: Json) -> str | None:
    """Return why something is not a regular expression, or too large a one; None if it is fine.

    `((a{100}){100}){100}` would take more memory than there is, because compiling writes out the counts.
    """
    if not isinstance(pattern, str):
        return "is no text"
    if size_of(pattern) > _LARGEST_PATTERN:
        return "its counts make it too large"
    try:
        regex.compile(pattern)
    except (regex.error, RecursionError, OverflowError) as error:
        return str(error)
    return None


def size_of(pattern: str) -> int:
    """Return how long a regular expression is with its counts written out, as far as it is not too large."""
    sizes, last = [0], 0
    for part in _PATTERN_PART.finditer(pattern):
        if part[0] == "(":
            sizes.append(0)
            continue
        added = 1
        if count := part[2] or part[1]:
            added = last * max(int(count[:9]) - 1, 0)
            last += added
        elif part[0] not in "?*+":
            last = added = 1 + (sizes.pop() if part[0] == ")" and len(sizes) > 1 else 0)
        sizes[-1] += added
        if sizes[-1] > _LARGEST_PATTERN:
            break
    return max(sizes)


@lru_cache(maxsize=1024)
def _is_pattern(text: str) -> bool:
    return fault_of(text) is None


def is_match(pattern: str, text: str, *, whole: bool = True) -> bool:
    """Return whether a pattern matches a text, or part of it; false if it has a fault or takes too long.

    Each timeout of a pattern halves its limit from then on; every eight timeouts halve the limit of all.
    """
    match = regex.fullmatch if whole else regex.search
    if not _is_pattern(pattern):
        return False
    halvings = max(_overdue[pattern], _overdue.total() // 8)
    try:
        return match(pattern, text, timeout=max(LIMIT_S / 2 ** min(halvings, 20), _LEAST_S)) is not None
    except TimeoutError:
        _overdue[pattern] += 1
        return False


_overdue: Counter[str] = Counter()
"""How often each pattern timed out in this process."""
