"""Free text: decide whether two texts ask for or say the same, in any words.

A model reads the sentences that belong together, and a guard says which facts and words it may not overlook.
docs/explanation/free-text.md explains how, and how often this errs.
"""

import re

from rig.plugins.text.judge.around import Elsewhere, beside
from rig.plugins.text.judge.judgement import Band, Reader, judge
from rig.plugins.text.judge.passages import Sentence, passages, sentences_of, unshared
from rig.plugins.text.reading.clauses import read_text

__all__ = ["Band", "Elsewhere", "Reader", "beside", "judge", "marked"]


def marked(first: str, second: str) -> list[tuple[str, str]]:
    """Return the sentences of two texts that belong together and are not the same. In brackets stands what
    only one of them has.
    """
    rest = unshared(*(sentences_of(read_text(text)) for text in (first, second)))
    return [(_bracketed(one, other), _bracketed(other, one)) for one, other in passages(*rest)]


def _bracketed(sentence: Sentence | None, other: Sentence | None) -> str:
    if sentence is None:
        return ""
    keys = set() if other is None else {atom.key for atom in other.atoms}
    text = sentence.text
    for atom in sentence.atoms:
        if atom.key not in keys:
            text = re.sub(
                rf"(?<![\w\[]){re.escape(atom.shown)}(?![\w\]])", f"[{atom.shown}]", text, flags=re.I
            )
    return text
