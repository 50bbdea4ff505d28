"""What the screens of stored runs look like, as pictures. After a wanted change: pytest --snapshot-update."""

import asyncio
import lzma
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import small_talks
import stored_runs
from patience import eventually
from textual.pilot import Pilot

from rig.core.events import Where
from rig.core.paths import DEMO
from rig.methods.scripted import Scripted
from rig.plugins.replay.player import Player
from rig.show import signs
from rig.show.card import Card
from rig.store import Runs
from tui.app import RigApp
from tui.live.layout import plain
from tui.live.live_run import Replay
from tui.screens.base import RigScreen
from tui.screens.conversation import ConversationScreen
from tui.screens.pages import CardScreen, TextScreen
from tui.screens.runs import RunsScreen
from tui.watch import TourScreen
from tui.widgets.lines import Lines

SIZES = [(120, 40), *(pytest.param(size, marks=pytest.mark.slow) for size in ((80, 24), (200, 60)))]


@pytest.fixture(autouse=True)
def _signs() -> None:
    signs.use(ascii_only=False)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path) -> Iterator[Path]:
    """Where the store is. Its path and the hour of a run are in the pictures."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path)
        patch.setenv("TZ", "UTC")
        time.tzset()
        yield tmp_path
    time.tzset()


@pytest.fixture
def store(folder: Path) -> Path:
    return stored_runs.write(Path("runs.sqlite"))


@pytest.fixture
def snap(snap_compare: Any) -> Callable[..., None]:
    """Compares a picture of a screen once it shows `wait`, and `until` holds after `keys` were pressed."""

    def compare(
        screen: RigScreen[None],
        *keys: str,
        wait: str,
        size: tuple[int, int] = (100, 30),
        theme: str = "rig-dark",
        until: Callable[[], object] = lambda: True,
    ) -> None:
        app = RigApp(screen)

        async def shows(text: str) -> None:
            await eventually(
                lambda: text in "\n".join(plain(widget.lines) for widget in app.screen.query(Lines))
            )

        def look() -> tuple[object, ...]:
            widgets = app.screen.query(Lines)
            return tuple((one.region, one.scroll_offset, plain(one.lines)) for one in widgets)

        async def settled(pilot: Pilot[Any]) -> None:
            """Wait until what is seen stays the same for several looks, however slow the machine is."""
            looks: list[object] = []
            while len(looks) < 5 or len(set(looks[-5:])) > 1:
                await asyncio.sleep(0.02)
                await pilot.pause()
                looks.append(look())

        async def run_before(pilot: Pilot[Any]) -> None:
            app.theme = theme
            await shows(wait)
            await settled(pilot)
            if isinstance(screen, ConversationScreen):
                while screen.reader is None or screen.reader.effects is None:
                    await asyncio.sleep(0.02)
            for key in keys:
                await pilot.press(key)
                await pilot.pause()
            await eventually(until)
            await settled(pilot)

        assert snap_compare(app, terminal_size=size, run_before=run_before)

    return compare


def conversation(store: Path, arm: int = 1) -> ConversationScreen:
    return ConversationScreen(store, "abcde", Where(arm, "alarms"))


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_a_step(snap: Callable[..., None], store: Path, size: tuple[int, int]) -> None:
    snap(conversation(store), "x", "x", wait="[1 story]", size=size)


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_tokens(snap: Callable[..., None], store: Path, size: tuple[int, int]) -> None:
    snap(conversation(store), "x", "x", "2", wait="[1 story]", size=size)


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_arms_side_by_side(snap: Callable[..., None], store: Path, size: tuple[int, int]) -> None:
    snap(conversation(store), "x", "a", wait="[1 story]", size=size)


def test_the_world(snap: Callable[..., None], store: Path) -> None:
    snap(conversation(store), "x", "4", wait="[1 story]")


def test_times_of_turns(snap: Callable[..., None], store: Path) -> None:
    snap(conversation(store), "5", wait="[1 story]")


def test_raw_text_without_colour(
    snap: Callable[..., None], store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    snap(conversation(store), "x", "3", wait="[1 story]")


def test_tokens_without_colour(
    snap: Callable[..., None], store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    snap(conversation(store), "x", "x", "2", wait="[1 story]")


@pytest.mark.parametrize("theme", ["rig-light", "rig-terminal"])
def test_themes(snap: Callable[..., None], store: Path, theme: str) -> None:
    snap(conversation(store), "x", "x", wait="[1 story]", theme=theme)


def test_a_narrow_terminal(snap: Callable[..., None], store: Path) -> None:
    snap(conversation(store), "j", "j", wait="1 of 3 calls", size=(40, 16))


def test_hostile_output(snap: Callable[..., None]) -> None:
    path = Path("runs.sqlite")
    small_talks.play(small_talks.plan(path, Scripted(small_talks.erratic)))
    stored_runs.stand_still(path)
    screen = ConversationScreen(path, "abcde", Where(0, "alarms"))
    snap(screen, "x", "x", "x", "x", wait="[1 story]", size=(120, 40))


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_runs(snap: Callable[..., None], store: Path, size: tuple[int, int]) -> None:
    hostile = "[red]first[/]\x1b[2J\u202e wide 日本語 name"
    small_talks.play(small_talks.plan(store, small_talks.oracle(), run="aaaaa", name=hostile))
    with closing(sqlite3.connect(store)) as database, database:
        database.execute("UPDATE runs SET finished = NULL WHERE id = 'aaaaa'")
        # The picture need not change with every version of the grader.
        database.execute("UPDATE scores SET grader_version = '7'")
    stored_runs.stand_still(store)
    screen = RunsScreen(store)
    snap(screen, "j", "space", wait="abcde", size=size, until=lambda: screen.run_list.marked)


def test_a_filter_being_written(snap: Callable[..., None], store: Path) -> None:
    snap(RunsScreen(store), "slash", "a", "r", "m", wait="run abcde")


@pytest.mark.slow
def test_deleting_is_confirmed(snap: Callable[..., None], store: Path) -> None:
    snap(RunsScreen(store), "d", wait="run abcde", size=(80, 24))


def test_a_text(snap: Callable[..., None]) -> None:
    text = "\n".join(f"line {number} of a table" + "  0.1" * 40 for number in range(50))
    snap(TextScreen("compare abcde", text), "pagedown", wait="line 1", size=(80, 24))


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("theme", ["rig-dark", "rig-light"])
def test_the_card_at_the_end_of_a_run(
    snap_compare: Any, store: Path, size: tuple[int, int], theme: str
) -> None:
    with Runs.open(store) as runs:
        card = Card.of(runs, "abcde")
    app = RigApp(TextScreen("behind", ""))

    async def run_before(pilot: Pilot[Any]) -> None:
        app.theme = theme
        await app.push_screen(CardScreen(card))
        await pilot.pause()

    assert snap_compare(app, terminal_size=size, run_before=run_before)


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.slow
def test_the_tour(snap: Callable[..., None], folder: Path, size: tuple[int, int]) -> None:
    demo = Path("demo.sqlite")
    demo.write_bytes(lzma.decompress(DEMO.read_bytes()))
    tour = TourScreen(Replay(Player(demo, "latest", speed=1e-9, stay=True)))
    snap(tour, "p", wait="reads the prompt", size=size)
