"""A task with what was predicted at its turns, and what a grader makes of that now."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from rig.calls import CallPlace, JsonObject
from rig.metrics import Declaration, Score
from rig.tasks import PlayedTurn, Task, numbered


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

    @property
    def breakdown(self) -> dict[str, Counter[str]]:
        """How often each kind of failed step, of error, and of fault occurred."""
        steps = (step for played in self.turns.values() for step in played.steps)
        types: Counter[str] = Counter()
        for counts in self.score.error_types.values():
            types.update(counts)
        return {
            "errors": Counter(str(step.prediction.error) for step in steps if step.prediction.error),
            "error_types": types,
            "faults": Counter(str(fault.kind) for fault in self.score.faults),
        }

    def as_json(self) -> JsonObject:
        """Metrics, and for each predicted call and each ground-truth call whether it was matched."""
        score, task = self.score, self.conversation
        calls = [
            {"turn": turn, "step": step, "tool": executed.name}
            for turn, played in sorted(self.turns.items())
            for step, executed in enumerate(played.executed)
        ]
        parts = ("match", "bad_action", "ground_truth", "reason")
        matches = [
            {**call, **{part: getattr(verdict, part) for part in parts}}
            for call, verdict in zip(calls, score.verdicts, strict=bool(score.verdicts))
        ]
        held = {verdict.ground_truth for verdict in score.verdicts}
        truths = [
            {"turn": turn, "call": call, "tool": truth.name, "match": CallPlace(turn, call) in held}
            for turn in sorted({*task.known_turns, *self.turns})
            for call, truth in enumerate(task.expected(turn).calls)
        ]
        types = [
            {"turn": turn, "type": kind, "errors": count}
            for turn, counts in score.error_types.items()
            for kind, count in counts.items()
        ]
        return {
            "conversation": task.name,
            "repeat": self.repeat,
            "success": self.declaration.succeeded(score.counts),
            "metrics": self.declaration.as_json(score.counts),
            "matches": [numbered(match, task) for match in matches],
            "ground_truth": [numbered(truth, task) for truth in truths],
            "errors": self.breakdown["errors"],
            "error_types": [numbered(kind, task) for kind in types],
            "faults": [numbered(fault.as_json(), task) for fault in score.faults],
        }
