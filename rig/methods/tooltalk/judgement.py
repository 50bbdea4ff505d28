"""What a grader makes of a conversation once all of it has been played."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from rig.calls import ExecutedCall
from rig.conversations import Conversation
from rig.episodes import PlayedTurn
from rig.methods.tooltalk.error_types import ErrorType, error_types
from rig.methods.tooltalk.faults import Acted, find_faults
from rig.scoring import Grader, Matching
from rig.verdicts import Fault, Metrics, Verdict


@dataclass(frozen=True, slots=True)
class Judgement:
    """A conversation's metrics, the final verdict of each of its calls in order, and what went wrong.

    `error_types` are ToolTalk's, counted by turn; `faults` say more.
    """

    metrics: Metrics
    verdicts: tuple[Verdict, ...]
    error_types: Mapping[int, Mapping[ErrorType, int]] = field(default_factory=dict)
    faults: tuple[Fault, ...] = ()


Truths = Sequence[tuple[tuple[int, int], ExecutedCall]]
"""The ground truth by (turn, call), each with who was logged in."""


def judge(
    conversation: Conversation, played: Iterable[PlayedTurn], truths: Truths, grader: Grader
) -> Judgement:
    """Judge turns that were played before."""
    turns = list(played)
    matching = grader.start(truths)
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
) -> Judgement:
    """The judgement on turns whose calls the matching has been given already, in the same order."""
    turns = list(played)
    verdicts = matching.verdicts()
    left = iter(verdicts)
    judged = {turn.turn: [(executed, next(left)) for executed in turn.executed] for turn in turns}
    acted = {
        turn.turn: Acted(
            tuple(judged[turn.turn]), turn.steps[-1].prediction.reply if turn.steps else None, turn.error
        )
        for turn in turns
    }
    calls = [(turn, *pair) for turn, pairs in judged.items() for pair in pairs]
    return Judgement(
        matching.metrics(),
        tuple(verdicts),
        error_types(calls, truths),
        find_faults(conversation, acted, truths, grader.compare, grader.toolbox),
    )
