"""Parts that only one text has: another errand, another item of a list."""

from collections.abc import Iterator, Sequence

from rig.reading.lexicon import in_order, stem, vocabulary
from rig.reading.words import EMPTY, Word
from rig.scoring.texts.checks.negation import DENYING
from rig.scoring.texts.pair import Pair, Side

JOINING = vocabulary("and or then plus but")
ADDING = vocabulary(
    "by because for with without on to at under over from after before despite due except until"
)
"""What begins an addition."""
ENDING = frozenset(".!?;\n")
SOCIAL = frozenset(
    stem(word)
    for word in in_order(
        "thanks thank hi hello dear sorry apologies apologize cheers regards wishes best kind love "
        "greetings welcome "
        "please know hope soon time look forward see let question contact free feel help appreciate "
        "advance good "
        "morning afternoon evening night day week weekend great nice wonder luck congratulations "
        "reminder remember note "
        "friendly heads quick well name be worry problem okay yes no yeah bother disturb trouble moment "
        "chance minute "
        "get here there now today ok fine sure come yay hooray wow oh ah ugh xx xxx unfortunately "
        "fortunately sadly "
        "luckily anyway also everyone everybody folks guys lovely excited happy glad delighted afraid "
        "really very just say tell want forget"
    )
)
"""What a text can have more of and say the same."""


def left_out(pair: Pair) -> str | None:
    """Why too much is missing: one text has a whole part, joined by "and" or a full stop, that the other
    has not, and the other has nothing of its own.
    """
    unshared = pair.unshared
    if bool(unshared.first) == bool(unshared.second) or not (unshared.shared or pair.elsewhere.stems):
        return None
    if pair.kind.place:
        return None
    side, other, own = _sides(pair)
    called = {word.text for word in (*other.reading.greeted, *other.reading.signed)}
    missing = {word.text for word in own} - called
    for part in _parts(side):
        words = [word for word in part if word in side.content]
        if words and all(word.text in missing and word.stem not in SOCIAL for word in words):
            return "only one says: " + " ".join(word.text for word in words[:4])
    return None


def added(pair: Pair) -> str | None:
    """What only one text adds, the other having nothing of its own: "by mistake", "because of the strike"."""
    unshared = pair.unshared
    if pair.kind.place or pair.foreign or bool(unshared.first) == bool(unshared.second):
        return None
    side, other, own = _sides(pair)
    marked = {part for mark in side.marks for part in mark.shown.split()}
    marked |= {word.text for word in own if other.denied and word.stem in DENYING}
    own_texts = {word.text for word in own if not all(_light(part, marked) for part in word.text.split())}
    inserted = pair.kind.like in ("body", "task") and _inserted(side.plain, other.plain)
    opened = inserted
    for word in side.merged:
        if opened and word.text in own_texts:
            return f"only one says: {word.text}"
        opened = inserted or word.text in ADDING or (opened and word.text in EMPTY)
    return None


def _light(word: str, marked: set[str]) -> bool:
    return word in EMPTY or word in marked or stem(word) in SOCIAL


def _inserted(longer: Sequence[Word], shorter: Sequence[Word]) -> bool:
    """Whether the one is the other, word for word, with something put in."""
    rest = iter([word.stem for word in longer])
    return all(word.stem in rest for word in shorter if word.is_word and word.text not in EMPTY)


def _sides(pair: Pair) -> tuple[Side, Side, Sequence[Word]]:
    """The text that has words of its own, the other one, and those words."""
    if pair.unshared.first:
        return pair.first, pair.second, pair.unshared.first
    return pair.second, pair.first, pair.unshared.second


def _parts(side: Side) -> Iterator[Sequence[Word]]:
    part: list[Word] = []
    for word in side.merged:
        if word.text in JOINING or word.text == "," or word.text in ENDING:
            yield part
            part = []
        else:
            part.append(word)
    yield part
