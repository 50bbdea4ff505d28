"""Free text: whether two texts ask for or say the same, in any words.

Others only need `judge`. Checks refuse what no wording can make the same (another day, amount, name or thing,
a negation, the opposite, changed places), and a measure of likeness judges the wording of the rest.
docs/free-text.md says how both were chosen and how often they err.
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
