"""What is told of arms that stopped by their results: bounds and sequential verdicts, and no plain rates."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import graded_talks
import numpy as np
import pytest
import small_talks
from graded_talks import model

from rig.compare.arms import ComparisonOptions
from rig.compare.compare import compare
from rig.compare.findings import Comparison
from rig.compare.verdict import Decision, VerdictKind
from rig.core.metrics import TASKS, UNPLAYED, Metric
from rig.core.tasks import in_random_order
from rig.plugins.report.render import gather, render
from rig.plugins.statistics.text import statistics_text
from rig.plugins.strategies.looks import compare_sequentially
from rig.plugins.strategies.until import CAUTION, UntilVerdict
from rig.show.card import Card
from rig.show.summary import summary
from rig.store import Runs

Rig = Callable[..., Any]
SIZE = 0.2
SHARE_OF_TIME = re.compile(r"\s+(in|of it in) (the )?\w+ ")


def play(store: Path, number: int, wrong: list[set[int]], *, in_suite: bool, run: str = "abcde") -> None:
    """Play a run until a verdict with arms that are wrong in these conversations."""
    files = [
        model(number, of, fingerprint={"file_bytes": 900 - place, "file_sha256": str(place)})
        for place, of in enumerate(wrong)
    ]
    recipe = {"until": "verdict-in-suite" if in_suite else "verdict"}
    tasks = tuple(in_random_order(graded_talks.conversations(number), 0))
    chosen: dict[str, Any] = {"conversations": tasks, "caution": CAUTION, "recipe": recipe, "run": run}
    small_talks.play(small_talks.plan(store, *files, schedule=UntilVerdict(SIZE, in_suite), **chosen))


def drawn(seed: int, number: int = 24) -> list[set[int]]:
    """Draw what the first arm and two others get wrong, with a better and a worse arm on average."""
    chance = np.random.default_rng(seed)
    base = chance.uniform(0.2, 0.8)
    shares = (base, max(base - 0.15, 0.05), min(base + 0.15, 0.95))
    return [set(np.flatnonzero(chance.random(number) < share).tolist()) for share in shares]


def compared(store: Path, *addresses: str, **question: Any) -> Comparison:
    with Runs.open(store) as runs:
        return compare(runs, addresses or ("latest",), ComparisonOptions(loss=100 * SIZE, **question))


@pytest.fixture(scope="module")
def better(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store in which the second arm is better than the first, and seems worse where both played."""
    store = tmp_path_factory.mktemp("better") / "runs.sqlite"
    order = [int(task.name[4:]) for task in in_random_order(graded_talks.conversations(24), 0)]
    play(store, 24, [set(order[1::2]), {order[2]}], in_suite=True)
    return store


def test_a_better_arm_is_not_shown_as_worse(better: Path) -> None:
    comparison = compared(better)
    (pair,) = comparison.pairs
    arm = comparison.arms[1]
    assert arm.counts[UNPLAYED] > 0
    difference = pair.differences["success_rate"]
    assert difference.value is None
    assert difference.p is None
    assert difference.low is not None
    assert difference.high is not None
    # 23 of 24 against 12 of 24.
    assert difference.low < 11 / 24 < difference.high
    assert pair.verdict.kind is VerdictKind.NO_LOSS_FOUND
    assert pair.verdict.decision(0.05) is Decision.CANNOT_TELL
    assert pair.verdict.decision(0.4) is Decision.PASSES
    rate = arm.rates["success_rate"]
    assert rate.value is None
    assert rate.low is not None
    assert rate.high is not None
    assert rate.low <= 23 / 24 <= rate.high
    assert (pair.won, pair.lost, pair.agreement, pair.flip_rate) == (None, None, None, None)


@pytest.mark.slow
@pytest.mark.parametrize("in_suite", [True, False])
@pytest.mark.parametrize("seed", range(6))
def test_no_table_tells_a_plain_rate_of_what_results_chose(
    tmp_path: Path, seed: int, in_suite: bool, rig: Rig
) -> None:
    store, wrong = tmp_path / "runs.sqlite", drawn(seed)
    play(store, 24, wrong, in_suite=in_suite)
    comparison = compared(store)
    truth = [1 - len(of) / 24 for of in wrong]
    with Runs.open(store) as runs:
        stored = runs.get("latest")
        texts = [
            statistics_text(comparison),
            Card.of(runs, "latest").text(120),
            summary(stored, 200),
            *(render(gather(runs, ["latest"]), form) for form in ("md", "html")),
        ]
    for command in (("runs",), ("show", "latest"), ("compare", "latest"), ("compare", "latest", "--full")):
        texts.append(rig(*command, "--runs", store).out)
    # Shares of the wall time are of no arm's results, and any of them may be the same figure by chance.
    told = [line for text in texts for line in text.splitlines() if not SHARE_OF_TIME.match(line)]
    for arm, of_truth in zip(comparison.arms, truth, strict=True):
        rate, played = arm.rates["success_rate"], arm.counts[TASKS]
        if UNPLAYED not in arm.counts:
            assert rate.value == pytest.approx(of_truth)
            continue
        assert rate.value is None
        assert rate.low is not None
        assert rate.high is not None
        assert rate.low - 1e-9 <= of_truth <= rate.high + 1e-9
        plain = f"{100 * arm.counts['successes'] / played:.1f}%"
        if plain not in {f"{100 * end:.1f}%" for end in (rate.low, rate.high, *truth)}:
            assert [line for line in told if f" {plain}" in line] == []
    for pair, of_truth in zip(comparison.pairs, truth[1:], strict=True):
        difference = pair.differences["success_rate"]
        if difference.value is not None:
            assert difference.value == pytest.approx(of_truth - truth[0])
        assert difference.low is not None
        assert difference.high is not None


def test_the_store_has_no_plain_rate_either(better: Path) -> None:
    with Runs.open(better) as runs:
        stored = runs.get("latest")
        rates = [row["value"] for row in runs.view("rates", stored)]
        assert rates
        assert set(rates) == {None}
        (row, *_) = runs.view("summary", stored)
        assert row["success_rate"] is None
        assert all(score.counts[UNPLAYED] for score in runs.scores(stored))


def test_what_nothing_bounds_is_not_told(better: Path) -> None:
    with Runs.open(better) as runs:
        counts = runs.get("latest").arms[1].counts
    recall = Metric("recall", "recall", "matches", "ground_truths")
    assert counts["ground_truths"] > 0
    assert recall.rate(counts) is None
    assert recall.bounds(counts) is None


def test_an_arm_of_another_run_is_not_compared_over_what_results_chose(better: Path, tmp_path: Path) -> None:
    store = tmp_path / "runs.sqlite"
    store.write_bytes(better.read_bytes())
    graded_talks.play(
        store, model(24, range(0, 24, 2), fingerprint={"file_sha256": "9"}), number=24, run="whole"
    )
    for first, second in (("whole", "abcde/arm1"), ("abcde/arm1", "whole"), ("abcde/arm1", "abcde/arm0")):
        comparison = compared(store, first, second)
        difference = comparison.pairs[0].differences["success_rate"]
        assert difference.value is None
        assert difference.low is not None
        assert difference.high is not None
        gain = {"whole": 12, "abcde/arm1": 23, "abcde/arm0": 12}
        assert difference.low < (gain[second] - gain[first]) / 24 < difference.high
    whole = next(arm for arm in compared(store, "whole", "abcde/arm1").arms if arm.run == "whole")
    assert whole.rates["success_rate"].value == 0.5


def test_tables_of_papers_cards_and_exports_are_refused(better: Path, rig: Rig, tmp_path: Path) -> None:
    for command in (
        ("show", "latest", "--tables"),
        ("card", "latest/arm1"),
        ("export", "latest", "--format", "lm-eval", "--output", tmp_path / "out"),
        ("show", "latest", "--by", "suite"),
    ):
        done = rig(*command, "--runs", better)
        assert done.code == 2, command
        assert "results chose what" in done.err


@pytest.mark.parametrize(("most", "code"), [(5, 3), (40, 0)])
def test_the_gate_and_the_exit_code_go_by_the_sequential_verdict(
    better: Path, rig: Rig, tmp_path: Path, most: int, code: int
) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text(f'[[required]]\nmetric = "success_rate"\nmax_loss = {most}\n')
    done = rig("gate", policy, "latest", "--runs", better)
    assert done.code == code
    assert re.search(r"between \S+ points better and \S+ points worse in conversations like", done.out)
    unsure = ("--fail-if-worse", most, "--fail-if-unsure")
    assert rig("compare", "latest", *unsure, "--runs", better).code == code


def test_two_equal_files_seldom_show_a_loss() -> None:
    """One of two equally good files gets more of a suite of 28 right; the verdict is about the files."""
    from rig.plugins.strategies.sequential import LossTest

    chance = np.random.default_rng(0)
    about_files, about_suites = LossTest(0.05), LossTest(0.05, 28, step=1.0)
    flips = chance.choice([-1.0, 0.0, 1.0], size=(300, 28), p=[0.1, 0.8, 0.1])
    shown = [
        sum(test.evidence(row).found == "shown" for row in flips) for test in (about_files, about_suites)
    ]
    assert shown[0] <= 0.05 * len(flips)
    assert shown[1] > 0.2 * len(flips)


def test_the_verdict_is_about_the_files_unless_asked(better: Path) -> None:
    with Runs.open(better) as runs:
        (files,) = compare_sequentially(runs, ["latest"], SIZE).arms
        (suite,) = compare_sequentially(runs, ["latest"], SIZE, in_suite=True).arms
    assert files.judged is files.alike
    assert suite.judged is suite.suite
    assert "in this suite" in suite.judged.text
    assert "in this suite" not in files.judged.text
