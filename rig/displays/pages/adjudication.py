"""A pair of texts for a person to judge: what was said, both texts, and why it is not clear."""

from rig.displays import signs
from rig.displays.clip import clip
from rig.rescore import Opinion, Unsettled
from rig.scoring.texts import marked
from rig.tasks import turn_number

_LONGEST = 2_000
_BEFORE = 6
"""Things said before that are shown, the last ones."""

_CLAUSES = 5
"""Pairs of clauses that are shown, each with the words in brackets that the other has not."""

QUESTION = "Do they mean the same?"


def question_text(
    question: Unsettled, number: int, of: int, opinion: Opinion | None = None, *, is_blind: bool = True
) -> str:
    """Everything you need to answer one question: number `number` of `of`. It does not say whose text it is,
    unless that is asked for.
    """
    doubt, task = question.doubt, question.scored.conversation
    turn = turn_number(task, doubt.turn)
    often = f", {question.times} calls" if question.times > 1 else ""
    arm = "" if is_blind else f", {question.arm}"
    history = question.said[-_BEFORE:]
    left_out = len(question.said) - len(history)
    lines = [f"{number} of {of}: {question.where.conversation}, turn {turn}{arm}{often}"]
    lines += [f"  … {left_out} earlier"] if left_out else []
    lines += [
        f"  {signs.USER.word if role == 'user' else role}: {clip(text, _LONGEST).line}"
        for role, text in history
    ]
    lines += [
        f"  {doubt.tool}, {doubt.argument}",
        f"    expected: {clip(doubt.expected, _LONGEST).line}",
        f"    got:      {clip(doubt.got, _LONGEST).line}",
        f"  {doubt.note}",
    ]
    for clauses in marked(doubt.expected[:_LONGEST], doubt.got[:_LONGEST])[:_CLAUSES]:
        lines += [f"    {clip(clause, _LONGEST).line or '-'}" for clause in clauses]
    if opinion is not None:
        view = {True: "the same", False: "another thing", None: "no opinion"}[opinion.same]
        lines.append(f"  {opinion.model} thinks: {view} ({clip(opinion.reason, _LONGEST).line})")
    return "\n".join(lines)
