"""What the user wanted to know: what true replies tell about the tools' results, and whether it was said."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from rig import times
from rig.calls import ExecutedCall, Json

LONGEST = 200
"""Texts of this many characters or more are not facts that would be repeated word by word."""

_CLOCK = re.compile(r"\b(\d{1,2})(?:[:.](\d{2})(?::\d{2})?)?\s*([ap])\.?m\b|\b(\d{1,2}):(\d{2})(?::\d{2})?\b")
_NUMBER = re.compile(r"(?<![\w.])-?\d+(?:,\d{3})*(?:\.\d+)?")
_WORDS = re.compile(r"[^\W_]+")
_NOON = {"noon": (12, 0), "midday": (12, 0), "midnight": (0, 0)}


class Heard:
    """Words that were said, taken apart once."""

    def __init__(self, texts: Iterable[str]) -> None:
        text = "\n".join(texts).casefold()
        self._words = _WORDS.findall(text)
        self._plain = f" {' '.join(self._words)} "
        self._numbers = {float(number.replace(",", "")) for number in _NUMBER.findall(text)}
        self._numbers |= {
            float(word[:-2]) for word in self._words if re.fullmatch(r"\d+(?:st|nd|rd|th)", word)
        }
        self._clocks = {clock for match in _CLOCK.finditer(text) for clock in _clocks(match)}
        self._clocks |= {clock for word, clock in _NOON.items() if word in self._words}

    def tells(self, fact: "ReturnedValue") -> bool:
        """Whether a fact is among them."""
        value = fact.value
        if isinstance(value, str):
            words = " ".join(_WORDS.findall(value.casefold()))
            return bool(words) and f" {words} " in self._plain
        if not isinstance(value, datetime):
            return not {float(value), float(round(value))}.isdisjoint(self._numbers)
        if fact.is_clock:
            return (value.hour, value.minute) in self._clocks
        months = {f"{value:%B}".casefold(), f"{value:%b}".casefold()}
        is_dated = value.day in self._numbers and not months.isdisjoint(self._words)
        return f"{value:%A}".casefold() in self._words or f" {value:%Y %m %d} " in self._plain or is_dated


@dataclass(frozen=True, slots=True)
class ReturnedValue:
    """One value that a tool returned: a text, a number, a day, or with `is_clock` a time of day."""

    value: str | float | datetime
    is_clock: bool = False

    def __str__(self) -> str:
        if isinstance(self.value, datetime):
            return f"{self.value:%H:%M}" if self.is_clock else f"{self.value:%Y-%m-%d}"
        return str(self.value)


def asked_for(
    turns: Iterable[tuple[Sequence[str], Sequence[ExecutedCall], str]], drawn: frozenset[str]
) -> tuple[ReturnedValue, ...]:
    """The facts that true replies tell, of turns with what the user said, the calls, and the reply.

    What the user had said before need not be told, and ids, which are `drawn`, may be others.
    """
    own: list[str] = []
    due: dict[ReturnedValue, None] = {}
    for words, calls, reply in turns:
        own += words
        user, told = Heard(own), Heard([reply])
        for fact in (fact for call in calls for fact in facts(call.response)):
            if str(fact.value) not in drawn and told.tells(fact) and not user.tells(fact):
                due[fact] = None
    return tuple(due)


def unsaid(due: Iterable[ReturnedValue], replies: Iterable[str]) -> tuple[ReturnedValue, ...]:
    """The facts that no reply tells."""
    heard = Heard(replies)
    return tuple(fact for fact in due if not heard.tells(fact))


def facts(value: Json) -> Iterator[ReturnedValue]:
    """Everything that could be told of a call's response. Ids and truth values could not."""
    if isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from facts(inner)
    elif isinstance(value, str):
        yield from _of_text(value)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield ReturnedValue(float(value))


def _of_text(text: str) -> Iterator[ReturnedValue]:
    for pattern in (times.INSTANT, times.TIME, times.DATE):
        try:
            moment = times.read(text, pattern)
        except ValueError:
            continue
        if "%H" in pattern:
            yield ReturnedValue(moment, is_clock=True)
        if "%Y" in pattern:
            yield ReturnedValue(moment.replace(hour=0, minute=0, second=0))
        return
    if 1 < len(text.strip()) <= LONGEST:
        yield ReturnedValue(text)


def _clocks(match: re.Match[str]) -> Iterator[tuple[int, int]]:
    """What a time that was said can mean: 3:00 is in the night or in the afternoon."""
    hour, minute = int(match[1] or match[4]), int(match[2] or match[5] or 0)
    if match[3]:
        yield hour % 12 + (12 if match[3] == "p" else 0), minute
    else:
        yield hour, minute
        if 1 <= hour <= 12:
            yield hour % 12 + 12, minute
            yield hour % 12, minute
