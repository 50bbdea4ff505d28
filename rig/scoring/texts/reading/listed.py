"""Word lists in the form that reads best in code: one string."""


def in_order(words: str) -> tuple[str, ...]:
    """The words of a string."""
    return tuple(words.split())


def vocabulary(words: str) -> frozenset[str]:
    """The set of the words of a string."""
    return frozenset(words.split())
