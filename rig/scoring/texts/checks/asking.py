"""Questions and statements: "Is the shop open?" does not say that it is."""

from itertools import pairwise

from rig.reading.lexicon import vocabulary
from rig.scoring.texts.pair import Pair, Side

AUXILIARY = vocabulary("is are was were am do does did has have had")
"""What begins such a question; those with "can" and "would" ask for something to be done."""
ASKING = vocabulary(
    "ask wonder know whether check question let tell see find why what when where who which how any"
)


def asked_or_said(pair: Pair) -> str | None:
    """What only one text asks that the other says, in the same words."""
    if pair.kind.like != "body" or pair.unshared.first or pair.unshared.second:
        return None
    for one, other in ((pair.first, pair.second), (pair.second, pair.first)):
        if _asks(one) and not _may_ask(other):
            return "only one asks"
    return None


def bidden_or_done(pair: Pair) -> str | None:
    """What only one text asks for that somebody does in the other, in the same words: "please confirm it", "I
    confirm it".
    """
    if pair.kind.like != "body" or pair.unshared.first or pair.unshared.second:
        return None
    for one, other in ((pair.first, pair.second), (pair.second, pair.first)):
        if same := _after(one, BIDDING) & _after(other, SELF):
            return f"roles: only one asks for it: {min(same)}"
    return None


def _after(side: Side, words: frozenset[str]) -> set[str]:
    """The stems of what stands directly behind one of these words."""
    return {
        word.stem for before, word in pairwise(side.reading.words) if before.text in words and word.is_word
    }


BIDDING, SELF = vocabulary("please kindly"), vocabulary("i we")
CONDITIONS = vocabulary("if unless provided assuming")
OF_TIME = vocabulary("when once whenever after as case whether should")
WISHED = vocabulary(
    "can could want like have need are do would get feel wish prefer agree mind come see know might may"
)
"""After "if you": what people say out of politeness."""
POLITE = vocabulary("possible needed necessary any so that not at all there anything convenient okay ok")
ASKED = vocabulary(
    "know ask see check wonder tell sure find confirm clarify say and inquire remember even as"
)


def conditional(pair: Pair) -> str | None:
    """A condition that only one text makes."""
    ones, others = _conditions(pair.first), _conditions(pair.second)
    if bool(ones) == bool(others):
        return None
    words = (pair.second if ones else pair.first).reading.words
    if any(word.text in OF_TIME | CONDITIONS for word in words):
        return None
    return f"only one says: {(ones or others)[0]}"


def _conditions(side: Side) -> list[str]:
    words = side.reading.words
    return [
        word.text
        for at, word in enumerate(words[:-1])
        if word.text in CONDITIONS
        and words[at + 1].text not in POLITE
        and not (words[at + 1].text == "you" and {w.text for w in words[at + 2 : at + 3]} & WISHED)
        and not (at and (words[at - 1].text in ASKED or words[at - 1].stem in ASKED))
        and not {"know", "ask", "check", "see", "wonder", "tell"}
        & {w.stem for w in words[max(0, at - 4) : at]}
    ]


def _asks(side: Side) -> bool:
    """Whether it asks whether something is so."""
    words = side.reading.words
    begins = (word.text for word in words if word.first and word.is_word)
    return any(word.text == "?" for word in words) and any(text in AUXILIARY for text in begins)


def _may_ask(side: Side) -> bool:
    return any(word.text in ("?", "？") or {word.text, word.stem} & ASKING for word in side.reading.words)
