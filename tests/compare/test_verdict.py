"""What is said of an arm: one case each, and never more than the numbers bear."""

import pytest
from counted import METRICS
from hypothesis import given
from hypothesis import strategies as st

from rig.compare.verdict import VerdictKind, verdict
from rig.stats import Estimate
from rig.stats.paired import RateDifference


def difference(
    value: float | None,
    low: float | None,
    high: float | None,
    p: float | None,
    detectable: float | None,
    p_holm: float | None = None,
) -> RateDifference:
    return RateDifference(value, low, high, p, detectable, p_holm=p if p_holm is None else p_holm)


def said(metric: str, baseline: float | None, found: RateDifference, flips: tuple[int, int] = (3, 4)) -> str:
    judged = METRICS[metric], Estimate(baseline, None, None), found, 78, flips, 0.05
    return verdict(*judged, is_success=metric == "success_rate").text


CASES = [
    (
        ("success_rate", 0.4, difference(-0.013, -0.07, 0.045, 1.0, 0.0851)),
        "no loss found; a loss above 9 points would have been seen",
    ),
    (
        ("success_rate", 0.4, difference(-0.013, -0.114, 0.09, 0.9, 0.085)),
        "no loss found; a loss above 12 points would have been seen",
    ),
    (
        ("success_rate", 0.4, difference(0.0, -0.04, 0.04, 1.0, 0.1), (0, 0)),
        "no loss found, no conversation ended differently; a loss above 10 points would have been seen",
    ),
    (
        ("success_rate", 0.4, difference(-0.128, -0.21, -0.046, 0.004, 0.11), (4, 14)),
        "loss found: success is 12.8 points lower (4.6 to 21.0); 4 conversations won, 14 lost",
    ),
    (
        ("success_rate", 0.4, difference(0.128, 0.046, 0.21, 0.004, 0.11), (14, 4)),
        "gain found: success is 12.8 points higher (4.6 to 21.0); 14 conversations won, 4 lost",
    ),
    (
        ("incorrect_action_rate", 0.1, difference(0.08, 0.02, 0.14, 0.01, 0.07)),
        "loss found: incorrect action rate is 8.0 points higher (2.0 to 14.0); 3 conversations won, 4 lost",
    ),
    (
        ("incorrect_action_rate", 0.2, difference(-0.08, -0.14, -0.02, 0.01, 0.07)),
        "gain found: incorrect action rate is 8.0 points lower (2.0 to 14.0); 3 conversations won, 4 lost",
    ),
    (
        ("incorrect_action_rate", 0.2, difference(-0.01, -0.07, 0.05, 0.8, 0.08)),
        "no loss in incorrect action rate found; a loss above 8 points would have been seen",
    ),
    (
        ("recall", 0.4, difference(-0.08, -0.14, -0.02, 0.01, 0.07), (0, 0)),
        "loss found: recall is 8.0 points lower (2.0 to 14.0)",
    ),
    (
        ("success_rate", 0.4, difference(-0.1, -0.18, -0.02, 0.02, 0.12, 0.06)),
        "loss suspected, not shown: success is 10.0 points lower (2.0 to 18.0); p 0.020,"
        " corrected for the number of arms 0.060",
    ),
    (
        ("success_rate", 0.4, difference(-0.1, -0.18, -0.02, 0.07, 0.12)),
        "loss suspected, not shown: success is 10.0 points lower (2.0 to 18.0); p 0.070",
    ),
    (
        ("success_rate", 0.4, difference(0.1, 0.02, 0.18, 0.02, 0.12, 0.06)),
        "no loss found; a loss above 12 points would have been seen",
    ),
    (
        ("success_rate", 0.0, difference(0.013, -0.04, 0.05, 1.0, 0.1)),
        "nothing to lose: the baseline's success is 0%; no gain found",
    ),
    (
        ("incorrect_action_rate", 1.0, difference(0.0, -0.04, 0.04, 1.0, 0.1)),
        "nothing to lose: the baseline's incorrect action rate is 100%; no gain found",
    ),
    (
        ("success_rate", 0.0, difference(0.128, 0.046, 0.21, 0.004, 0.11), (10, 0)),
        "gain found: success is 12.8 points higher (4.6 to 21.0); 10 conversations won, 0 lost",
    ),
    (
        ("success_rate", 0.08, difference(0.0, -0.04, 0.04, 1.0, 0.1)),
        "cannot tell: with 78 conversations a loss of all the baseline's success could have gone unseen",
    ),
    (
        ("success_rate", 0.4, difference(0.0, -0.04, 0.04, 1.0, None)),
        "cannot tell: with 78 conversations a loss of all the baseline's success could have gone unseen",
    ),
    (
        ("recall", 0.1, difference(0.0, -0.11, 0.11, 1.0, 0.09)),
        "cannot tell: with 78 conversations a loss of all the baseline's recall cannot be ruled out",
    ),
    (
        ("incorrect_action_rate", 0.95, difference(0.0, -0.04, 0.04, 1.0, 0.1)),
        "cannot tell: with 78 conversations incorrect action rate 100% could have gone unseen",
    ),
    (
        ("success_rate", 0.5, difference(-0.5, None, None, None, None)),
        "cannot tell: one conversation says nothing about others",
    ),
    (
        ("precision", None, difference(None, None, None, None, None)),
        "no verdict: there was nothing to divide by for the precision of both arms",
    ),
]


@pytest.mark.parametrize(("case", "text"), CASES)
def test_what_is_said(case: tuple[str, float | None, RateDifference], text: str) -> None:
    assert said(*case) == text


def test_every_kind_is_said() -> None:
    for kind in VerdictKind:
        expected = "no verdict" if kind is VerdictKind.NO_RATE else kind
        assert any(text.startswith(expected) for _, text in CASES), kind


shares = st.floats(0, 1)


@given(
    st.sampled_from(list(METRICS.values())),
    shares,
    st.floats(-1, 1),
    shares,
    shares,
    shares,
    shares | st.none(),
    shares,
)
def test_no_claim_exceeds_the_numbers(metric, baseline, value, below, above, p, detectable, more) -> None:  # type: ignore[no-untyped-def]
    low, high = max(-1.0, value - below), min(1.0, value + above)
    found = difference(value, low, high, p, detectable, min(1.0, p + more))
    result = verdict(metric, Estimate(baseline, None, None), found, 78, (1, 1), 0.05)
    worse = metric.worsening(value)
    is_shown = found.p_holm is not None and found.p_holm <= 0.05
    assert (result.kind is VerdictKind.LOSS) == (is_shown and worse > 0)
    assert (result.kind is VerdictKind.GAIN) == (is_shown and worse < 0)
    if result.kind is VerdictKind.NO_LOSS_FOUND:
        assert detectable is not None
        assert result.seen_above is not None
        assert result.seen_above >= max(detectable, metric.worsening(low), metric.worsening(high))
        claimed = float(result.text.split("above ")[1].split(" point")[0])
        assert claimed >= 100 * result.seen_above - 1e-6
    else:
        assert result.seen_above is None
