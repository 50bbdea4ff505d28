"""What is done, what will be, and what somebody only wants."""

from collections.abc import Sequence

from rig.reading.lexicon import synonymous, vocabulary
from rig.reading.words import EMPTY, Word
from rig.scoring.texts.pair import Pair

FUTURE = vocabulary("will shall gonna")
MODALS = vocabulary("should must would may might")
NOT_YET = vocabulary("be to get it them have please is are am")
"""Beside these a participle tells a state, or what somebody wants: "it is closed", "get it repaired"."""
DONE = vocabulary("has have had did was were been got")
PLANS = vocabulary(
    "want wants wanted plan plans planned planning hope hopes hoped hoping intend intends intended "
    "consider considers "
    "considered considering try tries tried trying refuse refuses refused offer offers offered "
    "promise promises "
    "promised threaten threatens threatened decided decide decides asked wish wishes might"
)
SELF = vocabulary("i we me us")
MOST_ELSE = 1
"""Words that each text may have of its own: of those that say it quite otherwise, the tense tells little."""
REACH = 3


def other_tense(pair: Pair) -> str | None:
    """Why the same deed is done in one text and only coming, or only wanted, in the other."""
    if max(len(pair.unshared.first), len(pair.unshared.second)) > MOST_ELSE:
        return None
    first, second = _deeds(pair.first.plain), _deeds(pair.second.plain)
    for verb, how in first.items():
        for other, how_there in second.items():
            if {how, how_there} in ({"done", "future"}, {"done", "planned"}) and synonymous(verb, other):
                return f"tense: only one says that it is done: {verb}"
    return None


def _deeds(words: Sequence[Word]) -> dict[str, str]:
    """How each verb that says so is meant: future, planned or done."""
    found: dict[str, str] = {}
    for at, word in enumerate(words):
        if not word.is_word or word.text in EMPTY:
            continue
        before = [other.text for other in words[max(0, at - REACH) : at]]
        if FUTURE & set(before):
            found.setdefault(word.stem, "future")
        elif (PLANS & set(before) and before[-1] in ("to", "ing") and not SELF & set(before)) or MODALS & set(
            before
        ):
            found.setdefault(word.stem, "planned")
        elif "going" in before and before[-1] == "to":
            found.setdefault(word.stem, "future")
        elif (
            (_past(word) and not NOT_YET & set(before))
            or _perfect(before)
            or (DONE & set(before) and "to" not in before and word.text not in DONE and _past(word))
        ):
            found.setdefault(word.stem, "done")
    return found


def _perfect(before: Sequence[str]) -> bool:
    return before[-1:] in (["has"], ["have"], ["had"])


def _past(word: Word) -> bool:
    """Whether it has the form of the past: booked, paid. "Feed" and "garage" do not."""
    if word.text == word.stem or word.text.endswith(("s", "ing")):
        return False
    return word.text.endswith("ed") or not word.text.startswith(word.stem)
