"""The card at the end of a run: it stays until it is dismissed."""

import json
import lzma
import math
import sqlite3
from contextlib import closing
from pathlib import Path
from threading import Event
from typing import Any

import pytest
import stored_runs
from patience import PATIENCE_S, eventually
from textual.pilot import Pilot

from rig.core.paths import DEMO
from rig.plugins.replay.player import Player
from rig.plugins.twins.notes import as_note
from rig.show.card import Card
from tui.app import RigApp
from tui.live.layout import plain
from tui.live.live_run import Replay
from tui.screens.pages import CardScreen
from tui.screens.run import LINGER_S, WatchScreen
from tui.text.lines import width_of
from tui.widgets.lines import Lines


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return stored_runs.write(tmp_path / "runs.sqlite")


def begin(store: Path, *, at_end: bool = False) -> WatchScreen:
    return WatchScreen(Replay(Player(store, "abcde", speed=math.inf, at_end=at_end, stay=True)))


async def card_of(pilot: Pilot[Any]) -> CardScreen:
    def is_there() -> bool:
        screen = pilot.app.screen
        return isinstance(screen, CardScreen) and screen.is_mounted and bool(screen.query("#card"))

    await eventually(is_there)
    screen = pilot.app.screen
    assert isinstance(screen, CardScreen)
    return screen


@pytest.fixture
def at_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    """The card does not come by itself while somebody presses its key, however slow the machine is."""
    monkeypatch.setattr("tui.screens.run.LINGER_S", 1e6)


async def asked_for(pilot: Pilot[Any], screen: WatchScreen) -> CardScreen:
    """The card, once the run has ended and its key is pressed."""
    await eventually(lambda: screen.state.finished)
    await pilot.press("C")
    return await card_of(pilot)


@pytest.mark.slow
@pytest.mark.parametrize("size", [(80, 24), (200, 60)], ids=str)
@pytest.mark.usefixtures("at_rest")
async def test_a_key_shows_it_and_enter_leads_back(store: Path, size: tuple[int, int]) -> None:
    screen = begin(store)
    async with RigApp(screen).run_test(size=size) as pilot:
        card = await asked_for(pilot, screen)
        await pilot.pause()
        text = plain(card.query_one("#card", Lines).lines)
        for said in ("run abcde", "> reference", "faults", "rig compare abcde"):
            assert said in text
        assert "enter read the run" in plain(card.query_one("#card-keys", Lines).lines)
        assert all(len(line) <= size[0] for line in text.splitlines() if "rig compare" not in line)
        await pilot.press("enter")
        await eventually(lambda: pilot.app.screen is screen)
        assert pilot.app.is_running


@pytest.mark.slow
@pytest.mark.parametrize("size", [(80, 24), (200, 60)], ids=str)
@pytest.mark.usefixtures("at_rest")
async def test_it_says_in_which_turns_a_server_answers_otherwise_and_why(
    store: Path, size: tuple[int, int]
) -> None:
    causes = [
        {"cause": kind, "detail": "tools\x1b[2J", "conversation": "c", "repeat": 0, "turn": turn}
        for kind, turn in (("prompt", 1), ("prompt", 3), ("chance", 3))
    ]
    told = {"reference": "a", "alike": 5, "follows": 0, "others": 0, "causes": causes}
    with closing(sqlite3.connect(store)) as database, database:
        notes = json.dumps({"attribution": as_note(told)})
        database.execute("UPDATE arms SET notes = ? WHERE position = 1", (notes,))
    screen = begin(store)
    async with RigApp(screen).run_test(size=size) as pilot:
        card = await asked_for(pilot, screen)
        assert "not faithful to a: 5 of 8 turns alike" in screen.state.arms[1].evidence
        await pilot.pause()
        lines = plain(card.query_one("#card", Lines).lines).splitlines()
    (row,) = (number for number, line in enumerate(lines) if "not faithful to a: 5 of 8" in line)
    assert lines[row + 1].split() == ["differing", "all", "turn", "1", "turn", "3"]
    assert lines[row + 2].split()[:4] == ["prompt", "2", "1", "1"]
    assert lines[row + 3].split()[:4] == ["chance", "1", "-", "1"]
    assert all(len(line) <= size[0] and "\x1b" not in line for line in lines if "rig compare" not in line)


@pytest.mark.slow
@pytest.mark.usefixtures("at_rest")
async def test_names_of_wide_characters_cut_nothing_off(store: Path) -> None:
    with closing(sqlite3.connect(store)) as database, database:
        database.execute("UPDATE arms SET name = ? WHERE position = 1", ("漢字" * 12,))
    screen = begin(store)
    async with RigApp(screen).run_test(size=(80, 24)) as pilot:
        shown = await asked_for(pilot, screen)
        await pilot.pause()
        lines = shown.query_one("#card", Lines).lines
        width = shown.query_one("#card", Lines).size.width
    assert all(width_of(line) <= width for line in lines)
    assert "".join(shown.card.text(width - 4).split()) in "".join(plain(lines).split())


@pytest.mark.slow
@pytest.mark.usefixtures("at_rest")
async def test_what_does_not_fit_is_scrolled_to(store: Path) -> None:
    screen = begin(store)
    async with RigApp(screen).run_test(size=(60, 10)) as pilot:
        shown = await asked_for(pilot, screen)
        card, keys = shown.query_one("#card", Lines), shown.query_one("#card-keys", Lines)
        await pilot.pause()
        assert plain(keys.lines).split() == ["j/k", "scroll", "enter", "read", "the", "run", "q", "leave"]
        assert (keys.region.bottom, keys.size.height, card.size.height) == (10, 1, 9)
        for key, line in (("down", 1), ("j", 2), ("up", 1), ("k", 0), ("k", 0)):
            await pilot.press(key)
            assert card.scroll_offset.y == line
        await pilot.press("escape")
        await eventually(lambda: pilot.app.screen is screen)


@pytest.mark.slow
@pytest.mark.usefixtures("at_rest")
async def test_the_keys_of_a_card_of_three_arms_are_in_sight(store: Path) -> None:
    """The demonstration's run, whose card is as high as the terminal."""
    store.write_bytes(lzma.decompress(DEMO.read_bytes()))
    screen = WatchScreen(Replay(Player(store, "latest", speed=math.inf, at_end=True, stay=True)))
    async with RigApp(screen).run_test(size=(80, 24)) as pilot:
        shown = await asked_for(pilot, screen)
        await pilot.pause()
        keys = shown.query_one("#card-keys", Lines)
        assert "enter read the run" in plain(keys.lines)
        assert 0 < keys.region.bottom <= 24
        assert keys.size.height == len(keys.lines)


@pytest.mark.slow
@pytest.mark.usefixtures("at_rest")
async def test_leaving_it_leaves_the_run(store: Path) -> None:
    screen = begin(store)
    async with RigApp(screen).run_test(size=(100, 30)) as pilot:
        await asked_for(pilot, screen)
        await pilot.press("q")
        await eventually(lambda: not pilot.app.is_running)


@pytest.mark.slow
async def test_it_comes_by_itself_once_a_run_that_was_watched_ends(store: Path) -> None:
    screen = begin(store)
    async with RigApp(screen).run_test(size=(100, 30)) as pilot:
        await card_of(pilot)
        await pilot.pause(LINGER_S)
        assert isinstance(pilot.app.screen, CardScreen)


@pytest.mark.slow
@pytest.mark.usefixtures("at_rest")
async def test_it_does_not_come_again_to_somebody_who_was_faster(store: Path) -> None:
    screen = begin(store)
    async with RigApp(screen).run_test(size=(100, 30)) as pilot:
        await asked_for(pilot, screen)
        await pilot.press("enter")
        await eventually(lambda: pilot.app.screen is screen)
        screen._end_unless_reading()
        await pilot.app.workers.wait_for_complete()
        assert pilot.app.screen is screen


@pytest.mark.slow
@pytest.mark.usefixtures("at_rest")
async def test_asked_for_twice_it_comes_once(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    of, began, first, made = Card.of, Event(), Event(), list[Card]()

    def slowly(*given: Any, **named: Any) -> Card:
        if not began.is_set():
            began.set()
            first.wait(PATIENCE_S)
        made.append(of(*given, **named))
        return made[-1]

    monkeypatch.setattr(Card, "of", slowly)
    screen = begin(store)
    async with RigApp(screen).run_test(size=(100, 30)) as pilot:
        await eventually(lambda: screen.state.finished)
        screen.action_card()
        await eventually(began.is_set)
        screen.action_card()
        await card_of(pilot)
        await pilot.press("enter")
        await eventually(lambda: pilot.app.screen is screen)
        first.set()
        await eventually(lambda: len(made) == 2)
        await pilot.pause(0.2)
        assert pilot.app.screen is screen


@pytest.mark.slow
async def test_it_does_not_come_over_somebody_who_reads(store: Path) -> None:
    screen = begin(store)
    async with RigApp(screen).run_test(size=(100, 30)) as pilot:
        screen.following = False
        while not screen.state.finished:
            await pilot.pause(0.05)
        await pilot.pause(LINGER_S + 0.5)
        assert pilot.app.screen is screen


@pytest.mark.slow
async def test_it_does_not_come_where_nothing_was_told(store: Path) -> None:
    screen = begin(store, at_end=True)
    async with RigApp(screen).run_test(size=(100, 30)) as pilot:
        while not screen.state.finished:
            await pilot.pause(0.05)
        await pilot.pause(LINGER_S + 0.5)
        assert pilot.app.screen is screen
