"""Scoring: whether two texts mean the same, and what people answered about those that are unclear."""

from rig.scoring.answers import Answer, Answers, add_answers, answers_file, read_answers
from rig.scoring.similarity import Adjudicated, Exact, NamedMeasure, Similarity, load

__all__ = [
    "Adjudicated",
    "Answer",
    "Answers",
    "Exact",
    "NamedMeasure",
    "Similarity",
    "add_answers",
    "answers_file",
    "load",
    "read_answers",
]
