"""Stored runs as readers get them: found by name, counted, in order."""

from dataclasses import replace
from pathlib import Path

import pytest
import small_talks

from rig.core.calls import Call
from rig.core.errors import RigError
from rig.core.events import ArmFinished, CallJudged, ConversationFinished
from rig.core.metrics import total
from rig.core.models import StepKey
from rig.methods.scripted import Scripted, called
from rig.plugins.tooltalk.conversations import parse_conversation
from rig.plugins.tooltalk.scoring import DECLARATION
from rig.store import GraderInfo, Runs


def _three_runs(path: Path) -> None:
    for run, name in (("abcde", "first"), ("abxyz", None), ("qqqqq", "first")):
        small_talks.play(small_talks.plan(path, small_talks.oracle(), run=run, name=name))


@pytest.mark.parametrize(
    ("text", "run"), [("abcde", "abcde"), ("abc", "abcde"), ("q", "qqqqq"), ("latest", "qqqqq")]
)
def test_a_run_is_found_by_its_id_or_the_beginning_of_it(tmp_path: Path, text: str, run: str) -> None:
    _three_runs(tmp_path / "runs.sqlite")
    assert small_talks.stored(tmp_path / "runs.sqlite", text).id == run


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("ab", "could be any of abxyz, abcde"),
        ("zz", "no run 'zz'"),
    ],
)
def test_what_is_no_single_run_is_refused(tmp_path: Path, text: str, fault: str) -> None:
    _three_runs(tmp_path / "runs.sqlite")
    with pytest.raises(RigError, match=fault):
        small_talks.stored(tmp_path / "runs.sqlite", text)


def test_a_store_without_runs_says_so(tmp_path: Path) -> None:
    empty = tmp_path / "runs.sqlite"
    empty.touch()
    with pytest.raises(RigError, match=r"no run 'latest' in .*runs\.sqlite, which holds none yet; `rig run`"):
        small_talks.stored(empty, "latest")


def test_a_run_is_found_by_its_name(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    small_talks.play(small_talks.plan(path, small_talks.oracle(), name="baseline"))
    assert small_talks.stored(path, "baseline").id == "abcde"


def test_runs_are_listed_newest_first(tmp_path: Path) -> None:
    _three_runs(tmp_path / "runs.sqlite")
    with Runs.open(tmp_path / "runs.sqlite") as runs:
        assert [run.id for run in runs.all()] == ["qqqqq", "abxyz", "abcde"]


def test_a_stored_arm_has_the_numbers_that_its_last_event_had(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    events = small_talks.play(small_talks.plan(path, Scripted(small_talks.erratic), small_talks.oracle()))
    finished = [event for event in events if isinstance(event, ArmFinished)]
    run = small_talks.stored(path)
    assert run.state == "finished"
    assert run.turns == run.turns_done == 2 * 8
    for arm, event in zip(run.arms, finished, strict=True):
        assert arm.counts == event.counts
        assert arm.errors == event.errors
        for name, value in event.speed.as_json().items():
            assert arm.speed.as_json()[name] == pytest.approx(value)


def test_without_sums_all_but_the_sums_is_read(tmp_path: Path) -> None:
    store = tmp_path / "runs.sqlite"
    small_talks.play(small_talks.plan(store, Scripted(small_talks.erratic), small_talks.unloadable))
    with Runs.open(store) as runs:
        whole, without = runs.get("latest"), runs.get("latest", sums=False)
    assert [arm.grader is not None for arm in without.arms] == [True, False]
    assert replace(whole, arms=tuple(replace(arm, sums=None) for arm in whole.arms)) == without
    with pytest.raises(ValueError, match="without its sums"):
        print(without.arms[0].counts)


def test_cells_come_in_the_order_of_the_run_and_add_up_to_their_arm(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    todo = small_talks.plan(path, Scripted(small_talks.erratic), small_talks.oracle(), repeats=2)
    events = small_talks.play(todo)
    with Runs.open(path) as runs:
        run = runs.get("abcde")
        cells = runs.cells(run)
    finished = [event for event in events if isinstance(event, ConversationFinished)]
    assert [(c.arm, c.repeat, c.conversation) for c in cells] == [
        (e.where.arm, e.where.repeat, e.where.conversation) for e in finished
    ]
    assert [cell.counts for cell in cells] == [event.counts for event in finished]
    assert [cell.errors for cell in cells] == [event.errors for event in finished]
    for arm in run.arms:
        assert total(c.counts for c in cells if c.arm == arm.position and c.counts) == arm.counts


def test_a_transcript_has_the_conversation_as_it_was_when_the_run_began(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    small_talks.play(small_talks.plan(path, small_talks.oracle()))
    with Runs.open(path) as runs:
        run = runs.get("abcde")
        assert tuple(runs.conversations(run)) == small_talks.conversations()
        transcript = runs.transcript(run, "login")
        assert transcript.conversation == small_talks.conversations()[2]
        assert list(transcript.turns) == [2, 4]
        assert transcript.counts is not None
        with pytest.raises(RigError, match="no conversation 'logout'"):
            runs.transcript(run, "logout")


def test_equal_conversations_are_stored_once(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    _three_runs(path)
    assert len(small_talks.content(path, ["conversations"])["conversations"]) == 9
    with Runs.open(path) as runs:
        assert runs._database.table("sources").count == 3


def test_a_final_verdict_replaces_the_one_given_at_once(tmp_path: Path) -> None:
    """The first call can be either true one, the second only that which the first was given."""
    narrow = {"start_range": "18:00:00", "end_range": "18:00:00"}
    source = small_talks.source(
        "two searches",
        "Is there one at six?",
        ("Yes.", [Call("FindAlarms", narrow)]),
        "Which are there?",
        ("Three.", [Call("FindAlarms")]),
    )
    predictions = {1: called("FindAlarms"), 3: called("FindAlarms", narrow)}
    model = Scripted({StepKey("two searches", turn, 0): call for turn, call in predictions.items()})
    path = tmp_path / "runs.sqlite"
    todo = small_talks.plan(path, model, conversations=(parse_conversation(source, ""),))
    live = [event.verdict.ground_truth for event in small_talks.play(todo) if isinstance(event, CallJudged)]
    assert live == [(1, 0), (1, 0)]
    with Runs.open(path) as runs:
        turns = runs.transcript(runs.get("abcde"), "two searches").turns
    verdicts = [turns[turn].steps[0].verdict for turn in (1, 3)]
    assert [verdict.ground_truth for verdict in verdicts if verdict] == [(3, 0), (1, 0)]
    assert next(verdict.reason for verdict in verdicts if verdict).endswith("early")


def test_an_arm_is_reported_with_exactly_these_names(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    small_talks.play(small_talks.plan(path, small_talks.oracle()))
    [arm] = small_talks.stored(path).arms
    assert list(arm.as_json(DECLARATION)) == [
        "arm",
        "conversations",
        "success_rate",
        "soft_success",
        "recall",
        "precision",
        "incorrect_action_rate",
        "unclear",
        "lower",
        "upper",
        "predictions",
        "ground_truths",
        "errors",
        "speed",
        "error_types",
        "faults",
        "limits",
        "grader",
    ]
    assert replace(arm, failure="no memory").as_json(DECLARATION)["failure"] == "no memory"


def test_a_grader_without_similarity_says_nothing_of_it() -> None:
    assert str(GraderInfo("ast", "1", "")) == "ast, version 1"
    assert str(GraderInfo("own", "7", "minilm")) == "own, version 7, similarity minilm"
