"""Runs: the order of events, what is stored when, and what a failing arm costs the others."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import small_talks
import small_world
from counted import measured

from rig.core.errors import ErrorKind, RigError
from rig.core.events import (
    ArmFinished,
    ArmReady,
    ArmStarted,
    CallJudged,
    ConversationFinished,
    ConversationStarted,
    Event,
    PieceGenerated,
    PredictionMade,
    RunFinished,
    RunStarted,
    TurnFinished,
    TurnStarted,
)
from rig.core.models import Model, Notify, OneByOne, OnPiece, Prediction, Request
from rig.methods.scripted import Scripted, replied
from rig.plugins.tooltalk.prompt import ToolTalkSettings
from rig.store import StoreError


def _types(events: list[Event]) -> list[type]:
    return [type(event) for event in events if not isinstance(event, PieceGenerated)]


def test_events_of_a_conversation_come_in_order(tmp_path: Path) -> None:
    [alarms, *_] = small_talks.conversations()
    todo = small_talks.plan(tmp_path / "runs.sqlite", small_talks.oracle(), conversations=(alarms,))
    turn = [TurnStarted, PredictionMade, CallJudged, PredictionMade, TurnFinished]
    assert _types(small_talks.play(todo)) == [
        RunStarted,
        ArmStarted,
        ArmReady,
        ConversationStarted,
        *turn * 3,
        ConversationFinished,
        ArmFinished,
        RunFinished,
    ]


def test_the_first_event_says_what_is_to_come(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    started = small_talks.play(small_talks.plan(path, small_talks.oracle(), small_talks.oracle()))[0]
    assert isinstance(started, RunStarted)
    assert (started.run, started.store, started.finished_turns) == ("abcde", str(path), 0)
    assert [arm.name for arm in started.arms] == ["arm0", "arm1"]
    assert [(one.name, one.turns, one.ground_truths) for one in started.conversations] == [
        ("alarms", 3, 3),
        ("reminders", 3, 2),
        ("login", 2, 3),
    ]


def test_an_event_says_finished_only_when_the_turn_is_stored(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    seen = []

    def emit(event: Event) -> None:
        if isinstance(event, TurnFinished):
            seen.append(small_talks.stored(path).turns_done)

    small_talks.run(small_talks.plan(path, small_talks.oracle()), emit, small_talks.Control())
    assert seen == list(range(1, 9))


def test_pieces_come_before_their_prediction_and_spell_it(tmp_path: Path) -> None:
    model = Scripted(lambda request: replied("one two three"), chunk=4)
    text = ""
    for event in small_talks.play(small_talks.plan(tmp_path / "runs.sqlite", model)):
        if isinstance(event, PieceGenerated):
            text += event.text
        if isinstance(event, PredictionMade):
            assert text == event.prediction.raw
            text = ""


def test_metrics_count_finished_conversations_and_speed_every_turn(tmp_path: Path) -> None:
    model = Scripted(small_talks.erratic)
    events = small_talks.play(small_talks.plan(tmp_path / "runs.sqlite", model))
    finished = [event for event in events if isinstance(event, ConversationFinished)]
    assert [measured(event.arm_counts).conversations for event in finished] == [1, 2, 3]
    turns = [event for event in events if isinstance(event, TurnFinished)]
    steps = [turn.speed.steps for turn in turns]
    assert steps == sorted(steps)
    predictions = [event.prediction for event in events if isinstance(event, PredictionMade)]
    last = turns[-1].speed
    assert last.steps == len(predictions)
    assert last.prompt_tokens == sum(prediction.usage.prompt_tokens for prediction in predictions)
    assert last.cached_share == last.cached_tokens / last.prompt_tokens
    assert last.tools_s > 0
    assert last.store_s > 0
    assert last.wall_s > last.tools_s + last.scoring_s + last.store_s


def test_every_failed_step_is_counted_by_its_kind(tmp_path: Path) -> None:
    events = small_talks.play(small_talks.plan(tmp_path / "runs.sqlite", Scripted(small_talks.erratic)))
    kinds = [event.prediction.error for event in events if isinstance(event, PredictionMade)]
    counts = {str(kind): kinds.count(kind) for kind in ErrorKind if kind in kinds}
    [arm] = [event for event in events if isinstance(event, ArmFinished)]
    assert counts
    assert arm.errors == counts
    per_conversation = [event.errors for event in events if isinstance(event, ConversationFinished)]
    assert {kind: sum(errors.get(kind, 0) for errors in per_conversation) for kind in counts} == counts


def test_a_fingerprint_covers_model_protocol_grader_and_world(tmp_path: Path) -> None:
    todo = small_talks.plan(tmp_path / "runs.sqlite", small_talks.oracle())
    [ready] = [event for event in small_talks.play(todo) if isinstance(event, ArmReady)]
    fingerprint = ready.info.fingerprint
    assert fingerprint["world_sha256"] == small_world.new_world().sha256()
    assert fingerprint["model.engine"] == "oracle"
    assert fingerprint["protocol.max_calls"] == 3
    assert fingerprint["grader.grader"] == "default"
    assert "rig" in fingerprint
    assert small_talks.stored(tmp_path / "runs.sqlite").arms[0].fingerprint == fingerprint


def test_repeats_play_every_conversation_again_under_other_keys(tmp_path: Path) -> None:
    keys = []

    def answer(request: Request) -> Prediction:
        keys.append(request.key)
        return replied("")

    small_talks.play(small_talks.plan(tmp_path / "runs.sqlite", Scripted(answer), repeats=2))
    assert len(keys) == len(set(keys)) == 16
    assert [key.repeat for key in keys] == [0] * 8 + [1] * 8


def test_conversations_that_offer_the_same_tools_are_played_side_by_side(tmp_path: Path) -> None:
    """So that the tools are read once. Without that, and between repeats, order is that of the plan."""
    alarms, reminders, login = small_talks.conversations()
    reminders, login = (replace(one, plugins=("Alarm", "Reminder")) for one in (reminders, login))
    other = replace(alarms, name="more alarms")
    played = []

    def answer(request: Request) -> Prediction:
        played.append((request.key.repeat, request.key.conversation))
        return replied("")

    tasks = (reminders, alarms, login, other)
    for tools in ("suite", "all"):
        settings = ToolTalkSettings(tools=tools)
        path = tmp_path / f"{tools}.sqlite"
        small_talks.play(
            small_talks.plan(path, Scripted(answer), conversations=tasks, settings=settings, repeats=2)
        )
    grouped = [reminders.name, login.name, alarms.name, other.name]
    expected = [(repeat, name) for repeat in (0, 1) for name in grouped]
    expected += [(repeat, task.name) for repeat in (0, 1) for task in tasks]
    assert list(dict.fromkeys(played[: len(played) // 2])) == expected[:8]
    assert list(dict.fromkeys(played[len(played) // 2 :])) == expected[8:]


class Breaking(OneByOne):
    """Answers a number of requests, then raises. Knows whether it was closed."""

    name = "breaking"
    fingerprint = {"engine": "breaking"}  # noqa: RUF012 - as a model has it

    def __init__(self, after: int, error: BaseException) -> None:
        super().__init__()
        self._left = after
        self._error = error
        self.closed = 0

    def predict(self, request: Request, on_piece: OnPiece) -> Prediction:
        self._left -= 1
        if self._left < 0:
            raise self._error
        return replied("")

    def close(self) -> None:
        self.closed += 1


def _no_memory(_notify: Notify) -> Model:
    raise MemoryError


@pytest.mark.parametrize(
    ("load", "failure"),
    [
        (small_talks.unloadable, "no such weights"),
        (_no_memory, "out of memory"),
        (lambda _: Breaking(2, RigError("lost the device")), "lost the device"),
        (lambda _: Breaking(0, MemoryError()), "out of memory"),
    ],
)
@pytest.mark.parametrize("position", [0, 1])
def test_an_arm_that_fails_does_not_lose_the_others(
    tmp_path: Path, load: Callable[[Notify], Model], failure: str, position: int
) -> None:
    path = tmp_path / "runs.sqlite"
    arms: list[Callable[[Notify], Model]] = [lambda _: small_talks.oracle()] * 2
    arms.insert(position, load)
    events = small_talks.play(small_talks.plan(path, *arms))
    finished = [event for event in events if isinstance(event, ArmFinished)]
    assert [event.failure for event in finished if event.arm == position] == [failure]
    assert [event.failure for event in finished if event.arm != position] == [None, None]
    run = small_talks.stored(path)
    assert [arm.failure for arm in run.arms if arm.failure] == [failure]
    assert [measured(arm.counts).success_rate for arm in run.arms if not arm.failure] == [1, 1]
    assert run.state == "interrupted"


def test_nothing_is_stored_when_no_arm_can_be_loaded(tmp_path: Path) -> None:
    todo = small_talks.plan(tmp_path / "runs.sqlite", small_talks.unloadable, _no_memory)
    with pytest.raises(RigError, match="no such weights; out of memory"):
        small_talks.play(todo)
    assert not list(tmp_path.iterdir())


def test_nothing_is_stored_when_a_conversation_does_not_fit_the_settings(tmp_path: Path) -> None:
    [alarms, *_] = small_talks.conversations()
    todo = small_talks.plan(
        tmp_path / "runs.sqlite",
        small_talks.oracle(),
        conversations=(replace(alarms, tools=("Dance",)),),
        settings=ToolTalkSettings(tools="exact"),
    )
    with pytest.raises(RigError, match="unknown Dance"):
        small_talks.play(todo)
    assert not list(tmp_path.iterdir())


def test_nothing_is_stored_when_the_world_does_not_know_the_user(tmp_path: Path) -> None:
    [alarms, *_] = small_talks.conversations()
    stranger = replace(alarms, user=replace(alarms.user, username="nobody"))
    todo = small_talks.plan(tmp_path / "runs.sqlite", small_talks.oracle(), conversations=(stranger,))
    with pytest.raises(RigError, match="alarms: the world has no account nobody"):
        todo.check()
    assert not list(tmp_path.iterdir())


def test_a_bug_is_raised_and_what_was_stored_stays_and_can_be_resumed(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    model = Breaking(3, ZeroDivisionError())
    with pytest.raises(ZeroDivisionError):
        small_talks.play(small_talks.plan(path, model))
    assert model.closed == 1
    run = small_talks.stored(path)
    assert (run.state, run.turns_done) == ("interrupted", 3)
    small_talks.play(small_talks.plan(path, Breaking(9, ZeroDivisionError()), resume=True))
    assert small_talks.stored(path).state == "finished"


def test_a_store_that_fails_ends_the_run_whatever_arms_are_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from rig.store.writer import RunWriter

    def fail(*_: object) -> float:
        raise StoreError("disk full")

    monkeypatch.setattr(RunWriter, "commit_turn", fail)
    with pytest.raises(StoreError, match="disk full"):
        small_talks.play(
            small_talks.plan(tmp_path / "runs.sqlite", small_talks.oracle(), small_talks.oracle())
        )
    assert small_talks.stored(tmp_path / "runs.sqlite").state == "interrupted"


def test_a_conversation_without_a_turn_to_predict_is_scored_all_the_same(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    [alarms, *_] = small_talks.conversations()
    monologue = replace(
        alarms,
        turns=alarms.turns[:1],
        source={**alarms.source, "conversation": alarms.source["conversation"][:1]},
    )
    events = small_talks.play(small_talks.plan(path, small_talks.oracle(), conversations=(monologue,)))
    assert ConversationFinished in _types(events)
    assert small_talks.stored(path).state == "finished"
    again = small_talks.play(
        small_talks.plan(path, small_talks.oracle(), conversations=(monologue,), resume=True)
    )
    assert ConversationFinished not in _types(again)
