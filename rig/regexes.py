"""Regular expressions from people's schemas on texts from models: limited in time, because either may be
hostile.
"""

import regex

LIMIT_S = 0.5
"""Seconds that a regular expression may take for one text."""


def fits(pattern: str, text: str) -> bool:
    """Whether the whole text is one of a pattern; no text is that takes too long to tell."""
    try:
        return regex.fullmatch(pattern, text, timeout=LIMIT_S) is not None
    except TimeoutError:
        return False


def found(pattern: str, text: str) -> bool:
    """Whether a pattern is anywhere in a text; in none that takes too long to tell."""
    try:
        return regex.search(pattern, text, timeout=LIMIT_S) is not None
    except TimeoutError:
        return False
