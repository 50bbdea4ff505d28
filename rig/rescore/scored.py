"""Scoring what was predicted before: files of predictions, and the conversations of a stored run."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from rig.calls import JsonObject
from rig.conversations import Conversation
from rig.episodes import PlayedTurn
from rig.methods.tooltalk.callers import name_truths
from rig.methods.tooltalk.judgement import judge
from rig.methods.tooltalk.metrics import DECLARATION
from rig.metrics import Score
from rig.rescore.files import load_predictions
from rig.scoring import Grader


@dataclass(frozen=True, slots=True)
class Scored:
    """A conversation, what was predicted at its turns, and what a grader makes of that.

    `repeat` counts the times that a run's arm played it.
    """

    conversation: Conversation
    turns: Mapping[int, PlayedTurn]
    score: Score
    repeat: int = 0

    def as_json(self) -> JsonObject:
        """Metrics, and for each predicted call and each ground-truth call whether it was matched."""
        score = self.score
        calls = [
            (turn, step, executed)
            for turn, played in sorted(self.turns.items())
            for step, executed in enumerate(played.executed)
        ]
        held = {verdict.ground_truth for verdict in score.verdicts}
        positions = self.conversation.ground_truth_positions()
        return {
            "conversation": self.conversation.name,
            "repeat": self.repeat,
            "success": DECLARATION.succeeded(score.counts),
            "metrics": DECLARATION.as_json(score.counts),
            "matches": [
                {
                    "turn": turn,
                    "step": step,
                    "tool": executed.name,
                    "match": verdict.match,
                    "bad_action": verdict.bad_action,
                    "ground_truth": verdict.ground_truth,
                    "reason": verdict.reason,
                }
                for (turn, step, executed), verdict in zip(calls, score.verdicts, strict=True)
            ],
            "ground_truth": [
                {"turn": position[0], "call": position[1], "tool": truth.name, "match": position in held}
                for position, truth in zip(positions, self.conversation.ground_truth, strict=True)
            ],
            "errors": breakdown([self])["errors"],
            "error_types": [
                {"turn": turn, "type": kind, "errors": count}
                for turn, counts in score.error_types.items()
                for kind, count in counts.items()
            ],
            "faults": [fault.as_json() for fault in score.faults],
        }


def score_turns(
    conversation: Conversation, turns: Mapping[int, PlayedTurn], grader: Grader, repeat: int = 0
) -> Scored:
    """Score turns that say who made each call."""
    ordered = [turns[index] for index in sorted(turns)]
    score = judge(conversation, ordered, name_truths(conversation, grader.toolbox), grader)
    return Scored(conversation, turns, score, repeat)


def score_files(place: Path, grader: Grader) -> list[Scored]:
    """Score ToolTalk's prediction files: one, or all of a directory. Raises RigError for what is none."""
    return [
        score_turns(conversation, turns, grader)
        for conversation, turns in load_predictions(place, grader.toolbox)
    ]


def breakdown(scored: Iterable[Scored]) -> dict[str, JsonObject]:
    """How often each kind of failed step, ToolTalk's types of error, and each kind of fault occurred."""
    errors: Counter[str] = Counter()
    types: Counter[str] = Counter()
    faults: Counter[str] = Counter()
    for each in scored:
        steps = (step for played in each.turns.values() for step in played.steps)
        errors.update(str(step.prediction.error) for step in steps if step.prediction.error)
        for counts in each.score.error_types.values():
            types.update(counts)
        faults.update(str(fault.kind) for fault in each.score.faults)
    return {"errors": dict(errors), "error_types": dict(types), "faults": dict(faults)}
