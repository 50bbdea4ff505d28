"""The fictional world: enough of everything, and each thing told alike wherever it is told."""

import calendar
import json
import re
from collections import Counter
from datetime import date, timedelta
from typing import Any

import pytest

from rig.core.calls import Call
from rig.core.paths import CONVERSATIONS, WORLD_DATABASE, WORLD_SEED
from rig.plugins.tooltalk.conversations import Conversation, load_directory
from rig.plugins.tooltalk.method import METHOD
from rig.plugins.tooltalk_tools import TOOLTALK
from rig.plugins.tooltalk_tools.seeds import check_world, world_from
from rig.plugins.tooltalk_tools.world import ToolTalkWorld
from rig.world.toolbox import Simulator

Seed = dict[str, Any]


def seed(name: str) -> Seed:
    content: Seed = json.loads((WORLD_SEED / f"{name}.json").read_text("utf-8"))
    return content


@pytest.fixture(scope="module")
def conversations() -> list[Conversation]:
    return [each for suite in METHOD.suites() for each in load_directory(CONVERSATIONS / suite)]


def test_it_is_sound_and_the_file_is_up_to_date() -> None:
    world = ToolTalkWorld.open(WORLD_DATABASE)
    assert check_world(world) == []
    assert world.dump() == world_from(WORLD_SEED).dump()


def test_there_is_enough_of_everything() -> None:
    accounts = seed("Account")
    assert len(accounts) >= 24
    first_names = Counter(account["name"].split()[0] for account in accounts.values())
    assert sum(count > 1 for count in first_names.values()) >= 5
    assert sum(5 <= len(inbox) <= 10 for inbox in seed("Email").values()) >= 10
    assert sum(len(alarms) > 1 for alarms in seed("Alarm").values()) >= 20
    states = Counter(each["status"] for mine in seed("Reminder").values() for each in mine.values())
    assert min(states["pending"], states["complete"]) >= 10
    assert len(seed("Weather")) >= 14
    assert sum(len(months) >= 4 for months in seed("HistoricWeather").values()) >= 10
    titles = (Counter(each["name"] for each in mine.values()) for mine in seed("Calendar").values())
    assert sum(any(count > 1 for count in mine.values()) for mine in titles) >= 15


def test_what_is_shared_is_told_alike() -> None:
    calendars, accounts = seed("Calendar"), seed("Account")
    for events in calendars.values():
        for event in events.values():
            for attendee in event["attendees"] or []:
                assert calendars[attendee][event["event_id"]] == event
    owners = {account["email"]: username for username, account in accounts.items()}
    inboxes = seed("Email")
    for username, inbox in inboxes.items():
        for email in inbox.values():
            assert accounts[username]["email"] in email["receivers"]
            for receiver in email["receivers"]:
                if receiver in owners:
                    assert inboxes[owners[receiver]][email["email_id"]] == email


def test_every_id_is_used_once() -> None:
    shared = {"Calendar": "event_id", "Email": "email_id"}
    for name in ("Alarm", "Message", "Reminder"):
        ids = [record for mine in seed(name).values() for record in mine]
        assert len(ids) == len(set(ids))
    for name in shared:
        told: dict[str, Any] = {}
        for mine in seed(name).values():
            for record_id, record in mine.items():
                assert told.setdefault(record_id, record) == record


def test_nothing_can_reach_anybody() -> None:
    """Addresses end in .example and phone numbers have the exchange 555."""
    for account in seed("Account").values():
        assert account["email"].endswith(".example")
        assert account["phone"][4:7] == "555"
    for inbox in seed("Email").values():
        for email in inbox.values():
            assert all(each.endswith(".example") for each in (email["sender"], *email["receivers"]))


def test_the_weather_of_a_conversation_is_known_for_days_ahead(conversations: list[Conversation]) -> None:
    weather = seed("Weather")
    for conversation in conversations:
        if "Weather" not in conversation.plugins:
            continue
        places = {
            call.arguments["location"].lower()
            for call in conversation.ground_truth
            if call.name in ("CurrentWeather", "ForecastWeather")
        }
        today = conversation.metadata.now.date()
        for place in places:
            for distance in range(6):
                assert str(today + timedelta(days=distance)) in weather[place], (conversation.name, place)


_WEEKDAYS = "|".join(calendar.day_name)
_MONTHS = "|".join(list(calendar.month_name)[1:])


def test_weekdays_and_dates_agree(conversations: list[Conversation]) -> None:
    """ "Tuesday, January 6", written at the end of December, is of the next year."""
    texts = [
        (text, int(email["date"][:4]))
        for inbox in seed("Email").values()
        for email in inbox.values()
        for text in (email["subject"], email["body"])
    ]
    texts += [(turn.text, each.metadata.now.year) for each in conversations for turn in each.turns]
    found = 0
    for text, year in texts:
        for weekday, month, day in re.findall(rf"({_WEEKDAYS}), ({_MONTHS}) (\d+)", text):
            number = list(calendar.month_name).index(month)
            days = (date(each, number, int(day)) for each in (year, year + 1))
            assert weekday in {f"{each:%A}" for each in days}, text
            found += 1
    assert found > 50


def test_a_plainer_search_finds_the_same(conversations: list[Conversation]) -> None:
    """What the ground truth looks for is also found by any of its words: no search has to be as narrow."""
    simulator = Simulator(ToolTalkWorld.open(), TOOLTALK)
    searches = 0
    for conversation in conversations:
        simulator.start(*conversation.start)
        for call in conversation.ground_truth:
            ids = TOOLTALK.tools[call.name].match.ids
            if ids is not None and call.name in ("SearchInbox", "SearchMessages"):
                snapshot = simulator.snapshot()
                plain = {name: value for name, value in call.arguments.items() if name != "match_type"}
                found = simulator.execute(Call(call.name, plain)).response[ids[0]]
                simulator.restore(snapshot)
                assert {each[ids[1]] for each in call.response[ids[0]]} <= {each[ids[1]] for each in found}
                assert call.response[ids[0]], "a search that finds nothing proves nothing"
                searches += 1
            simulator.execute(call.call)
    assert searches > 20
