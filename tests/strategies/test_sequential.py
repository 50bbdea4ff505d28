"""Tests for a look at any time: they are fair, they are exact at the end of a suite, and they are of use."""

import math
import re
from itertools import pairwise, permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from rig.plugins.strategies.sequential import SHARES, WEIGHTS, DifferenceBounds, LossTest, capital
from rig.stats.rates import OutcomeBounds

Array = NDArray[np.float64]
MARGIN = 0.01
"""Two standard errors of a share of 5% in 2,000 suites."""

suites = st.lists(st.sampled_from([-1.0, 0.0, 1.0]), min_size=1, max_size=30)
sizes = st.sampled_from([0.01, 0.05, 0.1, 0.3])


def drawn(conversations: int, lost: float, won: float, number: int, seed: int = 1) -> Array:
    """Suites × conversations, each lost, won or ended alike with these chances."""
    draw = np.random.default_rng(seed)
    return draw.choice([-1.0, 1.0, 0.0], p=[lost, won, 1 - lost - won], size=(number, conversations))


def decided(test: LossTest, suites: Array) -> tuple[Array, Array]:
    """After how many conversations of each suite a loss is shown and excluded; infinity for never."""
    found = (each >= test.needed for each in test.e_processes(suites).values())
    shown, excluded = (np.where(each.any(-1), each.argmax(-1) + 1, np.inf) for each in found)
    return shown, excluded


def test_the_capital_of_a_bet_is_what_the_formula_says() -> None:
    first = sum(w * (1 - c + c * 1.0 / 0.475) for c, w in zip(SHARES, WEIGHTS, strict=True))
    both = sum(
        w * (1 - c + c * 1.0 / 0.475) * (1 - c + c * 0.5 / 0.475)
        for c, w in zip(SHARES, WEIGHTS, strict=True)
    )
    assert math.isclose(sum(WEIGHTS), 1)
    assert capital(np.array([1.0, 0.5]), 0.475) == pytest.approx([first, both])


def test_what_is_left_of_a_suite_must_have_what_the_hypothesis_needs() -> None:
    # Of 4 values, 0.25 each on average, the first two are 0: the two left must be 0.5 on average.
    after = sum(w * (1 - c) * (1 - c) * (1 - c + c * 1.0 / 0.5) for c, w in zip(SHARES, WEIGHTS, strict=True))
    assert capital(np.array([0.0, 0.0, 1.0]), 0.25, of=4)[-1] == pytest.approx(after)


@pytest.mark.parametrize("size", [0.1, 0.3, 0.6])
@pytest.mark.parametrize("side", ["shown", "excluded"])
def test_of_every_small_suite_in_every_order_the_capital_is_a_supermartingale_under_its_null(
    size: float, side: str
) -> None:
    """All suites of four conversations in all orders: from any beginning on, it is expected to shrink."""
    conversations = 4
    test = LossTest(size, conversations, step=1.0)
    for suite in product((-1.0, 0.0, 1.0), repeat=conversations):
        loses_less = -sum(suite) / conversations < size - 1e-12
        if loses_less != (side == "shown"):
            continue  # the hypothesis that this process bets against is false
        orders = np.array(list(permutations(suite)))
        process = test.e_processes(orders)[side]
        assert process[:, 0].mean() <= 1 + 1e-9
        for now, following in pairwise(range(conversations)):
            for beginning in {tuple(order[: now + 1]) for order in orders}:
                same = (orders[:, : now + 1] == beginning).all(axis=1)
                assert process[same, following].mean() <= process[same, now].mean() + 1e-9


@pytest.mark.parametrize("lost", [0.0, 0.1, 0.3])
@pytest.mark.parametrize("won", [0.0, 0.1, 0.5])
def test_of_conversations_without_end_the_capital_is_a_supermartingale_under_its_null(
    lost: float, won: float
) -> None:
    paths = np.array(list(product((-1.0, 0.0, 1.0), repeat=5)))
    chances = np.prod(np.select([paths < 0, paths > 0], [lost, won], 1 - lost - won), axis=1)
    for size in (0.05, 0.2):
        shown, excluded = LossTest(size).e_processes(paths).values()
        process = shown if lost - won < size else excluded
        expected = chances @ process
        assert expected[0] <= 1 + 1e-9
        assert (np.diff(expected) <= 1e-9).all()


@given(suites, sizes)
def test_a_whole_suite_is_decided_rightly_and_its_loss_known(suite: list[float], size: float) -> None:
    found = LossTest(size, len(suite), arms=3, step=1.0).evidence(suite)
    loss = -sum(suite) / len(suite)
    assert found.low == pytest.approx(loss)
    assert found.high == pytest.approx(loss)
    right = "shown" if loss >= size - 1e-9 else "excluded"
    assert math.inf in (found.shown, found.excluded)
    assert getattr(found, right) == math.inf
    assert found.found is not None


def test_of_a_whole_suite_the_loss_is_known_even_after_an_order_that_rejects_it() -> None:
    suite = [1.0, 0.0, 0.0, *[-1.0] * 6]
    test = LossTest(0.01, 9, arms=3, step=1.0)
    low, high = test.sequence(np.array(suite))
    assert high < low
    found = test.evidence(suite)
    assert (found.low, found.high) == pytest.approx((5 / 9, 5 / 9))
    assert found.bounds == "55.6 points worse"


@pytest.mark.slow
@given(suites, sizes, st.integers(1, 30), st.sampled_from([None, 30]))
@settings(deadline=None)
def test_the_sequence_is_all_the_losses_that_are_not_rejected(
    suite: list[float], size: float, after: int, of: int | None
) -> None:
    test = LossTest(size, of, step=1.0 if of else 0.0)
    seen = np.array(suite[:after])
    low, high = test.sequence(seen)
    assert -1 <= low <= high <= 1
    tried = np.linspace(-1, 1, 61)  # of 30 conversations, all the losses that there can be
    for loss in tried:
        against_less = capital((1 - seen) / 2, (1 + loss) / 2, of).max()
        against_more = capital((1 + seen) / 2, (1 - loss) / 2, of).max()
        is_kept = max(against_less, against_more) < test.needed
        if is_kept:
            assert low - 1e-9 <= loss <= high + 1e-9
        elif of:
            assert not low + 1e-9 < loss < high - 1e-9


@pytest.mark.slow
@given(suites, sizes)
def test_the_more_is_seen_the_narrower_the_sequence_and_the_higher_the_evidence(
    suite: list[float], size: float
) -> None:
    test = LossTest(size, 31, step=1.0)  # of a whole suite the loss is known, whatever was rejected
    looks = [test.evidence(suite[:after]) for after in range(len(suite) + 1)]
    assert (looks[0].shown, looks[0].low, looks[0].high) == (1.0, -1.0, 1.0)
    for before, now in pairwise(looks):
        assert before.low - 1e-9 <= now.low
        assert now.high <= before.high + 1e-9
        assert before.shown <= now.shown
        assert before.excluded <= now.excluded
        if before.found:
            assert (now.found, now.decided) == (before.found, before.decided)


@pytest.mark.slow
@given(st.lists(st.tuples(st.sampled_from([-1.0, 0.0, 1.0]), st.booleans()), max_size=30), sizes)
def test_what_is_not_known_never_adds_to_the_evidence(suite: list[tuple[float, bool]], size: float) -> None:
    """Whichever differences are left out, at no look is there more evidence than with all of them."""
    all_known = np.array([each for each, _ in suite])
    left_out = np.array([is_left_out for _, is_left_out in suite], dtype=bool)
    least, most = (np.where(left_out, end, all_known) for end in (-1.0, 1.0))
    for of in (None, 30):
        test = LossTest(size, of, step=1.0 if of else 0.0)
        known = test.e_processes(all_known)
        for name, partly in test.e_processes(DifferenceBounds(least, most)).items():
            assert (partly <= known[name] * (1 + 1e-9)).all()
        wide, narrow = test.sequence(DifferenceBounds(least, most)), test.sequence(all_known)
        assert wide[0] <= narrow[0] + 1e-9
        assert wide[1] >= narrow[1] - 1e-9


@pytest.mark.parametrize(
    ("first", "arm", "least", "most"),
    [
        ([1.0], [0.0], [-1], [-1]),
        ([0.0], [], [0], [1]),
        ([1.0], [], [], []),
        ([], [1.0], [], []),
        ([1.0, 1.0], [0.0, 1.0], [-0.5], [-0.5]),
        ([0.0, 0.0], [1.0], [0.5], [1]),
        ([0.0, 0.0], [], [0], [1]),
        ([0.0, 1.0], [1.0], [], []),
        ([0.0], [1.0, 0.0], [], []),
    ],
)
def test_an_arm_cannot_lose_where_the_first_got_nothing_right(
    first: list[float], arm: list[float], least: list[float], most: list[float]
) -> None:
    repeats = max(len(first), len(arm))
    known = ([OutcomeBounds(1.0, 1.0)] * repeats,) * 2
    open_ = [OutcomeBounds(share, share) for share in first], [OutcomeBounds(share, share) for share in arm]
    found = DifferenceBounds.of_outcomes([known, open_, known], repeats)
    ended = [0.0] if least else []
    assert found.least.tolist() == [0.0, *least, *ended]
    assert found.most.tolist() == [0.0, *most, *ended]


def test_wins_matter_once_an_arm_loses_much() -> None:
    def matter(lost: int, alike: int, of: int = 78) -> bool:
        test = LossTest(0.05, of, step=1.0)
        least = np.array([-1.0] * lost + [0.0] * alike)
        return bool(test.wins_matter(DifferenceBounds(least, least + 1)))

    assert not matter(0, 0)
    assert not matter(0, 78)
    assert not matter(3, 75)
    assert matter(4, 74)  # 4 of 78 are more than 5 points: it is cleared by a win only
    assert not matter(3, 50, 500)
    assert matter(4, 156, 500)  # 2.5% are lost so far
    assert not matter(4, 157, 500)


@given(suites)
def test_capital_falls_with_the_mean_that_is_bet_against(suite: list[float]) -> None:
    values = (1 + np.array(suite)) / 2
    for of in (None, 30):
        ends = [capital(values, mean, of)[-1] for mean in np.linspace(0.05, 0.95, 10)]
        assert all(before >= after or math.isclose(before, after) for before, after in pairwise(ends))


@pytest.mark.parametrize(("conversations", "suites"), [(28, 2_000), (78, 2_000), (500, 300)])
@pytest.mark.parametrize("flips", [0.02, 0.1, 0.4])
def test_looking_after_every_conversation_raises_a_false_alarm_in_one_suite_of_twenty_at_most(
    conversations: int, suites: int, flips: float
) -> None:
    """The true loss is just below the size, or the size itself: where a wrong finding is nearest."""
    size = 0.05
    test = LossTest(size, conversations, step=1.0)
    drawings = drawn(conversations, (flips + size) / 2 if flips > size else flips, 0.0, suites)
    if flips > size:
        drawings = drawn(conversations, (flips + size) / 2, (flips - size) / 2, suites)
    loses = -drawings.mean(axis=1) >= size - 1e-9
    shown, excluded = decided(test, drawings)
    wrong = np.where(loses, excluded < shown, shown < excluded)
    assert wrong.mean() <= 0.05 + MARGIN


@pytest.mark.parametrize("loss", [0.0, 0.2])
def test_the_sequence_holds_the_loss_of_the_suite_at_all_times(loss: float) -> None:
    """Each end is left, ever, in one suite of twenty at most."""
    drawings = drawn(78, 0.1 + loss, 0.1, 1_000)
    left = np.zeros(2)
    for suite in drawings:
        total = -suite.mean()
        against_less = capital((1 - suite) / 2, (1 + total) / 2, 78)
        against_more = capital((1 + suite) / 2, (1 - total) / 2, 78)
        left += [against_less.max() >= 20, against_more.max() >= 20]
    assert (left / len(drawings) <= 0.05 + MARGIN).all()


def test_a_loss_of_20_points_is_found_with_half_of_the_conversations() -> None:
    for conversations, suites, most in ((78, 1_000, 0.5), (500, 200, 0.2)):
        shown, excluded = decided(
            LossTest(0.05, conversations, step=1.0), drawn(conversations, 0.22, 0.02, suites)
        )
        assert (shown < excluded).mean() > 0.99
        assert np.minimum(shown, excluded).mean() / conversations <= most


def test_error_is_shared_over_the_arms() -> None:
    assert LossTest(0.05).needed == 20
    assert LossTest(0.05, arms=6).needed == pytest.approx(120)
    assert LossTest(0.05, alpha=0.1, arms=2).needed == 20


def test_it_is_said_in_a_line() -> None:
    test = LossTest(0.05, 78, step=1.0)
    assert test.evidence([]).text == (
        "loss of 5 points in this suite open after 0 of 78: e = 1.0 for it, e = 1.0 against it, 20 needed"
    )
    found = test.evidence([0.0] * 60)
    e_value = math.floor(found.reached or 0)
    assert 20 <= e_value < found.excluded
    assert (
        found.text == f"loss of 5 points in this suite excluded, e = {e_value}, after {found.decided} of 78"
    )
    assert re.fullmatch(r"between \d+\.\d points better and [0-4]\.\d points worse", found.bounds)
    assert test.evidence([0.0] * 78).bounds == "0.0 points worse"
    waiting = test.evidence(DifferenceBounds(np.zeros(60), np.repeat([0.0, 1.0], 30)))
    assert waiting.text == (
        f"loss of 5 points in this suite excluded, e = {e_value}, after {found.decided} of 78 (30 played)"
    )
    assert test.evidence(DifferenceBounds(np.zeros(3), np.array([0.0, 1.0, 1.0]))).text.startswith(
        "loss of 5 points in this suite open after 3 of 78 (1 played): e = "
    )
    exact = LossTest(0.05, 78, alpha=1e-9, step=1.0).evidence([0.0] * 78)
    assert exact.text.startswith("loss of 5 points in this suite excluded, e > 1,000,000, after 7")
    assert [exact.as_json()[name] for name in ("shown", "excluded", "reached")] == [1.0, None, None]


def test_a_size_between_two_numbers_of_conversations_is_asked_exactly() -> None:
    """5 points of 28 conversations are 1.4 of them: two lost are such a loss, and one is none."""
    test = LossTest(0.05, 28, step=1.0)
    assert test.evidence([-1.0, *[0.0] * 27]).found == "excluded"
    assert test.evidence([-1.0, -1.0, *[0.0] * 26]).shown == math.inf
