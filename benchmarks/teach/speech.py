"""What people write to each other, and what they add to a time."""

from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from random import Random

from benchmarks.teach import words
from rig.plugins.author.speech import capital, expand, neat

TAIL = (
    "[|||||, please|, thanks| if possible|, that's best|, that suits me|, i think|, i'm afraid|, alas|, ugh"
    "| sharp| would be fine| works| should do| is best| will do|. not a minute later|, like last time]"
)
"""What people add to a time that they were asked for, of no meaning for it; part of a pattern."""


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
