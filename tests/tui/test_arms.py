"""Several arms in one run: a bar for each, a column for each, and one turn side by side."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import counted
import pytest

from rig.core.errors import ErrorKind
from rig.core.events import ArmFinished, Event, Speed, Where
from tui.live.layout import plain
from tui.widgets.lists import ConversationList
from tui.widgets.meters import Arms, Meters
from tui.widgets.transcript import SideBySide

Watch = Callable[[list[Event]], Any]


async def test_each_arm_has_a_bar_and_its_numbers(watch: Watch, three_arms: list[Event]) -> None:
    watched = watch(three_arms)
    async with watched.app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        first, second, third = plain(watched.run.query_one(Arms).lines).splitlines()
        assert first.split()[:4] == ["1", "model-0", "++#!........", "4/12"]
        assert second.split()[:4] == ["|2", "model-1", "+##!>.......", "4/12"]
        assert third.split() == ["3", "model-2", "............", "0/12"]
        assert "success  50.0%" in first
        assert "incorrect actions  33.3%" in second
        watched.tell([ArmFinished(2, {}, Speed(), {}, "out of memory")])
        watched.run.catch_up()
        assert "out of memory" in plain(watched.run.query_one(Arms).lines)


@pytest.mark.parametrize("width", [60, 80, 100, 120, 200])
@pytest.mark.slow
async def test_the_numbers_of_arms_are_in_columns(watch: Watch, three_arms: list[Event], width: int) -> None:
    watched = watch(three_arms)
    async with watched.app.run_test(size=(width, 24)) as pilot:
        await pilot.pause()
        # One arm was cut off and is slow, one is fast; something is said about one of them.
        one, two, _ = watched.run.state.arms
        one.cuts, one.answers = Counter({"max_tokens": 3}), 4
        one.speed = Speed(completion_tokens=5, decode_s=2.0)
        two.speed, two.evidence = Speed(completion_tokens=9000, decode_s=2.0), "decided: a loss"
        watched.run.state.changes += 1
        watched.run.show_state()
        first, second, third = plain(watched.run.query_one(Arms).lines).splitlines()
        assert third.split() == ["3", "model-2", "............", "0/12"]
        assert first.index("success  50.0%") == second.index("success  37.5%")
        assert "decided: a loss" in second or width == 60
        titles = [title for title in ("incorrect actions", "cut", "tok/s") if title in first]
        assert [first.index(title) for title in titles] == [second.index(title) for title in titles]
        assert len(titles) == {60: 0, 80: 0, 100: 1, 120: 3, 200: 3}[width]
        assert all(len(line) <= width for line in (first, second, third))


@pytest.mark.parametrize("theme", ["rig-dark", "rig-light", "rig-terminal"])
async def test_without_colours_what_alarms_is_no_darker_than_other_values(
    watch: Watch, three_arms: list[Event], monkeypatch: pytest.MonkeyPatch, theme: str
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    watched = watch(three_arms)
    async with watched.app.run_test(size=(80, 24)) as pilot:
        watched.app.theme = theme
        await pilot.pause()
        meters = watched.run.query_one(Meters)
        other = meters.get_component_rich_style("tint--strong")
        for tint in ("failure", "error"):
            alarming = meters.get_component_rich_style(f"tint--{tint}")
            assert alarming.color == other.color
            assert alarming.bold
            assert not alarming.dim


async def test_the_narrowest_meters_keep_success_and_the_time_left(
    watch: Watch, three_arms: list[Event]
) -> None:
    watched = watch(three_arms)
    async with watched.app.run_test(size=(40, 12)) as pilot:
        await pilot.pause()
        titles, _ = plain(watched.run.query_one(Meters).lines).splitlines()
        assert titles.split() == ["success", "left"]


@pytest.mark.slow
async def test_an_arm_that_only_the_machine_has_failed_is_not_evaluated(watch: Watch, stream: Any) -> None:
    events = stream(3, arms=2)
    events.success(0)
    where = events.start(0, arm=1)
    for turn in (1, 3):
        events.turn(where, turn, "Wake me.")
        events.fail(where, turn, 0, ErrorKind.CONTEXT, "prompt has 1962 tokens", "")
        events.end_turn(where, turn)
    events.finish(where, counted.counts(1, 0, 0.0, 2, 2, 0, 0, 0, 0), {"context": 2})
    watched = watch(events.events)
    async with watched.app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        first, second = plain(watched.run.query_one(Arms).lines).splitlines()
        assert "success" in first
        assert "not evaluated" in second
        assert "%" not in second
        await pilot.press("]")
        meters = plain(watched.run.query_one(Meters).lines)
        assert "not evaluated" in meters
        assert "0.0%" not in meters.splitlines()[0]


async def test_a_conversation_is_a_row_with_the_differing_first(
    watch: Watch, three_arms: list[Event]
) -> None:
    watched = watch(three_arms)
    async with watched.app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        listed = watched.run.query_one(ConversationList)

        def rows() -> list[str]:
            return [" ".join(line.strip("|").split()) for line in plain(listed.lines).splitlines()]

        assert rows()[:4] == [
            "~ AddReminder + # .",
            "AddAlarm + + .",
            "CreateEvent # # .",
            "CurrentWeather ! ! .",
        ]
        await pilot.press("o")
        assert rows()[0] == "AddAlarm + + ."
        await pilot.press("F", "F", "F")
        assert "differing 1 of 12" in watched.screen


@pytest.mark.slow
async def test_keys_and_clicks_move_between_arms(watch: Watch, three_arms: list[Event]) -> None:
    watched = watch(three_arms)
    async with watched.app.run_test(size=(120, 40)) as pilot:
        await watched.until(lambda: watched.run.reading == Where(1, "DeleteAlarm-easy"))
        for key, arm in (("h", 0), ("left", 0), ("l", 1), ("right", 2), ("l", 2)):
            await pilot.press(key)
            assert watched.run.reading == Where(arm, "DeleteAlarm-easy")
        await pilot.press("g")
        assert watched.run.reading == Where(2, "AddReminder-easy")
        await pilot.click("#arms", offset=(5, 1))
        assert watched.run.reading == Where(1, "AddReminder-easy")
        width = watched.run.query_one(ConversationList).size.width
        await pilot.click("#conversations", offset=(width - 6, 2))
        assert watched.run.reading == Where(0, "CreateEvent-easy")
        await pilot.click("#conversations", offset=(5, 0))
        assert watched.run.reading == Where(0, "AddReminder-easy")


@pytest.mark.slow
async def test_failures_are_gone_through_arm_by_arm(watch: Watch, three_arms: list[Event]) -> None:
    watched = watch(three_arms)
    async with watched.app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        seen = []
        for _ in range(6):
            await pilot.press("x")
            seen.append((watched.run.reading.conversation, watched.run.reading.arm))
        assert seen == [
            ("AddReminder-easy", 1),
            ("CreateEvent-easy", 0),
            ("CreateEvent-easy", 1),
            ("CurrentWeather-easy", 0),
            ("CurrentWeather-easy", 1),
            ("AddReminder-easy", 1),
        ]


async def test_one_turn_stands_side_by_side(watch: Watch, three_arms: list[Event]) -> None:
    watched = watch(three_arms)
    async with watched.app.run_test(size=(120, 40)) as pilot:
        await pilot.press("x", "a")
        await pilot.pause()
        sides = watched.run.query_one(SideBySide)
        text = plain(sides.lines)
        assert "turn 2 of 2" in watched.screen
        assert "1 model-0 +" in text
        assert "2 model-1 #" in text
        assert "unexpected action" in text
        await pilot.press("left_square_bracket")
        assert "turn 1 of 2" in watched.screen
        assert "Which alarms do" in plain(sides.lines)
        await pilot.press("left_square_bracket")
        assert "turn 1 of 2" in watched.screen
        assert not {"c", "slash", "r"} & set(watched.app.screen.active_bindings)
        await pilot.press("a")
        await pilot.pause()
        assert "following" not in watched.screen
        assert "unexpected action" in watched.screen


async def test_as_many_arms_stand_side_by_side_as_fit(watch: Watch, stream: Any) -> None:
    run = stream(conversations=2, arms=9)
    for arm in range(9):
        run.failure(0, arm)
    watched = watch(run.events)
    async with watched.app.run_test(size=(80, 24)) as pilot:
        await pilot.press("x", "a")
        await pilot.pause()
        sides = watched.run.query_one(SideBySide)
        assert [name in plain(sides.lines) for name in ("model-0", "model-2", "model-3")] == [
            True,
            True,
            False,
        ]
        for _ in range(8):
            await pilot.press("l")
        assert [name in plain(sides.lines) for name in ("model-5", "model-6", "model-8")] == [
            False,
            True,
            True,
        ]
        assert watched.run.query_one(Arms).size.height == 6
        assert all(len(line) <= 80 for line in plain(sides.lines).splitlines())


@pytest.mark.slow
async def test_a_single_arm_has_no_keys_for_several(watch: Watch, mid_run: list[Event]) -> None:
    watched = watch(mid_run)
    async with watched.app.run_test() as pilot:
        await pilot.pause()
        assert not {"a", "h", "l", "o", "left", "right"} & set(watched.app.screen.active_bindings)
        assert not watched.run.query_one(Arms).display
