"""The paper's tables: which rows there are, what they are made from, and that cited ones are as printed."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import small_talks
from counted import measured

from rig.core.metrics import total
from rig.methods.scripted import Scripted
from rig.plugins.papers.grids import Row, Table
from rig.plugins.papers.tooltalk import (
    PAPER_ERRORS,
    PAPER_ERRORS_NAMES,
    PAPER_RATES,
    PAPER_RATES_NAMES,
    published_tables,
)
from rig.plugins.ranking.tables import arm_score
from rig.plugins.rescore.stored import score_run
from rig.plugins.tooltalk.conversations import Conversation
from rig.plugins.tooltalk.prompt import ToolTalkSettings
from rig.running.plan import Arm
from rig.store import Runs

Rig = Callable[..., Any]


def _conversations(*suites: str) -> tuple[Conversation, ...]:
    pairs = zip(small_talks.conversations(), suites, strict=True)
    return tuple(replace(conversation, suite=suite) for conversation, suite in pairs)


def _play(path: Path, *suites: str, docs: tuple[str, ...] = ("full", "names"), name: str = "poor") -> None:
    model = Scripted(small_talks.erratic)
    arms = [
        Arm(f"{name} docs={each}", lambda _: model, ToolTalkSettings(docs=each, max_calls=3)) for each in docs
    ]
    small_talks.play(small_talks.plan(path, arms=tuple(arms), conversations=_conversations(*suites)))


def _tables(path: Path) -> list[Table]:
    with Runs.open(path) as runs:
        run = runs.get("abcde")
        return published_tables(arm_score(score, run.arms[score.arm], {}) for score in runs.suite_scores(run))


def test_rates_are_by_suite_and_errors_over_all_suites(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    _play(path, "easy", "hard", "easy")
    tables = _tables(path)
    assert [table.number for table in tables] == [1, 2, 3, 4]
    with Runs.open(path) as runs:
        run = runs.get("abcde")
        cells = runs.cells(run)
    for arm, rates, errors in zip(run.arms, tables[::2], tables[1::2], strict=True):
        own = [row for _, row in rates.rows if row["source"] == "run"]
        assert [(row["model"], row["suite"]) for row in own] == [(arm.name, "easy"), (arm.name, "hard")]
        for row, members in zip(own, ({"alarms", "login"}, {"reminders"}), strict=True):
            mine = [c.counts for c in cells if c.arm == arm.position and c.conversation in members]
            expected = measured(total(counts for counts in mine if counts))
            assert row["conversations"] == expected.conversations == len(members)
            assert (row["recall"], row["precision"]) == (expected.recall, expected.precision)
            assert row["success_rate"] == expected.success_rate
            assert row["incorrect_action_rate"] == expected.incorrect_action_rate
        _, first = errors.rows[0]
        errors_of_arm = {kind: count for kind, count in first["errors"].items() if count}
        assert (first["model"], errors_of_arm) == (arm.name, arm.error_types)
        assert first["total"] > 0


def test_the_papers_rows_stand_below_the_suite_they_are_of(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    _play(path, "easy", "easy", "mine", docs=("full",))
    rates, errors = _tables(path)
    assert [(row["model"], row["suite"]) for _, row in rates.rows] == [
        ("poor docs=full", "easy"),
        ("GPT-3.5", "easy"),
        ("GPT-4", "easy"),
        ("poor docs=full", "mine"),
    ]
    assert [row["model"] for _, row in errors.rows] == ["poor docs=full", "GPT-3.5", "GPT-4"]


def test_other_conversations_than_tooltalks_suites_have_no_rows_of_the_paper(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    _play(path, "mine", "mine", "mine", docs=("names",))
    tables = _tables(path)
    assert [table.number for table in tables] == [3, 4]
    assert {row["source"] for table in tables for _, row in table.rows} == {"run"}


def test_each_grader_has_tables_of_its_own_the_runs_first(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    _play(path, "easy", "hard", "hard", docs=("full",))
    score_run(path, small_talks.stored(path), small_talks.setup(small_talks.grader("upstream")))
    tables = _tables(path)
    assert [(table.number, table.graded_by["grader"]) for table in tables] == [
        (1, "default"),
        (2, "default"),
        (1, "upstream"),
        (2, "upstream"),
    ]
    for rates in tables[::2]:
        own = [row["suite"] for _, row in rates.rows if row["source"] == "run"]
        assert own == ["easy", "hard"]


PRINTED = {
    2: [("26.9%", "53.7%", "19.4%", 67), ("32.0%", "42.0%", "26.0%", 50)],
    4: [("12.3%", "71.2%", "16.4%", 73), ("16.2%", "60.3%", "23.5%", 68)],
}


@pytest.mark.parametrize(("number", "rows"), [(2, PAPER_ERRORS), (4, PAPER_ERRORS_NAMES)])
def test_counts_of_the_papers_errors_give_what_it_prints(number: int, rows: tuple[Row, ...]) -> None:
    shown = [(*(f"{share:.1%}" for share in row["shares"].values()), row["total"]) for _, row in rows]
    assert shown == PRINTED[number]


@pytest.mark.parametrize("rows", [PAPER_RATES, PAPER_RATES_NAMES])
def test_success_in_the_paper_is_of_whole_conversations(rows: tuple[Row, ...]) -> None:
    for _, row in rows:
        successes = row["success_rate"] * row["conversations"]
        assert abs(successes - round(successes)) < 0.03


def test_markdown_says_who_graded_and_what_is_cited(
    rig: Rig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RIG_RUNS", str(tmp_path / "runs.sqlite"))
    _play(tmp_path / "runs.sqlite", "easy", "easy", "hard")
    lines = rig("show", "abcde", "--tables").out.splitlines()
    assert lines[0].startswith("**Table 1. Results, tools documented** (graded by default, version ")
    assert [line.split("|")[1].strip() for line in lines[2:10]] == [
        "model",
        "-" * len("GPT-3.5 (paper)"),
        "poor docs=full",
        "GPT-3.5 (paper)",
        "GPT-4 (paper)",
        "poor docs=full",
        "GPT-3.5 (paper)",
        "GPT-4 (paper)",
    ]
    assert len({len(line) for line in lines[2:10]}) == 1
    assert "**Table 4. Types of error, tools only named**" in "\n".join(lines)
    assert "Farn and Shin" in lines[-1]


def test_tables_as_json(rig: Rig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RIG_RUNS", str(tmp_path / "runs.sqlite"))
    _play(tmp_path / "runs.sqlite", "easy", "easy", "hard")
    shown = rig("show", "abcde", "--tables", "--json").json
    assert shown["run"] == "abcde"
    assert [table["table"] for table in shown["tables"]] == [1, 2, 3, 4]
    assert shown["tables"][2]["rows"][1] == {
        "model": "GPT-3.5",
        "source": "paper",
        "suite": "easy",
        "success_rate": 0.821,
        "precision": 0.358,
        "recall": 0.857,
        "incorrect_action_rate": 0.022,
        "conversations": 28,
    }
    own = shown["tables"][1]["rows"][0]
    assert own["source"] == "run"
    assert sum(own["errors"].values()) == own["total"]
    assert sum(own["shares"].values()) == pytest.approx(1)


def test_names_are_no_markup_and_steer_nothing(
    rig: Rig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RIG_RUNS", str(tmp_path / "runs.sqlite"))
    _play(tmp_path / "runs.sqlite", *["a|b\n<i>"] * 3, docs=("full",), name="x|y\x1b[2J\n# z `w`")
    out = rig("show", "abcde", "--tables").out
    row = out.splitlines()[4]
    assert "\x1b" not in out
    assert row.startswith("| x\\|y\\\\x1b\\[2J \\# z \\`w\\` docs=full | a\\|b \\<i\\> |")


def test_tables_are_of_whole_runs_with_something_finished(
    rig: Rig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RIG_RUNS", str(tmp_path / "runs.sqlite"))
    model = Scripted(lambda request: (_ for _ in ()).throw(ZeroDivisionError))
    with pytest.raises(ZeroDivisionError):
        small_talks.play(small_talks.plan(tmp_path / "runs.sqlite", model))
    assert rig("show", "abcde", "--tables").out == "no conversation of these arms is finished yet\n"
    assert rig("show", "abcde", "--tables", "--json").json == {"run": "abcde", "tables": []}
    refused = rig("show", "abcde", "alarms", "--tables")
    assert (refused.code, refused.out) == (2, "")
    assert "leave out the conversation" in refused.err
