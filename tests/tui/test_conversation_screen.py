"""The conversation screen under a pilot: every key of it, and what is on the screen then."""

import json
import threading
from pathlib import Path

import pytest
import small_talks
import stored_runs
from patience import PATIENCE_S
from stored_runs import seeing

from rig.core.events import Where
from rig.core.models import Prediction, Request
from rig.methods.scripted import Scripted, called, replied
from rig.plugins.tooltalk.prompt import ToolTalkSettings
from rig.running.control import Control
from rig.store import delete_run
from tui.screens.conversation import ConversationScreen, Outline
from tui.screens.pages import HelpScreen
from tui.widgets.lines import Lines


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return stored_runs.write(tmp_path / "runs.sqlite")


def screen(store: Path, arm: int = 1, conversation: str = "alarms") -> ConversationScreen:
    return ConversationScreen(store, "abcde", Where(arm, conversation))


def chosen(shown: ConversationScreen) -> str:
    """The row at the cursor."""
    assert shown.reader is not None
    return shown.reader.row.text


async def test_it_opens_at_the_conversation_as_a_whole(store: Path) -> None:
    shown = screen(store)
    async with seeing(shown) as seen:
        await seen.shows("alarms", "arm1 (2 of 2)", "run abcde", "[1 story]", "# incorrect", "1 of 3 calls")
        assert "] turn" in seen.text
        assert seen.app.focused is None


@pytest.mark.slow
async def test_steps_turns_and_failures_are_gone_through(store: Path) -> None:
    shown = screen(store)
    async with seeing(shown) as seen:
        await seen.shows("conversation")
        for keys, row in (
            (("down",), "turn 1"),
            (("j",), "AddAlarm"),
            (("up",), "turn 1"),
            (("k",), "conversation"),
            (("right_square_bracket", "right_square_bracket"), "turn 2"),
            (("left_square_bracket",), "turn 1"),
            (("x",), "AddAlarm"),
            (("x",), "DeleteAlarm"),
            (("X",), "AddAlarm"),
            (("G", "k"), "FindAlarms"),
            (("g",), "conversation"),
        ):
            await seen.press(*keys)
            assert chosen(shown) == row
        await seen.press("x", "x")
        await seen.shows("unexpected action", "+ added     alarms")


@pytest.mark.slow
async def test_every_view_has_a_digit_and_tab_goes_round(store: Path) -> None:
    shown = screen(store)
    async with seeing(shown) as seen:
        await seen.shows("conversation")
        await seen.press("x", "x")
        for key, text in (
            ("2", "forced by the grammar"),
            ("3", "as generated"),
            ("4", "id_generators"),
            ("5", "1,985 of them from the cache"),
            ("6", "arm0"),
            ("1", "expected"),
        ):
            await seen.press(key)
            await seen.shows(f"[{key} ", text)
        await seen.press("tab")
        await seen.shows("[2 tokens]")
        await seen.press("shift+tab", "shift+tab")
        await seen.shows("[6 arms]", '"07:00:00"', '"09:00:00"')
        await seen.press("1", "a")
        await seen.shows("[6 arms]")


@pytest.mark.slow
async def test_other_arms_and_conversations_are_a_key_away(store: Path) -> None:
    shown = screen(store)
    async with seeing(shown) as seen:
        await seen.shows("arm1 (2 of 2)")
        await seen.press("x", "x")
        await seen.press("left")
        await seen.shows("arm0 (1 of 2)", "+ match")
        assert chosen(shown) == "AddAlarm"
        await seen.press("l")
        await seen.shows("arm1 (2 of 2)", "unexpected action")
        await seen.press("h", "right")
        await seen.shows("arm1 (2 of 2)")
        await seen.press("right_curly_bracket")
        await seen.shows("reminders")
        assert chosen(shown) == "conversation"
        await seen.press("right_curly_bracket")
        await seen.shows("login")
        assert not seen.app.screen.check_action("neighbour", (1,))
        await seen.press("left_curly_bracket")
        await seen.shows("reminders")


@pytest.mark.slow
async def test_a_page_is_scrolled_and_a_step_copied(store: Path) -> None:
    shown = screen(store)
    async with seeing(shown, size=(80, 12)) as seen:
        await seen.shows("conversation")
        assert not shown.check_action("copy", ())
        await seen.press("x", "x")
        await seen.shows(" x missed")
        page = shown.query_one("#page", Lines)
        await seen.press("pagedown")
        first = page.scroll_offset.y
        assert first > 0
        await seen.press("b")
        assert page.scroll_offset.y == 0
        await seen.press("end")
        assert page.at_end
        await seen.press("home")
        assert page.scroll_offset.y == 0
        await seen.press("space", "pageup")
        assert page.scroll_offset.y == 0
        await seen.press("c")
        copied = json.loads(seen.copied[0])
        assert (copied["name"], copied["verdict"]["bad_action"]) == ("AddAlarm", True)
        assert seen.said == [f"copied step 1, {len(seen.copied[0]):,} characters"]
        await seen.press("j", "j", "c")
        assert json.loads(seen.copied[1]) == {"reply": "It is set for nine."}
        await seen.press("j", "j", "c")
        assert json.loads(seen.copied[2])["error"] == "truncated"


async def test_a_conversation_whose_folder_is_gone_is_not_opened(store: Path) -> None:
    async with seeing(screen(store)) as seen:
        await seen.shows("conversation")
        await seen.press("O")
        await seen.until(lambda: seen.said)
        assert seen.said == ["small: the conversations of run abcde are no longer there"]


def long_winded(request: Request) -> Prediction:
    return replied("word " * 4_000)


@pytest.mark.slow
async def test_long_texts_are_shown_whole_when_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    small_talks.play(small_talks.plan(path, Scripted(long_winded)))
    shown = screen(path, arm=0)
    async with seeing(shown) as seen:
        await seen.shows("conversation")
        await seen.press("j", "j")
        await seen.shows("16,000 more characters")
        await seen.press("r")
        await seen.until(lambda: "more characters" not in seen.text)
        assert len(shown.query_one("#page", Lines).lines) > 150
        await seen.press("r")
        await seen.shows("16,000 more characters")


async def test_the_mouse_picks_rows_and_views(store: Path) -> None:
    shown = screen(store)
    async with seeing(shown) as seen:
        await seen.shows("conversation")
        await seen.pilot.click(Outline, offset=(8, 2))
        assert chosen(shown) == "AddAlarm"
        await seen.pilot.click("#tabs", offset=(12, 0))
        await seen.shows("[2 tokens]", "grammar")


async def test_help_leaving_and_a_narrow_terminal(store: Path) -> None:
    shown = screen(store)
    async with seeing(shown, size=(50, 16)) as seen:
        await seen.shows("1 of 3 calls")
        assert not shown.query_one(Outline).display
        await seen.press("question_mark")
        assert isinstance(seen.app.screen, HelpScreen)
        does = [row.does for _, rows in seen.app.screen.parts for row in rows]
        assert "tokens: how likely each was, or that it was forced" in does
        await seen.press("escape")
        await seen.pilot.resize_terminal(120, 40)
        await seen.until(lambda: shown.query_one(Outline).lines)
        await seen.press("escape")
        await seen.until(lambda: not seen.app.is_running)


async def test_a_run_that_is_gone_is_said_in_a_line(store: Path) -> None:
    delete_run(store, "abcde")
    async with seeing(screen(store)) as seen:
        await seen.shows("no run 'abcde'")
        assert not seen.app.screen.check_action("move", (1,))
        await seen.press("q")
        await seen.until(lambda: not seen.app.is_running)


async def test_a_world_that_cannot_be_had_does_not_hide_the_rest(store: Path) -> None:
    (store.parent / "databases" / "Alarm.json").write_text("{")
    async with seeing(screen(store)) as seen:
        await seen.shows("conversation")
        await seen.press("x", "x")
        await seen.shows("unexpected action")
        await seen.press("4")
        await seen.shows("not JSON")


@pytest.mark.slow
async def test_turns_appear_while_the_conversation_is_played(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    go, control = threading.Semaphore(0), Control()

    def answer(request: Request) -> Prediction:
        assert go.acquire(timeout=PATIENCE_S)
        return replied(f"Good day {request.key.turn}.")

    todo = small_talks.plan(path, Scripted(answer))
    writing = threading.Thread(target=small_talks.play, args=(todo, control), daemon=True)
    writing.start()
    go.release()
    small_talks.wait_for(path, 1)
    shown = screen(path, arm=0)
    async with seeing(shown) as seen:
        await seen.shows("= Good day 1.", ". turn 2", "1 of 3 turns are played")
        await seen.press("G")
        assert chosen(shown) == "turn 3"
        go.release()
        await seen.shows("= Good day 3.")
        assert chosen(shown) == "turn 3"
        control.stop()
        go.release()
        writing.join(PATIENCE_S)


def talkative(request: Request) -> Prediction:
    if request.key.step < 40:
        return called("FindAlarms", {"start_range": "00:00:00", "end_range": f"{request.key.step:02}:00:00"})
    return replied("That is all.")


@pytest.mark.slow
async def test_a_long_conversation_is_gone_through_without_delay(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    settings = ToolTalkSettings(max_calls=50)
    small_talks.play(small_talks.plan(path, Scripted(talkative), settings=settings))
    shown = screen(path, arm=0)
    async with seeing(shown, size=(80, 24)) as seen:
        await seen.shows("conversation")
        outline = shown.query_one(Outline)
        assert len(outline.lines) == 1 + 3 * 42
        await seen.press("G")
        assert outline.scroll_offset.y == len(outline.lines) - outline.size.height
        await seen.press("g")
        assert outline.scroll_offset.y == 0
        await seen.press(*["j"] * 30)
        assert 30 < outline.scroll_offset.y + outline.size.height <= 34
        top = outline.scroll_offset.y
        # The wheel leads away, and what is read anew does not lead back.
        outline.scroll_to(y=60, animate=False)
        shown.show_state()
        await seen.pilot.pause()
        assert outline.scroll_offset.y == 60 != top
        await seen.press("k")
        assert outline.scroll_offset.y < 30


@pytest.mark.slow
async def test_words_are_searched_in_a_page(store: Path) -> None:
    shown = screen(store)
    async with seeing(shown, size=(80, 12)) as seen:
        await seen.shows("conversation")
        assert not shown.check_action("match", (1,))
        await seen.press("x", "slash", *"addalarm")
        await seen.shows("1 of 3")
        await seen.press("enter", "n")
        await seen.shows("2 of 3")
        assert shown.page.scroll_offset.y > 0
        painted = [shown.page.render_line(y) for y in range(shown.page.size.height)]
        assert any("AddAlarm" in strip.text for strip in painted)
        await seen.press("n", "n")
        await seen.shows("1 of 3")
        await seen.press("N")
        await seen.shows("3 of 3")
        await seen.press("3")
        await seen.shows("2 of 2")
        await seen.press("escape")
        await seen.until(lambda: not shown.page.term)
        assert seen.app.screen is shown
        await seen.press("slash", *"zzz")
        await seen.shows("not found")
        await seen.press("escape")
        await seen.until(lambda: not shown.page.term)


@pytest.mark.slow
async def test_what_is_read_is_written_to_files(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(store.parent)
    shown = screen(store)
    async with seeing(shown) as seen:
        await seen.shows("conversation")
        await seen.press("x", "w", "escape")
        for key, ending in (("j", "json"), ("t", "txt"), ("p", "svg")):
            await seen.press("w", key)
            name = f"rig-abcde-alarms-arm2.{ending}"
            await seen.until(lambda name=name: f"wrote {name}" in seen.said)  # type: ignore[misc]
        written = json.loads((store.parent / "rig-abcde-alarms-arm2.json").read_text())
        assert written["turns"][1]["steps"][0]["verdict"]["bad_action"] is True
        page = (store.parent / "rig-abcde-alarms-arm2.txt").read_text()
        assert "unexpected action" in page
        assert "\x1b" not in page
        assert (store.parent / "rig-abcde-alarms-arm2.svg").read_text().startswith("<svg")
        monkeypatch.setattr("tui.screens.conversation.write_new", _full)
        await seen.press("w", "j")
        await seen.until(lambda: any("cannot write: " in each for each in seen.said))


def _full(*_: object) -> Path:
    raise OSError("No space left on device")
