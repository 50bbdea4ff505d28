"""Screening: how likely models make the true calls, without generating, and how well that predicts a run."""

from rig.screening.results import ArmScreen, KindFigures, Screen, ScreenedStep
from rig.screening.screening import Screening, screen
from rig.screening.validity import Validity, check_stored, validity_of

__all__ = [
    "ArmScreen",
    "KindFigures",
    "Screen",
    "ScreenedStep",
    "Screening",
    "Validity",
    "check_stored",
    "screen",
    "validity_of",
]
