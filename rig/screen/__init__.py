"""Screening: what models make of the true calls without generating any, and how far that foretells a run."""

from rig.screen.foretelling import Foretold, foretell
from rig.screen.results import ArmScreen, Difference, KindFigures, Screen, ScreenedStep
from rig.screen.screening import Screening, screen

__all__ = [
    "ArmScreen",
    "Difference",
    "Foretold",
    "KindFigures",
    "Screen",
    "ScreenedStep",
    "Screening",
    "foretell",
    "screen",
]
