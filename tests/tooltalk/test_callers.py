"""Who was logged in, told from outcomes, is who the simulator says it was."""

import random
from pathlib import Path
from typing import Any

import pytest
import small_talks
import small_world

from rig.core.calls import Call, ExecutedCall, Outcome
from rig.core.models import Prediction
from rig.core.tasks import PlayedTurn, Step
from rig.plugins.tooltalk.conversations import User, load_directory, parse_conversation
from rig.plugins.tooltalk.scoring import Session, name_callers, name_truths
from rig.plugins.tooltalk_tools import TOOLTALK
from rig.plugins.tooltalk_tools.seeds import world_from
from rig.world.toolbox import Simulator

LOGIN = Call("UserLogin", {"username": "theo", "password": "pw-theo"})
REGISTER = Call("RegisterUser", {"username": "zoe", "password": "pw", "email": "zoe@post.example"})
CALLS = [
    LOGIN,
    Call("UserLogin", {"username": "theo", "password": "wrong"}),
    Call("UserLogin", {"username": "mara", "password": "pw-mara"}),
    Call("UserLogin", ["theo"]),
    REGISTER,
    Call("RegisterUser", {"username": "zoe", "password": "pw", "email": "no address"}),
    Call("LogoutUser"),
    Call("LogoutUser", {"now": True}),
    Call("DeleteAccount", {"password": "pw-mara"}),
    Call("DeleteAccount", {"password": "pw"}),
    Call("GetReminders"),
    Call("Nothing", None),
]


@pytest.mark.parametrize("compat", [False, True])
@pytest.mark.parametrize("logged_in", [True, False])
def test_any_calls_have_the_callers_that_the_simulator_knows(compat: bool, logged_in: bool) -> None:
    simulator = Simulator(small_world.new_world(), TOOLTALK, upstream_compat=compat)
    user = User("mara", session_token=small_world.TOKEN if logged_in else None)
    for seed in range(150):
        choices = random.Random(seed)
        simulator.start(small_world.METADATA.now, user.username, user.credentials)
        session = Session(user, TOOLTALK)
        for call in choices.choices(CALLS, k=12):
            executed = simulator.execute(call)
            anonymous = ExecutedCall(executed.call, executed.outcome)
            assert session.follow(anonymous) == executed


def test_a_turn_begins_as_the_truth_left_things_whatever_was_predicted_before() -> None:
    source = small_talks.source(
        "two users",
        "Let me in.",
        ("Hello.", [Call("UserLogin", {"username": "mara", "password": "pw-mara"})]),
        "What is to be done?",
        ("Plants.", [Call("GetReminders")]),
        logged_in=False,
    )
    conversation = parse_conversation(source, "")
    truths = name_truths(conversation, TOOLTALK)
    assert [(position, truth.username) for position, truth in truths] == [((1, 0), None), ((3, 0), "mara")]

    def played(turn: int, *calls: ExecutedCall) -> PlayedTurn:
        return PlayedTurn(turn, tuple(Step(Prediction(call=call.call), call) for call in calls))

    wrong = ExecutedCall(LOGIN, Outcome({"session_token": "t"}))
    look = ExecutedCall(Call("GetReminders"), Outcome({"reminders": []}))
    named = name_callers(conversation, {1: played(1, look, wrong, look), 3: played(3, look)}, TOOLTALK)
    assert [call.username for call in named[1].executed] == [None, None, "theo"]
    assert [call.username for call in named[3].executed] == ["mara"]


def test_the_public_data_has_the_callers_that_the_simulator_knows(tooltalk: Path) -> None:
    simulator = Simulator(world_from(tooltalk / "data" / "databases"), TOOLTALK)
    directories = [tooltalk / "data" / part for part in ("easy", "tooltalk")]
    conversations = [each for path in directories if path.is_dir() for each in load_directory(path)]
    callers: list[Any] = []
    for conversation in conversations:
        simulator.start(*conversation.start)
        replayed = [simulator.execute(truth.call).username for truth in conversation.ground_truth]
        assert [truth.username for _, truth in name_truths(conversation, TOOLTALK)] == replayed
        callers += replayed
    assert len(callers) >= 28
