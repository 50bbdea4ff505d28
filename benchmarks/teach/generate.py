"""Conversations by the thousand, each over a world of its own, with every call executed.

    python -m benchmarks.teach.generate --seed 1 --count 3

The same seed gives the same conversations; the first of them are the same however many are asked for.
"""

import argparse
import json
from collections.abc import Callable, Iterator, Sequence
from random import Random

from benchmarks.teach.scenes import accounts, alarms, calendar, chat, hints, mail, reminders, several, weather
from benchmarks.teach.talk import Talk
from benchmarks.teach.worlds import things
from rig.plugins.author.draft import ToolRefusal
from rig.plugins.tooltalk.conversations import Conversation

Scene = Callable[[Talk], None]
Weighted = Sequence[tuple[Scene, float]]

_ROOMS: tuple[tuple[Weighted, float], ...] = (
    (accounts.SCENES, 5.5),
    (alarms.SCENES, 4),
    (calendar.SCENES, 7),
    (mail.SCENES, 6.5),
    (reminders.SCENES, 5.5),
    (weather.SCENES, 4.5),
    (hints.SCENES, 4),
    (several.SCENES, 1.5),
)

_NEWCOMER: Weighted = (
    (alarms.add, 2),
    (reminders.add, 2),
    (calendar.create, 2),
    (mail.send_email, 1),
    (mail.send_message, 1),
    (weather.today, 1),
    (weather.forecast, 1),
)
"""What somebody can want who has nothing yet."""


def conversations(seed: int, count: int) -> Iterator[Conversation]:
    """So many conversations of a seed."""
    for number in range(count):
        random = Random(f"{seed} {number}")
        made = None
        while made is None:
            made = _try(f"lesson-{seed}-{number}", random)
        yield made


def _try(name: str, random: Random) -> Conversation | None:
    """A conversation, or none where a scene found nothing to be about."""
    try:
        return conversation(name, random)
    except (IndexError, ToolRefusal):
        return None


def conversation(name: str, random: Random) -> Conversation:
    """One conversation: one to three wishes, small talk in between, sometimes without a login at first.

    Raises IndexError if a scene needs what the user does not have (any more), Refused where a tool fails.
    """
    outside = random.random() < 0.18
    talk = Talk(random, things(random), logged_in=not outside)
    if random.random() < 0.25:
        chat.greeting(talk)
    wishes = random.choice([1, 1, 1, 1, 2, 2])
    if outside:
        _pick(random, accounts.OUTSIDE if random.random() < 0.85 else weather.SCENES)(talk)
        wishes -= 1
    while wishes > 0 and talk.me is not None:
        last = wishes == 1 and random.random() < 0.12
        _pick(random, accounts.LAST if last else _room(random, talk))(talk)
        wishes -= 1
        if random.random() < 0.2:
            random.choice([chat.thanks, chat.aside])(talk)
    return talk.conversation(name)


def _room(random: Random, talk: Talk) -> Weighted:
    if not talk.things.events:
        return _NEWCOMER
    return random.choices([room for room, _ in _ROOMS], [weight for _, weight in _ROOMS])[0]


def _pick(random: Random, scenes: Weighted) -> Scene:
    return random.choices([scene for scene, _ in scenes], [weight for _, weight in scenes])[0]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=3)
    options = parser.parse_args()
    for made in conversations(options.seed, options.count):
        print(f"{made.name}: {made.metadata.timestamp}, {made.metadata.location}, {made.metadata.username}")
        for turn in made.turns:
            for call in turn.calls:
                given = {name: value for name, value in call.arguments.items() if name != "session_token"}
                print("   ", call.name, json.dumps(given, ensure_ascii=False))
                print(
                    "     ->", json.dumps(call.outcome.response or call.outcome.exception, ensure_ascii=False)
                )
            print(f"  {turn.role}: {turn.text}")


if __name__ == "__main__":
    main()
