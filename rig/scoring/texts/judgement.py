"""The judgement of two free texts: the same, different, or not clear."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from rig.reading.words import MAX_CHARACTERS, Parts, is_small, told
from rig.scoring.texts.pair import NOWHERE, Elsewhere, Pair, of_parts, side, taken_apart
from rig.scoring.texts.refusals import doubt, refusal
from rig.scoring.texts.sentences import aligned, different, sentences
from rig.toolbox.spec import Text

MAX_SENTENCES = 80
"""Sentences that only one text has. Of more, the texts are too different to be held together."""
MAX_SHARED = 200
"""Shared sentences in which a fact is looked for that a sentence beside them leaves out."""
WHOLE = 6
"""Sentences up to which what the texts do not share is judged as a whole."""
AMID = 0.9
"""The likeness from which a sentence among many equal ones means the same in other words."""
HALF = 0.5
"""Likeness that says nothing either way."""
MAX_TEXT = 1_000_000


class Meaning(StrEnum):
    """What is said about two texts."""

    SAME = "same"
    DIFFERENT = "different"
    UNCLEAR = "unclear"


@dataclass(frozen=True, slots=True)
class Band:
    """From which likeness on texts are the same, and from which on it is not clear."""

    same: float
    unclear: float


@dataclass(frozen=True, slots=True)
class Judgement:
    """What is said about two texts, and why. `likeness` is that of the wording, from 0 to 1; `note` says what
    a check found.
    """

    meaning: Meaning
    likeness: float
    note: str | None = None

    @property
    def reason(self) -> str:
        """Why, in one line."""
        return self.note or f"the wording is alike by {self.likeness:.2f}"


Likeness = Callable[[Pair], float]
SAME = Judgement(Meaning.SAME, 1.0)


def judge(
    kind: Text, first: str, second: str, likeness: Likeness, band: Band, elsewhere: Elsewhere | None = None
) -> Judgement:
    """Whether two texts of a kind mean the same. Symmetric. Texts of any length are read whole."""
    found = pieces(kind, first, second, elsewhere or Elsewhere())
    if isinstance(found, Judgement):
        return found
    worst = SAME
    for pair in sorted(found, key=lambda each: refusal(each) is None):
        judged = _judged(pair, likeness, band)
        if judged.meaning is Meaning.DIFFERENT:
            return judged
        worst = min(worst, judged, key=lambda each: (each.meaning is Meaning.SAME, each.likeness))
    return worst


def pieces(kind: Text, first: str, second: str, elsewhere: Elsewhere = NOWHERE) -> Sequence[Pair] | Judgement:
    """What is to be judged of two texts: the sentences that they do not share, together if they are few,
    else the most alike ones side by side. A judgement where there is nothing to be read.
    """
    if first == second:
        return SAME
    if max(len(first), len(second)) > MAX_TEXT:
        return Judgement(Meaning.UNCLEAR, 0.0, "too long to read")
    parts = taken_apart(first, second)
    ones, others, both = different(*(told(sentences(each.body)) for each in parts))
    if max(len(ones), len(others)) > MAX_SENTENCES:
        return Judgement(Meaning.DIFFERENT, 0.0, "most of it differs")
    if len(ones) <= WHOLE and len(others) <= WHOLE:
        rest = [(" ".join(ones), " ".join(others))]
    else:
        rest = list(aligned(ones, others))
    if any(len(body) > MAX_CHARACTERS for bodies in rest for body in bodies):
        return Judgement(Meaning.UNCLEAR, 0.0, "a sentence is too long to read")
    beside = _with(elsewhere, both)
    return [
        of_parts(kind, parts[0]._replace(body=one), parts[1]._replace(body=other), beside)
        for one, other in rest
    ]


def _with(elsewhere: Elsewhere, shared: Sequence[str]) -> Elsewhere:
    """What stands beside the texts, with the sentences that both have."""
    sides = [side(Parts("", sentence, "")) for sentence in [*dict.fromkeys(shared)][:MAX_SHARED]]
    facts = (fact for each in sides for fact in each.facts)
    stems = (word.stem for each in sides for word in each.plain)
    return Elsewhere((*elsewhere.facts, *facts), elsewhere.stems.union(stems), len(shared))


def _judged(pair: Pair, likeness: Likeness, band: Band) -> Judgement:
    value = known_likeness(pair)
    if value is None:
        value = likeness(pair)
    if note := refusal(pair):
        return Judgement(Meaning.DIFFERENT, value, note)
    if value < band.unclear:
        return Judgement(Meaning.DIFFERENT, value)
    if note := doubt(pair):
        return Judgement(Meaning.UNCLEAR, value, f"not clear: {note}")
    if value < (max(band.same, AMID) if _amid(pair) else band.same):
        return Judgement(Meaning.UNCLEAR, value, f"not clear: the wording is alike by {value:.2f}")
    return Judgement(Meaning.SAME, value)


def _amid(pair: Pair) -> bool:
    """Whether each text has its own words in one sentence, among many that are the same word for word: if you
    reword one sentence of a long text, you reword others.
    """
    return pair.elsewhere.sentences > WHOLE and bool(pair.unshared.first and pair.unshared.second)


def known_likeness(pair: Pair) -> float | None:
    """How alike the wording is where no model is needed: the same words, or words of another language, of
    which no model here knows more than whether they are the same.
    """
    if pair.first.plain == pair.second.plain or not (pair.first.content or pair.second.content):
        return 1.0
    return _foreign(pair) if pair.foreign else None


def _foreign(pair: Pair) -> float:
    """The same where both have the same words, different where each has a word for another of the other."""
    ones, others = (
        [w for w in words if not is_small(w.text)] for words in (pair.unshared.first, pair.unshared.second)
    )
    if not ones and not others:
        return 1.0
    return 0.0 if ones and others and pair.unshared.shared else HALF
