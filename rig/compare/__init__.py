"""Arms of stored runs side by side: rates, differences, what flipped, and what can be said about it."""

from rig.compare.arms import ComparisonOptions, choose
from rig.compare.compare import compare, compare_chosen, uncollected
from rig.compare.findings import ArmPair, ArmResult, Comparison, ConversationResult, Flip
from rig.compare.leaderboard import published
from rig.compare.noise import DifferingShare, Noise, noise_of
from rig.compare.sequential import SequentialComparison, compare_sequentially
from rig.compare.verdict import Decision, VerdictKind
from rig.rates import Estimate
from rig.rates.paired import RateDifference

__all__ = [
    "ArmPair",
    "ArmResult",
    "Comparison",
    "ComparisonOptions",
    "ConversationResult",
    "Decision",
    "DifferingShare",
    "Estimate",
    "Flip",
    "Noise",
    "RateDifference",
    "SequentialComparison",
    "VerdictKind",
    "choose",
    "compare",
    "compare_chosen",
    "compare_sequentially",
    "noise_of",
    "published",
    "uncollected",
]
