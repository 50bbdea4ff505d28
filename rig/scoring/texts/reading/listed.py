"""Word lists as they are best read in code: in one string."""


def in_order(words: str) -> tuple[str, ...]:
    """The words of a string."""
    return tuple(words.split())


def vocabulary(words: str) -> frozenset[str]:
    """The set of the words of a string."""
    return frozenset(words.split())
