"""Whatever JSON a model writes: no exception, a bounded error, and by default an untouched world."""

from typing import Any

import pytest
import small_world
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rig.core.calls import Call
from rig.plugins.tooltalk_tools import TOOLTALK
from rig.world.toolbox import Simulator

text = st.text(st.characters(exclude_categories=()), max_size=20)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3),
    max_leaves=8,
)
plausible = st.sampled_from(
    [
        *("mara", "theo", "pw-mara", "a@b", "555-555-5555", "07:30:00", "7:5:0", "2024-03-06 10:00:00"),
        *("2024-3-6 1:0:0", "2025-01-01 00:00:00", "meeting", "event", "any", "all", "Springfield", "March"),
        *("0001-0001", "00000001-0001", "00-0001", "123456", "xx mara yy"),
        *(["mara"], ["theo", "mara"], [], ["a@b"], {"mara": 1}, {"a@b": 1}, [["mara"]]),
        *(1, True, 1.0, 10**40, float("nan"), float("inf"), -0.0),
    ]
)


@st.composite
def calls(draw: st.DrawFn) -> Call:
    name = draw(st.sampled_from([*TOOLTALK.tools, "Foo", ""]))
    if draw(st.integers(0, 9)) == 0:
        return Call(name, draw(json_values))
    known = list(TOOLTALK.tools[name].parameters["properties"]) if name in TOOLTALK.tools else ["x"]
    values = plausible | json_values
    arguments = draw(st.fixed_dictionaries({}, optional=dict.fromkeys(known, values)))
    if draw(st.integers(0, 9)) == 0:
        arguments |= draw(st.dictionaries(st.sampled_from(["self", "world", "session_token"]) | text, values))
    return Call(name, arguments)


@pytest.mark.slow
@pytest.mark.parametrize("compat", [False, True], ids=["default", "upstream"])
@given(trail=st.lists(calls(), min_size=1, max_size=8), logged_in=st.booleans())
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_no_call_raises_and_a_failed_one_changes_nothing(
    compat: bool, trail: list[Call], logged_in: bool
) -> None:
    world = small_world.new_world()
    simulator = Simulator(world, TOOLTALK, upstream_compat=compat)
    (small_world.log_in if logged_in else small_world.log_out)(simulator)
    start = simulator.snapshot()
    outcomes = []
    for call in trail:
        before = world.dump()
        executed = simulator.execute(call)
        outcomes.append(executed.outcome)
        assert executed.name == call.name
        assert executed.exception is None or (executed.response is None and len(executed.exception) < 600)
        if executed.exception is not None and not compat:
            assert not executed.exception.startswith(f"{call.name} failed:"), executed
            assert world.dump() == before
    simulator.restore(start)
    assert repr([simulator.execute(call).outcome for call in trail]) == repr(outcomes)


def test_a_username_of_any_kind_upstream(upstream: Simulator) -> None:
    """Usernames are dictionary keys there: 1, 1.0 and true are one, lists are none."""
    small_world.log_out(upstream)
    new: dict[str, Any] = {"password": ["x"], "email": "a@b", "name": {"first": None}}
    token = small_world.respond(upstream, "RegisterUser", username=True, **new)["session_token"]
    assert small_world.fail(upstream, "RegisterUser", username=1, **new)
    user = small_world.respond(upstream, "GetAccountInformation")["user"]
    assert repr(user) == repr({"username": True, "email": "a@b", "phone": None, "name": {"first": None}})
    small_world.respond(upstream, "AddAlarm", time="07:00:00")
    assert repr(small_world.respond(upstream, "QueryUser", username=1.0)["users"][0]["username"]) == "1.0"
    small_world.respond(upstream, "LogoutUser")
    assert small_world.fail(upstream, "RegisterUser", username=1, **new)
    assert small_world.fail(upstream, "UserLogin", username=["mara"], password="x")
    assert small_world.respond(upstream, "UserLogin", username=1, password=["x"])["session_token"] == token
    assert len(small_world.respond(upstream, "FindAlarms")["alarms"]) == 1


@pytest.mark.parametrize("username", [None, 0, -0.0, "", 2.5, 10**30, "\ud800"])
def test_a_username_upstream_is_found_again(upstream: Simulator, username: Any) -> None:
    small_world.log_out(upstream)
    small_world.respond(upstream, "RegisterUser", username=username, password="x", email="a@b")
    small_world.respond(upstream, "AddReminder", task="x")
    small_world.respond(upstream, "LogoutUser")
    small_world.respond(upstream, "UserLogin", username=username, password="x")
    assert len(small_world.respond(upstream, "GetReminders")["reminders"]) == 1


@pytest.mark.parametrize("value", [5, True, ["x", {"y": None}], {"z": 1.0}, "null", '"x"', "\ud800", None])
def test_upstream_lists_what_it_was_given(upstream: Simulator, value: Any) -> None:
    small_world.respond(upstream, "AddReminder", task=value)
    task = small_world.respond(upstream, "GetReminders")["reminders"][-1]["task"]
    assert (task, type(task)) == (value, type(value))


@pytest.mark.parametrize("value", [5, True, ["x"], {}, None])
def test_by_default_it_is_refused(default: Simulator, value: Any) -> None:
    assert "task must be a string" in small_world.fail(default, "AddReminder", task=value)
