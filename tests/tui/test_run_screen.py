"""The run screen under a pilot: every key, and what is on the screen then."""

from collections.abc import Callable
from typing import Any

import pytest
from textual.binding import Binding
from textual.events import MouseScrollUp

from rig.core.events import (
    ArmFinished,
    ArmInfo,
    ArmReady,
    ArmStarted,
    ConversationStarted,
    Event,
    Notice,
    PieceGenerated,
    PromptRead,
    RunStarted,
    Speed,
    TurnStarted,
    Where,
)
from tui.app import RigApp
from tui.screens.pages import HelpScreen
from tui.screens.run import RunScreen
from tui.widgets.transcript import TranscriptView

Watch = Callable[[list[Event]], Any]


async def test_it_shows_the_run_as_it_is(watch: Watch, mid_run: list[Event]) -> None:
    watched = watch(mid_run)
    async with watched.app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        for text in (
            *("smollm2-135m", "run 20261121-101500-3f2a", "4/12"),
            *("+ AddAlarm", "# AddReminder", "! CurrentWeather", "> DeleteAlarm", "1/2", "all 12 | easy"),
            *("turn 2 of 2", "On second thoughts", "FindAlarms", "+ match", '"DeleteAlarm"', '"5bf'),
            *("[+] FindAlarms", "[ ] DeleteAlarm"),
        ):
            assert text in watched.screen, text
        for title, number in {
            "success": "50.0% 15-85",
            "recall": "50.0% 6-94",
            "precision": "57.1%",
            "incorrect actions": "20.0%",
            "decode tok/s": "66",
            "cached": "93.8%",
        }.items():
            assert watched.number(title).startswith(number), title


async def test_it_shows_how_far_the_beginning_of_all_prompts_is_read(watch: Watch, stream: Any) -> None:
    run = stream(conversations=3)
    watched = watch([*run.events, ArmStarted(0), PromptRead(0, 512, 3450)])
    async with watched.app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        assert "reading what every prompt begins with:   512 of 3,450 tokens (14%)" in watched.screen
        assert "reading the prompt, 14%" in watched.screen
        watched.tell([ArmReady(0, ArmInfo("qwen"), 70.0)])
        watched.run.catch_up()
        assert "waiting for the first turn" in watched.screen


@pytest.mark.slow
async def test_it_follows_what_happens_until_the_reader_moves(watch: Watch, stream: Any) -> None:
    run = stream(conversations=3)
    watched = watch(run.events)
    async with watched.app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        assert "waiting for the first turn" in watched.screen
        watched.tell([ConversationStarted(run.where(0))])
        watched.run.catch_up()
        assert watched.run.reading == run.where(0)
        await pilot.press("down")
        assert watched.run.reading == run.where(1)
        assert "not started yet" in watched.screen
        assert "reading" in watched.screen
        other = stream(conversations=3)
        other.success(2)
        watched.tell(other.events[3:])
        watched.run.catch_up()
        assert watched.run.reading == run.where(1)
        await pilot.press("f")
        assert "following" in watched.screen
        assert watched.run.reading == watched.run.state.current
        await pilot.press("f")
        assert "following" not in watched.screen


@pytest.mark.slow
@pytest.mark.parametrize(
    ("keys", "name"),
    [
        (["j"], "DeleteEvent-easy"),
        (["down", "down"], "ForecastWeather-easy"),
        (["k"], "CurrentWeather-easy"),
        (["up", "up"], "CreateEvent-easy"),
        (["g"], "AddAlarm-easy"),
        (["g", "k"], "AddAlarm-easy"),
        (["G"], "SendEmail-easy"),
        (["G", "j"], "SendEmail-easy"),
        (["x"], "AddReminder-easy"),
        (["x", "x"], "CurrentWeather-easy"),
        (["x", "x", "x"], "AddReminder-easy"),
        (["X"], "CurrentWeather-easy"),
        (["G", "x"], "AddReminder-easy"),
        (["g", "X"], "CurrentWeather-easy"),
    ],
)
async def test_keys_move_between_conversations(
    watch: Watch, mid_run: list[Event], keys: list[str], name: str
) -> None:
    watched = watch(mid_run)
    async with watched.app.run_test() as pilot:
        await pilot.pause()
        await pilot.press(*keys)
        assert watched.run.reading == Where(0, name)
        assert not watched.run.following


async def test_a_click_reads_a_conversation(watch: Watch, mid_run: list[Event]) -> None:
    watched = watch(mid_run)
    async with watched.app.run_test() as pilot:
        await pilot.pause()
        await pilot.click("#conversations", offset=(4, 1))
        assert watched.run.reading == Where(0, "AddReminder-easy")
        await pilot.click("#conversations", offset=(4, 19))
        assert watched.run.reading == Where(0, "AddReminder-easy")


@pytest.mark.slow
async def test_the_transcript_scrolls_by_key(watch: Watch, mid_run: list[Event]) -> None:
    watched = watch(mid_run)
    async with watched.app.run_test(size=(80, 16)) as pilot:
        await pilot.pause()
        await pilot.press("x")
        transcript = watched.run.query_one(TranscriptView)
        assert transcript.scroll_offset.y == 0
        await pilot.press("space")
        assert 0 < transcript.scroll_offset.y < transcript.max_scroll_y
        await pilot.press("b")
        assert transcript.scroll_offset.y == 0
        await pilot.press("end")
        assert transcript.at_end
        await pilot.press("pageup")
        assert not transcript.at_end
        await pilot.press("pagedown")
        assert transcript.at_end
        await pilot.press("home")
        assert transcript.scroll_offset.y == 0


async def test_a_stream_stays_in_sight_unless_the_reader_scrolled_away(
    watch: Watch, mid_run: list[Event]
) -> None:
    watched = watch(mid_run)
    async with watched.app.run_test(size=(80, 16)) as pilot:
        await pilot.pause()
        transcript = watched.run.query_one(TranscriptView)
        where = watched.run.state.current
        assert transcript.at_end

        def write() -> None:
            watched.tell([PieceGenerated(where, 3, 1, "word " * 40, 40, False)])
            watched.run.catch_up()

        write()
        await pilot.pause()
        assert transcript.at_end
        await pilot.press("home")
        write()
        await pilot.pause()
        assert transcript.scroll_offset.y == 0
        await pilot.press("f", "f")
        assert transcript.at_end


async def test_the_theme_changes(watch: Watch, mid_run: list[Event]) -> None:
    watched = watch(mid_run)
    async with watched.app.run_test() as pilot:
        seen = []
        for _ in range(3):
            await pilot.press("t")
            await pilot.pause()
            seen.append(watched.app.theme)
        assert seen == ["rig-light", "rig-terminal", "rig-dark"]


@pytest.mark.slow
async def test_help_lists_every_key_that_does_something(watch: Watch, mid_run: list[Event]) -> None:
    watched = watch(mid_run)
    async with watched.app.run_test(size=(100, 40)) as pilot:
        await pilot.press("question_mark")
        assert isinstance(watched.app.screen, HelpScreen)
        shown = "\n".join(row.does for _, rows in watched.app.screen.parts for row in rows)
        for binding in [*RunScreen.BINDINGS, *RigApp.BINDINGS]:
            assert isinstance(binding, Binding)
            assert binding.tooltip in shown
        await pilot.press("escape")
        assert watched.app.screen is watched.run


@pytest.mark.slow
async def test_it_is_resized_while_it_streams(watch: Watch, mid_run: list[Event]) -> None:
    watched = watch(mid_run)
    async with watched.app.run_test(size=(80, 24)) as pilot:
        where = watched.run.state.current
        for size in ((300, 100), (20, 5), (120, 40), (1, 1), (59, 12), (200, 60), (80, 24)):
            await pilot.resize_terminal(*size)
            watched.tell([PieceGenerated(where, 3, 1, "日本 word ", 2, False)])
            watched.run.catch_up()
            await pilot.pause()
        assert "日本 word" in watched.screen
        for line in watched.run.query_one(TranscriptView).lines:
            assert sum(len(text) for text, _ in line) <= 53


async def test_a_long_list_keeps_the_followed_conversation_in_sight(watch: Watch, stream: Any) -> None:
    run = stream(conversations=500)
    watched = watch([*run.events, ConversationStarted(run.where(450))])
    async with watched.app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        assert "|> Conversation438" in watched.screen


@pytest.mark.slow
async def test_a_resumed_run_counts_only_its_own_time(watch: Watch, stream: Any) -> None:
    run = stream(conversations=4)
    started = run.events[0]
    assert isinstance(started, RunStarted)
    resumed = RunStarted(started.run, started.store, started.arms, started.conversations, finished_turns=4)
    watched = watch([resumed])
    async with watched.app.run_test(size=(120, 24)) as pilot:
        await pilot.pause()
        where = run.start(2)
        watched.tell([ConversationStarted(where, 1), TurnStarted(where, 1, ("hi",), (), "")])
        watched.now = 100.0
        watched.run.catch_up()
        run.events.clear()
        run.end_turn(where, 1)
        watched.tell(run.events)
        watched.now = 110.0
        watched.run.catch_up()
        assert watched.number("left") == "0:30"


@pytest.mark.slow
async def test_notices_and_failures_of_arms_are_announced(watch: Watch, mid_run: list[Event]) -> None:
    watched = watch(mid_run)
    async with watched.app.run_test() as pilot:
        watched.tell([Notice("[b]skipped\x1b"), ArmFinished(0, {}, Speed(), {}, "out of memory")])
        await watched.until(lambda: len(watched.app._notifications) == 2)
        await pilot.pause()
        shown = {(one.message, one.severity) for one in watched.app._notifications}
        assert shown == {("[b]skipped\\e", "information"), ("out of memory", "error")}


async def test_the_wheel_scrolls_what_is_under_it(watch: Watch, mid_run: list[Event]) -> None:
    watched = watch(mid_run)
    async with watched.app.run_test(size=(80, 12)) as pilot:
        await pilot.pause()
        transcript = watched.run.query_one(TranscriptView)
        before = transcript.scroll_offset.y
        assert transcript.at_end
        await pilot._post_mouse_events([MouseScrollUp], transcript, offset=(3, 2))
        await pilot.pause()
        assert transcript.scroll_offset.y < before
