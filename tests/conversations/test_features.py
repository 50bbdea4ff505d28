"""What is derived from the calls: which conversations take a value from one call to the next."""

from collections.abc import Callable
from typing import Any

import pytest
from conversations.reading import Feature, Reading

from rig.plugins.tooltalk.check import replayed_calls
from rig.plugins.tooltalk.conversations import parse_conversation
from rig.plugins.tooltalk_tools import TOOLTALK
from rig.plugins.tooltalk_tools.world import ToolTalkWorld
from rig.world.toolbox import Simulator

Source = dict[str, Any]
READ = Callable[[Source], frozenset[Feature]]


@pytest.fixture
def features(world: ToolTalkWorld) -> Callable[[Source], frozenset[Feature]]:
    simulator = Simulator(world, TOOLTALK)

    def read(source: Source) -> frozenset[Feature]:
        conversation = parse_conversation(source, "test")
        return Reading(conversation, tuple(replayed_calls(conversation, simulator))).features

    return read


def say(role: str, text: str, *calls: tuple[str, dict[str, Any]], **more: Any) -> Source:
    turn: Source = {"role": role, "text": text, **more}
    if calls:
        turn["apis"] = [{"request": {"api_name": name, "parameters": given}} for name, given in calls]
    return turn


@pytest.fixture
def talk() -> Callable[..., Source]:
    def build(*turns: Source, username: str = "rowan_pike", token: str | None = "t") -> Source:
        return {
            "name": "x",
            "conversation_id": "x",
            "user": {"username": username, "session_token": token},
            "metadata": {"location": "Bristol", "timestamp": "2025-05-28 09:00:00"},
            "conversation": list(turns),
        }

    return build


COMMITTEE = ("QueryCalendar", {"start_time": "2025-05-28 00:00:00", "end_time": "2025-05-28 23:59:59"})


def test_a_looked_up_id_is_tandem(talk: Callable[..., Source], features: READ, world: ToolTalkWorld) -> None:
    event = next(each for each in world.events.all("rowan_pike") if each["name"] == "Committee meeting")
    delete = ("DeleteEvent", {"event_id": event["event_id"]})
    assert Feature.TANDEM in features(talk(say("user", "drop it"), say("assistant", "ok", COMMITTEE, delete)))
    assert Feature.TANDEM not in features(talk(say("user", "drop it"), say("assistant", "ok", delete)))
    told = talk(say("user", f"drop {event['event_id']}"), say("assistant", "ok", COMMITTEE, delete))
    assert Feature.TANDEM not in features(told)


def test_a_repeated_finding_is_still_tandem(talk: Callable[..., Source], features: READ) -> None:
    send = ("SendMessage", {"receiver": "okonkwo_a", "message": "Late."})
    first = (say("user", "who comes today?"), say("assistant", "okonkwo_a and you", COMMITTEE))
    assert Feature.TANDEM in features(talk(*first, say("user", "Say: Late."), say("assistant", "ok", send)))
    named = (say("user", "does okonkwo_a come?"), say("assistant", "yes", COMMITTEE))
    assert Feature.TANDEM not in features(
        talk(*named, say("user", "Say: Late."), say("assistant", "ok", send))
    )


def test_an_id_of_an_action_is_not_tandem(talk: Callable[..., Source], features: READ) -> None:
    calls = (
        ("AddAlarm", {"time": "05:00:00"}),
        ("FindAlarms", {}),
        ("DeleteAlarm", {"alarm_id": "5bff-dd80"}),
    )
    turns = (say("user", "alarm for 5, no, scrap it"), say("assistant", "ok", *calls))
    found = features(talk(*turns))
    assert Feature.TANDEM not in found


def test_two_users(talk: Callable[..., Source], features: READ) -> None:
    info = ("GetAccountInformation", {})
    login = ("UserLogin", {"username": "boathouse", "password": "eight-oars"})
    one = talk(say("user", "who am I"), say("assistant", "you", info, ("LogoutUser", {}), login))
    assert Feature.TWO_USERS not in features(one)
    two = talk(say("user", "who am I"), say("assistant", "you", info, ("LogoutUser", {}), login, info))
    assert Feature.TWO_USERS in features(two)


def test_the_start_and_the_errors(talk: Callable[..., Source], features: READ) -> None:
    good = ("UserLogin", {"username": "rowan_pike", "password": "catch&drive8"})
    bad = ("UserLogin", {"username": "rowan_pike", "password": "no"})
    assert features(talk(say("user", "in"), say("assistant", "ok", good), token=None)) == {Feature.LOGGED_OUT}
    assert features(talk(say("user", "in"), say("assistant", "no", bad), token=None)) == {
        Feature.LOGGED_OUT,
        Feature.ERROR,
    }


def test_only_other_days_are_arithmetic(talk: Callable[..., Source], features: READ) -> None:
    for phrase, day, counted in (("today", "2025-05-28", False), ("tomorrow", "2025-05-29", True)):
        query = ("QueryCalendar", {"start_time": f"{day} 00:00:00", "end_time": f"{day} 23:59:59"})
        turns = (say("user", phrase, dates={phrase: day}), say("assistant", "this", query))
        assert (Feature.DATES in features(talk(*turns))) is counted
