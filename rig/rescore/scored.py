"""Score earlier predictions: those in files, and those of a stored run."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from rig.calls import JsonObject
from rig.episodes import PlayedTurn
from rig.methods.base import Settings, Setup
from rig.metrics import Declaration, Score
from rig.tasks import Task, numbered
from rig.verdicts import CallPlace


@dataclass(frozen=True, slots=True)
class Scored:
    """A conversation, what was predicted at its turns, and what a grader makes of that.

    `repeat` counts the times that a run's arm played it.
    """

    conversation: Task
    turns: Mapping[int, PlayedTurn]
    score: Score
    declaration: Declaration
    repeat: int = 0

    def as_json(self) -> JsonObject:
        """Metrics, and for each predicted call and each ground-truth call whether it was matched."""
        score, task = self.score, self.conversation
        calls = [
            (turn, step, executed)
            for turn, played in sorted(self.turns.items())
            for step, executed in enumerate(played.executed)
        ]
        held = {verdict.ground_truth for verdict in score.verdicts}
        truths = [
            (turn, number, truth)
            for turn in sorted({*self.conversation.known_turns, *self.turns})
            for number, truth in enumerate(self.conversation.expected(turn).calls)
        ]
        return {
            "conversation": self.conversation.name,
            "repeat": self.repeat,
            "success": self.declaration.succeeded(score.counts),
            "metrics": self.declaration.as_json(score.counts),
            "matches": [
                numbered(
                    {
                        "turn": turn,
                        "step": step,
                        "tool": executed.name,
                        "match": verdict.match,
                        "bad_action": verdict.bad_action,
                        "ground_truth": verdict.ground_truth,
                        "reason": verdict.reason,
                    },
                    task,
                )
                for (turn, step, executed), verdict in zip(calls, score.verdicts, strict=bool(score.verdicts))
            ],
            "ground_truth": [
                numbered(
                    {
                        "turn": turn,
                        "call": number,
                        "tool": truth.name,
                        "match": CallPlace(turn, number) in held,
                    },
                    task,
                )
                for turn, number, truth in truths
            ],
            "errors": breakdown([self])["errors"],
            "error_types": [
                numbered({"turn": turn, "type": kind, "errors": count}, task)
                for turn, counts in score.error_types.items()
                for kind, count in counts.items()
            ],
            "faults": [numbered(fault.as_json(), task) for fault in score.faults],
        }


def score_turns(
    task: Task,
    turns: Mapping[int, PlayedTurn],
    setup: Setup,
    settings: Settings,
    declaration: Declaration,
    repeat: int = 0,
) -> Scored:
    """Score turns that say who made each call."""
    score = setup.score(task, [turns[index] for index in sorted(turns)], settings)
    return Scored(task, turns, score, declaration, repeat)


def breakdown(scored: Iterable[Scored]) -> dict[str, JsonObject]:
    """How often each kind of failed step, of error, and of fault occurred."""
    errors: Counter[str] = Counter()
    types: Counter[str] = Counter()
    faults: Counter[str] = Counter()
    for conversation in scored:
        steps = (step for played in conversation.turns.values() for step in played.steps)
        errors.update(str(step.prediction.error) for step in steps if step.prediction.error)
        for counts in conversation.score.error_types.values():
            types.update(counts)
        faults.update(str(fault.kind) for fault in conversation.score.faults)
    return {"errors": dict(errors), "error_types": dict(types), "faults": dict(faults)}
