"""Whether two worlds hold the same, whatever ids their tools drew."""

import json

from rig.core import times
from rig.core.calls import Call
from rig.plugins.matching import worlds
from rig.plugins.matching.worlds import Differences, TableRecord
from rig.plugins.tooltalk_tools import TOOLTALK
from rig.world.toolbox import Simulator
from rig.world.world import Snapshot

START = times.read("2024-03-05 09:00:00", times.INSTANT)


def world(simulator: Simulator, *calls: Call) -> Snapshot:
    simulator.start(START, "", None)
    for call in calls:
        simulator.execute(call)
    return simulator.snapshot()


def registered(name: str) -> Call:
    given = {"username": name, "password": "secret12", "email": f"{name}@example.com"}
    return Call("RegisterUser", given)


def alarm(time: str) -> Call:
    return Call("AddAlarm", {"time": time})


def test_order_and_ids_do_not_matter_and_numbers_do() -> None:
    simulator = Simulator(TOOLTALK.world(), TOOLTALK)
    begin = registered("somebody_new")
    one = world(simulator, begin, alarm("07:00:00"), alarm("08:00:00"))
    other = world(simulator, begin, alarm("08:00:00"), alarm("07:00:00"))
    assert one != other
    assert not worlds.compare(simulator, one, other)
    more = world(simulator, begin, alarm("08:00:00"), alarm("07:00:00"), alarm("07:00:00"))
    found = worlds.compare(simulator, one, more)
    assert (len(found.missing), len(found.extra)) == (0, 1)
    assert found.lines == ('the world should not have alarms: username "somebody_new", time "07:00:00"',)
    assert worlds.compare(simulator, more, one).missing == found.extra


def test_who_is_logged_in_counts_and_the_token_does_not() -> None:
    simulator = Simulator(TOOLTALK.world(), TOOLTALK)
    begin = registered("somebody_new")
    here = world(simulator, begin)
    login = Call("UserLogin", {"username": "somebody_new", "password": "secret12"})
    again = world(simulator, begin, Call("LogoutUser", {}), login)
    assert here != again
    assert not worlds.compare(simulator, here, again)
    gone = world(simulator, begin, Call("LogoutUser", {}))
    assert {record.table for record in worlds.compare(simulator, here, gone).missing} == {"session", "users"}


def test_what_was_drawn_is_known() -> None:
    simulator = Simulator(TOOLTALK.world(), TOOLTALK)
    snapshot = world(simulator, registered("somebody_new"))
    before = worlds.drawn(simulator, snapshot)
    made = simulator.execute(alarm("07:00:00")).response
    assert made["alarm_id"] in worlds.drawn(simulator, simulator.snapshot()) - before


def test_long_texts_are_told_from_where_they_differ() -> None:
    texts = [json.dumps(f"{'a' * 500}{word}{'b' * 500}") for word in ("left", "right")]
    one, other = (TableRecord("notes", (("path", '"x"'), ("content", text))) for text in texts)
    lines = Differences((one,), (other,)).lines
    assert [len(line) < 250 for line in lines] == [True, True]
    assert 'should have notes: path "x", content …aaa' in lines[0]
    assert ("leftbbb" in lines[0], "rightbbb" in lines[1]) == (True, True)
    alone = Differences((one,), ()).lines[0]
    assert 'content "aaa' in alone
    assert len(alone) < 250
    short = TableRecord("notes", (("path", '"x"'), ("content", '"eggs"')))
    assert Differences((short,), ()).lines == ('the world should have notes: path "x", content "eggs"',)
