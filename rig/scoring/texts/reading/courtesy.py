"""Sentences that are only polite, such as "I hope this finds you well"."""

import re
from collections.abc import Sequence

from rig.scoring.texts.reading.content import EMPTY
from rig.scoring.texts.reading.lexicon import fillers
from rig.scoring.texts.reading.listed import vocabulary

POLITE = vocabulary(
    "thanks thank thankful grateful hi hello dear sorry apologies apologize regards wishes wish best kind "
    "warm kindest warmest hope trust well soon great nice good lovely wonderful pleasant fine happy glad "
    "pleased day week weekend evening morning afternoon luck bother bothering trouble disturb disturbing "
    "interrupt interrupting email mail message note finds find found doing going everything appreciate "
    "appreciated lot lots many advance understanding cooperation patience time help support kindness "
    "attention consideration friendly quick cheers bye goodbye hear hearing looking look forward "
    "cordially sincerely ahead enjoy rest meet meeting see seeing care bless everyone all guys folks team "
    "intrusion short notice inconvenience caused convenience earliest delay reply wishing greetings mind"
)
NO_COURTESY = vocabulary("yes no not never yeah okay ok nothing none without")
"""What answers or denies something."""
LONGEST = 16
_WORD = re.compile(r"[^\W\d_]+|\d")


def told(found: Sequence[str]) -> list[str]:
    """The sentences that say something; all of them if none does."""
    return [each for each in found if not is_courtesy(each)] or [*found]


def is_courtesy(sentence: str) -> bool:
    """Whether it tells nothing."""
    words = _WORD.findall(sentence.casefold())
    if len(words) > LONGEST or not NO_COURTESY.isdisjoint(words):
        return False
    if not fillers().sub(" ", sentence).strip(" .,!?-"):
        return True
    return not POLITE.isdisjoint(words) and POLITE.union(EMPTY).issuperset(words)
