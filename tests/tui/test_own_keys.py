"""Keys that a user gives to actions in rig.toml: they work, and help and the bar at the bottom say so."""

import os
from pathlib import Path

from tui.app import RigApp
from tui.screens.base import RigScreen
from tui.widgets.keys import Section, display, remapped


async def test_an_action_has_the_key_that_the_user_gave_it() -> None:
    Path(os.environ["RIG_CONFIG"]).write_text('[keys]\nnext_theme = "f2"\n')
    app = RigApp(RigScreen[None]())
    async with app.run_test() as pilot:
        before = app.theme
        await pilot.press("t")
        assert app.theme == before
        await pilot.press("f2")
        assert app.theme != before


def test_help_shows_it() -> None:
    sections = remapped(RigApp.KEYS, {"next_theme": "f2"})
    shown = {binding.action: display(binding) for section in sections for binding in section.bindings}
    assert shown["next_theme"] == "f2"
    assert shown["help"] == "?"
    assert [section.title for section in sections] == [section.title for section in RigApp.KEYS]
    assert all(isinstance(section, Section) for section in sections)
