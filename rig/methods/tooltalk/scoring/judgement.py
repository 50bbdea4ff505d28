"""A grader's scores for a conversation, once all of it has been played."""

from collections.abc import Iterable, Sequence

from rig.calls import CallPlace, Doubt, ExecutedCall
from rig.methods.tooltalk.conversations import Conversation
from rig.methods.tooltalk.scoring.error_types import error_types
from rig.methods.tooltalk.scoring.faults import Acted, find_faults
from rig.methods.tooltalk.scoring.metrics import count
from rig.metrics import Counts, Score
from rig.scoring import Grader, Matching
from rig.tasks import PlayedTurn
from rig.toolbox.rules import is_optional

Truths = Sequence[tuple[CallPlace, ExecutedCall]]
"""The ground truth by place, each with who was logged in."""


def judge(conversation: Conversation, played: Iterable[PlayedTurn], truths: Truths, grader: Grader) -> Score:
    """Judge turns that were played before."""
    turns = list(played)
    matching = grader.start(truths, conversation.terms)
    for turn in turns:
        for executed in turn.executed:
            matching.add(turn.turn, executed)
    return conclude(conversation, turns, truths, grader, matching)


def conclude(
    conversation: Conversation,
    played: Iterable[PlayedTurn],
    truths: Truths,
    grader: Grader,
    matching: Matching,
) -> Score:
    """The score of turns whose calls the matching has been given already, in the same order."""
    turns = list(played)
    verdicts = matching.verdicts()
    left = iter(verdicts)
    judged = {turn.turn: [(executed, next(left)) for executed in turn.executed] for turn in turns}
    replies = (turn.steps[-1].prediction.reply if turn.steps else None for turn in turns)
    acted = {
        turn.turn: Acted(tuple(judged[turn.turn]), reply, turn.error)
        for turn, reply in zip(turns, replies, strict=True)
    }
    calls = [(turn, *pair) for turn, pairs in judged.items() for pair in pairs]
    due = [truth for truth in truths if not is_optional(truth[1])]
    types = error_types(calls, due)
    counts = _counts(conversation, matching, grader)
    places = [(turn.turn, step, executed) for turn in turns for step, executed in enumerate(turn.executed)]
    doubts = []
    for number, truth, difference in matching.unclear():
        turn, step, executed = places[number]
        texts = (str(difference.expected), str(difference.got))
        doubts.append(Doubt(turn, step, truth, executed.name, difference.what, *texts, difference.note or ""))
    # By how much each count would change if what is unclear were the same.
    would = _counts(conversation, matching.if_same(), grader) if doubts else {}
    return Score(
        counts,
        tuple(verdicts),
        {turn: {str(kind): n for kind, n in kinds.items()} for turn, kinds in types.items()},
        find_faults(conversation, acted, due, grader.compare, grader.toolbox),
        tuple(doubts),
        {name: value - counts[name] for name, value in would.items()},
    )


def _counts(conversation: Conversation, matching: Matching, grader: Grader) -> Counts:
    """The counts of a conversation, to which optional calls are nothing, made or not."""
    optional = matching.optional()
    judged = [pair for number, pair in enumerate(matching.judged()) if number not in optional]
    forbidden = matching.forbidden() if conversation.terms.forbidden else None
    return count(judged, len(matching.due()), grader.toolbox.is_action, forbidden)
