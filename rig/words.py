"""Words for people: a count with its noun, and the name that was probably meant."""

from collections.abc import Iterable

_LONGEST = 100
"""Characters of a name that are looked at: comparing takes time by their square."""


def counted(count: float, noun: str, none: str = "0") -> str:
    """A count with its noun, as in `1 file`, `2,000 files`, `0 queries`; `none` stands for 0."""
    if count == 1:
        return f"1 {noun}"
    amount = f"{count:,}" if isinstance(count, int) else f"{count:g}"
    amount = amount if count else none
    return f"{amount} {noun[:-1]}ies" if noun.endswith("y") else f"{amount} {noun}s"


def did_you_mean(text: str, names: Iterable[str]) -> str:
    """The name nearest to a mistyped one, as ` (did you mean 'x'?)`; empty if none is near."""
    from difflib import get_close_matches

    by_lower = {name.lower(): name for name in names}
    near = get_close_matches(text[:_LONGEST].lower(), by_lower, n=1)
    return f" (did you mean {by_lower[near[0]]!r}?)" if near else ""
