"""Scoring: what a predicted call is worth. Knows tools and ground truth, and no model."""

from rig.scoring.matching import GRADER_VERSION, Grader, Matching, Mode
from rig.scoring.similarity import Exact, Named, Similarity, load

__all__ = [
    "GRADER_VERSION",
    "Exact",
    "Grader",
    "Matching",
    "Mode",
    "Named",
    "Similarity",
    "load",
]
