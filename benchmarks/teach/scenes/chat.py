"""Turns in which nothing is to be done."""

from benchmarks.teach import words
from benchmarks.teach.talk import Talk


def greeting(talk: Talk) -> None:
    """Small talk before anything is wanted."""
    user, reply = talk.random.choice(words.CHAT)
    talk.user(user, please=False)
    talk.reply(reply)


def thanks(talk: Talk) -> None:
    """Thanks, answered."""
    user, reply = talk.random.choice(words.THANKS)
    talk.user(user, please=False)
    talk.reply(reply)
