"""Questions for people on whether two texts of a stored conversation mean the same."""

from rig.core.tasks import turn_number
from rig.plugins.rescore.adjudication import Opinion, Unsettled
from rig.plugins.text.judge import marked
from rig.show import signs
from rig.show.texts import clip

_LONGEST = 2000
"""The most characters shown of one text."""

_BEFORE = 6
"""The most earlier messages that are shown, the last ones."""

_CLAUSES = 5
"""The most pairs of clauses shown, each with the words in brackets that the other lacks."""

QUESTION = "Do they mean the same?"


def question_text(
    question: Unsettled, number: int, of: int, opinion: Opinion | None = None, *, is_blind: bool = True
) -> str:
    """Return everything needed to answer question `number` of `of`. If it `is_blind`, it names no arm."""
    doubt, task = question.doubt, question.scored.conversation
    turn = turn_number(task, doubt.turn)
    often = f", {question.times} calls" if question.times > 1 else ""
    arm = "" if is_blind else f", {question.arm}"
    history = question.said[-_BEFORE:]
    left_out = len(question.said) - len(history)
    lines = [f"{number} of {of}: {question.where.conversation}, turn {turn}{arm}{often}"]
    lines += [f"  … {left_out} earlier"] if left_out else []
    lines += [f"  {signs.USER.word if role == 'user' else role}: {_text(text)}" for role, text in history]
    lines += [
        f"  {doubt.tool}, {doubt.argument}",
        f"    expected: {_text(doubt.expected)}",
        f"    got:      {_text(doubt.got)}",
        f"  {doubt.note}",
    ]
    for clauses in marked(doubt.expected[:_LONGEST], doubt.got[:_LONGEST])[:_CLAUSES]:
        lines += [f"    {_text(clause) or '-'}" for clause in clauses]
    if opinion is not None:
        view = {True: "the same", False: "another thing", None: "no opinion"}[opinion.same]
        lines.append(f"  {opinion.model} thinks: {view} ({_text(opinion.reason)})")
    return "\n".join(lines)


def _text(text: str) -> str:
    return clip(text, _LONGEST).line
