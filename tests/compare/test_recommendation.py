"""Which file to ship: the smallest that loses no more than is allowed, and never on what nobody knows."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from graded_talks import model, play

from rig.compare.arms import ComparisonOptions
from rig.compare.compare import compare
from rig.compare.findings import Comparison
from rig.compare.recommendation import recommend
from rig.compare.verdict import ArmVerdict, Decision, Recommendation, RecommendationKind, VerdictKind
from rig.plugins.strategies.looks import compare_sequentially, recommend_early
from rig.show import signs
from rig.show.card import opening
from rig.store import Runs

Rig = Callable[..., Any]
N = 12
SIZES = {"q8": 800, "q5": 500, "q4": 400, "q2": 200}

PASSES = ArmVerdict(VerdictKind.NO_LOSS_FOUND, "no loss found", 0.03)
LOSES = ArmVerdict(VerdictKind.LOSS, "loss found", None, 0.3, 0.4)
OPEN = ArmVerdict(VerdictKind.NO_LOSS_FOUND, "no loss found", 0.3)
UNCLEAR = ArmVerdict(VerdictKind.CANNOT_TELL, "cannot tell: 3 unclear texts decide it", unclear=3)


@pytest.fixture(scope="module")
def ladder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with a run of four files of different sizes, the last of which loses half."""
    path = tmp_path_factory.mktemp("ladder") / "runs.sqlite"
    wrong = [set(), set(), set(), set(range(6))]
    files = [
        model(N, wrong[place], fingerprint={"file_bytes": size, "file_sha256": name})
        for place, (name, size) in enumerate(SIZES.items())
    ]
    play(path, *files, number=N, names=tuple(SIZES))
    return path


@pytest.fixture(scope="module")
def comparison(ladder: Path) -> Comparison:
    with Runs.open(ladder) as runs:
        return compare(runs, ["latest"])


def judged(comparison: Comparison, verdicts: Mapping[str, ArmVerdict]) -> Recommendation:
    pairs = tuple(replace(pair, verdict=verdicts[pair.arm]) for pair in comparison.pairs)
    recommended = recommend(replace(comparison, pairs=pairs), 0.05)
    assert recommended is not None
    return recommended


@pytest.mark.parametrize(
    ("verdicts", "kind", "text"),
    [
        ((PASSES, PASSES, LOSES), "ship", "Ship q4: smallest file without a loss above 5 points"),
        ((PASSES, PASSES, PASSES), "ship", "Ship q2: smallest file without a loss above 5 points"),
        ((PASSES, OPEN, LOSES), "ship", "Ship q5: smallest file without a loss above 5 points; whether q4"),
        ((LOSES, LOSES, LOSES), "keep", "Keep q8: every smaller file loses more than 5 points"),
        (
            (OPEN, OPEN, LOSES),
            "cannot tell",
            "Rule out q2; q4 or q5: cannot tell yet: in 12 conversations, a",
        ),
        ((OPEN, OPEN, OPEN), "cannot tell", "Cannot tell which file to ship: in 12 conversations, a loss"),
        ((UNCLEAR, UNCLEAR, LOSES), "cannot tell", "3 unclear texts decide it: rig adjudicate abcde"),
    ],
)
def test_it_is_the_smallest_file_that_passes(
    comparison: Comparison, verdicts: tuple[ArmVerdict, ...], kind: str, text: str
) -> None:
    recommended = judged(comparison, dict(zip(("q5", "q4", "q2"), verdicts, strict=True)))
    assert recommended.kind == kind
    assert text in recommended.text()
    assert (recommended.arm is None) == (kind == "cannot tell")


def test_a_larger_file_than_the_baseline_is_never_shipped(ladder: Path) -> None:
    with Runs.open(ladder) as runs:
        smallest = compare(runs, ["latest"], ComparisonOptions(baseline="q2"))
    recommended = judged(smallest, dict.fromkeys(("q8", "q5", "q4"), PASSES))
    assert (recommended.kind, recommended.arm) == ("keep", "q2")
    assert recommended.text() == "Keep q2: no file is smaller"


def test_what_is_open_is_answered_by_a_larger_suite_or_a_number(comparison: Comparison) -> None:
    recommended = judged(comparison, {"q5": OPEN, "q4": OPEN, "q2": OPEN})
    assert recommended.undecided == ("q2", "q4", "q5")
    assert (recommended.suite is None) != (recommended.needed is None)
    if recommended.needed is not None:
        assert recommended.needed > 100
        assert f"about {recommended.needed:,} conversations would tell" in recommended.text()
    wide = recommend(comparison, 0.9)
    assert wide is not None
    assert wide.kind is RecommendationKind.SHIP


def test_a_larger_suite_is_named_with_the_time_that_it_takes(comparison: Comparison) -> None:
    timed = [replace(arm, turn_times=replace(arm.turn_times, mean_s=2.0)) for arm in comparison.arms]
    unseen = replace(OPEN, seen_above=0.6)
    pairs = tuple(replace(pair, verdict=unseen) for pair in comparison.pairs)
    recommended = recommend(replace(comparison, arms=tuple(timed), pairs=pairs), 0.4)
    assert recommended is not None
    assert recommended.suite is not None
    assert recommended.suite.conversations > N
    # Four arms, two seconds a turn, and at least a turn in each conversation.
    assert recommended.suite.seconds >= 4 * 2.0 * recommended.suite.conversations
    assert f"--suite {recommended.suite.name}, about" in recommended.text()


def test_nothing_rests_on_an_arm_that_is_not_through(comparison: Comparison) -> None:
    arms = (*comparison.arms[:-1], replace(comparison.arms[-1], finished=3))
    recommended = recommend(replace(comparison, arms=arms), 0.9)
    assert recommended is not None
    assert recommended.arm is None
    assert "q2 has finished 3 of 12 conversations; rig run --resume abcde" in recommended.text()


def test_nothing_rests_on_rates_that_may_not_be_decided_by(comparison: Comparison) -> None:
    declaration = comparison.declaration._replace(caution="these are biased", decides=False)
    recommended = recommend(replace(comparison, declaration=declaration), 0.9)
    assert recommended is not None
    assert recommended.text() == "Cannot tell which file to ship: these are biased"


def test_without_sizes_there_is_nothing_to_ship(comparison: Comparison) -> None:
    arms = tuple(replace(arm, fingerprint={"model.file_bytes": 7}) for arm in comparison.arms)
    assert recommend(replace(comparison, arms=arms), 0.05) is None


W, P, C = Decision.WORSE, Decision.PASSES, Decision.CANNOT_TELL


@pytest.mark.parametrize(
    ("decisions", "text"),
    [
        ((P, P, W), "Ship q4: smallest file without a loss above 5 points in this suite"),
        ((P, C, W), "Ship q5: smallest file without a loss above 5 points in this suite; whether q4"),
        ((W, W, W), "Keep q8: every smaller file loses at least 5 points in conversations like these or in"),
        ((P, P, P), "Ship q2: smallest file without a loss above 5 points in conversations like these"),
        ((C, C, W), "Rule out q2; q4 or q5: cannot tell yet: a loss of 5 points has neither been shown nor"),
        ((C, C, C), "Cannot tell which file to ship: a loss of 5 points has neither been shown nor excluded"),
    ],
)
def test_sequential_tests_decide_in_the_same_way(decisions: tuple[Decision, ...], text: str) -> None:
    decided = dict(zip(("q5", "q4", "q2"), decisions, strict=True))
    among = {"q5": " in this suite", "q4": " in this suite", "q2": " in conversations like these"}
    recommended = recommend_early(SIZES, "q8", decided, 0.05, among)
    assert recommended is not None
    assert text in recommended.text()
    assert recommend_early(dict.fromkeys(SIZES, 7), "q8", decided, 0.05, among) is None


@pytest.mark.parametrize(("right", "text"), [((), "Cannot tell which file to ship"), ((3,), "Ship q4")])
def test_a_file_is_not_shipped_because_the_baseline_has_nothing_to_lose(
    tmp_path: Path, right: tuple[int, ...], text: str
) -> None:
    files = [
        model(4, set(range(4)).difference(of), fingerprint={"file_bytes": size, "file_sha256": str(size)})
        for size, of in ((800, ()), (400, right))
    ]
    play(tmp_path / "runs.sqlite", *files, number=4, names=("q8", "q4"))
    with Runs.open(tmp_path / "runs.sqlite") as runs:
        recommended = compare_sequentially(runs, ["latest"], 0.05, in_suite=True).recommendation
    assert recommended is not None
    assert recommended.text().startswith(text)
    assert recommended.text().endswith("nothing to lose") == (not right)


def test_every_place_says_the_same(rig: Rig, ladder: Path, comparison: Comparison) -> None:
    assert comparison.recommendation is not None
    text = comparison.recommendation.text()
    signs.use(ascii_only=True)
    first = "".join(text for text, _ in opening(comparison, 200)[0])
    assert first == f"? {text}"
    asked = ("compare", "latest", "--runs", ladder)
    told = rig(*asked, "--json").json["recommendation"]
    assert told["text"] == text
    assert told["kind"] == "cannot tell"
    assert rig(*asked).out.startswith("? Cannot tell which file to ship")
    suite = (*asked, "--sequential", "--in-suite", "--loss", "20")
    early = rig(*suite, "--json").json["recommendation"]
    assert early["text"] == "Ship q4: smallest file without a loss above 20 points in this suite"
    assert rig(*suite).out.startswith(early["text"])
    assert rig(*asked, "--sequential", "--loss", "20").out.startswith("Cannot tell which file to ship")
    assert rig(*asked, "--loss", "90").out.startswith("+ Ship q2: smallest file without a loss above 90")


def test_the_command_of_a_suite_that_would_tell_has_the_files_in_question(tmp_path: Path, rig: Rig) -> None:
    """The suite medium is made when it is used, and named like those that are stored."""
    files = {
        name: model(N, fingerprint={"file_bytes": size, "file_sha256": name}) for name, size in SIZES.items()
    }
    wrong = model(N, range(N), fingerprint={"file_bytes": 100, "file_sha256": "q1"})
    recipe = {
        "models": [f"/my models/{name}.gguf" for name in (*SIZES, "q1")],
        "docs": ["names"],
        "format": "auto",
        "limit": 12,
    }
    names = (*SIZES, "q1")
    play(tmp_path / "runs.sqlite", *files.values(), wrong, number=N, names=names, recipe=recipe)
    told = rig("compare", "latest", "--runs", tmp_path / "runs.sqlite", "--json").json["recommendation"]
    assert told["suite"]["name"] == "medium"
    assert told["suite"]["command"] == (
        "rig run '/my models/q8.gguf' '/my models/q2.gguf' '/my models/q4.gguf' '/my models/q5.gguf'"
        " --docs names --suite medium"
    )
    assert told["text"].startswith("Rule out q1; q2 or q4 or q5: cannot tell yet: in 12 conversations")
    assert f"{told['suite']['command']}, about " in told["text"]
    assert told["text"].endswith("would tell (1,000 conversations)")


def test_a_comparison_prints_its_decision_and_a_row_for_each_arm(comparison: Comparison) -> None:
    decision, header, *rows = repr(comparison).splitlines()
    assert decision == str(comparison.recommendation and comparison.recommendation.text())
    assert header.split() == ["arm", "success", "points", "more", "or", "less", "verdict"]
    assert [row.split()[0] for row in rows] == [*SIZES]
    assert "loss suspected" in rows[-1]
    named = replace(comparison.arms[1], label="<b>\x1b[2J")
    page = replace(comparison, arms=(comparison.arms[0], named, *comparison.arms[2:]))._repr_html_()
    assert "&lt;b&gt;\ufffd[2J" in page
    assert page.count("<tr>") == 1 + len(SIZES)
    assert len(page) < 2_000
