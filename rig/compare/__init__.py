"""Arms of stored runs side by side: rates, differences, what flipped, and what can be said about it."""

from rig.compare.arms import choose
from rig.compare.compare import ComparisonOptions, compare, compare_chosen, uncollected
from rig.compare.findings import (
    Agreement,
    ArmPair,
    ArmResult,
    Comparison,
    ConversationResult,
    TurnTimes,
)
from rig.compare.flips import Flip
from rig.compare.noise import DifferingShare, Noise, noise_of
from rig.compare.published import published
from rig.compare.sequential import SequentialArm, SequentialComparison, compare_sequentially
from rig.compare.settings import Factor
from rig.compare.verdict import ArmVerdict, Decision, VerdictKind
from rig.rates import Estimate
from rig.rates.paired import RateDifference

__all__ = [
    "Agreement",
    "ArmPair",
    "ArmResult",
    "ArmVerdict",
    "Comparison",
    "ComparisonOptions",
    "ConversationResult",
    "Decision",
    "DifferingShare",
    "Estimate",
    "Factor",
    "Flip",
    "Noise",
    "RateDifference",
    "SequentialArm",
    "SequentialComparison",
    "TurnTimes",
    "VerdictKind",
    "choose",
    "compare",
    "compare_chosen",
    "compare_sequentially",
    "noise_of",
    "published",
    "uncollected",
]
