"""Reading a run: what is listed, searching, calls, and what can be taken away."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import small_talks

from rig.core.calls import Call, CallPlace, ExecutedCall, Outcome, Verdict
from rig.core.events import (
    CallJudged,
    Event,
    PieceGenerated,
    PredictionMade,
    Rejudged,
    Speed,
    TurnFinished,
    Where,
)
from rig.core.models import Prediction
from rig.methods.scripted import Scripted
from tui.live.layout import plain
from tui.screens.base import AskScreen
from tui.widgets.lists import ConversationGrid, ConversationList
from tui.widgets.transcript import Expectations, Title, TranscriptView

Watch = Callable[[list[Event]], Any]


def painted(lines: Any) -> str:
    """What is painted of a widget, marks and all."""
    return "\n".join("".join(part.text for part in lines.render_line(y)) for y in range(lines.size.height))


async def test_conversations_are_filtered(watch: Watch, mid_run: list[Event]) -> None:
    watched = watch(mid_run)
    async with watched.app.run_test() as pilot:
        await pilot.pause()
        listed = watched.run.query_one(ConversationList)
        await pilot.press("F")
        assert "failed 2 of 12" in watched.screen
        names = [line.split()[1] for line in plain(listed.lines).splitlines()]
        assert names == ["AddReminder", "CurrentWeather"]
        await pilot.press("F")
        assert "incorrect 1 of 12" in watched.screen
        await pilot.press("G")
        assert watched.run.reading == Where(0, "AddReminder-easy")
        await pilot.press("F")
        assert "all 12" in watched.screen
        assert len(listed.lines) == 12


async def test_a_click_changes_the_filter(watch: Watch, mid_run: list[Event]) -> None:
    watched = watch(mid_run)
    async with watched.app.run_test() as pilot:
        await pilot.pause()
        await pilot.click("#board-title")
        assert "failed 2 of 12" in watched.screen


async def test_a_filter_takes_in_what_happens(watch: Watch, stream: Any) -> None:
    run = stream(conversations=4)
    watched = watch(list(run.events))
    async with watched.app.run_test() as pilot:
        await pilot.press("F")
        assert "failed 0 of 4" in watched.screen
        start = len(run.events)
        run.failure(2)
        watched.tell(run.events[start:])
        watched.run.catch_up()
        assert "failed 1 of 4" in watched.screen


@pytest.mark.slow
async def test_conversations_are_a_list_a_grid_or_out_of_the_way(watch: Watch, mid_run: list[Event]) -> None:
    watched = watch(mid_run)
    async with watched.app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        narrow = watched.run.query_one(TranscriptView).size.width
        await pilot.press("v")
        await pilot.pause()
        grid = watched.run.query_one(ConversationGrid)
        assert plain(grid.lines).strip() == "+#+!>......."
        await pilot.click("#grid", offset=(2, 0))
        assert watched.run.reading == Where(0, "AddReminder-easy")
        await pilot.press("v")
        await pilot.pause()
        assert watched.run.query_one(TranscriptView).size.width == 80 > narrow
        await pilot.press("v")
        await pilot.pause()
        assert watched.run.query_one(TranscriptView).size.width == narrow


async def test_scrolling_away_leaves_following_and_the_end_does_not(
    watch: Watch, mid_run: list[Event]
) -> None:
    watched = watch(mid_run)
    async with watched.app.run_test(size=(80, 16)) as pilot:
        await pilot.pause()
        here = watched.run.reading
        await pilot.press("pageup")
        assert not watched.run.following
        assert watched.run.reading == here
        await pilot.press("f", "end")
        assert watched.run.following


@pytest.mark.slow
async def test_turns_are_gone_through(watch: Watch, mid_run: list[Event]) -> None:
    watched = watch(mid_run)
    async with watched.app.run_test(size=(80, 16)) as pilot:
        await pilot.press("x")
        transcript = watched.run.query_one(TranscriptView)
        await pilot.press("right_square_bracket")
        first = transcript.scroll_offset.y
        assert "turn 2 of 2" in painted(transcript).splitlines()[0]
        await pilot.press("left_square_bracket")
        assert transcript.scroll_offset.y < first


@pytest.mark.slow
async def test_words_are_searched_as_they_are_written(watch: Watch, mid_run: list[Event]) -> None:
    watched = watch(mid_run)
    async with watched.app.run_test(size=(80, 16)) as pilot:

        async def press(*keys: str) -> str:
            await pilot.press(*keys)
            await pilot.pause()
            return plain(watched.run.query_one(Title).lines)

        await press("x")
        assert "n" not in watched.app.screen.active_bindings
        assert "1 of 1" in await press("slash", *"FINDa")
        assert "1 of 2" in await press(*["backspace"] * 5, *"plumber")
        assert "1 of 2" in await press("enter")
        assert "2 of 2" in await press("n")
        assert "1 of 2" in await press("n")
        assert "2 of 2" in await press("N")
        assert "of 2" not in await press("escape")
        assert "not found" in await press("slash", *"zebra")
        assert "not found" not in await press("escape")
        assert "n" not in watched.app.screen.active_bindings


@pytest.mark.slow
async def test_a_search_looks_into_what_is_not_shown(watch: Watch, stream: Any) -> None:
    run = stream(conversations=1)
    where = run.start(0)
    run.turn(where, 1, "Find it.")
    long = ExecutedCall(Call("SearchInbox", {}), Outcome(["word " * 300 + "needle"]))
    run.call(where, 1, 0, long, Verdict(True, CallPlace(1, 0)))
    watched = watch(run.events)
    async with watched.app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        assert "needle" not in watched.screen
        await pilot.press("slash", *"needle", "enter")
        assert "needle" in painted(watched.run.query_one(TranscriptView))


@pytest.mark.slow
async def test_calls_are_chosen_shown_in_full_and_copied(watch: Watch, stream: Any) -> None:
    run = stream(conversations=1)
    where = run.start(0)
    run.turn(where, 1, "Find it.")
    run.call(where, 1, 0, ExecutedCall(Call("First", {"a": 1}), Outcome("x" * 900)), Verdict(False))
    run.call(where, 1, 1, ExecutedCall(Call("Second", {"b": [2, "ü"]}), Outcome("y" * 900)), Verdict(False))
    watched = watch(run.events)
    async with watched.app.run_test(size=(100, 30)) as pilot:
        await pilot.pause()
        transcript = watched.run.query_one(TranscriptView)
        short = len(transcript.lines)
        await pilot.press("c")
        assert json.loads(watched.copied.pop()) == {"name": "Second", "arguments": {"b": [2, "ü"]}}
        await pilot.press("r")
        both = len(transcript.lines)
        assert both > short
        await pilot.press("r")
        assert len(transcript.lines) == short
        await pilot.press("tab", "c")
        assert json.loads(watched.copied.pop()) == {"name": "First", "arguments": {"a": 1}}
        assert "|call        First" in painted(transcript)
        await pilot.press("r")
        assert short < len(transcript.lines) < both
        await pilot.press("tab", "c", "shift+tab", "shift+tab", "c")
        assert [json.loads(text)["name"] for text in watched.copied] == ["Second", "First"]
        assert "copied First, 54 characters" in watched.said


@pytest.mark.slow
async def test_a_click_chooses_a_call_and_another_shows_all_of_it(watch: Watch, stream: Any) -> None:
    run = stream(conversations=1)
    where = run.start(0)
    run.turn(where, 1, "Find it.")
    run.call(where, 1, 0, ExecutedCall(Call("First", {}), Outcome("x" * 900)), Verdict(False))
    watched = watch(run.events)
    async with watched.app.run_test(size=(100, 40)) as pilot:
        await pilot.pause()
        transcript = watched.run.query_one(TranscriptView)
        before = len(transcript.lines)
        await pilot.click("#transcript", offset=(20, 3))
        await pilot.pause()
        assert "|response" in painted(transcript)
        await pilot.click("#transcript", offset=(20, 3))
        await pilot.pause()
        assert len(transcript.lines) > before


@pytest.fixture
def stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Event]:
    """A run that is in a store beside it, in which every call is longer than the view keeps."""
    monkeypatch.chdir(tmp_path)

    def script(request: Any) -> Prediction:
        if request.key.step:
            return Prediction(raw="Done.", reply="Done.")
        return Prediction(raw="long", call=Call("AddAlarm", {"time": "é" * 9_000}))

    return small_talks.play(small_talks.plan(Path("runs.sqlite"), Scripted(script), repeats=2))


@pytest.mark.slow
async def test_a_call_that_is_too_long_is_copied_from_the_store(watch: Watch, stored: list[Event]) -> None:
    watched = watch(stored)
    async with watched.app.run_test(size=(100, 40)) as pilot:
        await pilot.press("g", "home", "c")
        await watched.until(lambda: watched.copied)
        assert json.loads(watched.copied[0])["arguments"] == {"time": "é" * 9_000}


@pytest.mark.slow
async def test_a_call_that_is_too_long_and_not_stored_is_not_copied_in_part(
    watch: Watch, stored: list[Event]
) -> None:
    where = Where(0, "elsewhere")
    call = Call("AddAlarm", {"time": "é" * 9_000})
    watched = watch([*stored, PredictionMade(where, 1, 0, Prediction(call=call))])
    async with watched.app.run_test(size=(100, 40)) as pilot:
        watched.run.read(where)
        await pilot.press("c")
        await watched.until(lambda: watched.said)
        assert not watched.copied


@pytest.mark.slow
@pytest.mark.parametrize(("key", "ending"), [("j", "json"), ("t", "txt"), ("p", "svg")])
async def test_a_conversation_is_written_to_a_new_file(
    watch: Watch, stored: list[Event], tmp_path: Path, key: str, ending: str
) -> None:
    taken = tmp_path / f"rig-abcde-alarms-2.{ending}"
    taken.write_text("mine")
    watched = watch(stored)
    async with watched.app.run_test(size=(100, 40)) as pilot:
        watched.run.read(Where(0, "alarms", 1))
        await pilot.press("w")
        assert isinstance(watched.app.screen, AskScreen)
        await pilot.press(key)
        await watched.until(lambda: f"wrote rig-abcde-alarms-2-2.{ending}" in watched.said)
    text = (tmp_path / f"rig-abcde-alarms-2-2.{ending}").read_text(encoding="utf-8")
    assert taken.read_text() == "mine"
    if ending == "json":
        assert json.loads(text)["turns"][1]["steps"][0]["call"]["arguments"] == {"time": "é" * 9_000}
    else:
        assert "AddAlarm" in text


@pytest.mark.slow
async def test_a_file_that_cannot_be_written_is_said_to_be(
    watch: Watch, stored: list[Event], tmp_path: Path
) -> None:
    watched = watch(stored)
    async with watched.app.run_test(size=(100, 40)) as pilot:
        (tmp_path / "runs.sqlite").unlink()
        await pilot.press("g", "w", "j")
        await watched.until(lambda: any("no such file" in said for said in watched.said))


async def test_what_is_no_longer_in_memory_is_read_from_the_store(watch: Watch, stored: list[Event]) -> None:
    watched = watch(stored)
    async with watched.app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        dropped = watched.run.state.conversations[Where(0, "alarms", 1)]
        assert dropped.transcript is not None
        before = [type(entry) for entry in dropped.transcript.entries]
        expected = dropped.expected
        dropped.transcript, dropped.dropped, dropped.expected = None, True, []
        watched.run.read(Where(0, "alarms", 1))
        await watched.until(lambda: "AddAlarm" in watched.screen)
        again, _ = watched.run.shown(Where(0, "alarms", 1))
        assert [type(entry) for entry in again.transcript.entries] == before
        assert again.expected == expected
        assert "x  AddAlarm missed" in plain(watched.run.query_one(Expectations).lines)


async def test_what_cannot_be_read_says_why(watch: Watch, stored: list[Event], tmp_path: Path) -> None:
    watched = watch(stored)
    async with watched.app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        (tmp_path / "runs.sqlite").write_text("no database")
        dropped = watched.run.state.conversations[Where(0, "alarms", 0)]
        dropped.transcript, dropped.dropped = None, True
        watched.run.read(Where(0, "alarms", 0))
        await watched.until(lambda: "not a database" in watched.screen)


@pytest.mark.slow
@pytest.mark.parametrize("width", [50, 80, 130])
async def test_the_ground_truth_is_shown_and_hidden_at_any_width(
    watch: Watch, mid_run: list[Event], width: int
) -> None:
    watched = watch(mid_run)
    async with watched.app.run_test(size=(width, 24)) as pilot:
        await pilot.pause()
        panel = watched.run.query_one(Expectations)
        assert panel.display == (width > 115)
        await pilot.press("e")
        await pilot.pause()
        assert panel.display == (width <= 115)
        await pilot.press("e")
        await pilot.pause()
        assert panel.display == (width > 115)


async def test_the_ground_truth_follows_a_call_that_makes_room(watch: Watch, stream: Any) -> None:
    run = stream(conversations=1)
    where = run.start(0)
    first, second = (ExecutedCall(Call("FindAlarms", {"n": n}), Outcome([n])) for n in (1, 2))
    run.turn(where, 1, "Which alarms?", first, second)
    run.call(where, 1, 0, first, Verdict(True, CallPlace(1, 0)))
    watched = watch(run.events)
    async with watched.app.run_test(size=(120, 24)) as pilot:
        await pilot.pause()
        panel = watched.run.query_one(Expectations)
        assert plain(panel.lines).count("[+]") == 1
        again = CallJudged(
            where,
            1,
            1,
            second,
            Verdict(True, CallPlace(1, 0)),
            (Rejudged(1, 0, Verdict(True, CallPlace(1, 1))),),
        )
        watched.tell([again])
        watched.run.catch_up()
        await pilot.pause()
        assert plain(panel.lines).count("[+]") == 2
        assert [line.split()[-1] for line in watched.screen.splitlines() if "+ match" in line] == ["2", "1"]


@pytest.mark.slow
async def test_a_long_conversation_stays_within_its_share_of_memory(watch: Watch, stream: Any) -> None:
    run = stream(conversations=1, turns=500)
    where = run.start(0)
    for turn in range(1, 1001, 2):
        run.turn(where, turn, f"Say it, number {turn}. " + "x" * 3_000)
        run.reply(where, turn, 0, "y" * 3_000)
        run.events.append(TurnFinished(where, turn, {}, Speed()))
    watched = watch(run.events)
    async with watched.app.run_test(size=(120, 24)) as pilot:
        await pilot.pause()
        transcript = watched.run.state.conversations[where].transcript
        assert transcript.weight <= 1_010_000
        assert "turn 500 of 500" in plain(watched.run.query_one(TranscriptView).lines)
        await pilot.press("home")
        assert "earlier turns are in the store" in watched.screen
        watched.tell([PieceGenerated(where, 1001, 0, "more", 1, False)])
        watched.run.catch_up()
        assert watched.run.query_one(TranscriptView).scroll_offset.y == 0


@pytest.mark.slow
async def test_what_is_typed_after_the_words_is_not_searched(watch: Watch, mid_run: list[Event]) -> None:
    watched = watch(mid_run)
    async with watched.app.run_test(size=(80, 16)) as pilot:
        await pilot.press("x", "slash", *"plumber")
        for key in ("enter", "t"):
            # As a terminal sends them: the second is there before the first has had its effect.
            watched.app.simulate_key(key)
        await watched.until(lambda: watched.app.theme == "rig-light")
        assert watched.run.page.term == "plumber"
