"""Fitting the measure of wording, and choosing the thresholds. Only numpy, and nothing random."""

from collections.abc import Callable, Sequence

import numpy as np
from pairs import Measured

from rig.scoring.texts import Wording
from rig.toolbox.spec import Text
from rig.tooltalk.texts import KINDS

PENALTY = 1.0
"""L2, on standardized features, against some 350 pairs."""
STEPS = 50
FALSE_ACCEPT_COST = 3
"""A false accept counts as three false rejects: the goals are 5% and 15%."""
BORROWED = 100
"""Pairs of all kinds that weigh in on a kind's threshold, which has only some 50 of its own to go by."""
BLUR = 0.05
"""How far beside its value a score may come out, so that a threshold keeps its distance to all of them."""
GRID = [round(0.02 * step, 2) for step in range(1, 50)]

Score = Callable[[Measured], float]


def fit(pairs: Sequence[Measured]) -> Wording:
    """Logistic regression on the pairs that no check refuses, both classes weighing the same."""
    left = [each for each in pairs if not each.refused_by]
    names = list(left[0].features)
    x = np.array([[each.features[name] for name in names] for each in left])
    y = np.array([each.labelled.same for each in left], float)
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


def thresholds(pairs: Sequence[Measured], score: Score) -> dict[Text, float]:
    """For each kind the threshold that costs least on these pairs; the lowest of several."""
    values = [(each.labelled.kind, each.labelled.same, score(each)) for each in pairs]
    return {kind: min(GRID, key=lambda t: round(_cost(values, kind, t), 6)) for kind in KINDS.values()}


def _cost(values: Sequence[tuple[Text, bool, float]], kind: Text, threshold: float) -> float:
    accepts, rejects = (_rate(values, kind, threshold, same) for same in (False, True))
    return FALSE_ACCEPT_COST * accepts + rejects


def _rate(values: Sequence[tuple[Text, bool, float]], kind: Text, threshold: float, same: bool) -> float:
    """The rate of errors on pairs of a kind, drawn towards that on all kinds."""
    errors = [
        (k == kind, 1 / (1 + np.exp((threshold - value) / BLUR * (-1 if same else 1))))
        for k, label, value in values
        if label is same
    ]
    overall = sum(wrong for _, wrong in errors) / len(errors)
    own = [wrong for is_kind, wrong in errors if is_kind]
    return float((sum(own) + BORROWED * overall) / (len(own) + BORROWED))


def auc(pairs: Sequence[Measured], score: Score) -> float:
    """The area under the ROC curve: how often a pair that means the same scores above one that does not."""
    same = np.array([score(each) for each in pairs if each.labelled.same])
    other = np.array([score(each) for each in pairs if not each.labelled.same])
    above = (same[:, None] > other).mean() + (same[:, None] == other).mean() / 2
    return float(above)
