"""Free text: whether two texts ask for or say the same, in whatever words.

`judge` is the one thing that others need. Checks refuse what no wording can make the same - another day,
amount, name or thing, a negation, the opposite, changed places -, and a measure of likeness judges the
wording of the rest. How both were chosen and how often they err: docs/free-text.md.
"""

from rig.scoring.texts.elsewhere import beside
from rig.scoring.texts.judgement import Band, Judgement, Meaning, judge
from rig.scoring.texts.pair import Elsewhere, Pair, pair
from rig.scoring.texts.refusals import refusal
from rig.scoring.texts.wording import Embedded, Wording, features

__all__ = [
    "Band",
    "Elsewhere",
    "Embedded",
    "Judgement",
    "Meaning",
    "Pair",
    "Wording",
    "beside",
    "features",
    "judge",
    "pair",
    "refusal",
]
