"""History that has nothing to do with a task: exchanges before it, whose right answers are computed here.

It is the same for all tasks of a level, and each level begins like the lower ones, so that an engine computes
the beginning only once. Nobody of the task's world speaks in it, and nothing in it asks for a tool.
"""

from collections.abc import Iterator
from dataclasses import replace
from datetime import date, timedelta
from functools import lru_cache
from random import Random

from rig.core.models import Message, ReplyMessage, UserMessage
from rig.plugins.stress.dial import Dial, Presentation
from rig.world.toolbox import Toolbox

CHARACTERS = 3.0
"""The characters of an exchange per token, measured with SmolLM2's tokenizer and a template's marks.

Every model reads the same text at a level, so no model's own tokens are counted.
"""

_WORDS = (
    "anchor basket candle dolphin engine feather garden harbour island jacket kettle ladder meadow needle"
)
_UNITS = (("kilometres", "miles", 0.621371), ("kilograms", "pounds", 2.204623), ("metres", "feet", 3.28084))


def _round(random: Random) -> tuple[tuple[str, str], ...]:
    """Make one exchange of each kind, with new numbers each time."""
    count, price, extra = random.randint(3, 19), random.randint(2, 14), random.randint(3, 30)
    amount, (metric, other, factor) = random.randint(12, 480), random.choice(_UNITS)
    first, days = date(1950, 1, 1) + timedelta(random.randrange(18000)), random.randint(20, 400)
    last = first + timedelta(days)
    number = random.randrange(101, 2000, 2)
    least = next((n for n in range(3, 45, 2) if number % n == 0), None)
    words = random.sample(_WORDS.split(), 6)
    grams, people, more = 10 * random.randint(8, 60), random.randint(2, 6), random.randint(7, 15)
    return (
        (
            f"I bought {count} notebooks at {price} euros each and a lamp for {extra}. How much is that?",
            f"{count} notebooks at {price} euros are {count * price} euros. With the lamp for {extra} you"
            f" paid {count * price + extra} euros in all.",
        ),
        (
            f"How much are {amount} {metric} in {other}? One decimal is enough.",
            f"One of them is about {factor} {other}, so they are about {amount * factor:.1f} {other}.",
        ),
        (
            f"How many days lie between {first.day} {first:%B %Y} and {last.day} {last:%B %Y}?",
            f"There are {days} days from the one to the other. The second date is a {last:%A}.",
        ),
        (
            f"Is {number} a prime number?",
            f"No: it is {least} times {number // least}, as you find by trying the odd numbers from 3 on."
            if least
            else "Yes: no smaller prime divides it. It is enough to try all up to its square root.",
        ),
        (
            f"Put these words in alphabetical order for a quiz: {', '.join(words)}.",
            f"In alphabetical order they are: {', '.join(sorted(words))}. The longest has"
            f" {max(map(len, words))} letters.",
        ),
        (
            f"A dough for {people} people needs {grams} grams of flour. How much does it need for {more}?",
            f"For one person it is {grams / people:.1f} grams. For {more} people the dough needs about"
            f" {grams * more / people:.0f} grams of flour.",
        ),
    )


def _exchanges(seed: int) -> Iterator[tuple[str, str]]:
    """Yield questions and answers endlessly; each kind comes once before any is repeated."""
    random = Random(f"fill {seed}")
    while True:
        kinds = _round(random)
        yield from random.sample(kinds, len(kinds))


@lru_cache(maxsize=32)
def history(tokens: int, seed: int) -> tuple[Message, ...]:
    """Return as many whole exchanges as fit into about this many tokens, and at least one."""
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
