"""Scoring: what a predicted call is worth. Knows tools and ground truth, and no model."""

from rig.scoring.error_types import ErrorType, error_types
from rig.scoring.faults import Acted, find_faults
from rig.scoring.matching import GRADER_VERSION, Grader, Matching, Mode
from rig.scoring.similarity import Exact, Named, Similarity, load

__all__ = [
    "GRADER_VERSION",
    "Acted",
    "ErrorType",
    "Exact",
    "Grader",
    "Matching",
    "Mode",
    "Named",
    "Similarity",
    "error_types",
    "find_faults",
    "load",
]
