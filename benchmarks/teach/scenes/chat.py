"""Turns in which nothing is to be done."""

from collections.abc import Sequence

from benchmarks.teach import words
from benchmarks.teach.talk import Talk
from benchmarks.teach.worlds import firm


def greeting(talk: Talk) -> None:
    """Small talk before anything is wanted."""
    _exchange(talk, talk.random.choice([words.CHAT, words.OPENINGS]))


def thanks(talk: Talk) -> None:
    """Thanks, answered."""
    _exchange(talk, words.THANKS)


def aside(talk: Talk) -> None:
    """A remark or a question about what was just done."""
    _exchange(talk, words.ASIDES)


def _exchange(talk: Talk, pairs: Sequence[tuple[str, str]]) -> None:
    user, reply = talk.random.choice(pairs)
    fields = {
        "name": talk.random.choice(talk.things.others).first,
        "thing": talk.random.choice(words.THINGS),
        "spot": talk.random.choice(words.SPOTS),
        "firm": firm(talk.random)[0],
    }
    talk.user(user, please=False, **fields)
    talk.reply(reply, **fields)
