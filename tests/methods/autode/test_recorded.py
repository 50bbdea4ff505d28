"""Recorded results give the figures that upstream's scorer makes of them."""

import json
from math import isnan
from pathlib import Path

import numpy as np
import pytest

from rig.errors import RigError
from rig.methods.autode.data import checkout
from rig.methods.autode.data.scenarios import Scenario, Utterance
from rig.methods.autode.recorded import records as recorded
from rig.methods.autode.scoring import slots
from rig.methods.autode.scoring.agreement import agreement, icc3, mean_f1, pearson

FIGURES = {
    "u_gpt35_a_gpt35_v2": (78.1395, 73.8389, 75.4260, 0.5584),
    "u_llama7b_a_gpt35_complementary": (78.2518, 73.9127, 75.4689, 0.4587),
    "a_gpt35_static_v2": (94.0484, 93.8012, 93.8597, 0.9667),
    "u_human_a_gpt35_complementary": (79.6161, 75.0696, 76.7724, None),
    "a_codellama13b_oasst_static_force_5rounds": (91.1784, 89.7417, 89.8963, 0.5456),
    "a_codellama13b_oasst_human_good_complementary": (59.4607, 59.9919, 58.9735, None),
    "a_llama70b_static_force_5rounds": (29.2983, 29.7778, 29.4000, 1.6130),
    "a_llama70b_human": (18.8043, 20.6341, 19.3987, None),
}
"""Precision, recall and F1 in percent, and the sample deviation of the trials' F1."""

BEHAVIOUR = {
    "u_gpt35_a_gpt35_v2": (8, 1, 0, 2, 0, 1.7594),
    "u_llama7b_a_gpt35_complementary": (0, 2, 0, 0, 0, 1.6159),
    "a_gpt35_static_v2": (19, 0, 0, 0, 0, 3.2239),
    "u_human_a_gpt35_complementary": (0, 0, 0, 0, 0, 0.6993 + 275 / 276),
    "a_codellama13b_oasst_static_force_5rounds": (0, 22, 2, 0, 0, 3.2101),
    "a_codellama13b_oasst_human_good_complementary": (3, 28, 2, 2, 8, 3.4130),
    "a_llama70b_static_force_5rounds": (0, 516, 420, 0, 0, 3.2101),
    "a_llama70b_human": (0, 74, 11, 0, 131, 7.1486),
}
"""Reluctant, illusory, malformed, gave up, failed by the user, and the mean length in messages."""


@pytest.fixture(scope="module")
def scenarios(autode: Path) -> dict[str, Scenario]:
    return {each.id: each for each in checkout.load(autode)}


def read(autode: Path, name: str) -> recorded.Records:
    path = autode / "results" / f"{name}.jsonl"
    if not path.is_file():
        pytest.skip(f"the checkout has no results/{name}.jsonl")
    return recorded.read(path)


def trials_of(autode: Path, scenarios: dict[str, Scenario], name: str) -> list[list[recorded.Record]]:
    return read(autode, name).trials(list(scenarios))


@pytest.mark.parametrize("name", FIGURES)
def test_figures_are_upstreams(autode: Path, scenarios: dict[str, Scenario], name: str) -> None:
    truths = {each.id: each.slots for each in scenarios.values()}
    figures = recorded.score(trials_of(autode, scenarios, name), truths)
    *rates, spread = FIGURES[name]
    assert [100 * each for each in figures[:3]] == pytest.approx(rates, abs=5e-5)
    assert (
        isnan(figures.spread) if spread is None else 100 * figures.spread == pytest.approx(spread, abs=5e-5)
    )


@pytest.mark.parametrize("name", BEHAVIOUR)
def test_behaviour_is_upstreams(autode: Path, scenarios: dict[str, Scenario], name: str) -> None:
    records = [each for trial in trials_of(autode, scenarios, name) for each in trial]
    assert recorded.behaviour(records, scenarios) == pytest.approx(BEHAVIOUR[name], abs=5e-5)


@pytest.mark.parametrize(
    ("name", "f1"),
    [
        ("u_gpt35_a_gpt35_v2", (76.3487, 74.9415, 75.3447, 75.4607, 75.0345)),
        ("a_codellama13b_oasst_static_force_5rounds", (89.9963, 90.2151, 89.2204, 90.5677, 89.4821)),
    ],
)
def test_each_trial(autode: Path, scenarios: dict[str, Scenario], name: str, f1: tuple[float, ...]) -> None:
    truths = {each.id: each.slots for each in scenarios.values()}
    figures = recorded.score(trials_of(autode, scenarios, name), truths)
    assert [100 * each for each in figures.trials] == pytest.approx(f1, abs=5e-5)


@pytest.mark.parametrize("name", FIGURES)
def test_what_is_written_scores_the_same(
    autode: Path, scenarios: dict[str, Scenario], name: str, tmp_path: Path
) -> None:
    before = read(autode, name)
    (tmp_path / "out.jsonl").write_text("".join(f"{each.line()}\n" for each in before.records))
    after = recorded.read(tmp_path / "out.jsonl")
    assert [each.slots for each in after.records] == [each.slots for each in before.records]
    lines = (autode / "results" / f"{name}.jsonl").read_text().splitlines()
    if "state" in lines[0]:
        assert [json.loads(each.line()) for each in after.records] == [json.loads(line) for line in lines]


def test_agreement_dialogue_by_dialogue(autode: Path, scenarios: dict[str, Scenario]) -> None:
    def f1(name: str) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        trials = trials_of(autode, scenarios, name)
        return np.mean(
            [[slots.count(scenarios[r.id].slots, r.slots).f1 for r in trial] for trial in trials], axis=0
        )

    human = f1("u_human_a_gpt35_complementary")
    found = [
        pearson(human, f1(name))
        for name in ("u_gpt35_a_gpt35_v2", "u_llama7b_a_gpt35_complementary", "a_gpt35_static_v2")
    ]
    assert found == pytest.approx([0.90, 0.90, 0.26], abs=0.005)
    interval = mean_f1(f1("u_gpt35_a_gpt35_v2"))
    assert 100 * interval.low == pytest.approx(72.1, abs=0.3)
    assert 100 * interval.high == pytest.approx(78.6, abs=0.3)


def test_icc3_is_that_of_the_paper_that_defines_it() -> None:
    judges = [9, 6, 8, 7, 10, 6], [2, 1, 4, 1, 5, 2], [5, 3, 6, 2, 6, 4], [8, 2, 8, 6, 9, 7]
    assert icc3(*judges) == pytest.approx(0.7148, abs=5e-5)


def test_agreement_of_methods_lies_within_its_interval() -> None:
    generator = np.random.default_rng(3)
    human = [(generator.random(60) < ease).astype(float) for ease in (0.2, 0.5, 0.8)]
    same = agreement(human, human, icc3)
    assert same == pytest.approx((1, 1, 1))
    other = [1 - row for row in human]
    found = agreement(human, other, pearson)
    assert found == pytest.approx((-1, -1, -1))
    shaken = agreement(human, [np.roll(row, 7) * 0.9 for row in human], icc3)
    assert shaken.low < shaken.value < shaken.high <= 1
    assert isnan(pearson([1, 1], [0, 1]))


def row(**changes: object) -> str:
    known = {"uuid": "u", "content": [], "background": "b", "api": "A", "slots": {}}
    return json.dumps({**known, "state": "failure", "reason": "", "trial_uuid": "t", **changes})


@pytest.mark.parametrize(
    ("reason", "outcome", "is_reluctant"),
    [
        ("", "gave_up", False),
        ("Round limit reached", "round_limit", True),
        ('{"error":"Context length exceeded"}\n', "context_full", True),
        ("Arguments parse failed: {", "malformed", False),
        ("Annotator thought the dialogue is failed", "user_failed", False),
        ("Generation format error", "failed", False),
    ],
)
def test_reasons_are_outcomes(tmp_path: Path, reason: str, outcome: str, is_reluctant: bool) -> None:
    (tmp_path / "r.jsonl").write_text(row(reason=reason))
    (record,) = recorded.read(tmp_path / "r.jsonl").records
    assert (record.outcome, record.is_reluctant) == (outcome, is_reluctant)


def test_both_formats_and_bad_rows(tmp_path: Path) -> None:
    said = [{"role": "Assistant", "message": "When?"}, {"role": "User", "message": "At six."}]
    old = json.dumps({"uuid": "u", "content": said, "background": "b", "api": "A", "slots": {"x": "6"}})
    legacy = row(content=[{"role": "User", "content": "Hi"}], state="success")
    (tmp_path / "r.jsonl").write_text("\n".join([old, "{", legacy, '{"uuid": "u"}', "[]"]))
    read = recorded.read(tmp_path / "r.jsonl")
    assert [(each.outcome, each.messages) for each in read.records] == [("called", 3), ("called", 1)]
    assert read.records[1].said == (Utterance("User", "Hi"),)
    assert [fault.split(": not")[0].rpartition(" ")[2] for fault in read.faults] == ["2", "4", "5"]


def test_trials_are_places_in_the_file_and_end_with_the_shortest(tmp_path: Path) -> None:
    ids = ["a", "b", "a", "c", "b", "c", "a"]
    (tmp_path / "r.jsonl").write_text(
        "\n".join(row(uuid=each, slots={"n": str(number)}) for number, each in enumerate(ids))
    )
    records = recorded.read(tmp_path / "r.jsonl")
    trials = records.trials(["b", "a", "c"])
    assert [[each.slots["n"] for each in trial] for trial in trials] == [["1", "0", "3"], ["4", "2", "5"]]
    with pytest.raises(RigError, match="no result of dialogue d"):
        records.trials(["a", "d"])
