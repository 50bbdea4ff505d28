"""The divergence of a model from a base over the whole vocabulary, in llama-perplexity's figures.

D(base‖model) in nats: the sum over tokens of the base's probability times how much larger its logarithm is.
The formulas are those of llama.cpp's tools/perplexity/perplexity.cpp, in double precision.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import scipy

from rig.core.calls import ByName
from rig.stats import Estimate

LogProbs: TypeAlias = npt.NDArray[np.float64]
FEWEST = 10
"""With this many tokens or fewer, errors are 0, as in llama-perplexity."""
_KLD_PERCENTILES = (100, 99.9, 99, 95, 90, 50, 10, 5, 1, 0.1, 0)
_DP_PERCENTILES = (100, 99.9, 99, 95, 90, 75, 50, 25, 10, 5, 1, 0.1, 0)


class TokenDivergence(NamedTuple):
    """A model's prediction at the place of one token, compared with the base's. Natural logarithms.

    `nll` and `nll_base` are the negative log-probabilities of the token that is really there; `kld` is the
    divergence of the two distributions; `same_top` says whether their likeliest tokens are the same.
    """

    nll: float
    nll_base: float
    kld: float
    same_top: bool


def log_softmax(logits: npt.NDArray[Any]) -> LogProbs:
    """Return log-probabilities in double precision. Raises FloatingPointError if logits are not numbers."""
    values: LogProbs = scipy.special.log_softmax(logits.astype(np.float64))
    if np.isnan(values).any():
        raise FloatingPointError("the model's logits are not numbers")
    return values


def token_divergence(
    base: LogProbs, model: LogProbs, token: int, floor: float = -math.inf
) -> TokenDivergence:
    """Compare a model's log-probabilities with the base's, where `token` is the one that follows.

    Tokens that the base finds no likelier than `floor` are left out of the sum, which can then be below 0.
    """
    kept = base > floor
    kld = float(np.exp(base[kept]) @ (base[kept] - model[kept]))
    same_top = int(base.argmax()) == int(model.argmax())
    return TokenDivergence(-float(model[token]), -float(base[token]), kld, same_top)


class Measure(NamedTuple):
    """A figure and its standard error, None if there is none. The error treats tokens as independent."""

    value: float
    error: float | None = None


@dataclass(frozen=True, slots=True)
class DivergenceFigures(ByName):
    """The lines of `llama-perplexity --kl-divergence`; shares are fractions, percentiles are by their number.

    Errors treat tokens as independent. Those of one text are not, so the errors are too small. `kld_interval`
    is the 95% interval with conversations as clusters, if there are any.
    """

    tokens: int
    ppl: Measure
    ppl_base: Measure
    ln_ppl_correlation: float | None
    ln_ppl_ratio: Measure
    ppl_ratio: Measure
    ppl_difference: Measure
    kld: Measure
    kld_percentiles: dict[str, float]
    dp: Measure
    rms_dp: Measure
    dp_percentiles: dict[str, float]
    same_top: Measure
    kld_interval: Estimate | None = None


@np.errstate(over="ignore", invalid="ignore")
def figures(tokens: Sequence[TokenDivergence], interval: Estimate | None = None) -> DivergenceFigures | None:
    """Return the figures over all these tokens; None if there are none."""
    if not tokens:
        return None
    nll, nll_base, kld, same = np.array(tokens, dtype=np.float64).T
    dp = np.exp(-nll) - np.exp(-nll_base)
    n = len(tokens)
    mean, mean_base = _mean(nll), _mean(nll_base)
    error, error_base = mean.error or 0.0, mean_base.error or 0.0
    covariance = float((nll * nll_base).mean() - nll.mean() * nll_base.mean()) / max(n - 1, 1)
    covariance = covariance if n >= FEWEST else 0.0
    variance = error * error + error_base * error_base - 2 * covariance
    difference = Measure(mean.value - mean_base.value, _root(variance))
    ppl, ppl_base = (
        Measure(float(np.exp(m.value)), float(np.exp(m.value)) * (m.error or 0)) for m in (mean, mean_base)
    )
    ratio = float(np.exp(difference.value))
    # Products, as a power raises OverflowError.
    spread = ppl.value * error * ppl.value * error + ppl_base.value * error_base * ppl_base.value * error_base
    spread -= 2 * ppl.value * ppl_base.value * covariance
    squares, share = _mean(dp**2), float(same.mean())
    rms = math.sqrt(squares.value)
    return DivergenceFigures(
        tokens=n,
        ppl=ppl,
        ppl_base=ppl_base,
        ln_ppl_correlation=covariance / (error * error_base) if error * error_base else None,
        ln_ppl_ratio=difference,
        ppl_ratio=Measure(ratio, ratio * (difference.error or 0)),
        ppl_difference=Measure(ppl.value - ppl_base.value, _root(spread)),
        kld=_mean(kld),
        kld_percentiles=_percentiles(kld, _KLD_PERCENTILES),
        dp=_mean(dp),
        rms_dp=Measure(rms, (squares.error or 0) / (2 * rms) if rms else 0.0),
        dp_percentiles=_percentiles(dp, _DP_PERCENTILES),
        same_top=Measure(share, math.sqrt(share * (1 - share) / (n - 1)) if n > 1 else None),
        kld_interval=interval,
    )


def _mean(values: LogProbs) -> Measure:
    n, mean = len(values), float(values.mean())
    variance = float((values * values).mean()) - mean * mean
    return Measure(mean, math.sqrt(variance / (n - 1)) if n > FEWEST and variance > 0 else 0.0)


def _root(variance: float) -> float:
    return math.sqrt(max(variance, 0.0))


def _percentiles(values: LogProbs, percents: Sequence[float]) -> dict[str, float]:
    return dict(zip(map(str, percents), np.percentile(values, percents).tolist(), strict=True))
