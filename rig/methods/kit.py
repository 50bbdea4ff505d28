"""Everything that you need to write your own method, in one place (docs/tutorials/methods.md)."""

from rig.calls import Call, ExecutedCall, Outcome, Verdict
from rig.methods.base import Method, OptionValues, Setup
from rig.methods.episode import Asking, Episode
from rig.methods.scripted import Oracle, called, replied, words
from rig.metrics import TASKS, Declaration, Metric, Part, Score
from rig.models import Prediction, Request, StepKey, ToolDoc
from rig.options import Option
from rig.plugins import Registry
from rig.tasks import ExpectedTurn, Task

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
