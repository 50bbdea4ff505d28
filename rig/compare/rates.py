"""How well a rate is known: Wilson's score interval for sums over conversations that are alike within."""

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from rig.compare.estimates import Estimate

Vector = NDArray[np.float64]


def rate(numerators: Vector, denominators: Vector) -> float | None:
    """The sum of the one over the sum of the other; None where there is nothing to divide by."""
    total = float(denominators.sum())
    return float(numerators.sum()) / total if total else None


def influences(numerators: Vector, denominators: Vector) -> Vector:
    """How far each conversation pulls the rate; their mean square over n is its variance.

    Source: linearisation of a ratio of sums, Cochran, *Sampling Techniques* (1977), section 6.3; with
    denominators of 1 it is the clustered standard error of Miller (arXiv 2411.00640), section 2.2.
    """
    value = numerators.sum() / denominators.sum()
    pulls: Vector = (numerators - value * denominators) / denominators.mean()
    return pulls


def interval(numerators: Vector, denominators: Vector, alpha: float, trials: float | None = None) -> Estimate:
    """A rate and its Wilson interval at level 1 - `alpha`, conversations being the unit that was sampled.

    Both vectors have one entry for each conversation: means over repeats, if it was played repeatedly.
    `trials` is how many outcomes there were in all (default: the sum of the denominators); there cannot be
    more than that many independent ones. Wilson's interval (1927) is computed with the number of independent
    trials that would have the same variance as the conversations have (Korn and Graubard, Survey Methodology
    24, 1998, who propose this with another interval), and Student's quantile for that variance being
    estimated. Where all conversations agree there is no variance to go by: each counts as one trial. For one
    outcome by conversation this is Wilson's interval itself.

    Why not the bootstrap: at rates near 0 or 1 it shrinks to a point. docs/comparing.md has both coverages.
    """
    value = rate(numerators, denominators)
    if value is None:
        return Estimate(None, None, None)
    informative = int((denominators > 0).sum())
    trials = float(denominators.sum()) if trials is None else trials
    is_binary = bool(np.isin(numerators, (0, 1)).all() and (denominators == 1).all())
    if is_binary and trials == len(numerators):
        effective, quantile = trials, float(stats.norm.ppf(1 - alpha / 2))
    else:
        effective = _effective_trials(value, numerators, denominators, informative, trials)
        # One conversation says nothing of how conversations differ.
        quantile = float(stats.t.ppf(1 - alpha / 2, informative - 1)) if informative > 1 else np.inf
    if not np.isfinite(quantile):
        return Estimate(value, 0.0, 1.0)
    low, high = _wilson(value, effective, quantile)
    return Estimate(value, min(low, value), max(high, value))


def _effective_trials(
    value: float, numerators: Vector, denominators: Vector, informative: int, trials: float
) -> float:
    n = len(numerators)
    pulls = influences(numerators, denominators)
    variance = float((pulls**2).sum()) / (n * (n - 1)) if n > 1 else 0.0
    if variance <= 1e-15:
        return float(informative)
    return max(min(value * (1 - value) / variance, trials), 1e-9)


def _wilson(value: float, trials: float, quantile: float) -> tuple[float, float]:
    """Wilson (1927), Journal of the American Statistical Association 22, with a real number of trials."""
    weight = quantile**2 / trials
    centre = (value + weight / 2) / (1 + weight)
    half = float(np.sqrt(weight * value * (1 - value) + weight**2 / 4)) / (1 + weight)
    return max(0.0, centre - half), min(1.0, centre + half)
