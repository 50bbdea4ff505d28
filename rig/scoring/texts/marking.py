"""What two texts differ in, to be shown to people."""

import re
from collections.abc import Sequence

from rig.scoring.texts.checks import Meaning
from rig.scoring.texts.judgement import Band, judge
from rig.toolbox.spec import FREE_TEXT


def marked(first: str, second: str) -> list[tuple[str, str]]:
    """The clauses of two texts that are not the same, side by side, each word that remains in brackets."""
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
