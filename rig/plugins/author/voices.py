"""Values that sound different in different mouths: a user's "ten past five", a tool's "17:10:00".

A scene names a value once, as in `{at}`. Its form depends on who speaks: the user says it in one of many
ways, the assistant in a plain one, and a tool gets the form that it reads.
"""

import calendar
import re
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass
from datetime import date, datetime, time
from random import Random
from typing import Any, ClassVar, Literal, TypeAlias

from rig.core import times
from rig.core.calls import Json
from rig.core.errors import listed
from rig.plugins.author import speech

Voice: TypeAlias = Literal["user", "assistant", "tool"]


MISFITS = (TypeError, ValueError, LookupError, ArithmeticError, AttributeError)
"""The exceptions that Python raises for a value of the wrong kind."""


class UnknownName(Exception):
    """A text names a value that does not exist, or a part that the value does not have."""


class Value:
    """A value of a scene. Its `parts` can be named in texts, as in `{day.weekday}`."""

    parts: ClassVar[tuple[str, ...]] = ()

    def told(self, scope: "Scope", voice: Voice) -> Json:
        """Return the value as it is said in this voice."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class TimeOfDay(Value):
    """A time of day."""

    moment: time
    parts: ClassVar[tuple[str, ...]] = ("words",)

    @property
    def words(self) -> str:
        """The time in words ("a quarter to six in the evening"), or in figures if words would be clumsy."""
        hour, minute = self.moment.hour, self.moment.minute
        part = speech.part_of_day(hour)
        ahead = minute > 30
        name = speech.NUMBERS[(hour + ahead) % 12]
        if not part or minute % 5 or (20 < minute < 40 and minute != 30):
            return speech.neat(self.moment)
        if minute in (0, 30):
            return f"{name} o'clock {part}" if minute == 0 else f"half past {name} {part}"
        far = min(minute, 60 - minute)
        gap = "a quarter" if far == 15 else f"{speech.NUMBERS[far] if far < 12 else 'twenty'} minutes"
        return f"{gap} {'to' if ahead else 'past'} {name} {part}"

    def told(self, scope: "Scope", voice: Voice) -> str:
        if voice == "tool":
            return f"{self.moment:{times.TIME}}"
        if voice == "assistant":
            return speech.neat(self.moment)
        hour, minute = self.moment.hour, self.moment.minute
        if (hour, minute) == (12, 0):
            return "noon"
        if scope.manner.clock == "24 hours":
            return f"{hour:02}:{minute:02}"
        neat = speech.neat(self.moment)
        return neat if scope.manner.clock == "spaced" else neat.replace(" ", "")


@dataclass(frozen=True, slots=True)
class Day(Value):
    """A day of the calendar. When it is said it has its preposition: "on Friday", "tomorrow"."""

    when: date
    now: datetime
    parts: ClassVar[tuple[str, ...]] = ("weekday", "date", "name", "month", "start", "end")

    def told(self, scope: "Scope", voice: Voice) -> str:
        if voice == "tool":
            return f"{self.when}"
        if voice == "assistant":
            return speech.full_day(self.now, self.when)
        return speech.day(scope.random, self.now, self.when, weekday=0.45)

    @property
    def weekday(self) -> str:
        return f"{self.when:%A}"

    @property
    def month(self) -> str:
        return f"{self.when:%B}"

    @property
    def date(self) -> str:
        return f"{self.when:%B} {self.when.day}"

    @property
    def name(self) -> str:
        """The day as a noun: "tomorrow", "Friday, March 6"."""
        ahead = (self.when - self.now.date()).days
        return {0: "today", 1: "tomorrow"}.get(ahead, f"{self.weekday}, {self.date}")

    @property
    def start(self) -> str:
        """Its first second, for tools that search a span of time."""
        return f"{self.when} 00:00:00"

    @property
    def end(self) -> str:
        return f"{self.when} 23:59:59"


@dataclass(frozen=True, slots=True)
class DayAndTime(Value):
    """A day and a time."""

    when: datetime
    now: datetime
    parts: ClassVar[tuple[str, ...]] = ("day", "time")

    def told(self, scope: "Scope", voice: Voice) -> str:
        if voice == "tool":
            return f"{self.when:{times.INSTANT}}"
        on, at = self.day.told(scope, voice), self.time.told(scope, voice)
        if voice == "user" and scope.random.random() < 0.3:
            return f"at {at} {on}"
        return f"{on} at {at}"

    @property
    def day(self) -> Day:
        return Day(self.when.date(), self.now)

    @property
    def time(self) -> TimeOfDay:
        return TimeOfDay(self.when.time())


@dataclass(frozen=True, slots=True)
class Length(Value):
    """How long something takes."""

    minutes: int

    def told(self, scope: "Scope", voice: Voice) -> Json:
        return self.minutes if voice == "tool" else speech.duration(scope.random, self.minutes)


_NAME = re.compile(r"\{([^{}|]*)((?:\|[^{}]*)?)\}")
_DEEPEST = 8
LONGEST, _ROOM = 10_000, 100_000
"""The most characters of one text, and of all values in a scene: one may hold another many times over."""
_VOWEL = re.compile(r"(?!uni|use|usu|uti|one|eu)[aeiou]|hour|heir|honest", re.IGNORECASE)
_AS_IT_IS = ("username", "password", "email", "code")
_SENTENCE = re.compile(r"(^|[.!?] )([A-Z])([a-z]*)")
CAPITALS = frozenset((*calendar.day_name, *calendar.month_name[1:]))


CLOCKS = ("spaced", "spaced", "tight", "24 hours")
"""The ways to write times: `7:30 pm`, `7:30pm` or `19:30`."""


@dataclass(frozen=True, slots=True)
class Manner:
    """How a user writes: sentences without capitals (`lower`) or last full stops (`bare`), and the clock."""

    lower: bool = False
    bare: bool = False
    clock: str = "spaced"

    @classmethod
    def of(cls, random: Random) -> "Manner":
        """Draw a manner."""
        lower = random.random() < 0.35
        return cls(lower, lower or random.random() < 0.25, random.choice(CLOCKS))

    def cased(self, text: str) -> str:
        """Return a text with its sentences begun as this user does, before its names are filled in."""
        return _SENTENCE.sub(self._lowered, text) if self.lower else text

    def written(self, text: str) -> str:
        """Return a text as this user writes it, before its names are filled in."""
        text = self.cased(text)
        return text[:-1] if self.bare and text.endswith(".") and not text.endswith("..") else text

    def _lowered(self, found: re.Match[str]) -> str:
        before, first, rest = found.groups()
        keeps = first + rest in CAPITALS or (first == "I" and not rest)
        return f"{before}{first if keeps else first.lower()}{rest}"


class Scope:
    """The names that a scene can use, and how their values are said.

    `names` maps a name to a `Value`, an object with `parts`, or JSON whose texts may hold names themselves.
    """

    def __init__(self, random: Random, now: datetime, names: dict[str, Any], manner: Manner) -> None:
        self.random = random
        self.now = now
        self.names = names
        self.manner = manner
        self._room = _ROOM

    def text(self, pattern: str, voice: Voice) -> str:
        """Make a sentence from a pattern, in this voice. Raises UnknownName."""
        chosen = speech.choose(self.random, pattern)
        if voice == "user":
            chosen = self.manner.written(chosen)
        sentence = str(self._filled(chosen, voice))
        if not sentence.strip():
            raise UnknownName(f"{pattern!r:.80} may say nothing")
        first = _NAME.match(chosen)
        if first and (voice == "assistant" or not self.manner.lower):
            is_code = first[1].split(".")[-1] in _AS_IT_IS or not sentence.split()[0].strip(",.:?!").isalpha()
            sentence = sentence if is_code else speech.capital(sentence)
        return sentence if voice == "user" else speech.capital(sentence) if not first else sentence

    def value(self, template: Json) -> Json:
        """Fill in a template for tools and worlds. A text that is one name keeps the type of its value."""
        if isinstance(template, dict):
            return {name: self.value(inner) for name, inner in template.items()}
        if isinstance(template, list):
            return [self.value(inner) for inner in template]
        return self._filled(template, "tool") if isinstance(template, str) else template

    def look(self, path: str) -> Any:
        """Return the value at a path of names and positions. Raises UnknownName."""
        first, *steps = path.strip().split(".")
        if first not in self.names:
            raise UnknownName(f"{{{path}}}: nothing is called {first!r}")
        value = self.names[first]
        for step in steps:
            try:
                value = value[int(step)] if isinstance(value, list) else _part(value, step)
            except (LookupError, ValueError):
                raise UnknownName(f"{{{path}}}: there is no {step!r}") from None
        return value

    def _filled(self, template: str, voice: Voice, depth: int = 0) -> Json:
        if depth > _DEEPEST:
            raise UnknownName(f"{template!r} holds itself")
        whole = _NAME.fullmatch(template)
        if whole:
            return self._said(whole, voice, depth)
        return _NAME.sub(lambda found: str(self._said(found, voice, depth)), template)

    def _said(self, found: re.Match[str], voice: Voice, depth: int) -> Json:
        value = self.look(found[1])
        for how in filter(None, found[2].split("|")):
            value = self._through(how.strip(), value, voice, depth)
        if isinstance(value, Value):
            return value.told(self, voice)
        self._room -= 1 + (len(value) if isinstance(value, str) else 0)
        if self._room < 0 or (isinstance(value, str) and len(value) > LONGEST):
            raise UnknownName(f"{{{found[1]}}}: more than {LONGEST} characters, or {_ROOM} of a scene")
        if isinstance(value, str):
            chosen = speech.choose(self.random, value) if "[" in value else value
            return self._filled(chosen, voice, depth + 1) if "{" in chosen else chosen
        if voice != "tool" and isinstance(value, float) and value.is_integer():
            return int(value)
        return str(value) if hasattr(value, "parts") else value

    def _through(self, how: str, value: Any, voice: Voice, depth: int) -> Any:
        name, _, argument = how.partition(" ")
        if name not in FILTERS:
            raise UnknownName(f"|{name} is not known; choose from: {', '.join(FILTERS)}")
        if name == "cap" and voice == "user" and self.manner.lower:
            return value
        if isinstance(value, Value) and name not in ("time", "day", "plain"):
            value = value.told(self, voice)
        if isinstance(value, str) and "{" in value:
            value = self._filled(value, voice, depth + 1)
        try:
            return FILTERS[name](value, argument, self)
        except MISFITS as error:
            raise UnknownName(f"|{how} does not work on {str(value)[:60]!r}: {error}") from error


def _part(value: Any, step: str) -> Any:
    if isinstance(value, Mapping):
        return value[step]
    if step not in getattr(value, "parts", ()):
        raise KeyError(step)
    return getattr(value, step)


_INNER = str.maketrans("</>", "{|}")


def _instant(value: Any) -> datetime:
    if isinstance(value, Day):
        return datetime.combine(value.when, time())
    return value.when if isinstance(value, DayAndTime) else datetime.fromisoformat(str(value))


def _lowered(text: str) -> str:
    """Return a text as it is written inside a sentence."""
    return text if re.match(r"I\b", text) else text[:1].lower() + text[1:]


def _time(value: Any, _argument: str, scope: Scope) -> str:
    if isinstance(value, TimeOfDay):
        return speech.neat(value.moment)
    text = str(value)
    return speech.neat(time.fromisoformat(text) if len(text) == 8 else _instant(value).time())


def _list(value: Any, argument: str, scope: Scope) -> str:
    """Join the records of a list, each shown as one field or as a text with fields as `<field/filter>`."""
    pattern = argument if "<" in argument else f"<{argument}>"
    texts = []
    for record in value:
        names = record if isinstance(record, dict) else {"": record}
        inner = copy(scope)
        inner.names = {**scope.names, **names}
        filled = pattern.replace("<>", str(record)).translate(_INNER)
        texts.append(str(inner._filled(filled, "assistant")))
        scope._room = inner._room - len(texts[-1])
    return listed(texts)


FILTERS: dict[str, Any] = {
    "time": _time,
    "plain": lambda value, _, scope: value.told(scope, "assistant"),
    "day": lambda value, _, scope: speech.full_day(scope.now, _instant(value).date()),
    "date": lambda value, _, __: f"{_instant(value):%B} {_instant(value).day}",
    "weekday": lambda value, _, __: f"{_instant(value):%A}",
    "a": lambda value, _, __: f"{'an' if _VOWEL.match(str(value)) else 'a'} {value}",
    "low": lambda value, _, __: _lowered(str(value)),
    "cap": lambda value, _, __: speech.capital(str(value)),
    "lower": lambda value, _, __: str(value).lower(),
    "text": lambda value, _, __: str(value),
    "count": lambda value, _, __: len(value),
    "list": _list,
}
"""The filters that can follow a name, as in `{task|low}`."""
