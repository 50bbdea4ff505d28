"""The runs screen under a pilot: every key of it, and what becomes of the store."""

import signal
import threading
from pathlib import Path
from typing import Any

import pytest
import small_talks
import stored_runs
from patience import PATIENCE_S
from stored_runs import seeing

from rig.core.events import TurnFinished, Where
from rig.core.models import Prediction, Request
from rig.methods.scripted import Scripted, replied
from rig.plugins.replay.player import Player
from rig.running.control import Control
from rig.running.runner import run as run_plan
from rig.store import Runs
from tui.app import RigApp
from tui.screens.base import AskScreen, Resume
from tui.screens.conversation import ConversationScreen
from tui.screens.pages import AdjudicationScreen, TextScreen
from tui.screens.run import WatchScreen
from tui.screens.runs import RunsScreen
from tui.widgets.lines import Lines


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Three runs: newest first one that was interrupted, one of two arms, one of the oracle."""
    path = tmp_path / "runs.sqlite"
    small_talks.play(small_talks.plan(path, small_talks.oracle(), run="aaaaa", name="[red]first[/]\x1b[2J"))
    stored_runs.write(path)
    control = Control()

    def stop(event: object) -> None:
        if isinstance(event, TurnFinished):
            control.stop()

    run_plan(small_talks.plan(path, small_talks.oracle(), run="begun"), stop, control)
    stored_runs.stand_still(path)
    return path


def ids(store: Path) -> list[str]:
    with Runs.open(store) as runs:
        return [run.id for run in runs.all()]


@pytest.mark.slow
async def test_runs_are_listed_with_the_numbers_of_the_one_at_the_cursor(store: Path) -> None:
    shown = RunsScreen(store)
    async with seeing(shown) as seen:
        await seen.shows("! begun", "= abcde", "= aaaaa", "[red]first[/]\\e[2J", "run begun", "1/8")
        assert "r resume" in seen.text
        await seen.press("down")
        await seen.shows("run abcde", "100.0% arm0, 0.0% arm1", "suite small", "graded by default")
        assert "r resume" not in seen.text
        await seen.press("k")
        await seen.shows("run begun")
        await seen.press("G")
        await seen.shows("run aaaaa")
        await seen.press("g", "j")
        await seen.shows("run abcde")


@pytest.mark.slow
async def test_a_run_is_opened_as_it_stands_and_left_again(store: Path) -> None:
    shown = RunsScreen(store)
    async with seeing(shown) as seen:
        await seen.shows("begun")
        await seen.press("j", "enter")
        await seen.until(lambda: isinstance(seen.app.screen, WatchScreen))
        await seen.shows("finished", "arm0", "arm1")
        assert not seen.app.screen.check_action("runs", ())
        await seen.press("x", "enter")
        await seen.until(lambda: isinstance(seen.app.screen, ConversationScreen))
        await seen.shows("run abcde", "[1 story]")
        await seen.press("q", "q")
        assert seen.app.screen is shown
        await seen.press("w")
        await seen.shows("replay 1x")
        await seen.press("q", "q")
        await seen.until(lambda: not seen.app.is_running)
    assert seen.app.return_value is None


@pytest.mark.slow
async def test_a_run_that_takes_long_to_read_holds_no_key_up(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    is_read = threading.Event()

    def read(*arguments: Any, **options: Any) -> Player:
        assert is_read.wait(PATIENCE_S)
        return Player(*arguments, **options)

    monkeypatch.setattr("tui.screens.runs.Player", read)
    shown = RunsScreen(store)
    async with seeing(shown) as seen:
        await seen.shows("begun")
        # A pilot takes a busy machine for an idle application, so each key is waited for.
        await seen.press("j")
        await seen.until(lambda: shown.run_list.place == 1)
        await seen.press("enter", "k")
        await seen.until(lambda: shown.run_list.place == 0)
        assert seen.app.screen is shown
        is_read.set()
        await seen.until(lambda: isinstance(seen.app.screen, WatchScreen))
        await seen.shows("run abcde")


@pytest.mark.parametrize("size", [(40, 12), (80, 24)], ids=str)
async def test_a_fault_of_a_store_is_shown_whole(tmp_path: Path, size: tuple[int, int]) -> None:
    gone = tmp_path / "runs.sqlite"
    for screen in (RunsScreen(gone), ConversationScreen(gone, "abcde", Where(0, "alarms", 0))):
        async with seeing(screen, size) as seen:
            await seen.until(lambda: "--runschoosesanother" in "".join(seen.text.split()))
            assert all(len(line) <= size[0] for line in seen.text.splitlines())


async def test_the_bar_names_no_key_that_writes_into_a_line(store: Path) -> None:
    shown = RunsScreen(store)
    async with seeing(shown) as seen:
        await seen.shows("begun", "/ filter")
        await seen.press("slash", "slash")
        await seen.until(lambda: "/ filter" not in seen.text)
        assert shown.run_list.term == "/"


@pytest.mark.slow
async def test_in_ascii_nothing_else_is_painted(store: Path) -> None:
    app = RigApp(RunsScreen(store))
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        for keys in ("y", "question_mark", "down", "escape", "d", "escape", "ctrl+p", "a", "escape"):
            await pilot.press(keys)
            await pilot.pause()
            strips = app.screen._compositor.render_strips()
            text = "".join(segment.text for strip in strips for segment in strip)
            assert text.isascii(), (keys, text)


async def test_unclear_texts_of_a_run_are_asked_about(store: Path) -> None:
    async with seeing(RunsScreen(store)) as seen:
        await seen.shows("begun")
        await seen.press("j", "u")
        await seen.until(lambda: isinstance(seen.app.screen, AdjudicationScreen))
        await seen.shows("unclear texts of run abcde")
        await seen.press("q")
        await seen.until(lambda: isinstance(seen.app.screen, RunsScreen))


@pytest.mark.slow
async def test_a_filter_is_written_kept_and_ended(store: Path) -> None:
    shown = RunsScreen(store)
    async with seeing(shown) as seen:
        await seen.shows("begun")
        assert not shown.check_action("end_filter", ())
        await seen.press("slash", *"arm1")
        await seen.shows("arm1: 1 of 3")
        assert [run.id for run in shown.run_list.visible] == ["abcde"]
        await seen.press("enter")
        assert seen.app.focused is None
        await seen.press("escape")
        await seen.until(lambda: len(shown.run_list.visible) == 3)
        await seen.press("slash", "q", "q")
        await seen.shows("no run matches")
        assert not shown.check_action("open", ())
        await seen.press("escape")
        await seen.until(lambda: len(shown.run_list.visible) == 3)


@pytest.mark.slow
async def test_an_interrupted_run_is_resumed_by_whoever_opened_the_view(store: Path) -> None:
    shown = RunsScreen(store)
    async with seeing(shown) as seen:
        await seen.shows("begun")
        assert shown.check_action("resume", ())
        await seen.press("r")
        await seen.until(lambda: not seen.app.is_running)
    assert seen.app.return_value == Resume("begun")
    shown = RunsScreen(store, may_resume=False)
    async with seeing(shown) as seen:
        await seen.shows("begun")
        assert not shown.check_action("resume", ())


async def test_a_run_is_deleted_once_that_was_confirmed(store: Path) -> None:
    shown = RunsScreen(store)
    async with seeing(shown) as seen:
        await seen.shows("begun")
        await seen.press("j", "d")
        assert isinstance(seen.app.screen, AskScreen)
        assert "Delete run abcde (two arms)" in seen.app.screen.question
        await seen.press("escape")
        assert ids(store) == ["begun", "abcde", "aaaaa"]
        await seen.press("d", "d")
        await seen.until(lambda: len(shown.run_list.runs) == 2)
        assert ids(store) == ["begun", "aaaaa"]
        assert seen.said == ["run abcde is deleted"]
        assert shown.run_list.run is not None
        assert shown.run_list.run.id == "aaaaa"


async def test_the_id_is_copied_and_the_numbers_are_scrolled(store: Path) -> None:
    shown = RunsScreen(store)
    async with seeing(shown, size=(80, 20)) as seen:
        await seen.shows("begun")
        await seen.press("j", "y")
        assert seen.copied == ["abcde"]
        page = shown.query_one("#page", Lines)
        await seen.press("pagedown")
        assert page.scroll_offset.y > 0
        await seen.press("j")
        assert page.scroll_offset.y == 0
        await seen.press("pagedown", "pageup")
        assert page.scroll_offset.y == 0


@pytest.mark.slow
async def test_the_mouse_chooses_and_opens(store: Path) -> None:
    shown = RunsScreen(store)
    async with seeing(shown) as seen:
        await seen.shows("begun")
        await seen.pilot.click("#runs", offset=(10, 2))
        assert shown.run_list.place == 1
        await seen.pilot.click("#runs", offset=(10, 3), times=2)
        await seen.until(lambda: isinstance(seen.app.screen, WatchScreen))


@pytest.mark.slow
async def test_what_others_store_and_leave_behind_is_taken_in(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    small_talks.play(small_talks.plan(path, small_talks.oracle(), run="aaaaa"))
    go, control = threading.Semaphore(0), Control()

    def answer(request: Request) -> Prediction:
        assert go.acquire(timeout=PATIENCE_S)
        control.check()
        return replied("Good day.")

    shown = RunsScreen(path)
    async with seeing(shown) as seen:
        await seen.shows("= aaaaa")
        todo = small_talks.plan(path, Scripted(answer))
        writing = threading.Thread(target=small_talks.play, args=(todo, control), daemon=True)
        writing.start()
        go.release()
        await seen.shows("> abcde", "1/8")
        assert shown.run_list.run is not None
        assert shown.run_list.run.id == "aaaaa"
        await seen.press("k")
        assert not shown.check_action("delete", ())
        await seen.press("enter")
        await seen.shows("live", "Good day.")
        await seen.press("q")
        control.stop()
        go.release()
        writing.join(PATIENCE_S)
        await seen.shows("! abcde")


async def test_a_store_without_runs_and_one_that_is_gone(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    small_talks.play(small_talks.plan(path, small_talks.oracle(), run="aaaaa"))
    shown = RunsScreen(path)
    async with seeing(shown) as seen:
        await seen.shows("= aaaaa")
        await seen.press("d", "d")
        await seen.shows("no run is stored yet; rig run makes one")
        assert not any(shown.check_action(name, ()) for name in ("open", "delete", "filter", "resume"))
    for each in tmp_path.glob("runs.sqlite*"):
        each.unlink()
    async with seeing(RunsScreen(path)) as seen:
        await seen.shows("no such file")


async def test_a_run_that_others_deleted_is_said(store: Path) -> None:
    shown = RunsScreen(store)
    async with seeing(shown) as seen:
        await seen.shows("begun")
        shown._delete("nope")
        await seen.until(lambda: seen.said)
        assert "run nope is not in" in seen.said[0]
        shown.store = store.with_name("gone.sqlite")
        await seen.press("enter")
        await seen.until(lambda: len(seen.said) == 2)
        assert "no such file" in seen.said[1]


@pytest.mark.slow
async def test_runs_are_compared_in_a_text_to_read(store: Path) -> None:
    shown = RunsScreen(store)
    async with seeing(shown, size=(60, 16)) as seen:
        await seen.shows("begun")
        await seen.press("j", "c")
        await seen.until(lambda: isinstance(seen.app.screen, TextScreen))
        await seen.shows("compare abcde", "baseline arm0")
        page = seen.app.screen.query_one("#page", Lines)
        for key in ("pagedown", "j", "end"):
            before = page.scroll_offset.y
            await seen.press(key)
            assert page.scroll_offset.y > before
        for key in ("k", "b", "pageup", "home"):
            before = page.scroll_offset.y
            await seen.press(key)
            assert page.scroll_offset.y < before or key == "home"
        await seen.press("G", "g", "space", "up", "down")
        await seen.press("home", "right")
        assert "baseline arm0" not in seen.text
        await seen.press("l", "left", "h", "left")
        await seen.shows("baseline arm0")
        await seen.press("c")
        assert "baseline arm0" in seen.copied[0]
        assert not seen.app.screen.check_action("match", (1,))
        await seen.press("slash", *"recall", "enter")
        await seen.shows("1 of 4")
        await seen.press("n")
        await seen.shows("2 of 4")
        await seen.press("N")
        await seen.shows("1 of 4")
        await seen.press("escape")
        assert isinstance(seen.app.screen, TextScreen)
        await seen.press("q")
        assert seen.app.screen is shown


@pytest.mark.slow
async def test_where_arms_part_is_a_text_to_read(store: Path) -> None:
    async with seeing(RunsScreen(store), size=(80, 24)) as seen:
        await seen.shows("begun")
        await seen.press("j", "p")
        await seen.until(lambda: isinstance(seen.app.screen, TextScreen))
        await seen.shows("compare abcde", "beside arm0", "the same calls in")


@pytest.mark.slow
async def test_what_is_compared_are_the_marked_runs(store: Path) -> None:
    shown = RunsScreen(store)
    async with seeing(shown) as seen:
        await seen.shows("begun")
        await seen.press("j", "space", "space")
        await seen.shows("2 marked", "*= abcde", "*= aaaaa")
        assert shown.run_list.marked == ["abcde", "aaaaa"]
        await seen.press("c")
        await seen.until(lambda: isinstance(seen.app.screen, TextScreen))
        await seen.shows("compare abcde aaaaa", "aaaaa/arm0")
        await seen.press("escape", "escape")
        assert shown.run_list.marked == []


async def test_what_cannot_be_compared_is_said(store: Path) -> None:
    shown = RunsScreen(store)
    async with seeing(shown) as seen:
        await seen.shows("begun")
        await seen.press("c")
        await seen.until(lambda: any("nothing to compare" in each for each in seen.said))
        assert shown.check_action("compare", ())


async def test_leaving_does_not_wait_for_a_comparison(store: Path) -> None:
    shown = RunsScreen(store)
    async with seeing(shown) as seen:
        await seen.shows("begun")
        await seen.press("c")
        comparing = shown._process
        assert comparing is not None
        assert not shown.check_action("compare", ())
        comparing._process.send_signal(signal.SIGSTOP)
        await seen.press("q")
        await seen.until(lambda: not seen.app.is_running)
    assert comparing._process.wait(PATIENCE_S) == -signal.SIGKILL
    assert seen.app.fault is None
