"""The checks: each says in a few words why two texts cannot mean the same, or why it is not clear, or
nothing.
"""

from collections.abc import Callable, Collection, Mapping
from typing import TypeAlias

from rig.reading.facts import IMPLIED, TIMES, Fact, Sort, conflict, renumbered
from rig.reading.lexicon import vocabulary
from rig.reading.words import Word
from rig.scoring.texts.checks import pictures, scales
from rig.scoring.texts.checks.asking import asked_or_said, bidden_or_done, conditional
from rig.scoring.texts.checks.contrasts import other_thing
from rig.scoring.texts.checks.names import only_name, other_name
from rig.scoring.texts.checks.negation import denial
from rig.scoring.texts.checks.opposites import contrary
from rig.scoring.texts.checks.parts import added, left_out
from rig.scoring.texts.checks.roles import owned_otherwise, swapped
from rig.scoring.texts.checks.swaps import exchanged
from rig.scoring.texts.checks.tense import other_tense
from rig.scoring.texts.pair import Pair, Side

Check: TypeAlias = Callable[[Pair], str | None]
AMOUNTS = frozenset(Sort) - TIMES
TELLING_TIME = vocabulary(
    "weekend weekday midweek day week month year eve christmas easter halloween holiday payday birthday "
    "anniversary thanksgiving noon lunchtime dinnertime daybreak dawn dusk then same later earlier daily"
)
TELLING_AMOUNT = vocabulary(
    "pair half halves quarter third double single both several few dozen dozens decade century once only "
    "alone i ii iii iv v vi vii viii ix x xi xii"
)
"""Words that can stand for a fact that the other text writes out."""
LONGEST_REASON = 100


def _times(pair: Pair) -> str | None:
    return conflict(pair.facts.first, pair.facts.second, TIMES)


def _amounts(pair: Pair) -> str | None:
    reason = conflict(pair.facts.first, pair.facts.second, AMOUNTS)
    return reason or renumbered(pair.first.facts, pair.second.facts)


def _missing_facts(pair: Pair) -> str | None:
    for fact in (*pair.facts.first, *pair.facts.second):
        if fact.sort not in IMPLIED and not _carried(fact, pair) and not _may_be_told(fact, pair):
            return f"only one says: {fact.shown}"
    return None


def _may_be_told(fact: Fact, pair: Pair) -> bool:
    """Whether the other text has words of its own that can stand for such a fact: "the weekend", "a pair"."""
    others = pair.unshared.second if fact in pair.first.facts else pair.unshared.first
    tellers = TELLING_TIME if fact.sort in TIMES else TELLING_AMOUNT
    return any(word.text in tellers or word.stem in tellers for word in others)


def _implied_facts(pair: Pair) -> str | None:
    timed = any(one.sort is Sort.CLOCK for one, _ in pair.facts.pairs)
    for fact in (*pair.facts.first, *pair.facts.second):
        if fact.sort is Sort.PART and timed:
            continue  # "7 in the evening" and 19:00
        told = fact.sort not in IMPLIED or not _understood(fact)
        if told and not _carried(fact, pair):
            return f"only one says: {fact.shown}"
    return None


def _carried(fact: Fact, pair: Pair) -> bool:
    """Whether it stands beside both texts, as the day of a reminder does."""
    dated = {each.said for agreed in pair.facts.pairs for each in agreed if each.sort is Sort.DAY}
    if fact.sort is Sort.MONTH and fact.said in dated:
        return True  # the 15th is September 15
    others = pair.elsewhere.facts
    if any(fact.agrees(other) for other in others):
        return True
    told = fact.sort in (Sort.RELATIVE, Sort.WHICH, Sort.PART)
    return told and any(other.sort in (Sort.DAY, Sort.CLOCK) for other in others)


def _understood(fact: Fact) -> bool:
    """As in: this Friday, annual leave, Trivia Night"""
    which = {value[0] for value in fact.values if isinstance(value, tuple)}
    return bool(which & {"this", "every"}) or fact.shown in ("night", "overnight")


def _names(pair: Pair) -> str | None:
    return other_name(pair.first.reading, pair.second.reading, titles=pair.kind.place)


def _missing_names(pair: Pair) -> str | None:
    if pair.kind.place:
        return None
    if pair.foreign:
        return None
    first, second = ((each.reading, each.stated) for each in (pair.first, pair.second))
    return only_name(first, second, pair.elsewhere.stems)


def _negation(pair: Pair) -> str | None:
    return None if _may_deny(pair) else _denial(pair)


def _denial(pair: Pair) -> str | None:
    first, second = pair.first, pair.second
    return denial(_said(first), first.denials, _said(second), second.denials)


def _said(side: Side) -> tuple[Word, ...]:
    """The words, and as a sentence of their own the expressions among them."""
    return (*side.plain, Word(".", "."), *(word for word in side.merged if " " in word.stem))


def _may_deny(pair: Pair) -> bool:
    """Whether the text that denies nothing has words of its own, which may say it differently: "late"
    beside "not on time".
    """
    if pair.foreign or bool(pair.first.denied) == bool(pair.second.denied):
        return False
    plain, own = (
        (pair.second, pair.unshared.second) if pair.first.denied else (pair.first, pair.unshared.first)
    )
    degrees = {part for mark in plain.marks for part in mark.shown.split()}
    return any(word.text not in degrees for word in own)


def _opposites(pair: Pair) -> str | None:
    first, second = pair.first, pair.second
    return contrary(first.merged, first.denied, second.merged, second.denied)


def _things(pair: Pair) -> str | None:
    return other_thing(pair.unshared)


def _roles(pair: Pair) -> str | None:
    if reason := swapped(pair.first.merged, pair.second.merged) or bidden_or_done(pair):
        return reason
    # Of a reminder "your passport" is the user's own, as the assistant puts it.
    if pair.kind.personal:
        return owned_otherwise(pair.first.merged, pair.second.merged)
    return None


def _scales(pair: Pair) -> str | None:
    first, second = pair.first, pair.second
    return scales.off(_unsaid(first, second), _unsaid(second, first))


def _unsaid(one: Side, other: Side) -> list[scales.Mark]:
    """The marks of one text, without "forbidden" where the other denies it: "you must not"."""
    allows = any(mark.value.scale == "permission" for mark in other.marks)
    even = bool(other.denials) and not allows
    return [mark for mark in one.marks if not (even and scales.forbids(mark))]


def _doubtful_scales(pair: Pair) -> str | None:
    return scales.doubtful(pair.first.marks, pair.second.marks)


def _emoji(pair: Pair) -> str | None:
    worded = bool((pair.first.content and pair.second.content) or pair.elsewhere.stems)
    return pictures.other_mood(pair.first.pictures, pair.second.pictures, worded)


def _doubtful_emoji(pair: Pair) -> str | None:
    return pictures.doubtful(pair.first.pictures, pair.second.pictures)


CHECKS: Mapping[str, Check] = {
    "days and times": _times,
    "amounts": _amounts,
    "names": _names,
    "facts that one leaves out": _missing_facts,
    "names that one leaves out": _missing_names,
    "negation": _negation,
    "opposites": _opposites,
    "scales": _scales,
    "things of one sort": _things,
    "roles": _roles,
    "places changed": exchanged,
    "tense": other_tense,
    "emoji": _emoji,
    "parts": left_out,
}
"""What refuses a pair."""
DOUBTS: Mapping[str, Check] = {
    "facts said otherwise": _implied_facts,
    "denied otherwise": _denial,
    "scales": _doubtful_scales,
    "emoji": _doubtful_emoji,
    "question": asked_or_said,
    "condition": conditional,
    "additions": added,
}
"""What makes a pair unclear that nothing refuses."""


def refusal(pair: Pair, without: Collection[str] = ()) -> str | None:
    """Why the texts cannot mean the same, in one line; None if no check objects. Checks named in
    `without` are left out.
    """
    return _first(CHECKS, pair, without)


def doubt(pair: Pair, without: Collection[str] = ()) -> str | None:
    """Why it is not clear whether the texts mean the same, in one line."""
    return _first(DOUBTS, pair, without)


def _first(checks: Mapping[str, Check], pair: Pair, without: Collection[str]) -> str | None:
    if pair.first == pair.second:
        return None  # whatever a check makes of such a text, it says what it says
    for name, check in checks.items():
        if name not in without and (reason := check(pair)):
            return reason[:LONGEST_REASON]
    return None
