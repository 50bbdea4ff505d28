"""Free text: whether two texts ask for or say the same, in any words.

Both texts are read clause by clause, and what remains of aligned clauses must be proven harmless.
docs/explanation/free-text.md says how, and how often it errs.
"""

from rig.scoring.texts.checks import Meaning
from rig.scoring.texts.elsewhere import Elsewhere, beside
from rig.scoring.texts.judgement import Aligned, Band, TextJudgement, judge
from rig.scoring.texts.marking import marked
from rig.scoring.texts.residue import Residue

__all__ = [
    "Aligned",
    "Band",
    "Elsewhere",
    "Meaning",
    "Residue",
    "TextJudgement",
    "beside",
    "judge",
    "marked",
]
