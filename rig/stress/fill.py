"""True history that has nothing to do with a task: exchanges before it, all of them worked out here.

It is the same for all tasks of a level, and each level begins as the lower ones do, so that an engine
computes its beginning once. Nothing in it is said by anyone of the task's world, or asks for a tool.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import date, timedelta
from functools import lru_cache
from random import Random

from rig.models import Message, ReplyMessage, UserMessage
from rig.stress.dial import Dial, Presentation
from rig.toolbox.toolbox import Toolbox

CHARACTERS = 3.0
"""Characters of an exchange for a token: what the tokenizer of SmolLM2 makes of it, with a template's marks.

Every model reads the same text at a level, so the tokens are not counted by any one of them.
"""

_WORDS = [
    "anchor",
    "basket",
    "candle",
    "dolphin",
    "engine",
    "feather",
    "garden",
    "harbour",
    "island",
    "jacket",
    "kettle",
    "ladder",
    "meadow",
    "needle",
    "orchard",
    "pebble",
    "quarry",
    "ribbon",
    "saddle",
    "timber",
    "umbrella",
    "velvet",
    "willow",
    "yarn",
]
_UNITS = (
    ("kilometres", "miles", 0.621371),
    ("kilograms", "pounds", 2.204623),
    ("metres", "feet", 3.280840),
    ("hectares", "acres", 2.471054),
)


def _bill(random: Random) -> tuple[str, str]:
    count, price, extra = random.randint(3, 19), random.randint(2, 14), random.randint(3, 30)
    return (
        f"I bought {count} notebooks at {price} euros each and a lamp for {extra} euros. What did I pay?",
        f"{count} notebooks at {price} euros are {count * price} euros. With the lamp for {extra} euros you"
        f" paid {count * price + extra} euros in all.",
    )


def _unit(random: Random) -> tuple[str, str]:
    amount, (metric, other, factor) = random.randint(12, 480), random.choice(_UNITS)
    return (
        f"How much are {amount} {metric} in {other}? One decimal is enough.",
        f"One unit is about {factor} {other}, so {amount} {metric} are about {amount * factor:.1f} {other}.",
    )


def _days(random: Random) -> tuple[str, str]:
    first = date(1950, 1, 1) + timedelta(random.randrange(18000))
    days = random.randint(20, 400)
    last = first + timedelta(days)
    return (
        f"How many days lie between {first:%A}, {first.day} {first:%B %Y} and {last.day} {last:%B %Y}?",
        f"There are {days} days from the one to the other. The second date is a {last:%A}.",
    )


def _clock(random: Random) -> tuple[str, str]:
    begin, length = random.randrange(5 * 60, 13 * 60), random.randrange(35, 600)
    end = begin + length
    return (
        f"A film marathon begins at {begin // 60}:{begin % 60:02} and takes {length // 60} hours and"
        f" {length % 60} minutes. When is it over?",
        f"Add {length // 60} hours to {begin // 60}:{begin % 60:02}, and {length % 60} minutes: it is over"
        f" at {end // 60}:{end % 60:02}, counted in 24 hours.",
    )


def _factor(random: Random) -> tuple[str, str]:
    number = random.randrange(101, 2000, 2)
    least = next((n for n in range(3, 45, 2) if number % n == 0), None)
    why = f"No: it is {least} times {number // least}." if least else "Yes: no smaller prime divides it."
    return f"Is {number} a prime number?", f"{why} To be sure I tried every prime up to its square root."


def _order(random: Random) -> tuple[str, str]:
    words = random.sample(_WORDS, 6)
    return (
        f"Put these words in alphabetical order for a quiz: {', '.join(words)}.",
        f"In alphabetical order they are: {', '.join(sorted(words))}. The longest has"
        f" {max(map(len, words))} letters.",
    )


def _recipe(random: Random) -> tuple[str, str]:
    grams, people, more = 10 * random.randint(8, 60), random.randint(2, 6), random.randint(7, 15)
    return (
        f"A dough for {people} people needs {grams} grams of flour. How much does it need for {more}?",
        f"For one person it is {grams / people:.1f} grams. For {more} people the dough needs about"
        f" {grams * more / people:.0f} grams of flour.",
    )


def _paint(random: Random) -> tuple[str, str]:
    width, height, per_litre = random.randint(3, 12), random.randint(2, 5), random.randint(6, 12)
    return (
        f"A wall is {width} metres wide and {height} metres high, and a litre of paint covers {per_litre}"
        " square metres. How much paint is that for one coat?",
        f"The wall has {width * height} square metres. Divided by {per_litre}, one coat takes about"
        f" {width * height / per_litre:.1f} litres.",
    )


_KINDS: tuple[Callable[[Random], tuple[str, str]], ...] = (
    *(_bill, _unit, _days, _clock, _factor, _order, _recipe, _paint),
)


def _exchanges(seed: int) -> Iterator[tuple[str, str]]:
    """Questions and answers without end; each kind once before any comes again."""
    random = Random(f"fill {seed}")
    while True:
        for kind in random.sample(_KINDS, len(_KINDS)):
            yield kind(random)


@lru_cache(maxsize=32)
def history(tokens: int, seed: int) -> tuple[Message, ...]:
    """Whole exchanges of about so many tokens in all: one at least, and no more than fit."""
    messages: list[Message] = []
    length = 0
    for question, answer in _exchanges(seed):
        length += len(question) + len(answer)
        if messages and length > tokens * CHARACTERS:
            break
        messages += [UserMessage(question), ReplyMessage(answer)]
    return tuple(messages)


def _apply(task: Presentation, seed: int, level: int, toolbox: Toolbox) -> Presentation:
    return replace(task, before=(*history(level, seed), *task.before))


FILL = Dial("fill", 0, _apply)
