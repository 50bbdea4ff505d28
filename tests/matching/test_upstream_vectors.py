"""What microsoft/ToolTalk's own evaluator was observed to say of calls in its public conversations."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from rig.core.calls import Call, ExecutedCall, Verdict
from rig.plugins.tooltalk.conversations import Conversation
from rig.plugins.tooltalk.scoring import ErrorType

DROPPED = object()
True_ = Callable[..., Call]


def truth(conversation: Conversation, number: int = 0) -> True_:
    """The true call, with arguments changed or dropped."""
    call = conversation.ground_truth[number].call
    arguments = {name: value for name, value in call.arguments.items() if name != "session_token"}

    def make(**changes: Any) -> Call:
        changed = {**arguments, **changes}
        return Call(call.name, {name: value for name, value in changed.items() if value is not DROPPED})

    return make


def outcome(executed: ExecutedCall, verdict: Verdict) -> str:
    if verdict.match:
        assert not verdict.bad_action
        return "match"
    if verdict.bad_action:
        return "bad"
    return "no match" if executed.exception is None else "error"


@dataclass(frozen=True)
class Vector:
    name: str
    conversation: str
    calls: Callable[[True_], Mapping[int, Sequence[Call]]]
    outcomes: Sequence[str]
    success: bool


SEND = "SendMessage-easy"
LOGIN = "UserLogin-easy"
VECTORS = [
    Vector("T1 case", "CurrentWeather-easy", lambda t: {1: [t(location="new york")]}, ["no match"], False),
    Vector(
        "T1 case then right",
        "CurrentWeather-easy",
        lambda t: {1: [t(location="new york"), t()]},
        ["no match", "match"],
        True,
    ),
    Vector("T2 receiver", SEND, lambda t: {3: [t(receiver="nobody_else")]}, ["match"], True),
    Vector("T3 twice", SEND, lambda t: {3: [t(), t()]}, ["match", "bad"], False),
    Vector("T4 empty message", SEND, lambda t: {3: [t(message=""), t()]}, ["error", "match"], True),
    Vector("T5 null message", SEND, lambda t: {3: [t(message=None)]}, ["bad"], False),
    Vector(
        "T6 address as text",
        "SendEmail-easy",
        lambda t: {5: [t(to=t().arguments["to"][0])]},
        ["error"],
        False,
    ),
    Vector(
        "T6 address twice", "SendEmail-easy", lambda t: {5: [t(to=t().arguments["to"] * 2)]}, ["match"], True
    ),
    Vector("T6 no address", "SendEmail-easy", lambda t: {5: [t(to=[])]}, ["bad"], False),
    Vector(
        "T7 extra description",
        "CreateEvent-easy",
        lambda t: {3: [t(description="words that nobody asked for")]},
        ["match"],
        True,
    ),
    Vector(
        "T8 unpadded", "CreateEvent-easy", lambda t: {3: [t(start_time="2023-9-15 20:00:00")]}, ["bad"], False
    ),
    Vector("T8 null location", "CreateEvent-easy", lambda t: {3: [t(location=None)]}, ["bad"], False),
    Vector(
        "T9 century",
        "QueryCalendar-easy",
        lambda t: {1: [t(start_time="2000-01-01 00:00:00", end_time="2100-01-01 00:00:00")]},
        ["match"],
        True,
    ),
    Vector("T9 all alarms", "FindAlarms-easy", lambda t: {1: [Call("FindAlarms")]}, ["match"], True),
    Vector(
        "T9 too late",
        "FindAlarms-easy",
        lambda t: {1: [Call("FindAlarms", {"start_range": "18:15:00"})]},
        ["no match"],
        False,
    ),
    Vector("T10 premature", LOGIN, lambda t: {1: [t()], 5: [t()]}, ["match", "bad"], False),
    Vector("T11 login twice", LOGIN, lambda t: {5: [t(), t()]}, ["match", "error"], True),
    Vector(
        "T14 failing calls",
        SEND,
        lambda t: {3: [Call("Foo"), Call("SendMessage", None), t(message=DROPPED), t(urgent=True)]},
        ["error", "error", "error", "error"],
        False,
    ),
    Vector("T14 bogus token", SEND, lambda t: {3: [t(session_token="bogus")]}, ["match"], True),
    Vector(
        "T14 token unasked",
        "CurrentWeather-easy",
        lambda t: {1: [t(session_token="bogus")]},
        ["error"],
        False,
    ),
    Vector("T17 without phone", "RegisterUser-easy", lambda t: {3: [t(phone=DROPPED)]}, ["bad"], False),
    Vector("T18 both keys", "QueryUser-easy", lambda t: {3: [t(username="zz")]}, ["match"], True),
    Vector(
        "T18 other key",
        "QueryUser-easy",
        lambda t: {3: [t(email=DROPPED, username="zz")]},
        ["no match"],
        False,
    ),
    Vector(
        "T19 name alone",
        "UpdateAccountInformation-easy",
        lambda t: {7: [t(new_email=DROPPED, new_phone_number=DROPPED, new_name="Vera"), t(new_name="Vera")]},
        ["error", "match"],
        True,
    ),
    Vector(
        "T20 gone",
        "DeleteAccount-easy",
        lambda t: {3: [t(), Call("GetAccountInformation")]},
        ["match", "error"],
        True,
    ),
    Vector(
        "T21 bad searches",
        "SearchInbox-easy",
        lambda t: {3: [Call("SearchInbox"), t(match_type="ANY")]},
        ["error", "error"],
        False,
    ),
    Vector(
        "T23 weather",
        "CurrentWeather-easy",
        lambda t: {
            1: [
                t(location="Boston"),
                Call("ForecastWeather", {"location": "San Francisco"}),
                Call("HistoricWeather", {"location": " LONDON ", "month": "January"}),
                Call("HistoricWeather", {"location": "London", "month": " January"}),
            ]
        },
        ["error", "error", "no match", "error"],
        False,
    ),
    Vector("T24 nothing", "CurrentWeather-easy", lambda t: {}, [], False),
]


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector.name)
def test_upstream_vector(vector: Vector, upstream_conversations: Any, play: Any) -> None:
    conversation = upstream_conversations[vector.conversation]
    played = play(conversation, vector.calls(truth(conversation)))
    assert [outcome(*pair) for pair in zip(played.calls, played.verdicts, strict=True)] == vector.outcomes
    metrics = played.metrics
    assert metrics.successes == vector.success
    assert metrics.ground_truths == 1
    assert metrics.predictions == len(vector.outcomes)
    assert metrics.matches == vector.outcomes.count("match")
    assert metrics.bad_actions == vector.outcomes.count("bad")


def test_t3_rates(upstream_conversations: Any, play: Any) -> None:
    true = truth(upstream_conversations[SEND])
    metrics = play(upstream_conversations[SEND], {3: [true(), true()]}).metrics
    assert (metrics.precision, metrics.recall, metrics.incorrect_action_rate) == (0.5, 1, 0.5)
    assert metrics.soft_success == 0.5


def test_t4_counts_failed_calls_as_actions(upstream_conversations: Any, play: Any) -> None:
    true = truth(upstream_conversations[SEND])
    metrics = play(upstream_conversations[SEND], {3: [true(message=""), true()]}).metrics
    assert (metrics.actions, metrics.valid_actions, metrics.action_precision) == (2, 1, 0.5)


def test_t7_attendees_are_an_ordered_list(upstream_conversations: Any, play: Any) -> None:
    conversation, number = next(
        (conversation, number)
        for _, conversation in sorted(upstream_conversations.items())
        for number, call in enumerate(conversation.ground_truth)
        if call.name == "CreateEvent" and len(call.arguments.get("attendees", ())) > 1
    )
    turn = list(conversation.ground_truth_positions())[number][0]
    true = truth(conversation, number)
    attendees = true().arguments["attendees"]
    for changed in (attendees[::-1], [*attendees, conversation.user.username]):
        played = play(conversation, {turn: [true(attendees=changed)]})
        assert outcome(played.calls[0], played.verdicts[0]) == "bad", changed
        fixed = play(conversation, {turn: [true(attendees=changed)]}, "default")
        assert fixed.verdicts[0].match, changed


def test_t12_a_second_login_has_another_token(upstream_conversations: Any, play: Any) -> None:
    conversation = upstream_conversations[LOGIN]
    true = truth(conversation)
    other = next(
        each.user
        for _, each in sorted(upstream_conversations.items())
        if each.user.session_token and each.user.username != conversation.user.username
    )
    wrong = Call("UserLogin", {"username": other.username, "password": other.password})
    played = play(conversation, {5: [wrong, Call("LogoutUser"), true()]})
    assert [outcome(*pair) for pair in zip(played.calls, played.verdicts, strict=True)] == ["bad"] * 3
    assert played.calls[0].response == {"session_token": "e149636f-d9ca-0792"}
    assert played.calls[2].response == {"session_token": "5c5373e0-fa69-84c3"}
    fixed = play(conversation, {5: [wrong, Call("LogoutUser"), true()]}, "default")
    assert [verdict.match for verdict in fixed.verdicts] == [False, False, True]


def test_t19_leaves_a_partial_write(upstream_conversations: Any, play: Any) -> None:
    conversation = upstream_conversations["UpdateAccountInformation-easy"]
    bad = truth(conversation)(new_email="new@mail.com", new_phone_number="123")
    played = play(conversation, {7: [bad, Call("GetAccountInformation")]})
    assert played.calls[0].exception is not None
    assert played.calls[1].response["user"]["email"] == "new@mail.com"


def test_t21_an_empty_query_finds_the_latest_five(upstream_conversations: Any, play: Any) -> None:
    conversation = upstream_conversations["SearchInbox-easy"]
    found = play(conversation, {3: [Call("SearchInbox", {"query": ""})]}).calls[0].response["emails"]
    assert len(found) == 5
    assert [email["date"] for email in found] == sorted((email["date"] for email in found), reverse=True)


def test_t24_divides_nothing_by_zero(upstream_conversations: Any, play: Any) -> None:
    metrics = play(upstream_conversations[SEND], {}).metrics
    assert (metrics.precision, metrics.recall, metrics.incorrect_action_rate) == (None, 0, None)


WRONG, FAILING, QUERY, RIGHT = "wrong text", "failing", "query", "right"
ERROR_VECTORS = [
    ("E1", {1: [WRONG, WRONG], 3: [RIGHT]}, (2, 0, 0)),
    ("E2", {}, (0, 1, 0)),
    ("E3", {3: [WRONG]}, (0, 0, 1)),
    ("E4", {3: [WRONG, WRONG]}, (0, 1, 0)),
    ("E5", {3: [WRONG, RIGHT]}, (0, 1, 0)),
    ("E6", {3: [FAILING, WRONG]}, (0, 1, 0)),
    ("E7", {3: [QUERY, WRONG]}, (0, 1, 0)),
    ("E8", {3: [QUERY, RIGHT]}, (0, 0, 0)),
    ("E9", {1: [FAILING]}, (0, 1, 0)),
    ("E10", {1: [QUERY]}, (0, 1, 0)),
    ("E11", {1: [RIGHT]}, (0, 0, 0)),
    ("E12", {1: [RIGHT], 3: [RIGHT]}, (0, 1, 0)),
]


@pytest.mark.parametrize(("name", "said", "expected"), ERROR_VECTORS, ids=[row[0] for row in ERROR_VECTORS])
def test_error_vector(
    name: str,
    said: dict[int, list[str]],
    expected: tuple[int, int, int],
    upstream_conversations: Any,
    play: Any,
) -> None:
    conversation = upstream_conversations[SEND]
    true = truth(conversation)
    calls = {
        WRONG: true(message="something else altogether"),
        FAILING: true(message=""),
        QUERY: Call("QueryUser", {"username": "zz"}),
        RIGHT: true(),
    }
    played = play(conversation, {turn: [calls[each] for each in row] for turn, row in said.items()})
    assert tuple(played.errors[kind] for kind in ErrorType) == expected


@pytest.mark.parametrize("mode", ["upstream", "default", "per-turn"])
def test_oracle_is_right_on_every_upstream_file(mode: str, upstream_conversations: Any, play: Any) -> None:
    for name, conversation in upstream_conversations.items():
        right = {index: [call.call for call in turn.calls] for index, turn in enumerate(conversation.turns)}
        right = {
            turn: [
                Call(c.name, {k: v for k, v in c.arguments.items() if k != "session_token"}) for c in calls
            ]
            for turn, calls in right.items()
        }
        played = play(conversation, right, mode)
        assert played.metrics.successes == 1, (name, [v.reason for v in played.verdicts if not v.match])
        assert played.metrics.precision == 1
        assert not played.errors
