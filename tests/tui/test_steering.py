"""Steering a run from its screen, leaving it, and what happens to the view when the run ends."""

from collections.abc import Callable
from typing import Any

import pytest

from rig.core.events import Event, Speed, TurnFinished, Where
from tui.screens.base import DETACH, AskScreen, QuitScreen
from tui.screens.run import LINGER_S

Watch = Callable[[list[Event]], Any]


async def test_pause_and_go_on(watch: Watch, mid_run: list[Event]) -> None:
    watched = watch(mid_run)
    async with watched.app.run_test() as pilot:
        await pilot.pause()
        await pilot.press("p")
        assert watched.control.is_paused
        assert "pausing" in watched.screen
        watched.tell([TurnFinished(Where(0, "DeleteAlarm-easy"), 3, {}, Speed())])
        watched.run.catch_up()
        assert "paused" in watched.screen
        assert watched.app.screen.active_bindings["p"].binding.description == "go on"
        await pilot.press("p")
        assert not watched.control.is_paused
        assert watched.app.screen.active_bindings["p"].binding.description == "pause"


@pytest.mark.slow
async def test_a_pause_does_not_make_the_rest_longer(watch: Watch, mid_run: list[Event]) -> None:
    watched = watch(mid_run[:3])
    async with watched.app.run_test(size=(170, 24)) as pilot:
        await pilot.pause()
        watched.tell(mid_run[3:-1])
        watched.run.catch_up()
        watched.now = 90.0
        watched.run.catch_up()
        left = watched.number("left")
        await pilot.press("p")
        watched.now = 1090.0
        watched.run.catch_up()
        assert watched.number("left") == left
        assert watched.number("time") == "18:10"
        await pilot.press("p")
        watched.tell(mid_run[-1:])
        watched.now = 1092.0
        watched.run.catch_up()
        assert abs(_seconds(left) - _seconds(watched.number("left"))) <= 5


def _seconds(left: str) -> int:
    minutes, _, seconds = left.split()[0].partition(":")
    return 60 * int(minutes) + int(seconds)


async def test_a_conversation_is_skipped(watch: Watch, mid_run: list[Event]) -> None:
    watched = watch(mid_run)
    async with watched.app.run_test() as pilot:
        await pilot.pause()
        await pilot.press("s")
        assert watched.control.take_skip(Where(0, "DeleteAlarm-easy"))
        await pilot.press("down", "s")
        assert watched.control.take_skip(Where(0, "DeleteEvent-easy"))
        assert watched.said == [
            f"{name} is left for a later resume" for name in ("DeleteAlarm-easy", "DeleteEvent-easy")
        ]
        await pilot.press("s", "s")
        assert watched.said[-1] == "DeleteEvent-easy is played after all"
        assert not watched.control.take_skip(Where(0, "DeleteEvent-easy"))
        await pilot.press("g")
        assert "s" not in watched.app.screen.active_bindings


async def test_stopping_asks_first(watch: Watch, mid_run: list[Event]) -> None:
    watched = watch(mid_run)
    async with watched.app.run_test() as pilot:
        await pilot.pause()
        await pilot.press("S")
        assert isinstance(watched.app.screen, AskScreen)
        assert "9 of 24 turns are stored" in watched.app.screen.question
        await pilot.press("escape")
        assert not watched.control.is_stopped
        await pilot.press("S", "s")
        assert watched.control.is_stopped
        assert not {"S", "p", "s"} & set(watched.app.screen.active_bindings)


@pytest.mark.slow
@pytest.mark.parametrize(
    "keys", [["q", "s"], ["q", "enter"], ["ctrl+c", "s"], ["ctrl+c", "ctrl+c"], ["ctrl+q", "s"]]
)
async def test_quitting_can_stop_the_run(watch: Watch, mid_run: list[Event], keys: list[str]) -> None:
    watched = watch(mid_run)
    async with watched.app.run_test() as pilot:
        await pilot.press(*keys)
        assert watched.control.is_stopped
        watched.run.catch_up()
        assert "stopping" in watched.screen
        assert watched.app.is_running
        watched.end()
        await watched.until(lambda: not watched.app.is_running)
    assert watched.app.return_value is None


@pytest.mark.parametrize("keys", [["q", "w"], ["q", "down", "enter"]])
@pytest.mark.slow
async def test_quitting_can_leave_the_run_going(watch: Watch, mid_run: list[Event], keys: list[str]) -> None:
    watched = watch(mid_run)
    async with watched.app.run_test() as pilot:
        await pilot.press(*keys)
        await watched.until(lambda: not watched.app.is_running)
    assert watched.app.return_value == DETACH
    assert not watched.control.is_stopped


@pytest.mark.slow
@pytest.mark.parametrize("keys", [["q", "c"], ["q", "escape"], ["q", "q"], ["q", "down", "down", "enter"]])
async def test_quitting_can_be_taken_back(watch: Watch, mid_run: list[Event], keys: list[str]) -> None:
    watched = watch(mid_run)
    async with watched.app.run_test() as pilot:
        await pilot.press(*keys)
        await watched.until(lambda: watched.app.screen is watched.run)
        assert watched.app.is_running
    assert not watched.control.is_stopped


@pytest.mark.slow
async def test_a_followed_run_that_is_stored_nowhere_ends_the_view_after_a_moment(
    watch: Watch, whole_run: list[Event]
) -> None:
    watched = watch(whole_run)
    watched.end()
    async with watched.app.run_test():
        await watched.until(lambda: "finished" in watched.screen)
        assert watched.app.is_running
        await watched.until(lambda: not watched.app.is_running)


@pytest.mark.slow
async def test_a_reader_may_stay_after_the_end(watch: Watch, whole_run: list[Event]) -> None:
    watched = watch(whole_run)
    async with watched.app.run_test() as pilot:
        await pilot.press("x")
        watched.end()
        await watched.until(lambda: "finished" in watched.screen)
        await pilot.pause(LINGER_S + 0.3)
        assert watched.app.is_running
        assert "p" not in watched.app.screen.active_bindings
        await pilot.press("q")
        await watched.until(lambda: not watched.app.is_running)
    assert watched.app.return_value is None


async def test_a_question_that_lost_its_reason_goes_away(watch: Watch, whole_run: list[Event]) -> None:
    watched = watch(whole_run)
    async with watched.app.run_test() as pilot:
        await pilot.press("q")
        assert isinstance(watched.app.screen, QuitScreen)
        watched.end()
        watched.run.catch_up()
        await watched.until(lambda: watched.app.screen is watched.run)


@pytest.mark.slow
async def test_a_run_that_breaks_off_ends_the_view_at_once(watch: Watch, mid_run: list[Event]) -> None:
    watched = watch(mid_run)
    async with watched.app.run_test() as pilot:
        await pilot.press("x")
        watched.end()
        await watched.until(lambda: not watched.app.is_running)
