"""What a method passes on: the steps of a turn, as they were predicted, executed and judged."""

from dataclasses import dataclass

from rig.calls import ExecutedCall
from rig.errors import ErrorKind
from rig.models import Prediction
from rig.verdicts import Verdict

ASSISTANT = "assistant"
"""The role that is evaluated, in most methods."""


@dataclass(frozen=True, slots=True)
class Step:
    """One prediction of a turn, by the `role` that made it. A call comes with its outcome and its verdict.

    `parent` is the number of the step of the same turn that this one follows, -1 for none; None stands for
    the step before. Steps are a line in most methods, and a tree where a search goes back.
    """

    prediction: Prediction
    executed: ExecutedCall | None = None
    verdict: Verdict | None = None
    role: str = ASSISTANT
    parent: int | None = None


@dataclass(frozen=True, slots=True)
class PlayedTurn:
    """What a model did in the assistant turn at position `turn`.

    `wall_s` are the seconds it took in all, `tools_s` and `scoring_s` those spent in tools and scoring.
    `cpu_s` is the CPU time that the process used meanwhile, None if nobody measured it.
    """

    turn: int
    steps: tuple[Step, ...]
    wall_s: float = 0.0
    tools_s: float = 0.0
    scoring_s: float = 0.0
    cpu_s: float | None = None

    @property
    def error(self) -> ErrorKind | None:
        """Why the turn ended without a reply, None if it ended with one."""
        return self.steps[-1].prediction.error if self.steps else None

    @property
    def executed(self) -> tuple[ExecutedCall, ...]:
        """The calls that were executed, in order."""
        return tuple(step.executed for step in self.steps if step.executed is not None)
