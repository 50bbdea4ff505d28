"""Free text: whether two texts ask for or say the same, in whatever words.

A measure of similarity says how alike the wording is; the checks beside it refuse what no wording can make
the same - another day, amount, name or thing, a negation, the opposite. How both were chosen and how often
they err: docs/free-text.md.
"""

from rig.scoring.texts.checks import refusal
from rig.scoring.texts.pair import Pair, pair
from rig.scoring.texts.wording import Embedded, Wording, features

__all__ = ["Embedded", "Pair", "Wording", "features", "pair", "refusal"]
