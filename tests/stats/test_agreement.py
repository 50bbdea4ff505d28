"""ICC3 and Pearson's R, and their intervals."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from rig.stats import agreement, rates
from rig.stats.agreement import icc3, pearson

SHARES = arrays(float, st.just(12), elements=st.sampled_from([0.0, 0.25, 0.5, 1.0]))


def by_mean_squares(*judges: agreement.Vector) -> float:
    """ICC(3,1) as Shrout and Fleiss define it, by a two-way analysis of variance."""
    scores = np.column_stack(judges)
    targets, raters = scores.shape
    between = raters * ((scores.mean(1) - scores.mean()) ** 2).sum() / (targets - 1)
    left = scores - scores.mean(1, keepdims=True) - scores.mean(0) + scores.mean()
    error = (left**2).sum() / ((targets - 1) * (raters - 1))
    return float((between - error) / (between + (raters - 1) * error))


def test_icc3_is_that_of_the_paper_that_defines_it() -> None:
    table = [[9, 6, 8, 7, 10, 6], [2, 1, 4, 1, 5, 2], [5, 3, 6, 2, 6, 4], [8, 2, 8, 6, 9, 7]]
    judges = [np.array(row, dtype=float) for row in table]
    assert by_mean_squares(*judges) == pytest.approx(0.7148, abs=5e-5)
    for one in judges:
        for other in judges:
            assert icc3(one, other) == pytest.approx(by_mean_squares(one, other))


@pytest.mark.slow
@given(SHARES, SHARES)
def test_both_measures_are_what_others_compute(first: agreement.Vector, second: agreement.Vector) -> None:
    if first.std() and second.std():
        assert icc3(first, second) == pytest.approx(by_mean_squares(first, second))
        assert pearson(first, second) == pytest.approx(np.corrcoef(first, second)[0, 1])
    else:
        assert np.isnan(pearson(first, second))


def test_agreement_over_groups_lies_within_its_interval() -> None:
    generator = np.random.default_rng(3)
    human = [(generator.random(60) < ease).astype(float) for ease in (0.2, 0.5, 0.8)]
    same = agreement.over_groups(human, human)
    assert {name: tuple(found) for name, found in same.items()} == {
        "icc3": pytest.approx((1, 1, 1)),
        "r": pytest.approx((1, 1, 1)),
    }
    assert agreement.over_groups(human, [1 - row for row in human])["r"] == pytest.approx((-1, -1, -1))
    shaken = agreement.over_groups(human, [np.roll(row, 7) * 0.9 for row in human])["icc3"]
    assert shaken.low < shaken.value < shaken.high <= 1


def test_agreement_by_task_and_of_what_never_varies() -> None:
    scores = np.random.default_rng(4).random(200)
    found = agreement.by_task(scores, scores + np.random.default_rng(5).random(200))
    assert all(each.low < each.value < each.high for each in found.values())
    none = agreement.by_task(np.ones(5), scores[:5])
    assert none["r"].as_json() == {"value": None, "low": None, "high": None}


def test_the_interval_of_a_mean_is_about_two_standard_errors_wide() -> None:
    scores = np.random.default_rng(6).random(300)
    found = agreement.mean(scores)
    error = scores.std() / np.sqrt(300)
    assert (found.low, found.high) == pytest.approx(
        (found.value - 1.96 * error, found.value + 1.96 * error), abs=error / 5
    )


def test_tasks_of_which_both_say_the_same_can_be_drawn_together(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(11)
    first = (generator.random(500) < 0.7).astype(float)
    second = np.where(generator.random(500) < 0.15, 1 - first, first)
    each = agreement.by_task(first, second)
    monkeypatch.setattr(rates, "AT_ONCE", 3_000)
    assert agreement.by_task(first, second) == each
    monkeypatch.setattr(rates, "LARGE", 499)
    together = agreement.by_task(first, second)
    for name, found in together.items():
        assert found.value == pytest.approx(each[name].value)
        width = each[name].high - each[name].low
        assert (found.low, found.high) == pytest.approx((each[name].low, each[name].high), abs=0.03 * width)


def test_agreement_with_what_never_varies_is_undefined() -> None:
    same, other = np.ones(12), np.arange(12.0)
    for first, second in ((same, other), (other, same), (same, same)):
        assert all(np.isnan(part) for found in agreement.by_task(first, second).values() for part in found)
