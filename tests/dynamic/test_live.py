"""ToolTalk's tasks played live: the world goes on, and the verdict is about how it ends."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from rig.core.calls import FaultKind
from rig.core.errors import ErrorKind
from rig.core.events import CallJudged, Event, Where
from rig.core.metrics import Score
from rig.core.models import CallMessage, Model, Prediction, Request
from rig.core.paths import CONVERSATIONS
from rig.core.tasks import ASSISTANT, PlayedTurn
from rig.methods.scripted import Scripted, called, failed, replied
from rig.plugins.autode.talk import DONE, THE_USER
from rig.plugins.dynamic.method import Dynamic, DynamicSetup
from rig.plugins.dynamic.script import LiveTask

Rig = Callable[..., Any]
Twist = Callable[[Request, Prediction], Prediction]

METHOD = Dynamic()
VALUES = {option.name: option.default for option in METHOD.options} | {"similarity": "exact"}


@cache
def tasks() -> dict[str, LiveTask]:
    found = [task for suite in ("easy", "hard") for task in METHOD.load(CONVERSATIONS / suite)]
    return {task.name: task for task in found}


@pytest.fixture(scope="module")
def setup() -> DynamicSetup:
    return METHOD.ready(VALUES)


class Live:
    """One task played by the oracle, whose answers `twist` may change, and the scripted user."""

    def __init__(
        self,
        setup: DynamicSetup,
        task: LiveTask,
        twist: Twist = lambda _, true: true,
        user: Model | None = None,
        played: Sequence[PlayedTurn] = (),
        **values: Any,
    ) -> None:
        models = {name: make() for name, make in METHOD.models([task]).items()}
        self.events: list[Event] = []
        settings = METHOD.settings({**VALUES, **values})
        self.episode = setup.start(task, settings, Where(0, task.name), self.events.append, 0)
        self.turns = list(played)
        for turn in played:
            self.episode.resume(turn)
        oracle = models["oracle"]
        self.asked: list[Request] = []

        def assistant(request: Request) -> Prediction:
            self.asked.append(request)
            return twist(request, oracle.predict(request, lambda _: None))

        players = {
            ASSISTANT: Scripted(assistant),
            THE_USER: user or models["scripted"],
        }
        while self.episode.next_turn is not None:
            playing = self.episode.play()
            ask = next(playing)
            while True:
                try:
                    ask = playing.send(players[ask.role].predict(ask.request, lambda _: None))
                except StopIteration as end:
                    self.turns.append(end.value)
                    break
        self.score: Score = self.episode.score()
        self.again = setup.score(task, self.turns, settings)

    @property
    def lines(self) -> list[str]:
        return [fault.text for fault in self.score.faults]


def once(changed: Callable[[Request, Prediction], Prediction | None]) -> Twist:
    """Changes one answer: the first for which another is given."""
    done: list[bool] = []

    def twist(request: Request, true: Prediction) -> Prediction:
        other = None if done else changed(request, true)
        if other is not None:
            done.append(True)
        return true if other is None else other

    return twist


EXTRA = called("AddReminder", {"task": "buy a trumpet", "due_date": "2031-01-02 09:00:00"})
TASK = "AddAlarm-easy"


@pytest.mark.slow
def test_the_oracle_brings_every_world_to_its_end_and_says_everything(rig: Rig) -> None:
    for suite, number in (("easy", 28), ("hard", 50)):
        asked = ("run", "oracle", "--suite", suite, "--method", "dynamic", "--similarity", "exact")
        (arm,) = rig(*asked, "--display", "none", "--json").json["arms"]
        assert (arm["conversations"], arm["success_rate"], arm["world_rate"]) == (number, 1, 1)
        assert (arm["said_rate"], arm["recall"], arm["precision"], arm["world_differences"]) == (1, 1, 1, 0)


def test_public_conversations_are_played_from_their_path(rig: Rig, tooltalk: Any) -> None:
    place, world = tooltalk / "data" / "easy", tooltalk / "data" / "databases"
    asked = (
        "run",
        "oracle",
        "--suite",
        place,
        "--world",
        world,
        "--method",
        "dynamic",
        "--similarity",
        "exact",
    )
    (arm,) = rig(*asked, "--display", "none", "--json").json["arms"]
    assert (arm["conversations"], arm["success_rate"]) == (28, 1)


@pytest.mark.parametrize("name", [TASK, "AddReminder-easy", "SendEmail-easy"])
def test_one_action_too_many_fails_and_the_verdict_says_what_differs(setup: DynamicSetup, name: str) -> None:
    live = Live(setup, tasks()[name], once(lambda _, true: EXTRA if true.reply else None))
    counts = live.score.counts
    assert (counts["successes"], counts["right_world"], counts["bad_actions"]) == (0, 0, 1)
    assert counts["world_differences"] == 1
    assert len(live.lines) == 1
    assert 'the world should not have reminders: username "' in live.lines[0]
    assert 'task "buy a trumpet", due_date "2031-01-02 09:00:00"' in live.lines[0]
    assert live.score.faults[0].kind is FaultKind.WORLD_DIFFERS
    verdict = next(each for each in live.score.verdicts if each.bad_action)
    assert 'adds reminders: username "' in verdict.reason
    assert live.again == live.score


def test_what_is_done_wrong_is_missing_and_too_much(setup: DynamicSetup) -> None:
    def wrong(_: Request, true: Prediction) -> Prediction | None:
        return (
            called("AddAlarm", {"time": "03:33:00"}) if true.call and true.call.name == "AddAlarm" else None
        )

    live = Live(setup, tasks()[TASK], once(wrong))
    assert [line.split(":")[0] for line in live.lines] == [
        "the world should have alarms",
        "the world should not have alarms",
    ]
    assert 'time "03:33:00"' in live.lines[1]


def test_an_action_that_is_taken_back_leaves_no_trace(setup: DynamicSetup) -> None:
    def undone(request: Request, true: Prediction) -> Prediction:
        made = [each for each in request.messages if isinstance(each, CallMessage)]
        extra = [each for each in made if each.call.arguments == {"time": "03:33:00"}]
        if true.call is not None:
            return true
        if not extra:
            return called("AddAlarm", {"time": "03:33:00"})
        if made[-1].call.name != "DeleteAlarm":
            return called("DeleteAlarm", {"alarm_id": extra[0].outcome.response["alarm_id"]})
        return true

    live = Live(setup, tasks()[TASK], once_a_conversation(undone))
    assert live.lines == []
    assert live.score.counts["bad_actions"] == 2
    assert live.score.counts["successes"] == 1


def once_a_conversation(twist: Twist) -> Twist:
    """Changes answers until it has changed two."""
    changed: list[Prediction] = []

    def limited(request: Request, true: Prediction) -> Prediction:
        other = true if len(changed) == 2 else twist(request, true)
        if other is not true:
            changed.append(other)
        return other

    return limited


def test_ids_do_not_count(setup: DynamicSetup) -> None:
    assert Live(setup, tasks()["DeleteAlarm-easy"]).score.counts["successes"] == 1
    earlier = Live(setup, tasks()["DeleteAlarm-easy"], once(lambda _, true: EXTRA if true.reply else None))
    assert [record.kind for record in earlier.score.faults] == [FaultKind.WORLD_DIFFERS]


def test_what_was_asked_for_has_to_be_said(setup: DynamicSetup) -> None:
    name = next(
        name
        for name, task in tasks().items()
        if Live(setup, task).score.counts["facts"] and "Weather" in name
    )
    quiet = Live(setup, tasks()[name], lambda _, true: true if true.call else replied("Done."))
    counts = quiet.score.counts
    assert (counts["right_world"], counts["all_said"], counts["successes"]) == (1, 0, 0)
    assert all(line.startswith("the user was not told ") for line in quiet.lines)
    assert quiet.score.faults[0].kind is FaultKind.NOT_SAID
    told = Live(setup, tasks()[name])
    assert told.score.counts["facts_said"] == counts["facts_unsaid"]


@pytest.mark.parametrize(
    ("prediction", "end"),
    [
        (failed(ErrorKind.INVALID), "malformed"),
        (failed(ErrorKind.TRUNCATED), "malformed"),
        (failed(ErrorKind.CONTEXT), "context_full"),
        (failed(ErrorKind.MEMORY), "assistant_failed"),
    ],
)
def test_an_assistant_that_cannot_answer_ends_it(
    setup: DynamicSetup, prediction: Prediction, end: str
) -> None:
    live = Live(setup, tasks()[TASK], lambda *_: prediction)
    assert (live.score.counts[end], live.score.counts["successes"]) == (1, 0)
    assert live.again == live.score


def test_calls_and_rounds_are_limited(setup: DynamicSetup) -> None:
    calls = Live(setup, tasks()[TASK], lambda *_: called("FindAlarms", {}), max_calls=2)
    assert (calls.score.counts["call_limit"], calls.score.counts["predictions"]) == (1, 2)
    talkative = Scripted(lambda _: replied("And what else?"))
    rounds = Live(setup, tasks()[TASK], lambda *_: replied("Hm?"), user=talkative, max_rounds=3)
    assert (rounds.score.counts["round_limit"], len(rounds.turns)) == (1, 3)


def test_the_user_ends_it(setup: DynamicSetup) -> None:
    live = Live(setup, tasks()[TASK], user=Scripted(lambda _: replied(f"Bye. {DONE}")))
    assert len(live.turns) == 2
    assert live.turns[1].steps[-1].role == THE_USER
    gone = Live(setup, tasks()[TASK], user=Scripted(lambda _: failed(ErrorKind.DECODE)))
    assert gone.score.counts["user_failed"] == 1


@pytest.mark.slow
def test_a_resumed_conversation_goes_on_in_the_same_world(setup: DynamicSetup) -> None:
    task = max(tasks().values(), key=lambda each: each.ground_truth_count)
    whole = Live(setup, task)
    for done in range(len(whole.turns)):
        resumed = Live(setup, task, played=whole.turns[:done])
        assert resumed.score == whole.score
        assert [turn.steps for turn in resumed.turns] == [turn.steps for turn in whole.turns]


@pytest.mark.slow
def test_calls_are_judged_as_they_are_made(setup: DynamicSetup) -> None:
    live = Live(setup, tasks()[TASK])
    judged = [event for event in live.events if isinstance(event, CallJudged)]
    assert [event.verdict.match for event in judged] == [True] * len(live.score.verdicts)
    assert {event.verdict.ground_truth for event in judged} == {
        each.ground_truth for each in live.score.verdicts
    }


def test_several_calls_of_one_message_are_all_made(setup: DynamicSetup) -> None:
    def both(_: Request, true: Prediction) -> Prediction | None:
        is_due = true.call is not None and true.call.name == "AddAlarm"
        extra = EXTRA.call
        return replace(true, further=(extra,)) if is_due and extra is not None else None

    live = Live(setup, tasks()[TASK], once(both))
    counts = live.score.counts
    assert (counts["predictions"], counts["matches"], counts["bad_actions"]) == (2, 1, 1)
    assert (counts["right_world"], len(live.lines)) == (0, 1)
    assert [step.prediction.part for step in live.turns[1].steps] == [0, 0, 1, 0]
    shown = [each for ask in live.asked for each in ask.messages if isinstance(each, CallMessage)]
    assert [each.joins for each in shown][:2] == [False, True]
    assert live.again == live.score


def test_what_calls_did_to_the_world_is_shown_and_they_can_be_executed_again(rig: Rig) -> None:
    asked = ("run", "oracle", "--suite", "easy", "--method", "dynamic", "--similarity", "exact")
    run = rig(*asked, "--only", TASK, "--display", "none", "--json").json["run"]
    assert 'world: added alarms mei_lin_t 5bff-dd80: time "04:50:00"' in rig("show", run, TASK, "--diff").out
    (transcript,) = rig("show", run, TASK, "--diff", "--json").json["transcripts"]
    played = [turn["steps"] for turn in transcript["turns"] if turn["role"] == "assistant"]
    assert [["effect" in step for step in steps] for steps in played[:2]] == [[False], [False, True, False]]
    assert "executed 1 call again; 0 responses changed" in rig("score", run, "--reexecute").out


def test_shown_compared_and_scored_again_as_any_run(rig: Rig) -> None:
    asked = (
        "run",
        "oracle",
        "--suite",
        "easy",
        "--method",
        "dynamic",
        "--similarity",
        "exact",
        "--limit",
        "3",
    )
    run = rig(*asked, "--set", "max_rounds=1", "--display", "none", "--json").json["run"]
    shown = rig("show", run, TASK).out
    assert "AddAlarm" in shown
    before = rig("show", run, "--json").json["arms"][0]
    again = rig("score", run, "--json").json["arms"][0]["total"]["metrics"]
    assert again["round_limit_rate"] == before["round_limit_rate"] == 1
    assert again["world_rate"] == before["world_rate"]
