"""Predictions that were made before: read from files, scored again, executed again, written for others."""

from rig.rescore.effects import Effect, Effects, effects, effects_of
from rig.rescore.grading import Grading
from rig.rescore.group import Group
from rig.rescore.reexecute import Reexecuted, reexecute
from rig.rescore.scored import Scored, score_files
from rig.rescore.stored import export_run, score_run

__all__ = [
    "Effect",
    "Effects",
    "Grading",
    "Group",
    "Reexecuted",
    "Scored",
    "effects",
    "effects_of",
    "export_run",
    "reexecute",
    "score_files",
    "score_run",
]
