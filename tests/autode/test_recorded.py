"""Recorded results give the figures that upstream's scorer makes of them."""

import json
from pathlib import Path
from typing import Any

import pytest
import upstream_autode as upstream

from rig.plugins.autode import checkout
from rig.plugins.autode.method import AutoDE
from rig.plugins.autode.scenarios import Scenario, Utterance
from rig.plugins.autode.talk import AutoDeSettings, Mode, Talk
from rig.plugins.papers import autode as recorded
from rig.plugins.papers.autode import PAPER as FILES
from rig.plugins.papers.autode import turns
from rig.plugins.ranking.tables import published
from rig.plugins.rescore.stored import import_run
from rig.store import Runs

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
"""Precision, recall and F1 in percent, and the sample deviation of the trials' F1, of the files at hand."""

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
"""Reluctant, illusory, malformed, gave up, failed by the user, and the mean length in messages.

Upstream leaves the first query out of the length of its older files.
"""

TRIALS = {
    "u_gpt35_a_gpt35_v2": (76.3487, 74.9415, 75.3447, 75.4607, 75.0345),
    "a_codellama13b_oasst_static_force_5rounds": (89.9963, 90.2151, 89.2204, 90.5677, 89.4821),
}
"""The F1 of each trial."""

AGREEMENT = {("gpt35", "human"): 0.90, ("llama7b", "human"): 0.90, ("human", "static"): 0.26}
"""Pearson's R over dialogues of two ways of evaluating GPT-3.5."""

PAPER = {"static": (0.8813, 0.8813), "gpt35": (0.9869, 0.9923), "llama7b": (0.9923, 0.9930)}
"""ICC3 and R of table 2, where what is not at hand is taken from the paper."""


@pytest.fixture(scope="module")
def scenarios(autode: Path) -> dict[str, Scenario]:
    return {each.id: each for each in checkout.load(autode)}


@pytest.fixture(scope="module")
def tables(autode: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    """What `rig show --tables` makes of all files at hand, imported as one run."""
    store = tmp_path_factory.mktemp("recorded") / "runs.sqlite"
    method = AutoDE()
    import_run(store, method, FILES.recorded([file(autode, name) for name in FIGURES], None, {}))
    with Runs.open(store) as runs:
        return [table.as_json() for table in published(runs, ["latest"])]


def file(autode: Path, name: str) -> Path:
    path = autode / "results" / f"{name}.jsonl"
    if not path.is_file():
        pytest.skip(f"the checkout has no results/{name}.jsonl")
    return path


def rows(tables: list[Any], title: str, **wanted: Any) -> list[Any]:
    """The rows of a table that have these values."""
    table = next(table for table in tables if table["title"].startswith(title))
    return [row for row in table["rows"] if all(row.get(key) == value for key, value in wanted.items())]


@pytest.mark.slow
@pytest.mark.parametrize("name", FIGURES)
def test_figures_are_upstreams(tables: list[Any], name: str) -> None:
    (row,) = rows(tables, "Table 1", arm=name)
    *rates, spread = FIGURES[name]
    assert [row["precision"], row["recall"], row["f1"]] == pytest.approx(rates, abs=6e-5)
    assert row["spread"] == (spread if spread is None else pytest.approx(spread, abs=6e-5))
    assert row["low"] < row["f1"] < row["high"]
    if name in TRIALS:
        assert row["trial_f1"] == pytest.approx(TRIALS[name], abs=6e-5)


@pytest.mark.slow
@pytest.mark.parametrize("name", BEHAVIOUR)
def test_behaviour_is_upstreams(tables: list[Any], name: str) -> None:
    (row,) = rows(tables, "Case study", arm=name)
    *counts, length = BEHAVIOUR[name]
    assert [row[part] for part in ("reluctant", "illusory", "malformed", "gave_up", "user_failed")] == counts
    assert row["length"] == pytest.approx(length, abs=6e-5)


def test_agreement_is_upstreams(tables: list[Any]) -> None:
    for (one, other), r in AGREEMENT.items():
        (row,) = (
            row
            for row in rows(tables, "Agreement", assistant="gpt35")
            if sorted(row["methods"]) == sorted((one, other))
        )
        assert row["r"]["value"] == pytest.approx(r, abs=0.005)
        assert row["r"]["low"] < row["r"]["value"] < row["r"]["high"]
    for method, (icc3, r) in PAPER.items():
        (row,) = rows(tables, "Table 2", method=method, source="run and paper")
        assert (row["icc3"], row["r"]) == (pytest.approx(icc3, abs=6e-5), pytest.approx(r, abs=1e-4))
    (row,) = rows(tables, "Table 1", arm="u_gpt35_a_gpt35_v2")
    assert (row["low"], row["high"]) == (pytest.approx(72.1, abs=0.3), pytest.approx(78.6, abs=0.3))


@pytest.mark.parametrize("name", FIGURES)
def test_what_is_written_scores_the_same(
    autode: Path, scenarios: dict[str, Scenario], name: str, tmp_path: Path
) -> None:
    before = file(autode, name)
    after = tmp_path / before.name
    after.write_text("".join(f"{each.line()}\n" for each in recorded.read(before)))
    golds = {each.id: each.slots for each in scenarios.values()}
    *rates, _ = FIGURES[name]
    assert upstream.score(upstream.read(after), golds)[:3] == pytest.approx(rates, abs=6e-5)
    if "state" in (read := upstream.read(before))[0]:
        assert upstream.read(after) == read


@pytest.mark.parametrize("name", FIGURES)
def test_every_recorded_dialogue_folds_into_itself(
    autode: Path, scenarios: dict[str, Scenario], name: str
) -> None:
    mode: Mode = "static" if "static" in name else "dynamic"
    for record in recorded.read(file(autode, name)):
        scenario = scenarios[record.uuid]
        talk = Talk(scenario, AutoDeSettings(mode), turns(record, scenario, mode))
        assert talk.end == record.outcome
        assert len(talk.said) == len(record.said) + record.is_cut
        assert (dict(talk.call.arguments) if talk.call else {}) == record.slots
        said = [(role, text.strip()) for role, text in talk.said[record.is_cut :]]
        assert said == [(role, text.strip()) for role, text in record.said]


def row(**changes: object) -> str:
    known = {"uuid": "u", "content": [], "background": "b", "api": "A", "slots": {}}
    return json.dumps({**known, "state": "failure", "reason": "", "trial_uuid": "t", **changes})


@pytest.mark.parametrize(
    ("reason", "outcome"),
    [
        ("", "gave_up"),
        ("Round limit reached", "round_limit"),
        ('{"error":"Context length exceeded"}\n', "context_full"),
        ("Arguments parse failed: {", "malformed"),
        ("Annotator thought the dialogue is failed", "user_failed"),
        ("Generation format error", "assistant_failed"),
        ("the server is gone", "assistant_failed"),
    ],
)
def test_reasons_are_outcomes(tmp_path: Path, reason: str, outcome: str) -> None:
    (tmp_path / "r.jsonl").write_text(row(reason=reason))
    (record,) = recorded.read(tmp_path / "r.jsonl")
    assert record.outcome == outcome


def test_both_formats_and_bad_rows(tmp_path: Path) -> None:
    said = [{"role": "Assistant", "message": "When?"}, {"role": "User", "message": "At six."}]
    old = json.dumps({"uuid": "u", "content": said, "background": "b", "api": "A", "slots": {"x": "6"}})
    legacy = row(content=[{"role": "User", "content": "Hi"}], state="success")
    (tmp_path / "r.jsonl").write_text("\n".join([old, "{", legacy, '{"uuid": "u"}', "[]"]))
    read = recorded.read(tmp_path / "r.jsonl")
    assert [(each.outcome, each.is_cut) for each in read] == [("called", True), ("called", False)]
    assert read[1].said == (Utterance("User", "Hi"),)
    assert [fault.split(": not")[0].rpartition(" ")[2] for fault in read.faults] == ["2", "4", "5"]
