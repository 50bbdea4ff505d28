"""The tour: every key that it asks for is one of the screen, and pressing them all leads to its end."""

import lzma
from pathlib import Path

import pytest
from patience import eventually

from rig.core.paths import DEMO
from rig.plugins.replay.player import Player
from tui.app import RigApp
from tui.live.layout import plain
from tui.live.live_run import Replay
from tui.watch import STEPS, TourScreen
from tui.widgets.keys import display
from tui.widgets.lines import Lines


@pytest.fixture
def tour(tmp_path: Path) -> TourScreen:
    store = tmp_path / "demo.sqlite"
    store.write_bytes(lzma.decompress(DEMO.read_bytes()))
    return TourScreen(Replay(Player(store, "latest", speed=40.0, stay=True)))


def test_every_key_is_bound_and_written_as_in_the_help() -> None:
    bindings = [binding for section in (*TourScreen.KEYS, *RigApp.KEYS) for binding in section.bindings]
    for step in STEPS:
        found = [each for each in bindings if step.pressed in each.key.split(",")]
        assert found, step.key
        assert any(step.key in display(each).split() for each in found), step.key


def test_every_step_fits_into_a_terminal_of_80_cells() -> None:
    for step in STEPS:
        assert len(f" Press  {step.key}   {step.says}") <= 80
        assert len(step.then) + len(STEPS) + 4 <= 80


@pytest.mark.slow
async def test_each_key_leads_to_the_next_step(tour: TourScreen) -> None:
    async with RigApp(tour).run_test(size=(80, 24)) as pilot:
        while not tour.state.failures:
            await pilot.pause(0.05)
        for number, step in enumerate(STEPS):
            guide = plain(tour.query_one("#guide", Lines).lines)
            assert step.says in guide
            await pilot.press("U")  # another key leads nowhere
            assert tour.step == number
            await pilot.press(step.pressed)
            await eventually(lambda after=number + 1: tour.step == after)
            if tour.focused is not None:
                guide = plain(tour.query_one("#guide", Lines).lines)
                assert "end with enter" in guide
                assert STEPS[number + 1].says not in guide
                await pilot.press("a", "enter")
            for _ in range(200):
                if step.key not in ("enter", "C", "?") or pilot.app.screen is not tour:
                    break
                await pilot.pause(0.05)
            if pilot.app.screen is not tour:
                await pilot.press("escape")
            await eventually(lambda: pilot.app.screen is tour)
        tour.show_state()
        assert "That is all" in plain(tour.query_one("#guide", Lines).lines)
