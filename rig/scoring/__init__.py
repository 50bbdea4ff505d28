"""Scoring: what a predicted call is worth. This package knows tools and ground truth, but no model."""

from rig.scoring.answers import Answer, Answers, add_answers, answers_file, read_answers
from rig.scoring.matching import GRADER_VERSION, Grader, Matching, Mode
from rig.scoring.similarity import Adjudicated, Exact, NamedMeasure, Similarity, load

__all__ = [
    "GRADER_VERSION",
    "Adjudicated",
    "Answer",
    "Answers",
    "Exact",
    "Grader",
    "Matching",
    "Mode",
    "NamedMeasure",
    "Similarity",
    "add_answers",
    "answers_file",
    "load",
    "read_answers",
]
