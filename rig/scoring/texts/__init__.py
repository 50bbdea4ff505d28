"""Free text: whether two texts ask for or say the same, in any words.

Both texts are read clause by clause, and what remains of aligned clauses must be proven harmless.
docs/explanation/free-text.md says how, and how often it errs.
"""

from rig.scoring.texts.checks import Meaning
from rig.scoring.texts.judgement import Aligned, Band, Elsewhere, TextJudgement, beside, judge, marked
from rig.scoring.texts.residue import Residue
from rig.scoring.texts.wording import Embedded, Wording, features

__all__ = [
    "Aligned",
    "Band",
    "Elsewhere",
    "Embedded",
    "Meaning",
    "Residue",
    "TextJudgement",
    "Wording",
    "beside",
    "features",
    "judge",
    "marked",
]
