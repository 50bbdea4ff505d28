"""What is copied reaches the terminal, whatever is in it."""

import base64
from pathlib import Path

import pytest
import stored_runs

from tui.app import RigApp
from tui.screens.runs import RunsScreen


@pytest.mark.parametrize(
    ("text", "copied"), [("Grüße\n", "Grüße\n"), ("half \ud800 pair", "half \\ud800 pair")], ids=ascii
)
async def test_what_a_terminal_cannot_take_is_copied_as_an_escape(
    tmp_path: Path, text: str, copied: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = RigApp(RunsScreen(stored_runs.write(tmp_path / "runs.sqlite")))
    async with app.run_test():
        written: list[str] = []
        monkeypatch.setattr(app._driver, "write", written.append)
        app.copy_to_clipboard(text)
    assert base64.b64encode(copied.encode()).decode() in "".join(written)
