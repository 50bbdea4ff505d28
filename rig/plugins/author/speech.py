"""How people say things: choices between wordings, times, dates and durations."""

import re
from datetime import date, datetime, time
from random import Random
from typing import Any

_CHOICE = re.compile(r"\[([^\[\]]*)\]")
NUMBERS = ["twelve", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven"]


def expand(random: Random, pattern: str, **fields: Any) -> str:
    """Make a sentence from a pattern: `[a|b|]` becomes one of its parts, `{name}` the field's value."""
    return choose(random, pattern).format(**fields)


def choose(random: Random, pattern: str) -> str:
    """Replace each `[a|b|]` of a pattern by one of its parts, and tidy up the spaces."""
    while choice := _CHOICE.search(pattern):
        pattern = pattern[: choice.start()] + random.choice(choice[1].split("|")) + pattern[choice.end() :]
    pattern = re.sub(r" +([,.?!:]|$)", r"\1", re.sub(r" {2,}", " ", pattern))
    return pattern.strip(" ,").removeprefix(".").strip()


def capital(text: str) -> str:
    """Return the text with a capital first letter."""
    return text[:1].upper() + text[1:]


def ordinal(number: int) -> str:
    """Return a number as 1st, 2nd, …"""
    ending = "th" if 10 <= number % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def clock(random: Random, moment: time, *, bare: str = "") -> str:
    """Return a time of day as a user says it.

    `bare` names what the time is for, which can make "am" or "pm" needless: for an "alarm" from 4 to noon,
    for an "event" from 7 to noon and in the hours from 1 to 6 in the afternoon.
    """
    hour, minute = moment.hour, moment.minute
    short = hour % 12 or 12
    digits = f"{short}:{minute:02}" if minute else str(short)
    half = "am" if hour < 12 else "pm"
    forms = [f"{digits}{half}", f"{digits} {half}", f"{hour:02}:{minute:02}", f"{short}:{minute:02} {half}"]
    part = part_of_day(hour)
    if part:
        forms += [f"{phrase} {part}" for phrase in (digits, *_in_words(random, short, minute) * 2)]
    plain = (bare == "alarm" and 4 <= hour < 12) or (bare == "event" and (7 <= hour < 12 or 13 <= hour <= 18))
    if plain:
        forms += [digits, *_in_words(random, short, minute) * 2] * 3
    if minute == 0 and hour == 12:
        forms = ["noon", "noon", "12", "12 noon", "12:00", "midday", "12 o'clock"]
    return random.choice(forms)


def _in_words(random: Random, short: int, minute: int) -> list[str]:
    """Return ways to say a time in words, without the part of the day; empty if there is none."""
    name = random.choice([NUMBERS[short % 12], str(short)])
    coming = random.choice([NUMBERS[(short + 1) % 12], str(short % 12 + 1)])
    match minute:
        case 0:
            return [name, f"{name} o'clock"]
        case 15:
            return [f"quarter past {name}"]
        case 30:
            return [f"half past {name}"]
        case 45:
            return [f"quarter to {coming}"]
        case 5 | 10 | 20:
            return [f"{ {5: 'five', 10: 'ten', 20: 'twenty'}[minute] } past {name}"]
        case 40 | 50 | 55:
            return [f"{ {40: 'twenty', 50: 'ten', 55: 'five'}[minute] } to {coming}"]
    return []


def part_of_day(hour: int) -> str:
    """Return the words for the part of the day; empty at night and in the hour of noon."""
    if 3 <= hour < 12:
        return "in the morning"
    if 12 < hour < 18:
        return "in the afternoon"
    return "in the evening" if 18 <= hour < 22 else ""


def span(random: Random, start: datetime, end: datetime) -> str:
    """Return a span of time within one day as a user says it."""
    first, last = clock(random, start.time(), bare="event"), clock(random, end.time(), bare="event")
    minutes = int((end - start).total_seconds() // 60)
    forms = [f"{first} to {last}", f"from {first} to {last}", f"{first} till {last}", f"{first} until {last}"]
    forms += [f"at {first} for {duration(random, minutes)}", f"{first}, {duration(random, minutes)}"]
    if ":" not in first + last:
        forms.append(f"{first}-{last}")
    return random.choice(forms)


def duration(random: Random, minutes: int) -> str:
    """Return a number of minutes as a user says it."""
    if minutes % 60 == 0:
        hours = minutes // 60
        name = random.choice([str(hours), NUMBERS[hours % 12]])
        return random.choice(["an hour", "one hour", "1 hour"]) if hours == 1 else f"{name} hours"
    if minutes == 30:
        return random.choice(["half an hour", "30 minutes", "30 min"])
    if minutes == 90:
        return random.choice(["an hour and a half", "90 minutes", "one and a half hours"])
    if minutes == 45:
        return random.choice(["45 minutes", "three quarters of an hour"])
    return f"{minutes} minutes"


def day(random: Random, now: datetime, when: date, *, weekday: float = 0.35) -> str:
    """Return a day as a user says it; `weekday` is the chance of the weekday alone, where that is clear."""
    ahead = (when - now.date()).days
    if ahead == 0:
        return "today"
    if ahead == 1:
        return "tomorrow"
    if 2 <= ahead <= 6 and random.random() < weekday:
        return f"{random.choice(['on', 'this', 'on'])} {when:%A}"
    if ahead == 2 and random.random() < 0.5:
        return "the day after tomorrow"
    number = when.day
    dated = [
        f"on {when:%B} {number}",
        f"on {when:%B} {ordinal(number)}",
        f"on {number} {when:%B}",
        f"on the {ordinal(number)} of {when:%B}",
        f"on {when:%A}, {when:%B} {number}",
    ]
    if 0 < ahead < 25:
        dated += [f"on the {ordinal(number)}", f"on {when:%A} the {ordinal(number)}"] * 3
    if ahead == 7:
        dated += ["in a week", "a week from today"]
    return random.choice(dated)


def full_day(now: datetime, when: date) -> str:
    """Return a day as the assistant says it."""
    ahead = (when - now.date()).days
    name = f"{when:%A}, {when:%B} {when.day}"
    return {0: "today", 1: f"tomorrow, {when:%B} {when.day}"}.get(ahead, f"on {name}")


def neat(moment: time) -> str:
    """Return a time of day as the assistant says it."""
    short = moment.hour % 12 or 12
    digits = f"{short}:{moment.minute:02}" if moment.minute else str(short)
    return (
        "noon"
        if (moment.hour, moment.minute) == (12, 0)
        else f"{digits} {'am' if moment.hour < 12 else 'pm'}"
    )
