"""How people say things: alternatives, times, dates, and sentences about everyday matters."""

import re
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from random import Random
from typing import Any

from benchmarks.teach import words

TAIL = (
    "[|||||, please|, thanks| if possible|, that's best|, that suits me|, i think|, i'm afraid|, alas|, ugh"
    "| sharp| would be fine| works| should do| is best| will do|. not a minute later|, like last time]"
)
"""What people add to a time that they were asked for, of no meaning for it; part of a pattern."""

_CHOICE = re.compile(r"\[([^\[\]]*)\]")
_NUMBERS = ["twelve", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven"]


def expand(random: Random, pattern: str, **fields: Any) -> str:
    """A sentence of a pattern: `[a|b|]` is one of its parts, `{name}` a field. Spaces are tidied up."""
    while found := _CHOICE.search(pattern):
        pattern = pattern[: found.start()] + random.choice(found[1].split("|")) + pattern[found.end() :]
    pattern = (
        re.sub(r" +([,.?!:]|$)", r"\1", re.sub(r" {2,}", " ", pattern)).strip(" ,").removeprefix(".").strip()
    )
    return pattern.format(**fields)


def capital(text: str) -> str:
    """With a capital letter first."""
    return text[:1].upper() + text[1:]


def ordinal(number: int) -> str:
    """1st, 2nd, …"""
    ending = "th" if 10 <= number % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def clock(random: Random, moment: time, *, bare: str = "") -> str:
    """A time of day as somebody says it.

    `bare` names what it is for, which may tell morning from afternoon without a word: "alarm" (before noon)
    or "event" (from 7 to noon, and from 1 to 6 in the afternoon).
    """
    hour, minute = moment.hour, moment.minute
    short = hour % 12 or 12
    digits = f"{short}:{minute:02}" if minute else str(short)
    half = "am" if hour < 12 else "pm"
    forms = [f"{digits}{half}", f"{digits} {half}", f"{hour:02}:{minute:02}", f"{short}:{minute:02} {half}"]
    part = _part_of_day(hour)
    if part:
        forms += [f"{phrase} {part}" for phrase in (digits, *_in_words(random, short, minute) * 2)]
    plain = (bare == "alarm" and 4 <= hour < 12) or (bare == "event" and (7 <= hour < 12 or 13 <= hour <= 18))
    if plain:
        forms += [digits, *_in_words(random, short, minute) * 2] * 3
    if minute == 0 and hour == 12:
        forms = ["noon", "noon", "12", "12 noon", "12:00", "midday", "12 o'clock"]
    return random.choice(forms)


def _in_words(random: Random, short: int, minute: int) -> list[str]:
    name = random.choice([_NUMBERS[short % 12], str(short)])
    coming = random.choice([_NUMBERS[(short + 1) % 12], str(short % 12 + 1)])
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


def _part_of_day(hour: int) -> str:
    if 3 <= hour < 12:
        return "in the morning"
    if 12 < hour < 18:
        return "in the afternoon"
    return "in the evening" if 18 <= hour < 22 else ""


def span(random: Random, start: datetime, end: datetime) -> str:
    """From when to when on one day, as somebody says it."""
    first, last = clock(random, start.time(), bare="event"), clock(random, end.time(), bare="event")
    minutes = int((end - start).total_seconds() // 60)
    forms = [f"{first} to {last}", f"from {first} to {last}", f"{first} till {last}", f"{first} until {last}"]
    forms += [f"at {first} for {duration(random, minutes)}", f"{first}, {duration(random, minutes)}"]
    if ":" not in first + last:
        forms.append(f"{first}-{last}")
    return random.choice(forms)


def duration(random: Random, minutes: int) -> str:
    """How long something takes."""
    if minutes % 60 == 0:
        hours = minutes // 60
        name = random.choice([str(hours), _NUMBERS[hours % 12]])
        return random.choice(["an hour", "one hour", "1 hour"]) if hours == 1 else f"{name} hours"
    if minutes == 30:
        return random.choice(["half an hour", "30 minutes", "30 min"])
    if minutes == 90:
        return random.choice(["an hour and a half", "90 minutes", "one and a half hours"])
    if minutes == 45:
        return random.choice(["45 minutes", "three quarters of an hour"])
    return f"{minutes} minutes"


def day(random: Random, now: datetime, when: date, *, weekday: float = 0.35) -> str:
    """A day as somebody says it; only its weekday with the probability `weekday`, where that is clear."""
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
    """A day as the assistant says it."""
    ahead = (when - now.date()).days
    name = f"{when:%A}, {when:%B} {when.day}"
    return {0: "today", 1: f"tomorrow, {when:%B} {when.day}"}.get(ahead, f"on {name}")


def neat(moment: time) -> str:
    """A time of day as the assistant says it."""
    short = moment.hour % 12 or 12
    digits = f"{short}:{moment.minute:02}" if moment.minute else str(short)
    return (
        "noon"
        if (moment.hour, moment.minute) == (12, 0)
        else f"{digits} {'am' if moment.hour < 12 else 'pm'}"
    )


@dataclass(frozen=True, slots=True)
class Said:
    """A text to be sent, `direct` as it is written, and `reported` as somebody asks to have it sent."""

    direct: str
    reported: str
    """Follows "tell her" or "write to him": begins with that, to, whether or if."""


def note(random: Random, now: datetime, people: list[str]) -> Said:
    """Something that one person writes to another."""
    thing, verb = random.choice(words.THINGS), random.choice(words.VERBS)
    at = neat(time(random.randint(7, 20), random.choice([0, 0, 15, 30, 45])))
    when = random.choice(
        [
            "tomorrow",
            "on Friday",
            "tonight",
            "on Monday",
            f"at {at}",
            f"tomorrow at {at}",
            "this weekend",
            "later today",
            "next week",
        ]
    )
    name = random.choice(people)
    fields = {
        "thing": thing,
        "is": "are" if thing.endswith("s") else "is",
        "verb": verb,
        "at": at,
        "when": when,
        "name": name,
    }
    kind = random.random()
    if kind < 0.55:
        text = expand(random, random.choice(_STATEMENTS), **fields)
        if random.random() < 0.25:
            more = expand(random, random.choice(_STATEMENTS), **fields)
            text += f"{random.choice([' and ', ', ', ', so ', ', but '])}{more}"
        return Said(f"{capital(text)}.", f"{random.choice(['that ', 'that ', ''])}{text}")
    if kind < 0.78:
        text = expand(random, random.choice(_REQUESTS), **fields)
        return Said(f"Please {text}.", f"to {text}")
    text = expand(random, random.choice(_QUESTIONS), **fields)
    return Said(f"Can you {text}?", f"{random.choice(['whether', 'if'])} {{they}} can {text}")


_STATEMENTS = (
    (
        "the {thing} [{is} ready|broke|{is} in the car|{is} at my place|{is} in the "
        "hallway|{is} sold|{is} gone|{is} too small|{is} fixed now|{is} in the basement]"
    ),
    "I [found|lost|ordered|packed|forgot|returned|repaired|sold|left] the {thing}",
    "I'll [bring|fetch|return|collect|need|send] the {thing} {when}",
    (
        "I'm [running late|stuck in traffic|on my way|ten minutes away|not coming {when}|"
        "home {when}|ill today|free {when}]"
    ),
    "I can't [come|make it|join|help|drive] {when}",
    "we [meet|start|leave|eat|open] at {at} [tomorrow|today|sharp|on Sunday|]",
    (
        "the [meeting|party|rehearsal|game|lesson|tour|delivery|interview] [is canceled|"
        "starts at {at}|is moved to {at}|went well|is {when}]"
    ),
    "I [agree|said yes|have a better idea|talked to {name}|need more time|changed my mind]",
    "{name} [is coming too|has the {thing}|says hello|needs the {thing} {when}|will be there at {at}]",
    "[everything is|the rooms are|the tickets are|all the papers are] [booked|ready|paid for|on the table]",
    "[the train|the bus|my flight|the ferry] [leaves|arrives] at {at}",
    (
        "there is [soup|pizza|cake|pasta|a parcel|a letter] for {name} [in the fridge|on "
        "the table|at the door|in the office]"
    ),
    "your {thing} [arrived|got wet|didn't fit|came back|looked great]",
    "dinner is at {at} [tonight|tomorrow|]",
)

_REQUESTS = (
    "{verb} the {thing}",
    "{verb} the {thing} {when}",
    "[call|text|wait for|pick up|invite|ask] {name} [{when}|]",
    "[be there|be ready|come over|arrive|log on] [at {at}|by {at}]",
    (
        "[lock the door|turn off the lights|feed the cat|water the garden|save me a seat|"
        "keep the receipt|park behind the house|take the stairs]"
    ),
    "give {name} the {thing}",
)

_QUESTIONS = (
    "{verb} the {thing}",
    "[come|help|call me|drive us|cook|stay longer] {when}",
    "[meet|talk to|visit|drive] {name} {when}",
    "[send|show|give|bring] me the {thing}",
    "[start|be here|arrive] at {at}",
)


def days_from(now: datetime, days: int) -> date:
    """The date so many days ahead."""
    return (now + timedelta(days=days)).date()
