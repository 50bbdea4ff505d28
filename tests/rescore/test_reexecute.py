"""Calls executed again: what counts as another response."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import small_talks
import small_world

from rig.core.calls import Call, ExecutedCall, Outcome
from rig.core.errors import RigError
from rig.core.models import Prediction
from rig.core.tasks import PlayedTurn, Step
from rig.methods.scripted import Scripted
from rig.plugins.rescore.reexecute import Reexecuted, reexecute
from rig.plugins.tooltalk.conversations import Conversation, load_directory, parse_conversation
from rig.plugins.tooltalk_tools.seeds import world_from
from rig.store import Runs


def again(
    recorded: Sequence[ExecutedCall],
    conversation: Conversation | None = None,
    turn: int = 1,
    compat: bool = False,
) -> list[Reexecuted]:
    """These calls executed again, as those of one turn."""
    steps = tuple(Step(Prediction(call=each.call), each) for each in recorded)
    setup = small_talks.setup(small_talks.grader("upstream" if compat else "default"))
    chosen = conversation or small_talks.conversations()[0]
    return [again for again, _ in reexecute(chosen, {turn: PlayedTurn(turn, steps)}, setup)]


def recorded(name: str, arguments: Any, response: Any = None, exception: str | None = None) -> ExecutedCall:
    return ExecutedCall(Call(name, arguments), Outcome(response, exception))


def test_every_turn_begins_in_the_world_that_the_truth_leaves(tmp_path: Path) -> None:
    store = tmp_path / "runs.sqlite"
    small_talks.play(small_talks.plan(store, Scripted(small_talks.erratic), small_talks.oracle()))
    calls = 0
    with Runs.open(store) as runs:
        for arm in (0, 1):
            for conversation in small_talks.conversations():
                turns = runs.transcript(runs.get("abcde"), conversation.name, arm).turns
                found = [again for again, _ in reexecute(conversation, turns, small_talks.setup())]
                assert [each.recorded for each in found] == [c for p in turns.values() for c in p.executed]
                assert not [each for each in found if each.differs]
                calls += len(found)
    assert calls > 8


ALARM = {"time": "07:00:00"}
PEOPLE = {"users": [small_world.public("theo")]}
REFUSED = [
    (recorded("AddAlarm", ALARM, {"alarm_id": "5bff-dd80"}), False),
    (recorded("AddAlarm", ALARM, {"alarm_id": "0000-0000"}), True),
    (recorded("AddAlarm", ALARM, None, "out of order"), True),
    (recorded("AddAlarm", {"time": "7"}, {"alarm_id": "5bff-dd80"}), True),
    (recorded("AddAlarm", {"time": "7"}, None, "in other words"), False),
    (recorded("AddAlarm", None, None, "Failed to parse API call"), False),
    (recorded("Nothing", {}, None, "API Nothing not found"), False),
    (recorded("Nothing", {}, {"status": "success"}), True),
    (recorded("QueryUser", {"username": "theo"}, PEOPLE), False),
    (recorded("QueryUser", {"username": "theo", "session_token": "forged"}, PEOPLE), False),
    (recorded("QueryUser", {"username": "theo"}, {"users": []}), True),
]


@pytest.mark.parametrize(("call", "differs"), REFUSED)
def test_responses_are_compared_and_errors_by_their_presence(call: ExecutedCall, differs: bool) -> None:
    [found] = again([call])
    assert found.differs is differs
    assert (found.turn, found.step) == (1, 0)


def test_the_order_of_keys_does_not_matter_and_true_is_not_one() -> None:
    user = dict(reversed(small_world.public("theo").items()))
    [same] = again([recorded("QueryUser", {"username": "theo"}, {"users": [user]})])
    assert not same.differs
    register = {"username": "zoe", "password": "p", "email": "zoe@post.example", "name": True}
    answer = {"username": "zoe", "email": "zoe@post.example", "phone": None}
    token = {"session_token": "e149636f-d9ca-0792"}
    talk = small_talks.conversations()[2]
    for name, differs in ((True, False), (1, True)):
        response = {**token, "user": {**answer, "name": name}}
        [found] = again([recorded("RegisterUser", register, response)], talk, turn=2, compat=True)
        assert found.differs is differs


def test_effects_reach_the_later_calls_of_a_turn_and_end_with_it() -> None:
    drop = recorded("DeleteAlarm", {"alarm_id": "0001-0002"}, {"status": "success"})
    gone = recorded("DeleteAlarm", {"alarm_id": "0001-0002"}, None, "There is none.")
    assert not any(each.differs for each in again([drop, gone]))
    steps = (Step(Prediction(call=drop.call), drop),)
    twice = {1: PlayedTurn(1, steps), 3: PlayedTurn(3, steps)}
    conversation = small_talks.conversations()[0]
    assert not any(each.differs for each, _ in reexecute(conversation, twice, small_talks.setup()))


def test_the_text_of_an_error_counts_where_the_truth_expects_one() -> None:
    """As in the one public conversation whose ground truth has a call that should fail."""
    source = small_talks.source(
        "refused",
        "I am theo, and my password is wrong.",
        ("No, it is not.", [Call("UserLogin", {"username": "theo", "password": "wrong"})]),
        logged_in=False,
    )
    conversation = parse_conversation(source, "")
    [truth] = conversation.ground_truth
    assert truth.exception == "The password is incorrect."
    other_text = replace(truth, outcome=Outcome(exception="Wrong password!"))
    unknown = recorded("UserLogin", {"username": "nobody", "password": "x"}, None, "Who is that?")
    posing = replace(unknown, outcome=truth.outcome)
    alarm = recorded("AddAlarm", ALARM, None, "Log in first!")
    found = again([truth, other_text, unknown, posing, alarm], conversation)
    assert [each.differs for each in found] == [False, True, False, True, False]


def test_a_world_without_the_user_is_refused() -> None:
    source = small_talks.sources()[0]
    source["user"]["username"] = source["metadata"]["username"] = "stranger"
    with pytest.raises(RigError, match="stranger"):
        again([], parse_conversation(source, ""))


def test_the_oracle_finds_no_difference_in_the_public_data(tooltalk: Path) -> None:
    world = world_from(tooltalk / "data" / "databases")
    setup = small_talks.setup(small_talks.grader("upstream"), world)
    simulator = setup.simulator
    for conversation in load_directory(tooltalk / "data" / "easy"):
        replayed = simulator.start(*conversation.start)
        turns = {}
        for index, turn in enumerate(conversation.turns):
            replayed = [simulator.execute(truth.call) for truth in turn.calls]
            steps = tuple(Step(Prediction(call=each.call), each) for each in replayed)
            turns[index] = PlayedTurn(index, steps)
        found = [again for again, _ in reexecute(conversation, turns, setup)]
        assert len(found) == len(conversation.ground_truth)
        assert not [each for each in found if each.differs]
