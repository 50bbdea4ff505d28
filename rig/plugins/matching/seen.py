"""What a model has been told, and whether a value can have come from it.

Values can be expressed in other words (a date for "next Tuesday"), so a value only counts as made up if
nothing that was said or shown supports it. Free text never does, because a model composes it.
"""

import re
from copy import deepcopy
from datetime import date, time

from rig.core import times
from rig.core.calls import ExecutedCall, Json, leaves
from rig.world.spec import Equality, Text, Tool

_NUMBER = re.compile(r"\d+")
_HOURS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_SPELLED = {word: hour for hour, word in enumerate(_HOURS, start=1)}
_TIME_WORDS = re.compile(
    r"\b(now|hours?|hrs?|minutes?|mins?|half|quarter|noon|midday|midnight|mornings?|afternoons?|evenings?"
    r"|tonight|nights?|days?|breakfast|lunch|dinner|later|earlier|before|after|same)\b"
)
_DATE_WORDS = re.compile(
    r"\b(today|tonight|tomorrow|yesterday|now|(mon|tues?|wed(nes)?|thu(rs)?|fri|sat(ur)?|sun)(day)?s?"
    r"|days?|weeks?|weekends?|months?|years?|mornings?|afternoons?|evenings?|nights?|hours?|minutes?"
    r"|jan\w*|feb\w*|mar(ch)?|apr(il)?|may|june?|july?|aug(ust)?|sep\w*|oct\w*|nov\w*|dec\w*"
    r"|first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|eleventh|twelfth|\w+teenth|\w+tieth"
    r"|next|later|same|eve)\b"
)


class Seen:
    """What has been said and shown so far: facts of the conversation only, not tool descriptions."""

    def __init__(self, *facts: str | None) -> None:
        self._spoken = ""
        self._text = ""
        self._numbers: set[int] = set()
        self._times: set[time] = set()
        self._dates: set[date] = set()
        for fact in facts:
            self._show(fact)

    def copy(self) -> "Seen":
        """Return a copy that has seen the same."""
        return deepcopy(self)

    def say(self, text: str) -> None:
        """Take in words of the user or the assistant."""
        spoken = text.casefold()
        self._spoken += f"\n{spoken}"
        self._text += f"\n{spoken}"
        self._numbers.update(int(digits) for digits in _NUMBER.findall(spoken) if len(digits) <= 4)
        self._numbers.update(_SPELLED[word] for word in re.findall(r"[a-z]+", spoken) if word in _SPELLED)

    def answer(self, executed: ExecutedCall) -> None:
        """Take in the response of a call. Its error text is left out, as it only repeats the call."""
        for leaf in leaves(executed.response):
            self._show(leaf)

    def note(self, executed: ExecutedCall) -> None:
        """Take in a call of the true history, with its arguments and its response."""
        for leaf in leaves(executed.arguments):
            self._show(leaf)
        self.answer(executed)

    def speaks_for(self, tool: Tool, name: str, value: Json) -> bool:
        """Return whether an argument can have come from here; True if that cannot be decided."""
        if isinstance(value, list):
            return all(self.speaks_for(tool, name, leaf) for leaf in leaves(value))
        schema = tool.parameters["properties"].get(name)
        match, part = tool.match.arguments.get(name), tool.composed.get(name)
        if (
            schema is None
            or part == "all"
            or isinstance(match, Text)
            or not isinstance(value, str)
            or not value.strip()
        ):
            return True
        match schema.get("x-format"):
            case "time":
                return not tool.action or self._speaks_for_time(value, times.TIME)
            case "datetime":
                return not tool.action or self._speaks_for_instant(value, part is not None)
            case "month":
                month = value.strip().casefold()
                months = {f"{day:%B}".casefold() for day in self._dates}
                return month in months or month[:3] in self._spoken or "month" in self._spoken
            case "phone":
                return "".join(_NUMBER.findall(value)) in "".join(_NUMBER.findall(self._text))
            case _ if match is Equality.PLACE:
                return self._speaks_for_place(value)
            case _:
                return value.strip().casefold() in self._text or self._speaks_for_moment(value)

    def _show(self, value: Json) -> None:
        if not isinstance(value, str):
            return
        self._text += f"\n{value.casefold()}"
        if (read := times.read_any(value)) is not None:
            moment, has_day, has_time = read
            self._times |= {times.minute_of(moment)} if has_time else set()
            self._dates |= {moment.date()} if has_day else set()

    def _speaks_for_time(self, value: str, pattern: str) -> bool:
        read = times.read_or_none(value, pattern)
        if read is None or times.minute_of(read) in self._times:
            return True
        hours = {read.hour, read.hour % 12 or 12}
        # 730 and 1930 are also times, and so is ten to five.
        spoken = hours | {hour * 100 + read.minute for hour in hours}
        spoken |= {(read.hour + 1) % 12 or 12} if read.minute > 30 else set()
        return bool(spoken & self._numbers) or _TIME_WORDS.search(self._spoken) is not None

    def _speaks_for_moment(self, value: str) -> bool:
        """Return whether a day, a time or both, in any form, can have been said in other words."""
        read = times.read_any(value)
        if read is None:
            return False
        moment, has_day, has_time = read
        day = f"{moment:{times.DATE}}" if has_day else f"{min(self._dates, default=moment.date())}"
        return self._speaks_for_instant(f"{day} {moment:{times.TIME}}", not has_time)

    def _speaks_for_instant(self, value: str, any_time: bool) -> bool:
        read = times.read_or_none(value, times.INSTANT)
        if read is None:
            return True
        day = read.date() in self._dates or read.day in self._numbers
        if not day and _DATE_WORDS.search(self._spoken) is None:
            return False
        is_free = any_time or times.minute_of(read) in times.WHOLE_DAY
        return is_free or self._speaks_for_time(value, times.INSTANT)

    def _speaks_for_place(self, value: str) -> bool:
        words = re.findall(r"\w+", value.casefold())
        initials = "".join(word[0] for word in words)
        tokens = set(re.findall(r"\w+", self._text))
        return bool(tokens.intersection(words)) or any(
            len(initials) > 1 and token.startswith(initials) and len(token) <= len(initials) + 1
            for token in tokens
        )
