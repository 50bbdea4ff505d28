"""Metrics are data: another method's go through store, show, compare, report and meters as they are."""

import csv
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import graded_talks
import pytest

from rig import methods
from rig.core.events import Speed, Where
from rig.core.metrics import TASKS, Declaration, Metric, NamedCount, Part, Score, total
from rig.plugins.tooltalk.method import ToolTalk
from rig.stats import estimates
from rig.store import GraderInfo, NewRun, Runs, RunWriter
from tui.live.state import ArmInfo, ArmState
from tui.widgets import meters

NAVIGATION = Declaration(
    method="navigation",
    metrics=(
        Metric("reached", "reaching the goal", "goals"),
        Metric("steps_per_task", "steps by task", "moves", better="lower", format="number", label="steps"),
        Metric("bump_rate", "bump rate", "bumps", "moves", better="lower", label="bumps"),
    ),
    success="goals",
    counts=(NamedCount("moves", "moves made"),),
    outcome=(Part("bumps", "bumps", better="lower"),),
)
"""A rig that drives: no recall, a mean that is no share, and a rate of which less is better."""

GRADER = GraderInfo("tape measure", "1", "none")
NUMBER = 8

Rig = Callable[..., Any]


class Navigation(ToolTalk):
    """ToolTalk's conversations, counted otherwise."""

    name = NAVIGATION.method
    declaration = NAVIGATION


@pytest.fixture(autouse=True)
def method(monkeypatch: pytest.MonkeyPatch) -> None:
    known = methods.known()
    monkeypatch.setattr(methods, "known", lambda: {**known, NAVIGATION.method: Navigation()})


def counts(arm: int, place: int) -> dict[str, float]:
    goals, moves = int(place % 2 == 0 or arm == 1), 4 + place + 3 * arm
    return {"goals": goals, "moves": moves, "bumps": place % 3}


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "runs.sqlite"
    talks = graded_talks.conversations(NUMBER)
    new = NewRun("drive", None, {}, ("slow", "fast"), talks, NAVIGATION)
    with RunWriter.create(path, new, GRADER) as writer:
        for arm in range(2):
            writer.arm_ready(arm, {"model.file": f"{arm}.gguf", "model.file_sha256": str(arm)}, 0.1)
            for place, talk in enumerate(talks):
                score = Score(counts(arm, place))
                writer.commit_episode(Where(arm, talk.name), (), score)
        writer.finish()
    return path


def summed(arm: int) -> dict[str, float]:
    return total({TASKS: 1, **counts(arm, place)} for place in range(NUMBER))


def test_a_rate_is_numerator_over_denominator() -> None:
    assert NAVIGATION.rates(summed(0)) == {"reached": 0.5, "steps_per_task": 7.5, "bump_rate": 7 / 60}
    assert NAVIGATION.rates({}) == {"reached": None, "steps_per_task": None, "bump_rate": None}


def test_a_declaration_is_the_same_after_it_was_stored(store: Path) -> None:
    with Runs.open(store) as runs:
        run = runs.get("drive")
    assert run.declaration == NAVIGATION
    assert [arm.counts for arm in run.arms] == [summed(0), summed(1)]


def test_show_prints_what_is_declared(store: Path, rig: Rig) -> None:
    said = rig("show", "drive", "--runs", store).out
    rows = {line.split("  ")[0]: line.split()[-2:] for line in said.splitlines()}
    assert rows["reaching the goal"] == ["50.0%", "100.0%"]
    assert rows["steps"] == ["7.50", "10.50"]
    assert rows["bumps"] == ["11.7%", "8.3%"]
    assert rows["moves made"] == ["60", "84"]
    assert "recall" not in said
    [slow, _] = rig("show", "drive", "--json", "--runs", store).json["arms"]
    first = ["arm", "conversations", "reached", "steps_per_task", "bump_rate", "unclear", "lower", "upper"]
    assert list(slow)[:9] == [*first, "moves"]
    assert (slow["conversations"], slow["steps_per_task"]) == (NUMBER, 7.5)


def test_less_is_better_where_that_is_declared(store: Path, rig: Rig) -> None:
    asked = ("compare", "drive", "--across-settings", "--runs", store, "--metric")
    assert "loss found: steps by task is 3.00 higher" in rig(*asked, "steps_per_task").out
    found = rig(*asked, "steps_per_task", "--json").json
    assert list(found["pairs"][0]["differences"]) == ["reached", "steps_per_task", "bump_rate"]
    assert found["pairs"][0]["differences"]["steps_per_task"]["value"] == 3
    assert found["arms"][0]["rates"]["steps_per_task"]["low"] < 7.5
    assert rig(*asked, "steps_per_task", "--fail-if-worse", "2").code == 1
    assert "choose from: reached, steps_per_task, bump_rate" in rig(*asked, "recall").err


def test_success_is_what_is_declared_as_such(store: Path, rig: Rig) -> None:
    found = rig("compare", "drive", "--across-settings", "--json", "--runs", store).json
    assert found["metric"] == "reached"
    assert found["pairs"][0]["agreement"] == {"both": 4, "won": 4, "lost": 0, "neither": 0}
    assert found["pairs"][0]["differences"]["reached"]["test"] == "exact McNemar"


@pytest.mark.parametrize("form", ["md", "html"])
def test_reports_have_its_metrics(store: Path, rig: Rig, form: str) -> None:
    said = rig("report", "drive", "--across-settings", "--format", form, "--runs", store).out
    for metric in NAVIGATION.metrics:
        assert metric.noun in said
    assert "recall" not in said


def test_rows_of_a_report_have_its_counts(store: Path, rig: Rig) -> None:
    said = rig("report", "drive", "--across-settings", "--format", "csv", "--runs", store).out
    rows = list(csv.DictReader(io.StringIO(said)))
    assert [(int(row["moves"]), int(row["bumps"])) for row in rows[:NUMBER]] == [
        (counts(0, place)["moves"], counts(0, place)["bumps"]) for place in (1, 3, 5, 7, 0, 2, 4, 6)
    ]


def test_the_views_have_its_columns(store: Path) -> None:
    with Runs.open(store) as runs:
        run = runs.get("drive")
        [slow, _] = runs.view("summary", run)
        rates = {row["metric"]: row["value"] for row in runs.view("rates", run) if row["arm"] == "slow"}
        [first, *_] = runs.view("conversation_scores", run)
        flips = [row["flip"] for row in runs.view("flips", run)]
    assert rates == NAVIGATION.rates(summed(0))
    assert {name: slow[name] for name in rates} == rates
    assert (first["success"], first["moves"], first["bump_rate"]) == (1, 4, 0)
    assert flips == ["won"] * 4


def test_views_gain_the_columns_of_another_method(store: Path) -> None:
    graded_talks.play(store, graded_talks.model(2), number=2, run="talks")
    with Runs.open(store) as runs:
        [talks] = runs.view("summary", runs.get("talks"))
        [slow, _] = runs.view("summary", runs.get("drive"))
    assert (talks["recall"], talks["steps_per_task"]) == (1, None)
    assert (slow["recall"], slow["steps_per_task"]) == (None, 7.5)


def test_runs_of_different_methods_are_not_compared(store: Path, rig: Rig) -> None:
    graded_talks.play(store, graded_talks.model(2), number=2, run="talks")
    refused = rig("compare", "drive", "talks", "--across-settings", "--runs", store)
    assert refused.code == 2
    assert "only arms of one method can be compared" in refused.err


def test_meters_show_them_with_their_bounds() -> None:
    finished = [(str(place), {TASKS: 1, **counts(0, place)}) for place in range(NUMBER)]
    arm = ArmState(ArmInfo("slow"), counts=summed(0), speed=Speed())
    assert arm.counts is not None
    shown = meters._rights(NAVIGATION, arm.counts, estimates(finished, NAVIGATION))
    said = [(number.title, "".join(text for text, _ in number.value)) for number in shown]
    assert [title for title, _ in said] == ["reaching the goal", "steps", "bumps"]
    assert said[0][1].startswith("50.0% ")
    assert said[1][1] == "7.50 5-10"
    assert said[2][1].startswith("11.7% ")
