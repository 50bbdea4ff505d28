"""The A/A noise: how often two runs of the very same arm end differently."""

import numpy as np

from rig.compare.comparison import ArmResult, Comparison, Noise, Pair
from rig.compare.settings import MODEL
from rig.errors import RigError
from rig.rates import interval


def noise_of(comparison: Comparison) -> Noise:
    """The noise that the comparison of two equal arms shows, those of a run that was made to measure it.

    Raises RigError unless there are two arms of the same model.
    """
    if len(comparison.arms) != 2:
        raise RigError(f"noise is measured by two equal arms, not by {len(comparison.arms)}")
    arm, pair = comparison.arms[1], comparison.pairs[0]
    if any(factor.name == MODEL for factor in arm.factors):
        raise RigError(f"{arm.label} and {pair.baseline} are not the same model; that measures no noise")
    return flips_as_noise(arm, pair, comparison.alpha)


def flips_as_noise(arm: ArmResult, pair: Pair, alpha: float) -> Noise:
    """What a pair of equal arms says of noise, by the conversations and turns that flipped."""
    flipped = {flip.conversation for flip in pair.flips}
    outcomes = np.array([float(each.conversation in flipped) for each in arm.conversations])
    return Noise(
        run=arm.run,
        conversations=len(outcomes),
        flips=len(flipped),
        rate=interval(outcomes, np.ones(len(outcomes)), alpha),
        turns=arm.turn_times.turns,
        turn_flips=len(pair.turn_flips),
    )
