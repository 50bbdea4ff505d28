"""The conversations of the lesson: the same for a seed, true, and about all tools."""

import json
from collections import Counter
from datetime import date, datetime, time
from itertools import islice
from random import Random

import pytest

from benchmarks.teach.generate import conversations
from benchmarks.teach.worlds import things
from rig.plugins.author.speech import clock, day, expand
from rig.plugins.tooltalk.conversations import Conversation
from rig.plugins.tooltalk_tools import TOOLTALK

COUNT = 400


@pytest.fixture(scope="module")
def made() -> list[Conversation]:
    return list(conversations(1, COUNT))


@pytest.mark.slow
def test_a_seed_is_a_lesson(made: list[Conversation]) -> None:
    again = list(conversations(1, 20))
    assert again == made[:20]
    assert [each.turns for each in conversations(2, 20)] != [each.turns for each in again]


def test_every_tool_is_called_often(made: list[Conversation]) -> None:
    calls = Counter(call.name for each in made for call in each.ground_truth)
    assert set(calls) == set(TOOLTALK.tools)
    assert min(calls.values()) >= COUNT // 60, calls


def test_the_user_speaks_first_and_the_assistant_last(made: list[Conversation]) -> None:
    for each in made:
        roles = [turn.role for turn in each.turns]
        assert roles == ["user", "assistant"] * (len(roles) // 2)
        assert all(turn.text.strip() and not set("{[|") & set(turn.text) for turn in each.turns)


def test_calls_fail_only_where_somebody_mistyped(made: list[Conversation]) -> None:
    failed = [call for each in made for call in each.ground_truth if call.outcome.exception is not None]
    assert {call.name for call in failed} <= {"UserLogin", "DeleteAccount", "ResetPassword"}
    assert 0 < len(failed) < COUNT / 10


def test_an_id_was_seen_before_it_is_used(made: list[Conversation]) -> None:
    for each in made:
        seen = ""
        for call in each.ground_truth:
            for name, value in call.arguments.items():
                if name.endswith("_id"):
                    assert value in seen, (each.name, call.name, value)
            seen += json.dumps(call.outcome.response)


def test_what_is_copied_was_said(made: list[Conversation]) -> None:
    """Passwords, codes, usernames and addresses stand in what the model was shown."""
    copied = {"password", "old_password", "new_password", "verification_code"}
    copied |= {"receiver", "username", "email", "new_email", "new_phone_number"}
    for each in made:
        seen = f"{each.metadata.username}"
        for turn in each.turns:
            seen += turn.text if turn.role == "user" else ""
            for call in turn.calls:
                for name in copied & set(call.arguments):
                    assert call.arguments[name] in seen, (each.name, call.name, name)
                seen += json.dumps(call.outcome.response, ensure_ascii=False)


def test_turns_without_a_call_are_taught_too(made: list[Conversation]) -> None:
    turns = [turn for each in made for turn in each.turns if turn.role == "assistant"]
    assert 0.2 < sum(not turn.calls for turn in turns) / len(turns) < 0.6
    assert sum(len(turn.calls) > 1 for turn in turns) > COUNT / 20


def test_worlds_are_made_of_what_a_user_has() -> None:
    made = things(Random(3))
    world = made.world(Random(4))
    assert world.accounts.find(made.me.username) is not None
    assert len(list(world.events.all(made.me.username))) == len(made.events)


@pytest.mark.parametrize(
    ("pattern", "possible"),
    [
        ("[a|b] c", {"a c", "b c"}),
        ("[[x|y] z|]", {"x z", "y z", ""}),
        ("so [very|] {word}?", {"so very good?", "so good?"}),
        ("[, |]and", {"and"}),
    ],
)
def test_patterns(pattern: str, possible: set[str]) -> None:
    said = {expand(Random(seed), pattern, word="good") for seed in range(40)}
    assert said == possible


def test_times_of_day_are_not_ambiguous() -> None:
    """Without a word of its own a time is before noon for an alarm, and between 7 and 18 for an event."""
    for seed in range(300):
        random = Random(seed)
        moment = time(random.randrange(24), random.choice([0, 15, 30, 45]))
        said = clock(random, moment)
        told = any(word in said for word in ("am", "pm", "noon", "midday", "in the", "12")) or ":" in said
        assert told, said
    bare = {clock(Random(seed), time(16, 50), bare="event") for seed in range(200)}
    assert {"ten to five", "16:50"} <= bare


def test_days_say_what_they_mean() -> None:
    now = datetime.fromisoformat("2025-05-12 09:00")
    said = {day(Random(seed), now, date(2025, 5, 23)) for seed in range(300)}
    assert {"on the 23rd", "on May 23", "on Friday the 23rd"} <= said
    assert not said & {"on Friday", "this Friday"}
    assert day(Random(1), now, date(2025, 5, 13)) == "tomorrow"


def test_more_conversations_begin_with_the_same() -> None:
    assert list(islice(conversations(7, 50), 3)) == list(conversations(7, 3))
