"""Scales: how much, how often, how surely, until or since when - small words that carry much."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from rig.reading.lexicon import lines, stem, vocabulary
from rig.reading.words import Word

LONGEST = 3
ASKED = vocabulary("i you we he she they it someone anyone somebody anybody the there")
"""Who follows the verb in a request or a question: "can you" does not say that you are able to."""
MODALS = vocabulary("can could may might will would should must")
MOVING = frozenset(
    stem(word) for word in ("send", "go", "hand", "move", "look", "talk", "take", "read", "come")
)
"""Before "over": to go over the numbers is to look at them."""
ALL, SOME, FORBIDDEN = 0, 2, 1
"""Numbers of values on the scales of extent and of permission."""
ALLOWED, BIDDING = vocabulary("allowed permitted"), vocabulary("must may")
TO_FACT = 3
"""Words between which and a fact "until" and the like are about the fact."""


@dataclass(frozen=True, slots=True)
class Value:
    """A value on a scale. `alone` says what follows where only one text has it: "!" they differ, "?" it is
    unclear. `before` is the sort of fact that must follow, "time" or "amount", if one must.
    """

    scale: str
    number: int
    before: str
    alone: str


@dataclass(frozen=True, slots=True)
class Mark:
    """An expression of a value in a text, from which index of its words to before which."""

    value: Value
    shown: str
    start: int
    end: int


@cache
def _known() -> dict[tuple[str, ...], list[Value]]:
    table: dict[tuple[str, ...], list[Value]] = {}
    for line in lines("scales"):
        name, _, values = line.partition(":")
        scale, _, before = name.partition(" #")
        for number, members in enumerate(values.split("|")):
            for member in members.split(","):
                sign = member.strip()[0] if member.strip()[0] in "?!" else ""
                words = tuple(member.strip(" ?!").split())
                table.setdefault(words, []).append(Value(scale, number, before, sign))
    return table


def marks(words: Sequence[Word], facts: Mapping[int, str]) -> Iterator[Mark]:
    """The marks in a text, of whose words those at `facts` state a time or an amount."""
    at = 0
    while at < len(words):
        length = next(
            (n for n in range(min(LONGEST, len(words) - at), 0, -1) if _expression(words, at, n) in _known()),
            0,
        )
        for each in _known()[_expression(words, at, length)] if length else ():
            value = _denied(words, at, at + length, each)
            if value and _counts(words, at, at + length, value, facts):
                yield Mark(value, " ".join(word.text for word in words[at : at + length]), at, at + length)
        at += max(1, length)


def _denied(words: Sequence[Word], start: int, end: int, value: Value) -> Value | None:
    """What the value becomes under a negation: not all is some, and not allowed is forbidden."""
    before, after = (words[at].text if 0 <= at < len(words) else "" for at in (start - 1, end))
    if value.scale == "extent" and value.number == ALL and before == "not":
        return Value("extent", SOME, "", "")
    word = words[start].text
    if (before == "not" and word in ALLOWED) or (after == "not" and word in BIDDING):
        return Value("permission", FORBIDDEN, "", "") if value.scale in ("permission", "obligation") else None
    return value


def _expression(words: Sequence[Word], at: int, length: int) -> tuple[str, ...]:
    return tuple(word.text for word in words[at : at + length])


def _counts(words: Sequence[Word], start: int, end: int, value: Value, facts: Mapping[int, str]) -> bool:
    if value.before:
        if start and words[start - 1].stem in MOVING:
            return False
        near = range(end, min(end + TO_FACT, len(words)))
        first = next((at for at in near if words[at].text not in ("the", "a", "my", "our", "your")), end)
        return facts.get(first) == value.before
    following = words[end].text if end < len(words) else ""
    return not (words[start].text in MODALS and following in ASKED)


def off(first: Sequence[Mark], second: Sequence[Mark]) -> str | None:
    """Why the texts differ on a scale: each has a value that the other lacks, or one has what must not be
    missing.
    """
    ones, others = left(first, second)
    for one in ones:
        for other in others:
            if one.value.scale == other.value.scale and one.value.number != other.value.number:
                return f"{one.value.scale}: {one.shown} is not {other.shown}"
    alone = next((mark for mark in (*ones, *others) if mark.value.alone == "!"), None)
    return f"{alone.value.scale}: only one says {alone.shown}" if alone else None


def doubtful(first: Sequence[Mark], second: Sequence[Mark]) -> str | None:
    """What only one text says that may or may not matter."""
    ones, others = left(first, second)
    alone = next((mark for mark in (*ones, *others) if mark.value.alone == "?"), None)
    return f"{alone.value.scale}: only one says {alone.shown}" if alone else None


def left(first: Sequence[Mark], second: Sequence[Mark]) -> tuple[list[Mark], list[Mark]]:
    """The marks of each text whose value the other does not have as often."""
    counts = [Counter((mark.value.scale, mark.value.number) for mark in each) for each in (first, second)]
    return _more(first, counts[1]), _more(second, counts[0])


def _more(found: Sequence[Mark], elsewhere: Counter[tuple[str, int]]) -> list[Mark]:
    # One "all" for two is enough.
    return [mark for mark in found if not elsewhere[mark.value.scale, mark.value.number]]


def forbids(mark: Mark) -> bool:
    """Whether it says that something is not allowed."""
    return (mark.value.scale, mark.value.number) == ("permission", FORBIDDEN)
