"""The protocol: what the model reads, in which world its calls act, and when a turn ends."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import small_talks
import small_world
from counted import measured
from hypothesis import given, settings
from hypothesis import strategies as st

from rig.core.calls import Call, ExecutedCall
from rig.core.errors import ErrorKind, RigError
from rig.core.events import CallJudged, Event, PredictionMade, TurnStarted, Where
from rig.core.metrics import Counts
from rig.core.models import CallMessage, Prediction, ReplyMessage, Request, UserMessage
from rig.core.tasks import PlayedTurn, Step
from rig.methods.scripted import Oracle, called, failed, replied
from rig.plugins.matching.matching import Mode
from rig.plugins.tooltalk.conversations import Conversation, load_directory, parse_conversation
from rig.plugins.tooltalk.method import ToolTalkEpisode
from rig.plugins.tooltalk.prompt import INSTRUCTIONS, ToolTalkSettings, offered_tools
from rig.plugins.tooltalk_tools import TOOLTALK
from rig.plugins.tooltalk_tools.seeds import world_from
from rig.plugins.tooltalk_tools.world import ToolTalkWorld
from rig.store import Runs
from rig.world.toolbox import Simulator

ALARMS, REMINDERS, LOGIN = small_talks.conversations()
Answer = Callable[[Request], Prediction]


class Played:
    """A dialogue under test: its requests, its events, and the turns it gave."""

    def __init__(
        self, conversation: Conversation, simulator: Simulator | None = None, **choices: object
    ) -> None:
        self.conversation = conversation
        self.requests: list[Request] = []
        self.events: list[Event] = []
        self.turns: dict[int, PlayedTurn] = {}
        setup = small_talks.setup()
        self.simulator = setup.simulator = simulator or small_talks.simulator()
        where = Where(0, conversation.name)
        self.dialogue = ToolTalkEpisode(
            setup, conversation, ToolTalkSettings(**choices), where, self.events.append
        )

    def turn(self, turn: int, answer: Answer) -> PlayedTurn:
        while (skipped := self.dialogue.next_turn) not in (turn, None):
            self.dialogue.resume(PlayedTurn(skipped, ()))
        steps = self.dialogue.play()
        request = next(steps).request
        while True:
            self.requests.append(request)
            try:
                request = steps.send(answer(request)).request
            except StopIteration as end:
                self.turns[turn] = end.value
                return self.turns[turn]

    @property
    def counts(self) -> Counts:
        return self.dialogue.score().counts

    def all(self, answer: Answer) -> "Played":
        for turn in self.conversation.known_turns:
            self.turn(turn, answer)
        return self


def oracle(conversation: Conversation) -> Answer:
    model = Oracle([conversation])
    return lambda request: model.predict(request, lambda piece: None)


def in_order(*predictions: Prediction) -> Answer:
    """Answers with each in turn, by the step's number."""
    return lambda request: predictions[request.key.step]


def silent(request: Request) -> Prediction:
    return replied("")


@pytest.mark.parametrize("conversation", small_talks.conversations(), ids=lambda each: each.name)
def test_the_oracle_is_right_about_everything(conversation: Conversation) -> None:
    played = Played(conversation).all(oracle(conversation))
    metrics = measured(played.counts)
    assert (metrics.success_rate, metrics.recall, metrics.precision) == (1, 1, 1)
    assert metrics.predictions == len(conversation.ground_truth)
    recorded = [call.response for call in conversation.ground_truth]
    assert [e.executed.response for e in played.events if isinstance(e, CallJudged)] == recorded


def test_a_turn_reads_the_true_history_whatever_the_model_did_before() -> None:
    played = Played(ALARMS)
    played.turn(1, in_order(called("AddAlarm", {"time": "22:00:00"}), replied("A lie.")))
    played.turn(3, silent)
    [call] = ALARMS.turns[1].calls
    assert played.requests[-1].messages == (
        UserMessage("Wake me at seven."),
        CallMessage(Call("AddAlarm", {"time": "07:00:00"}), call.outcome),
        ReplyMessage("Done."),
        UserMessage("And at eight."),
    )


def test_within_a_turn_the_model_reads_its_own_calls_and_what_they_gave() -> None:
    played = Played(ALARMS)
    played.turn(1, in_order(called("AddAlarm", {"time": "late"}), called("FindAlarms"), replied("Hm.")))
    user, first, second = played.requests[-1].messages
    assert user == UserMessage("Wake me at seven.")
    assert isinstance(first, CallMessage)
    assert first.call == Call("AddAlarm", {"time": "late"})
    assert first.outcome.exception
    assert isinstance(second, CallMessage)
    assert len(second.outcome.response["alarms"]) == 3


def test_calls_of_one_message_are_executed_in_order_and_judged_one_by_one() -> None:
    played = Played(ALARMS)
    both = replace(
        called("AddAlarm", {"time": "07:00:00"}),
        further=(Call("AddAlarm", {"time": "late"}), Call("FindAlarms", {})),
        content="Two at once.",
        reasoning="Seven, they said.",
    )
    turn = played.turn(1, lambda request: both if not request.key.step else replied("Done."))
    assert [step.prediction.part for step in turn.steps] == [0, 1, 2, 0]
    assert [step.prediction.further for step in turn.steps] == [()] * 4
    assert [bool(step.verdict and step.verdict.match) for step in turn.steps] == [True, False, False, False]
    assert [request.key.step for request in played.requests] == [0, 3]
    assert all(request.several_calls for request in played.requests)
    _, first, second, third = played.requests[-1].messages
    assert isinstance(first, CallMessage)
    assert (first.content, first.reasoning, first.joins) == ("Two at once.", "Seven, they said.", False)
    for each in (second, third):
        assert isinstance(each, CallMessage)
        assert (each.content, each.reasoning, each.joins) == ("", "", True)
    judged = [event.step for event in played.events if isinstance(event, CallJudged)]
    assert judged == [0, 1, 2]


def test_the_cap_holds_within_a_message_too() -> None:
    played = Played(ALARMS, max_calls=2)
    many = replace(called("FindAlarms"), further=(Call("FindAlarms", {}),) * 3)
    turn = played.turn(1, lambda _: many)
    assert [step.prediction.kind for step in turn.steps] == ["call", "call", "error"]
    assert turn.error is ErrorKind.CALL_CAP


@pytest.mark.parametrize("history", ["recorded", "replayed"])
def test_no_model_ever_sees_a_session_token_among_arguments(history: str) -> None:
    for conversation in small_talks.conversations():
        played = Played(conversation, history=history).all(oracle(conversation))
        calls = [m.call for r in played.requests for m in r.messages if isinstance(m, CallMessage)]
        assert all("session_token" not in call.arguments for call in calls)


def test_history_shows_recorded_or_replayed_responses() -> None:
    turn = ALARMS.turns[1]
    edited = replace(turn.calls[0], outcome=replace(turn.calls[0].outcome, response={"alarm_id": "edited"}))
    turns = (ALARMS.turns[0], replace(turn, calls=(edited,)), *ALARMS.turns[2:])
    conversation = replace(ALARMS, turns=turns)
    seen = {}
    for history in ("recorded", "replayed"):
        played = Played(conversation, history=history)
        played.turn(3, silent)
        shown = played.requests[0].messages[1]
        assert isinstance(shown, CallMessage)
        seen[history] = shown.outcome.response
    assert seen == {"recorded": {"alarm_id": "edited"}, "replayed": {"alarm_id": "5bff-dd80"}}


def test_calls_act_in_the_world_that_the_ground_truth_left() -> None:
    played = Played(ALARMS)
    played.turn(
        1,
        in_order(
            called("AddAlarm", {"time": "22:00:00"}),
            called("DeleteAlarm", {"alarm_id": "0001-0001"}),
            replied(""),
        ),
    )
    found = played.turn(5, in_order(called("FindAlarms"), replied(""))).executed[0]
    times = [alarm["time"] for alarm in found.response["alarms"]]
    assert times == ["18:00:00", "07:30:00", "6:05:00", "07:00:00", "08:00:00"]


def test_who_is_logged_in_follows_the_ground_truth() -> None:
    played = Played(LOGIN)
    [early] = played.turn(2, in_order(called("FindAlarms"), replied(""))).executed
    assert early.exception == "User is not logged in"
    [late] = played.turn(4, in_order(called("FindAlarms"), replied(""))).executed
    assert late.exception is None
    assert late.username == "mara"


@pytest.mark.parametrize("resumed", [False, True])
def test_a_call_that_makes_room_for_a_later_one_is_judged_again(resumed: bool) -> None:
    narrow = {"start_range": "07:00:00", "end_range": "08:00:00"}
    wide = {"start_range": "00:30:00", "end_range": "23:30:00"}  # as good as either, and asked like neither
    talk = parse_conversation(
        small_talks.source(
            "twice",
            "Which alarms are there at half past seven, and which at all?",
            ("These.", [Call("FindAlarms", narrow), Call("FindAlarms")]),
            "Again, please.",
            ("These.", []),
        ),
        "twice",
    )
    played = Played(talk)
    if resumed:
        played.dialogue.resume(_turn(1, _rebuilt(talk, 1).execute(Call("FindAlarms", wide))))
        played.turn(3, in_order(called("FindAlarms", narrow), replied("")))
    else:
        played.turn(1, in_order(called("FindAlarms", wide), called("FindAlarms", narrow), replied("")))
    last = [event for event in played.events if isinstance(event, CallJudged)][-1]
    assert last.verdict.ground_truth == (1, 0)
    assert [(each.turn, each.step, each.verdict.ground_truth) for each in last.rejudged] == [(1, 0, (1, 1))]
    assert [verdict.ground_truth for verdict in played.dialogue.score().verdicts] == [(1, 1), (1, 0)]


def _turn(turn: int, *calls: ExecutedCall) -> PlayedTurn:
    """A turn that was played before, with these calls."""
    predicted = (Step(called(each.name, each.arguments), each) for each in calls)
    return PlayedTurn(turn, tuple(predicted))


def _rebuilt(conversation: Conversation, before: int) -> Simulator:
    """The world of a turn as the original makes it: everything from the start, then all earlier calls."""
    acting = small_talks.simulator()
    acting.start(*conversation.start)
    for turn in conversation.turns[:before]:
        for call in turn.calls:
            acting.execute(call.call)
    return acting


@settings(deadline=None, max_examples=30)
@given(st.sampled_from(small_talks.conversations()), st.randoms(use_true_random=False))
def test_every_turn_starts_as_if_the_world_were_rebuilt_and_replayed(conversation, random) -> None:
    acting = small_talks.simulator()
    played = Played(conversation, acting, max_calls=4)
    for turn in conversation.known_turns:
        steps = played.dialogue.play()
        request = next(steps).request
        assert _dump(acting) == _dump(_rebuilt(conversation, turn))
        while True:
            key = replace(request.key, repeat=random.randrange(50))
            try:
                request = steps.send(small_talks.erratic(replace(request, key=key))).request
            except StopIteration:
                break


def _dump(acting: Simulator) -> str:
    world = ToolTalkWorld()
    world.restore(acting.snapshot())
    return world.dump()


@pytest.mark.parametrize("cap", [1, 2, 5])
def test_the_cap_bounds_the_calls_that_are_executed_and_says_that_it_did(cap: int) -> None:
    played = Played(ALARMS, max_calls=cap)
    turn = played.turn(1, lambda request: called("AddAlarm", {"time": "07:00:00"}))
    assert len(turn.executed) == cap
    last = turn.steps[-1].prediction
    assert turn.error is last.error is ErrorKind.CALL_CAP
    assert last.raw == called("AddAlarm", {"time": "07:00:00"}).raw
    assert f"the cap is {cap}" in last.error_detail
    assert played.counts["predictions"] == cap


def test_a_reply_after_as_many_calls_as_the_cap_allows_is_a_reply() -> None:
    turn = Played(ALARMS, max_calls=1).turn(1, oracle(ALARMS))
    assert turn.error is None
    assert [step.prediction.kind for step in turn.steps] == ["call", "reply"]


@pytest.mark.parametrize("kind", list(ErrorKind))
def test_a_failed_step_ends_the_turn_and_is_kept(kind: ErrorKind) -> None:
    turn = Played(ALARMS).turn(1, in_order(called("FindAlarms"), failed(kind, "why", raw="{")))
    assert turn.error is kind
    assert [step.prediction.kind for step in turn.steps] == ["call", "error"]
    assert turn.steps[-1].prediction.raw == "{"


def test_events_come_in_the_order_of_what_happens() -> None:
    played = Played(LOGIN)
    played.turn(2, oracle(LOGIN))
    started, predicted, judged, replied_to = played.events
    assert isinstance(started, TurnStarted)
    assert started.history == ("Let me in.", "I am mara, pw-mara.")
    assert started.ground_truth == LOGIN.turns[2].calls
    assert started.reply == "Welcome."
    assert isinstance(predicted, PredictionMade)
    assert isinstance(judged, CallJudged)
    assert judged.verdict.match
    assert judged.verdict.ground_truth == (2, 0)
    assert isinstance(replied_to, PredictionMade)
    assert replied_to.step == 1


def test_requests_share_what_an_engine_can_keep() -> None:
    played = Played(ALARMS).all(oracle(ALARMS))
    assert {request.instructions for request in played.requests} == {INSTRUCTIONS}
    assert all(request.tools == offered_tools(ALARMS, ToolTalkSettings()) for request in played.requests)
    [context] = {request.context for request in played.requests}
    assert "Springfield" in context
    assert small_world.NOW in context
    assert "mara" in context
    assert [request.key.step for request in played.requests if request.key.turn == 1] == [0, 1]


def test_context_says_when_nobody_is_logged_in() -> None:
    played = Played(LOGIN)
    played.turn(2, silent)
    assert "nobody is logged in" in played.requests[0].context


def test_the_tools_on_offer_follow_the_setting() -> None:
    assert [doc.name for doc in offered_tools(ALARMS, ToolTalkSettings())] == list(TOOLTALK.tools)
    assert [doc.name for doc in offered_tools(ALARMS, ToolTalkSettings(tools="exact"))] == [
        "AddAlarm",
        "FindAlarms",
    ]
    by_plugin = {doc.name for doc in offered_tools(ALARMS, ToolTalkSettings(tools="suite"))}
    assert by_plugin == {name for name, tool in TOOLTALK.tools.items() if tool.plugin in set(ALARMS.plugins)}
    assert all(not doc.description for doc in offered_tools(ALARMS, ToolTalkSettings(docs="names")))
    assert all(doc.description for doc in offered_tools(ALARMS, ToolTalkSettings(docs="full")))


@pytest.mark.parametrize(
    ("conversation", "tools", "fault"),
    [
        (replace(ALARMS, plugins=("Alarm", "Horoscope")), "suite", "suites_used names unknown Horoscope"),
        (replace(ALARMS, plugins=()), "suite", "suites_used is missing"),
        (replace(ALARMS, tools=("Dance",)), "exact", "apis_used names unknown Dance"),
    ],
)
def test_a_conversation_that_does_not_name_its_tools_is_refused(
    conversation: Conversation, tools: str, fault: str
) -> None:
    with pytest.raises(RigError, match=fault):
        offered_tools(conversation, ToolTalkSettings(tools=tools))


def test_fingerprint_changes_with_everything_a_model_is_told() -> None:
    variants = [
        ToolTalkSettings(),
        ToolTalkSettings(docs="names"),
        ToolTalkSettings(tools="suite"),
        ToolTalkSettings(history="replayed"),
    ]
    prints = [str(settings.fingerprint) for settings in [*variants, ToolTalkSettings(max_calls=3)]]
    assert len(set(prints)) == len(prints)


def test_resumed_turns_leave_matching_as_if_they_had_been_played() -> None:
    whole = Played(ALARMS).all(small_talks.erratic)
    for split in range(len(ALARMS.known_turns) + 1):
        resumed = Played(ALARMS)
        for turn in ALARMS.known_turns[:split]:
            resumed.dialogue.resume(whole.turns[turn])
        for turn in ALARMS.known_turns[split:]:
            resumed.turn(turn, small_talks.erratic)
        assert resumed.dialogue.score() == whole.dialogue.score()


@pytest.mark.parametrize("suite", ["easy", "tooltalk"])
def test_the_oracle_is_right_about_the_public_conversations(tooltalk: Path, suite: str) -> None:
    acting = Simulator(world_from(tooltalk / "data" / "databases"), TOOLTALK)
    found = load_directory(tooltalk / "data" / suite)
    wrong = []
    for conversation in found:
        played = Played(conversation, acting).all(oracle(conversation))
        metrics = measured(played.counts)
        if (metrics.success_rate, metrics.recall, metrics.precision) != (1, 1, 1):
            wrong.append(conversation.name)
    assert not wrong


@pytest.mark.parametrize(("mode", "is_match"), [("default", True), ("upstream", False)])
def test_the_true_call_is_right_whatever_was_recorded_of_it(
    tmp_path: Path, mode: Mode, is_match: bool
) -> None:
    """A recording that the simulator does not reproduce: it found a reminder that there is none of."""
    source = small_talks.source("lookup", "What is to be done?", ("A lot.", [Call("GetReminders")]))
    source["conversation"][1]["apis"][0]["response"]["reminders"][0]["reminder_id"] = "ff-ffff"
    talk = parse_conversation(source, "lookup")
    setup = small_talks.setup(small_talks.grader(mode))
    store = tmp_path / "runs.sqlite"
    small_talks.play(small_talks.plan(store, Oracle([talk]), conversations=(talk,), setup=setup))
    with Runs.open(store) as runs:
        transcript = runs.transcript(runs.get("latest"), "lookup", 0, 0)
    [step, _] = transcript.turns[1].steps
    assert step.verdict is not None
    assert step.verdict.match is is_match
    again = setup.score(talk, tuple(transcript.turns.values()), setup.settings)
    assert [verdict.match for verdict in again.verdicts] == [is_match]
