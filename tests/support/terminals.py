"""A real terminal for tests, by way of tmux."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

RIG = f"{sys.executable} -m rig"
PATIENCE_S = 120


class Terminal:
    """A shell in tmux."""

    def __init__(self, directory: Path) -> None:
        self._socket = str(directory / "tmux")
        # COLUMNS and LINES, which pytest-xdist sets, would stand for the size whatever the terminal says.
        ours = {"TMUX", "NO_COLOR", "COLUMNS", "LINES"}
        environment = {name: value for name, value in os.environ.items() if name not in ours}
        command = ["new-session", "-d", "-x", "80", "-y", "24", "-s", "rig", "sh"]
        self._tmux(*command, cwd=directory, env={**environment, "PS1": "$ ", "ENV": ""})

    def close(self) -> None:
        self._tmux("kill-server")

    def type(self, line: str) -> None:
        self._tmux("send-keys", "-t", "rig", "-l", line)
        self.press("Enter")

    def press(self, *keys: str) -> None:
        self._tmux("send-keys", "-t", "rig", *keys)

    def resize(self, width: int, height: int) -> None:
        self._tmux("resize-window", "-t", "rig", "-x", str(width), "-y", str(height))

    def screen(self, *, history: bool = False) -> str:
        """What is in sight, or all that ever was."""
        return self._tmux("capture-pane", "-p", "-t", "rig", *(("-S", "-") if history else ()))

    def wait(self, *texts: str, without: str | None = None) -> str:
        """The screen, once it shows all the texts, and not the one it is to be without."""
        deadline = time.monotonic() + PATIENCE_S
        while True:
            screen = self.screen()
            if all(text in screen for text in texts) and (without is None or without not in screen):
                return screen
            if time.monotonic() > deadline:
                lacks = "" if without is None else f" without {without!r}"
                pytest.fail(f"{texts}{lacks} did not appear on this screen:\n{screen}")
            time.sleep(0.05)

    def _tmux(self, *arguments: str, **options: object) -> str:
        command = ["tmux", "-S", self._socket, "-f", "/dev/null", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=True, **options)  # type: ignore[call-overload]
        return str(done.stdout)
