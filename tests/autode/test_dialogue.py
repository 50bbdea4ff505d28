"""How a scenario is played: upstream's protocol, its ends, and the same dialogue after a resume."""

import json
from typing import Any

import pytest
from small_scenarios import Heard, scenario

from rig.config.options import RunConfig
from rig.core.calls import Call
from rig.core.errors import ErrorKind, RigError
from rig.core.events import CallJudged, PredictionMade, TurnStarted
from rig.core.models import Prediction, ReplyMessage, UserMessage
from rig.core.tasks import ASSISTANT, PlayedTurn
from rig.methods.scripted import called, failed, replied
from rig.plugins.autode.method import METHOD, AutoDE
from rig.plugins.autode.scenarios import USER, Utterance
from rig.plugins.autode.talk import THE_USER, AutoDeSettings
from rig.running.planning import method_arms

GOLD = dict(scenario().slots)
COMPAT = AutoDeSettings(compat=True)
TALK = [replied("Hm?")] * 9
RIGHT = called("SwitchLamp", GOLD)


def tagged(**arguments: Any) -> Prediction:
    return replied(f"<func>{json.dumps({'functionName': 'SwitchLamp'} | arguments)}</func>")


def test_an_assistant_that_never_calls_as_upstream_has_it() -> None:
    heard = Heard(scenario(), TALK, TALK, COMPAT).all()
    assert (len(heard.asked), len(heard.said), heard.said[-1].role) == (16, 17, USER)
    assert heard.end == "round_limit"
    assert heard.counts["reluctant"] == 1


def test_an_assistant_that_never_calls_and_nobody_answers_its_last_words() -> None:
    heard = Heard(scenario(), TALK, TALK).all()
    assert (len(heard.asked), len(heard.said), heard.said[-1].role) == (15, 16, "Assistant")
    assert heard.end == "round_limit"


@pytest.mark.parametrize("compat", [True, False])
@pytest.mark.parametrize("rounds", [1, 3])
def test_the_round_limit_can_be_set(rounds: int, compat: bool) -> None:
    heard = Heard(scenario(), TALK, TALK, AutoDeSettings(max_rounds=rounds, compat=compat)).all()
    assert len(heard.turns) == rounds
    assert len(heard.said) == 2 * rounds + compat


def test_a_call_at_the_third_reply() -> None:
    heard = Heard(scenario(), [*TALK[:2], tagged(**GOLD)], TALK, COMPAT).all()
    assert (heard.end, len(heard.said), heard.counts["successes"]) == ("called", 5, 1)


def test_an_end_at_once() -> None:
    heard = Heard(scenario(), [replied("No way. [DONE]")]).all()
    assert (heard.end, heard.said[-1]) == ("gave_up", Utterance("Assistant", "No way. "))
    assert heard.counts["reluctant"] == 0


def test_a_static_plain_reply() -> None:
    history = (Utterance(USER, "Light."), Utterance("Assistant", "Where?"), Utterance(USER, "In the hall."))
    task = scenario(history=history)
    heard = Heard(task, TALK, settings=AutoDeSettings(mode="static")).all()
    assert (heard.end, len(heard.said)) == ("round_limit", 4)
    (ask,) = heard.asked
    texts = [each.text for each in ask.request.messages if isinstance(each, UserMessage | ReplyMessage)]
    assert texts == ["Light.", "Where?", "In the hall.\n\nSUBMIT API"]


@pytest.mark.parametrize(
    ("prediction", "end"),
    [
        (RIGHT, "called"),
        (failed(ErrorKind.INVALID), "malformed"),
        (failed(ErrorKind.TRUNCATED), "malformed"),
        (failed(ErrorKind.CONTEXT), "context_full"),
        (failed(ErrorKind.DECODE), "assistant_failed"),
    ],
)
def test_how_an_assistant_can_end_it(prediction: Prediction, end: str) -> None:
    heard = Heard(scenario(), [prediction]).all()
    assert heard.end == end
    assert heard.counts["called"] == (end == "called")


@pytest.mark.parametrize(
    ("prediction", "end"),
    [
        (replied("[fail]"), "user_failed"),
        (failed(ErrorKind.DECODE), "user_failed"),
        (failed(ErrorKind.CONTEXT), "context_full"),
        (called("SwitchLamp"), "user_failed"),
    ],
)
def test_how_a_user_can_end_it(prediction: Prediction, end: str) -> None:
    heard = Heard(scenario(), TALK, [prediction]).all()
    assert (heard.end, len(heard.said), len(heard.turns)) == (end, 2, 2)
    assert [step.role for step in heard.turns[1].steps] == [THE_USER]


def test_an_end_by_the_user_is_none() -> None:
    heard = Heard(scenario(), [TALK[0], RIGHT], [replied(" In the hall. [DONE] ")]).all()
    assert (heard.end, heard.said[-1]) == ("called", Utterance(USER, "In the hall."))


def test_each_reads_the_other_as_the_one_that_asks() -> None:
    heard = Heard(scenario(), [replied("Where?"), RIGHT], [replied("In the hall.")]).all()
    first, user, second = heard.asked
    assert first.request.messages == (UserMessage("I need light."),)
    assert user.role == THE_USER
    assert user.request.messages[1:] == (ReplyMessage("I need light."), UserMessage("Where?"))
    assert '"room": "hall"' in user.request.context
    assert second.request.messages[1:] == (ReplyMessage("Where?"), UserMessage("In the hall."))
    assert [tool.name for tool in second.request.tools] == ["SwitchLamp", "LockDoor"]
    assert len({ask.request.key for ask in heard.asked}) == 3


def test_a_call_in_words_is_a_call_only_where_it_is_asked_for_so() -> None:
    func = Heard(scenario(), [tagged(**GOLD)], settings=AutoDeSettings(form="func")).all()
    assert func.turns[0].steps[0].prediction.call == Call("SwitchLamp", GOLD)
    assert "<doc>" in func.asked[0].request.context
    assert func.asked[0].request.tools == ()
    words = Heard(scenario(), [tagged(**GOLD)], settings=AutoDeSettings(max_rounds=1)).all()
    assert words.end == "round_limit"
    broken = Heard(scenario(), [replied("<func>{</func>")], settings=COMPAT).all()
    assert (broken.end, broken.turns[0].error) == ("malformed", ErrorKind.INVALID)


def test_what_happens_is_emitted() -> None:
    heard = Heard(scenario(), [replied("Where?"), RIGHT], [replied("In the hall.")]).all()
    kinds = [type(event) for event in heard.events]
    assert kinds == [TurnStarted, PredictionMade, TurnStarted, PredictionMade, PredictionMade, CallJudged]
    roles = [event.role for event in heard.events if isinstance(event, PredictionMade)]
    assert roles == [ASSISTANT, THE_USER, ASSISTANT]
    judged = heard.events[-1]
    assert isinstance(judged, CallJudged)
    assert judged.verdict.match
    assert heard.episode.score().verdicts == (judged.verdict,)
    assert judged.verdict.ground_truth == (0, 0)
    started = [event for event in heard.events if isinstance(event, TurnStarted)]
    assert [(event.history, len(event.ground_truth)) for event in started] == [
        (("I need light.",), 1),
        ((), 0),
    ]


@pytest.mark.parametrize("done", range(4))
def test_a_resumed_dialogue_goes_on_as_it_would_have(done: int) -> None:
    assistant = [replied("Where?"), replied("When?"), replied("Which device?"), RIGHT]
    user = [replied("In the hall."), replied("At dusk."), replied("My tablet.")]
    whole = Heard(scenario(), assistant, user).all()
    before: list[PlayedTurn] = whole.turns[:done]
    resumed = Heard(scenario(), assistant[done:], user[max(done - 1, 0) :], played=before).all()
    assert resumed.said == whole.said
    assert resumed.counts == whole.counts
    assert [ask.request for ask in resumed.asked] == [ask.request for ask in whole.asked][
        -len(resumed.asked) :
    ]
    assert whole.counts["successes"] == 1


def test_stored_turns_score_as_played_ones() -> None:
    heard = Heard(scenario(), [replied("In which room?"), RIGHT], [replied("In the hall.")]).all()
    method = AutoDE()
    setup = method.ready({option.name: option.default for option in method.options})
    assert setup.score(scenario(), heard.turns, setup.settings) == heard.episode.score()


def test_counts_of_a_wrong_call() -> None:
    wrong = called("LockDoor", {"room": "Hall.", "door": "front", "startTime": None})
    heard = Heard(scenario(), [replied("Is it for tonight?"), wrong], [replied("Yes.")]).all()
    expected = {"f1": 0, "tolerant_f1": 0.4, "slots_right": 0, "slots_true": 3, "slots_predicted": 2}
    expected |= {"successes": 0, "called": 1, "right_function": 0, "illusory": 1, "messages": 3}
    assert {name: heard.counts[name] for name in expected} == pytest.approx(expected)


def test_asking_for_what_was_said_is_redundant() -> None:
    assistant = [replied("In which room?"), replied("Which room, please?"), replied("What colour?"), RIGHT]
    user = [replied("In the hall."), replied("The hall!"), replied("I don't know.")]
    counts = Heard(scenario(), assistant, user).all().counts
    assert (counts["questions"], counts["redundant_questions"]) == (3, 1)


@pytest.mark.parametrize(
    ("name", "text", "fault"),
    [
        ("mode", "human", "takes one of dynamic, static"),
        ("form", "xml", "takes one of rig, func"),
        ("required", "all", "takes one of "),
        ("max_rounds", "0", "takes a whole number from 1 on"),
    ],
)
def test_settings_that_cannot_be(name: str, text: str, fault: str) -> None:
    with pytest.raises(RigError, match=f"--set {name}={text}: {fault}"):
        method_arms(RunConfig.of(models=("oracle",), set=(f"{name}={text}",)), METHOD)


def test_settings_are_in_the_fingerprint() -> None:
    fingerprints = [
        json.dumps(each.fingerprint, sort_keys=True)
        for each in (
            AutoDeSettings(),
            AutoDeSettings(max_rounds=5),
            COMPAT,
            AutoDeSettings(mode="static"),
            AutoDeSettings(form="func"),
        )
    ]
    assert len(set(fingerprints)) == 5


UNKNOWN = replied("Sorry, I don't know that.")


@pytest.mark.parametrize(("compat", "end"), [(False, "user_failed"), (True, "round_limit")])
def test_who_cannot_answer_is_not_the_assistants_fault_but_upstream_says_so(compat: bool, end: str) -> None:
    asked = [replied("What is your shoe size?")] * 8
    heard = Heard(scenario(), asked, [UNKNOWN] * 8, AutoDeSettings(compat=compat)).all()
    assert heard.end == end
    assert heard.counts["reluctant"] == int(compat)
    assert heard.counts["user_failed"] == int(not compat)


def test_who_answers_half_of_the_questions_leaves_the_reluctance_with_the_assistant() -> None:
    answers = [UNKNOWN, replied("It's hall. I don't know the colour.")] * 4
    heard = Heard(scenario(), [replied("Which colour?")] * 9, answers, AutoDeSettings(max_rounds=9)).all()
    assert heard.end == "round_limit"
