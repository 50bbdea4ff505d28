"""What failed by the machine is tried again where that is wanted, and the failure stays to be seen."""

import json
import sqlite3
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import small_talks

from rig.core.errors import ErrorKind, RigError
from rig.core.events import Event, Notice, RunStarted, TurnFinished
from rig.core.models import Prediction, Request
from rig.methods.scripted import Scripted, failed
from rig.running.control import Control
from rig.running.runner import run
from rig.store import FailedTurn, Runs, RunWriter, StoredRun

Rig = Callable[..., Any]


class Broken(Scripted):
    """The oracle on a machine that fails at some turns, until it is mended."""

    def __init__(self, *places: tuple[str, int], kind: ErrorKind = ErrorKind.DECODE) -> None:
        super().__init__(self._answer)
        self.places: set[tuple[str, int]] = set(places)
        self.kind = kind
        self.asked: Counter[tuple[str, int]] = Counter()
        self._oracle = small_talks.oracle()

    def _answer(self, request: Request) -> Prediction:
        place = request.key.conversation, request.key.turn
        self.asked[place] += 1
        if place in self.places:
            return failed(self.kind, "llama_decode returned -3")
        return self._oracle.predict(request, lambda _: None)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "runs.sqlite"


def play(path: Path, *models: Any, **choices: Any) -> tuple[StoredRun, list[Event]]:
    events: list[Event] = []
    run(small_talks.plan(path, *models, **choices), events.append, Control())
    return small_talks.stored(path), events


def attempts(path: Path) -> list[dict[str, Any]]:
    with closing(sqlite3.connect(path)) as database:
        database.row_factory = sqlite3.Row
        return [dict(row) for row in database.execute("SELECT * FROM attempts ORDER BY id")]


@pytest.mark.parametrize("kind", [ErrorKind.MEMORY, ErrorKind.DECODE])
def test_a_turn_that_failed_by_the_machine_is_played_again_with_those_after_it(
    path: Path, kind: ErrorKind
) -> None:
    model = Broken(("alarms", 3), ("login", 4), kind=kind)
    first, _ = play(path, model)
    assert (first.state, first.arms[0].errors) == ("finished", {kind: 2})
    model.places.clear()
    model.asked.clear()
    again, events = play(path, model, resume=True, retry_failed=True)
    assert (again.state, again.turns_done, again.arms[0].errors) == ("finished", 8, {})
    assert again.arms[0].attempts == {kind: 2}
    assert set(model.asked) == {("alarms", 3), ("alarms", 5), ("login", 4)}
    assert [event.text for event in events if isinstance(event, Notice)] == [
        "arm0: playing 3 turns of 2 conversations again"
    ]
    assert isinstance(events[0], RunStarted)
    assert (events[0].finished_turns, events[0].finished_conversations) == (5, 1)
    assert sum(isinstance(event, TurnFinished) for event in events) == 3
    other = path.with_name("other.sqlite")
    play(other, Broken())
    assert small_talks.answers(path) == small_talks.answers(other)


def test_what_failed_is_kept_word_for_word(path: Path) -> None:
    model = Broken(("alarms", 3))
    play(path, model)
    before = small_talks.content(path)
    model.places.clear()
    play(path, model, resume=True, retry_failed=True)
    kept = attempts(path)
    assert [(row["turn"], row["error"], row["detail"]) for row in kept] == [
        (3, "decode", "llama_decode returned -3"),
        (5, None, "follows a turn that failed"),
    ]
    for row in kept:
        played = json.loads(row["played"])
        [turn] = [
            turn for turn in before["turns"] if turn["turn"] == row["turn"] and turn["conversation"] == 1
        ]
        steps = [each for each in before["predictions"] if each["turn"] == turn["id"]]
        told = played.pop("predictions")
        assert all(played[name] == value for name, value in turn.items() if name in played)
        assert all(
            one[name] == value
            for one, other in zip(told, steps, strict=True)
            for name, value in other.items()
            if name in one
        )
        assert all({"raw", "error", "turn", "step"} <= one.keys() for one in told)


@pytest.mark.parametrize(
    "kind", [ErrorKind.CONTEXT, ErrorKind.TEMPLATE, ErrorKind.INVALID, ErrorKind.CONSTRAINT]
)
def test_failures_that_would_come_again_and_those_of_the_model_are_left(path: Path, kind: ErrorKind) -> None:
    model = Broken(("alarms", 3), kind=kind)
    play(path, model)
    model.asked.clear()
    again, _ = play(path, model, resume=True, retry_failed=True)
    assert (again.arms[0].errors, again.arms[0].attempts) == ({kind: 1}, {})
    assert not model.asked
    assert not attempts(path)


def test_turns_that_failed_are_left_unless_somebody_says_so(path: Path) -> None:
    model = Broken(("alarms", 3))
    play(path, model)
    model.places.clear()
    model.asked.clear()
    again, _ = play(path, model, resume=True)
    assert again.arms[0].errors == {"decode": 1}
    assert not model.asked


def test_a_turn_that_fails_again_is_counted_as_often_as_it_did(path: Path) -> None:
    model = Broken(("login", 4))
    play(path, model)
    for number in (1, 2):
        again, _ = play(path, model, resume=True, retry_failed=True)
        assert (again.arms[0].errors, again.arms[0].attempts) == ({"decode": 1}, {"decode": number})


def test_nothing_is_set_aside_before_the_model_is_there(path: Path) -> None:
    play(path, Broken(("alarms", 3)))
    before = small_talks.answers(path)
    again, _ = play(path, small_talks.unloadable, resume=True, retry_failed=True)
    assert again.arms[0].failure == "no such weights"
    assert small_talks.answers(path) == before
    assert again.arms[0].errors == {"decode": 1}


def test_a_retry_that_is_cut_short_goes_on_like_any_run(path: Path) -> None:
    model = Broken(("alarms", 1))
    play(path, model)
    model.places.clear()
    control = Control()
    todo = small_talks.plan(path, model, resume=True, retry_failed=True)
    run(todo, lambda event: control.stop() if isinstance(event, TurnFinished) else None, control)
    assert small_talks.stored(path).state == "interrupted"
    assert len(attempts(path)) == 3
    again, _ = play(path, model, resume=True)
    assert (again.state, again.turns_done, again.arms[0].attempts) == ("finished", 8, {"decode": 1})


def test_scores_of_other_graders_go_with_the_turns_that_they_were_of(path: Path) -> None:
    model = Broken(("alarms", 3))
    play(path, model)
    with closing(sqlite3.connect(path)) as database, database:
        database.execute(
            "INSERT INTO scores (arm, conversation, repeat, grader, grader_version, similarity, own)"
            " SELECT arm, conversation, repeat, 'other', '1', 'exact', 0 FROM scores"
        )
        database.execute("INSERT INTO verdicts SELECT 4, id, 0, 0, NULL, NULL, '', '[]' FROM predictions")
    model.places.clear()
    play(path, model, resume=True, retry_failed=True)
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("PRAGMA foreign_key_check").fetchall() == []
        own = database.execute("SELECT own, count(*) FROM scores GROUP BY 1").fetchall()
    assert own == [(0, 2), (1, 3)]


def test_arms_that_failed_are_tried_again_or_left(path: Path) -> None:
    first, _ = play(path, small_talks.oracle(), small_talks.unloadable)
    assert (first.state, first.arms[1].failure) == ("interrupted", "no such weights")
    left, events = play(path, small_talks.oracle(), small_talks.oracle(), resume=True, retry_failed=False)
    assert (left.state, left.arms[1].failure, left.turns_done) == ("interrupted", "no such weights", 8)
    assert not any(isinstance(event, TurnFinished) for event in events)
    again, _ = play(path, small_talks.oracle(), small_talks.oracle(), resume=True)
    assert (again.state, again.arms[1].failure, again.turns_done) == ("finished", None, 16)
    assert again.arms[1].attempts == {"arm": 1}
    [kept] = attempts(path)
    assert (kept["error"], kept["detail"], kept["conversation"]) == ("arm", "no such weights", None)


def test_it_is_said_wherever_the_run_is_shown(path: Path, rig: Rig) -> None:
    model = Broken(("alarms", 3))
    play(path, model, small_talks.unloadable)
    model.places.clear()
    play(path, model, small_talks.oracle(), resume=True, retry_failed=True)
    shown = rig("show", "abcde", "--runs", path).out
    assert "arm0: turns played again after they failed: decode 1 (the table attempts has them)" in shown
    assert "arm1: tried again after it failed: 1 (the table attempts has them)" in shown
    one, other = rig("show", "abcde", "--runs", path, "--json").json["arms"]
    assert (one["attempts"], other["attempts"]) == ({"decode": 1}, {"arm": 1})


def test_the_command_takes_both_ways_with_a_run_to_resume_alone(path: Path, rig: Rig) -> None:
    common = ("--suite", "easy", "--limit", 2, "--similarity", "exact", "--display", "none", "--runs", path)
    for option in ("--retry-failed", "--skip-failed"):
        refused = rig("run", "oracle", *common, option)
        assert (refused.code, path.exists()) == (2, False)
        assert "go with --resume" in refused.err
    assert rig("run", "oracle", *common).code == 0
    with closing(sqlite3.connect(path)) as database, database:
        database.execute(
            "UPDATE predictions SET error = 'memory', kind = 'error', error_detail = 'no room'"
            " WHERE id = (SELECT max(id) FROM predictions)"
        )
    again = rig("run", "--resume", "latest", "--retry-failed", "--runs", path, "--display", "none", "--json")
    assert again.code == 0, again.err
    assert (again.json["arms"][0]["errors"], again.json["arms"][0]["attempts"]) == ({}, {"memory": 1})


def test_runs_of_which_nothing_failed_have_nothing_to_play_again(path: Path) -> None:
    play(path, small_talks.oracle())
    with Runs.open(path) as runs:
        assert runs.failed_turns(runs.get("abcde")) == {}
    play(path.with_name("b.sqlite"), Broken(("alarms", 1), ("alarms", 5)))
    with Runs.open(path.with_name("b.sqlite")) as runs:
        [failed_turn] = runs.failed_turns(runs.get("abcde")).values()
    assert failed_turn == FailedTurn(1, 3)


def test_a_store_error_while_turns_are_set_aside_leaves_them(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    play(path, Broken(("alarms", 1)))
    before = small_talks.answers(path)
    give_up = RunWriter._give_up

    def fail(*arguments: Any) -> None:
        give_up(*arguments)
        error = sqlite3.OperationalError("database or disk is full")
        error.sqlite_errorcode = sqlite3.SQLITE_FULL
        raise error

    monkeypatch.setattr(RunWriter, "_give_up", fail)
    with pytest.raises(RigError, match="disk is full; what was stored before is intact"):
        play(path, Broken(), resume=True, retry_failed=True)
    assert small_talks.answers(path) == before
    assert not attempts(path)
