"""Fitting the measure of wording, and choosing the thresholds. Only numpy, and nothing random."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from pairs import Measured

from rig.scoring.texts import Band, Wording
from rig.toolbox.spec import Text
from rig.tooltalk.texts import KINDS

PENALTY = 1.0
"""L2, on standardized features, against some 350 pairs."""
STEPS = 50
FALSE_ACCEPT_COST = 3
"""A false accept counts as three false rejects: the goals are 5% and 15%."""
UNCLEAR_SAME_COST = 0.15
"""A pair that means the same and stays unclear counts as a seventh of one: no match till somebody says so."""
UNCLEAR_OTHER_COST = 0.03
"""And one that does not as a thirtieth: it is not a match either way, and costs a question."""
BORROWED = 100
"""Pairs of all kinds that weigh in on a kind's threshold, which has only some 50 of its own to go by."""
BLUR = 0.05
"""How far beside its value a score may come out, so that a threshold keeps its distance to all of them."""
GRID = [round(0.02 * step, 2) for step in range(1, 50)]

Score = Callable[[Measured], tuple[float, bool]]
"""How alike a pair is, 0 if it is refused, and whether that is in doubt."""


def fit(pairs: Sequence[Measured]) -> Wording:
    """Logistic regression on the pairs that no check refuses, both classes weighing the same."""
    left = [
        (each.labelled.same, each.pieces[0].features)
        for each in pairs
        if len(each.pieces) == 1 and not each.pieces[0].refused_by and each.pieces[0].fixed is None
    ]
    names = list(left[0][1])
    x = np.array([[measured[name] for name in names] for _, measured in left])
    y = np.array([same for same, _ in left], float)
    mean, scale = x.mean(0), x.std(0)
    x = np.hstack([np.ones((len(x), 1)), (x - mean) / scale])
    weight = np.where(y == 1, len(y) / (2 * y.sum()), len(y) / (2 * (len(y) - y.sum())))
    penalty = PENALTY * np.diag([0.0, *np.ones(len(names))])
    beta = np.zeros(x.shape[1])
    for _ in range(STEPS):
        p = 1 / (1 + np.exp(-x @ beta))
        gradient = x.T @ (weight * (p - y)) + penalty @ beta
        hessian = (x.T * (weight * p * (1 - p))) @ x + penalty
        beta -= np.linalg.solve(hessian, gradient)
    slopes = beta[1:] / scale
    intercept = float(beta[0] - slopes @ mean)
    return Wording(round(intercept, 3), {n: round(float(s), 3) for n, s in zip(names, slopes, strict=True)})


def bands(pairs: Sequence[Measured], score: Score) -> dict[Text, Band]:
    """For each kind from which likeness on texts are the same, and from which on it is not clear: what
    costs least on these pairs.
    """
    outcomes = [(each.labelled.kind, each.labelled.same, *score(each)) for each in pairs]
    return {
        kind: _band([(k is kind, same, value, doubt) for k, same, value, doubt in outcomes])
        for kind in KINDS.values()
    }


def _band(outcomes: Sequence[tuple[bool, bool, float, bool]]) -> Band:
    of_kind, same, value, doubted = (np.array(column) for column in zip(*outcomes, strict=True))
    grid = np.array(GRID)
    above = 1 / (1 + np.exp((grid[:, None] - value) / BLUR))
    accepted = np.where(doubted, 0.0, above)

    def rate(chance: Any, label: bool) -> Any:
        """How likely something is at each threshold, drawn towards all kinds."""
        overall = chance[:, same == label].mean(1)
        own = chance[:, (same == label) & of_kind]
        return (own.sum(1) + BORROWED * overall) / (own.shape[1] + BORROWED)

    false_accepts, missed = rate(accepted, False), 1 - rate(accepted, True)
    false_rejects, kept = 1 - rate(above, True), rate(above, False)
    unclear = UNCLEAR_SAME_COST * (missed[:, None] - false_rejects)
    unclear = unclear + UNCLEAR_OTHER_COST * (kept - false_accepts[:, None])
    cost = FALSE_ACCEPT_COST * false_accepts[:, None] + false_rejects + unclear
    cost[grid[:, None] < grid] = np.inf
    at, low = np.unravel_index(np.argmin(np.round(cost, 6)), cost.shape)
    return Band(GRID[at], GRID[low])


def auc(pairs: Sequence[Measured], score: Score) -> float:
    """The area under the ROC curve: how often a pair that means the same scores above one that does not."""
    same = np.array([score(each)[0] for each in pairs if each.labelled.same])
    other = np.array([score(each)[0] for each in pairs if not each.labelled.same])
    above = (same[:, None] > other).mean() + (same[:, None] == other).mean() / 2
    return float(above)
