"""Everything that you need to write your own method, in one place (docs/tutorials/methods.md)."""

from rig.config.options import Option
from rig.core.calls import Call, ExecutedCall, Outcome, Verdict
from rig.core.metrics import TASKS, Declaration, Metric, Part, Score
from rig.core.models import Prediction, Request, StepKey, ToolDoc
from rig.core.registry import Registry
from rig.core.tasks import ExpectedTurn, Task
from rig.methods.base import Method, OptionValues, Setup
from rig.methods.episode import Asking, Episode
from rig.methods.scripted import Oracle, called, replied, words

__all__ = [
    "TASKS",
    "Asking",
    "Call",
    "Declaration",
    "Episode",
    "ExecutedCall",
    "ExpectedTurn",
    "Method",
    "Metric",
    "Option",
    "OptionValues",
    "Oracle",
    "Outcome",
    "Part",
    "Prediction",
    "Registry",
    "Request",
    "Score",
    "Setup",
    "StepKey",
    "Task",
    "ToolDoc",
    "Verdict",
    "called",
    "replied",
    "words",
]
