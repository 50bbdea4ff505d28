"""The levels of an option that make arms: how they are named, and found in the names of arms."""

from collections.abc import Iterable, Sequence


def level_name(value: object) -> str:
    """Return a level in words, such as 2k for 2000."""
    text = str(value).removesuffix(".0")
    return f"{text[:-3]}k" if text.endswith("000") else text


def curves_of(arms: Iterable[str], option: str, levels: Sequence[object]) -> dict[str, dict[int, str]]:
    """Return the arms of each curve by their level's place, under the name they have without the level."""
    words = [f"{option.replace('_', '-')}={str(level).removesuffix('.0')}" for level in levels]
    curves: dict[str, dict[int, str]] = {}
    for arm in arms:
        parts = arm.split(" ")
        for word in set(parts).intersection(words):
            rest = " ".join(part for part in parts if part != word)
            curves.setdefault(rest, {})[words.index(word)] = arm
    return curves
