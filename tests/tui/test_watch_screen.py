"""The run screen over a stored run: every key of a replay, and what is on the screen then."""

import math
import re
import sqlite3
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import pytest
import small_talks
from patience import PATIENCE_S, eventually
from textual.pilot import Pilot

from rig.core.models import Prediction, Request, Usage
from rig.methods.scripted import Scripted, replied
from rig.plugins.replay.player import Player
from rig.running.control import Control
from rig.show import signs
from rig.store import delete_run
from tui.app import RigApp
from tui.live.layout import plain
from tui.live.live_run import Replay, speed_text
from tui.screens.base import Alternative, AskScreen
from tui.screens.run import WatchScreen
from tui.screens.runs import RunsScreen
from tui.watch import TourScreen
from tui.widgets.lines import Lines


def slow(request: Request) -> Prediction:
    usage = Usage(prompt_tokens=9, completion_tokens=6, prefill_s=30.0, decode_s=30.0)
    return Prediction(raw=f"Good day {request.key.turn}.", reply=f"Good day {request.key.turn}.", usage=usage)


@pytest.fixture(autouse=True)
def _no_card(monkeypatch: pytest.MonkeyPatch) -> None:
    """The card at the end of a run, which comes when nobody presses a key in time, has tests of its own."""
    monkeypatch.setattr("tui.screens.run.LINGER_S", 3600)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A finished run of eight turns of a minute each."""
    path = tmp_path / "runs.sqlite"
    small_talks.play(small_talks.plan(path, Scripted(slow)))
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("UPDATE turns SET wall_s = 60")
    return path


class Seen:
    """A watch screen under a pilot."""

    def __init__(self, player: Player, pilot: Pilot[Any], screen: WatchScreen) -> None:
        self.player = player
        self.pilot = pilot
        self.screen = screen

    @property
    def text(self) -> str:
        return "\n".join(plain(widget.lines) for widget in self.screen.query(Lines))

    async def until(self, condition: Callable[[], object]) -> None:
        await eventually(condition, lambda: self.text)

    async def shows(self, *texts: str) -> None:
        await self.until(lambda: all(text in self.text for text in texts))

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)


@asynccontextmanager
async def seeing(player: Player, size: tuple[int, int] = (120, 40)) -> AsyncIterator[Seen]:
    screen = WatchScreen(Replay(player))
    app = RigApp(screen)
    async with app.run_test(size=size) as pilot:
        yield Seen(player, pilot, screen)


def played(seen: Seen) -> int:
    return seen.screen.state.turns_done


@pytest.mark.slow
async def test_a_stored_run_is_told_again(store: Path) -> None:
    async with seeing(Player(store, "abcde", speed=math.inf, stay=True)) as seen:
        await seen.shows("finished", "3/3", "turn 2 of 2", "Good day 4.", "recall", " 0.0%")
        await seen.until(lambda: seen.screen.state.finished)
        assert "pause" not in seen.text
        assert {one.status for one in seen.screen.state.conversations.values()} == {signs.FAILED}


async def test_what_comes_while_the_application_ends_paints_nothing(store: Path) -> None:
    class Late(WatchScreen):
        def on_unmount(self) -> None:
            super().on_unmount()
            self.show_state()

    app = RigApp(Late(Replay(Player(store, "abcde", at_end=True, stay=True))))
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()


@pytest.mark.slow
async def test_what_comes_after_a_screen_was_left_paints_nothing(store: Path) -> None:
    for screen in (WatchScreen, TourScreen):
        app = RigApp(RunsScreen(store))
        async with app.run_test(size=(120, 40)) as pilot:
            shown = screen(Replay(Player(store, "abcde", at_end=True, stay=True)))
            shown.show_state()
            await app.push_screen(shown)
            await pilot.pause()
            assert shown.is_shown
            app.pop_screen()
            await app.push_screen(AskScreen("Sure?", Alternative("y", "yes", "y")))
            await pilot.pause()
            shown.show_state()
            app.exit()
            shown.show_state()
            assert not shown.is_shown


@pytest.mark.slow
async def test_it_takes_its_time_and_says_how_long(store: Path) -> None:
    async with seeing(Player(store, "abcde", stay=True)) as seen:
        await seen.shows("replay 1x", "reads the prompt", "8:00")
        assert played(seen) == 0


async def test_speed_is_changed_by_keys(store: Path) -> None:
    async with seeing(Player(store, "abcde", stay=True)) as seen:
        await seen.shows("replay 1x")
        await seen.press("plus")
        await seen.shows("replay 2x")
        await seen.press("equals_sign")
        await seen.shows("replay 4x")
        await seen.press("minus", "minus", "minus")
        await seen.shows("replay 0.5x")
        assert played(seen) == 0


@pytest.mark.slow
async def test_a_paused_replay_says_at_once_how_long_it_takes_at_another_speed(store: Path) -> None:
    async with seeing(Player(store, "abcde", stay=True)) as seen:
        await seen.shows("reads the prompt", "8:00")
        await seen.press("p")
        await seen.shows("paused")
        await seen.press("plus")
        # A moment may have passed before it was paused.
        await seen.until(lambda: re.search(r"\b(4:00|3:5\d)\b", seen.text))


@pytest.mark.slow
async def test_it_is_paused_stepped_and_let_go_on(store: Path) -> None:
    async with seeing(Player(store, "abcde", stay=True)) as seen:
        await seen.shows("reads the prompt")
        await seen.press("p")
        await seen.shows("paused", "p go on")
        for turns in (1, 2, 3, 4):
            await seen.press("full_stop")
            await seen.until(lambda turns=turns: played(seen) == turns)  # type: ignore[misc]
        await seen.shows("paused")
        assert seen.screen.reading == seen.player.find("reminders")
        seen.player.set_speed(math.inf)
        await seen.press("p")
        await seen.shows("finished")


@pytest.mark.slow
async def test_one_goes_to_any_conversation_and_back(store: Path) -> None:
    async with seeing(Player(store, "abcde", stay=True)) as seen:
        await seen.shows("reads the prompt")
        await seen.press("p", "G", "s")
        await seen.shows("> login", "2/3")
        await seen.until(lambda: played(seen) == 6 and seen.screen.following)
        assert not seen.player.is_paused
        await seen.press("g")
        await seen.shows("Good day 1.")
        await seen.press("s")
        await seen.shows("> alarms", "0/3")
        assert played(seen) == 0
        seen.player.set_speed(math.inf)
        await seen.shows("finished")
        seen.player.set_speed(1.0)
        await seen.press("S")
        await seen.shows("> alarms", "0/3")


@pytest.mark.slow
async def test_one_goes_to_the_end_and_back(store: Path) -> None:
    async with seeing(Player(store, "abcde", stay=True)) as seen:
        await seen.shows("reads the prompt")
        await seen.press("p", "E")
        await seen.shows("finished")
        assert seen.player.is_over
        await seen.press("S")
        await seen.shows("> alarms", "0/3")


def test_the_help_of_a_replay_lists_no_role_to_play() -> None:
    titles = [section.title for section in WatchScreen.KEYS]
    assert titles == ["Replay", "Conversations", "Transcript"]


@pytest.mark.slow
async def test_leaving_ends_the_telling(store: Path) -> None:
    player = Player(store, "abcde", stay=True)
    async with seeing(player) as seen:
        await seen.shows("reads the prompt")
        await seen.press("q")
        await seen.until(lambda: player.is_stopped)
    assert seen.screen.replay.feed._closed


@pytest.mark.slow
async def test_a_run_in_progress_is_attached_to(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    go = threading.Semaphore(0)
    control = Control()

    def answer(request: Request) -> Prediction:
        assert go.acquire(timeout=PATIENCE_S)
        control.check()
        return replied(f"Good day {request.key.turn}.")

    todo = small_talks.plan(path, Scripted(answer))
    writing = threading.Thread(target=small_talks.play, args=(todo, control), daemon=True)
    writing.start()
    for _ in range(4):
        go.release()
    small_talks.wait_for(path, 4)
    async with seeing(Player(path, "abcde", stay=True)) as seen:
        await seen.shows("live", "x alarms", "> reminders", "1/3", "Good day 1.")
        assert played(seen) == 4
        go.release()
        await seen.shows("Good day 3.")
        control.stop()
        go.release()
        writing.join(PATIENCE_S)
        await seen.shows("interrupted")
        notices = seen.pilot.app._notifications
        await seen.until(lambda: any("rig run --resume abcde" in notice.message for notice in notices))


@pytest.mark.slow
async def test_who_comes_between_two_conversations_has_the_numbers_at_once(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    go, control = threading.Semaphore(3), Control()

    def answer(request: Request) -> Prediction:
        assert go.acquire(timeout=PATIENCE_S)
        control.check()
        return replied(f"Good day {request.key.turn}.")

    todo = small_talks.plan(path, Scripted(answer))
    writing = threading.Thread(target=small_talks.play, args=(todo, control), daemon=True)
    writing.start()
    small_talks.wait_for(path, 3)
    async with seeing(Player(path, "abcde", stay=True)) as seen:
        await seen.shows("live", "x alarms", "waiting for the next turn", "recall", "0.0% 0-100", "1/3")
        go.release()
        await seen.shows("> reminders", "Good day 1.")
        control.stop()
        go.release()
        writing.join(PATIENCE_S)


@pytest.mark.slow
async def test_a_store_that_goes_away_is_said_in_a_line(store: Path) -> None:
    player = Player(store, "abcde", stay=True)
    delete_run(store, "abcde")
    async with seeing(player) as seen:
        await seen.shows("cannot be read")
        assert "no run 'abcde'" in seen.screen.replay.failure_text
        await seen.until(lambda: len(seen.pilot.app._notifications) == 1)


def test_speeds_are_said_for_people() -> None:
    assert [speed_text(speed) for speed in (0.25, 1.0, 64.0, math.inf)] == ["0.25x", "1x", "64x", "max"]
