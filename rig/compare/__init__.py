"""Arms of stored runs side by side: rates, differences, what flipped, and what can be said about it."""

from rig.compare.arms import choose
from rig.compare.compare import Question, compare, compare_chosen, uncollected
from rig.compare.estimates import Difference
from rig.compare.findings import (
    Agreement,
    ArmResult,
    Comparison,
    ConversationResult,
    Pair,
    TurnTimes,
)
from rig.compare.flips import Flip
from rig.compare.looking.looks import Looked, Looks, look
from rig.compare.noise import Differing, Noise, noise_of
from rig.compare.published import published
from rig.compare.settings import Factor
from rig.compare.verdict import Decision, Verdict, VerdictKind
from rig.rates import Estimate

__all__ = [
    "Agreement",
    "ArmResult",
    "Comparison",
    "ConversationResult",
    "Decision",
    "Difference",
    "Differing",
    "Estimate",
    "Factor",
    "Flip",
    "Looked",
    "Looks",
    "Noise",
    "Pair",
    "Question",
    "TurnTimes",
    "Verdict",
    "VerdictKind",
    "choose",
    "compare",
    "compare_chosen",
    "look",
    "noise_of",
    "published",
    "uncollected",
]
