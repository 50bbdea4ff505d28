"""Verdicts where texts are unclear: equal arms lose nothing by them, and real losses are still found."""

from dataclasses import replace

import numpy as np
import pytest
from counted import METRICS

from benchmarks.comparing.unclear import DECLARATION, SUCCESS, WAYS, Mix, losses, shares, suite
from rig.compare.arms import ComparisonOptions
from rig.compare.compare import verdicts_of
from rig.compare.verdict import ArmVerdict, Decision, VerdictKind, settled
from rig.core.metrics import UNCLEAR, Counts
from rig.plugins.strategies.sequential import DifferenceBounds, LossTest
from rig.stats import Tallied
from rig.stats.paired import PairedBootstrap, RateDifference
from rig.stats.power import detectable_success_loss
from rig.stats.rates import OutcomeBounds


@pytest.mark.slow
@pytest.mark.parametrize("unclear", [(0.02, 0.1), (0.1, 0.02)])
def test_equal_arms_with_unequal_unclear_texts_lose_nothing(unclear: tuple[float, float]) -> None:
    bounded, silent = shares(Mix(200, 0.6, unclear), 40, seed=3)
    assert max(bounded.values()) <= 0.05
    if unclear[1] > unclear[0]:
        assert silent["success"] > 0.1, "the case shows nothing"


def test_a_great_loss_is_found_through_unclear_texts() -> None:
    draw = np.random.default_rng(1)
    scored, _ = suite(Mix(200, 0.8, (0.05, 0.05)), draw)
    lost: list[Counts] = [
        {**counts, "successes": 0, "matches": 0} if n % 2 else counts for n, counts in enumerate(scored[1])
    ]
    lost = [
        {k: v for k, v in counts.items() if n % 2 == 0 or UNCLEAR not in k} for n, counts in enumerate(lost)
    ]
    assert losses([scored[0], lost]) == dict.fromkeys(WAYS, True)


def test_conversations_end_alike_only_if_they_do_however_texts_are_decided() -> None:
    """If the baseline's texts are right, nothing differs; if they are wrong, six conversations are won."""
    unclear: Counts = {"tasks": 1, "successes": 0, UNCLEAR: 1, f"{UNCLEAR}.successes": 1}
    right: Counts = {"tasks": 1, "successes": 1}
    rows = [[[right]] * 4 + [[unclear]] * 6, [[right]] * 10]
    sides = [Tallied.of(side, DECLARATION) for side in rows]
    bootstrap = PairedBootstrap(10, resamples=100)
    difference = replace(bootstrap.difference(*(side.sides(SUCCESS) for side in sides), 0.05), p=0.03125)
    pairing = (rows[0], rows[1]), (sides[0], sides[1]), bootstrap
    [found] = verdicts_of([pairing], [difference], ComparisonOptions(), DECLARATION, SUCCESS)
    assert found.kind is VerdictKind.NO_LOSS_FOUND
    assert found.text.startswith("no loss found; a loss above")


def _verdict(kind: VerdictKind, seen: float | None = None, least: float | None = None) -> ArmVerdict:
    return ArmVerdict(kind, f"{kind}", seen, least, 0.2)


@pytest.mark.parametrize(
    ("ends", "kind"),
    [
        ([VerdictKind.LOSS, VerdictKind.LOSS], VerdictKind.LOSS),
        ([VerdictKind.LOSS, VerdictKind.SUSPECTED], VerdictKind.SUSPECTED),
        ([VerdictKind.LOSS, VerdictKind.NO_LOSS_FOUND], VerdictKind.CANNOT_TELL),
        ([VerdictKind.LOSS, VerdictKind.GAIN], VerdictKind.CANNOT_TELL),
        ([VerdictKind.GAIN, VerdictKind.NO_LOSS_FOUND], VerdictKind.NO_LOSS_FOUND),
        ([VerdictKind.NO_LOSS_FOUND, VerdictKind.NOTHING_TO_LOSE], VerdictKind.CANNOT_TELL),
    ],
)
def test_only_what_holds_at_every_end_is_said(ends: list[VerdictKind], kind: VerdictKind) -> None:
    for order in (ends, ends[::-1]):
        found = settled([_verdict(end, 0.1, 0.1) for end in order], METRICS["success_rate"], 12)
        assert found.kind is kind
        assert ("cannot tell: 12 unclear texts decide it" in found.text) == (kind is VerdictKind.CANNOT_TELL)


def test_a_decision_needs_the_size_at_every_end() -> None:
    ends = [_verdict(VerdictKind.LOSS, None, 0.12), _verdict(VerdictKind.LOSS, None, 0.04)]
    found = settled(ends, METRICS["success_rate"], 1)
    assert found.at_least == 0.04
    assert found.decision(0.03) is Decision.WORSE
    assert found.decision(0.05) is Decision.CANNOT_TELL
    assert found.decision(0.2) is Decision.PASSES


@pytest.mark.parametrize("of", [20, None])
def test_until_the_texts_are_decided_nothing_is_found(of: int | None) -> None:
    unclear: Counts = {"tasks": 1, "successes": 0, UNCLEAR: 1, f"{UNCLEAR}.successes": 1}
    right: Counts = {"tasks": 1, "successes": 1}
    sides = [(right, unclear if number % 2 else right) for number in range(20)]
    outcomes = ([[OutcomeBounds.of(DECLARATION, counts)] for counts in pair] for pair in sides)
    found = LossTest(0.05, of, step=1.0).evidence(DifferenceBounds.of_outcomes(outcomes))  # type: ignore[arg-type]
    assert found.found is None
    assert found.is_for_texts
    assert found.unclear == 10
    assert "cannot tell: 10 unclear texts decide it" in found.text
    if of:
        assert (found.low, found.high) == (0.0, 0.5)
    assert SUCCESS.bounds(unclear) == (0.0, 1.0)


def test_texts_may_be_decided_so_that_the_arms_differ_most() -> None:
    right: Counts = {"tasks": 1, "successes": 1}
    wrong: Counts = {"tasks": 1, "successes": 0}
    unclear: Counts = {**wrong, UNCLEAR: 1, f"{UNCLEAR}.successes": 1}
    baseline = [right] * 14 + [wrong] * 14

    arm = baseline[:10] + [unclear] * 8 + baseline[18:]
    rows = [[counts] for counts in baseline], [[counts] for counts in arm]
    sides = Tallied.of(rows[0], DECLARATION), Tallied.of(rows[1], DECLARATION)
    ends = [(rows, sides, PairedBootstrap(28, resamples=200))]
    counted_wrong = [RateDifference(-1 / 7, -0.3, 0.0, 0.125, 0.3)]
    [found] = verdicts_of(ends, counted_wrong, ComparisonOptions(), DECLARATION, SUCCESS)
    assert found.kind is VerdictKind.NO_LOSS_FOUND
    # Four of the texts may be wrong where the baseline is right, and four right where it is wrong.
    assert found.seen_above == detectable_success_loss(28, 4, 4, 0.05)
