"""Free text: decide whether two texts ask for or say the same, in any words.

Both texts are read clause by clause, and whatever remains of aligned clauses must be proven harmless.
docs/explanation/free-text.md explains how, and how often this errs.
"""

import re
from collections.abc import Sequence

from rig.scoring.texts.around import Elsewhere, beside
from rig.scoring.texts.checks import Meaning
from rig.scoring.texts.judgement import Aligned, Band, TextJudgement, judge
from rig.scoring.texts.residue import Residue
from rig.toolbox.spec import FREE_TEXT

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


def marked(first: str, second: str) -> list[tuple[str, str]]:
    """Return the pairs of clauses of two texts that are not the same, their remaining words in brackets."""
    judged = judge(FREE_TEXT, first, second, lambda _: 0.5, Band(0.5, 0.5))
    return [
        (_bracketed(clause.first, clause.left[0]), _bracketed(clause.second, clause.left[1]))
        for clause in judged.clauses
        if clause.meaning is not Meaning.SAME
    ]


def _bracketed(clause: str, words: Sequence[str]) -> str:
    for word in dict.fromkeys(words):
        clause = re.sub(rf"(?<![\w\[]){re.escape(word)}(?![\w\]])", f"[{word}]", clause)
    return clause
