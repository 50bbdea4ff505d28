"""Make the pictures in docs/reference/screens of a store: exported from the application itself.

    .venv/bin/python docs/stored_pictures.py FILE RUN CONVERSATION [--turn N] [--step N]

RUN needs two arms; the pictures are of CONVERSATION in the first one, of step N of its turn N (from 1).
"""

import argparse
import asyncio
import os
import time
from collections.abc import Sequence
from pathlib import Path

from rig.core.events import Where
from rig.store import Runs
from tui.app import RigApp
from tui.live.layout import plain
from tui.screens.base import RigScreen
from tui.screens.conversation import ConversationScreen
from tui.screens.runs import RunsScreen
from tui.widgets.lines import Lines

FOLDER = Path(__file__).resolve().parent / "screens"
SIZE = (116, 32)
PATIENCE_S = 60


async def take(name: str, screen: RigScreen[None], wait: Sequence[str], keys: Sequence[str] = ()) -> None:
    """Write a picture of a screen once it shows the texts of `wait` and keys were pressed."""
    app = RigApp(screen)
    async with app.run_test(size=SIZE) as pilot:
        deadline = time.monotonic() + PATIENCE_S
        while not all(text in _text(app) for text in wait):
            if time.monotonic() > deadline:
                raise SystemExit(f"{name}: {wait} did not appear")
            await asyncio.sleep(0.05)
        for key in keys:
            await pilot.press(key)
        # What is worked out or read in the background.
        await asyncio.sleep(1.0)
        await pilot.pause()
        (FOLDER / f"{name}.svg").write_text(app.export_screenshot(), encoding="utf-8")
    print(f"wrote {FOLDER / name}.svg")


def _text(app: RigApp) -> str:
    return "\n".join(plain(widget.lines) for widget in app.screen.query(Lines))


async def main(store: Path, run: str, conversation: str, turn: int, step: int) -> None:
    """Take all pictures."""
    with Runs.open(store) as runs:
        run = runs.get(run).id

    def reading() -> ConversationScreen:
        return ConversationScreen(store, run, Where(0, conversation))

    here = ["right_square_bracket"] * turn + ["j"] * step
    await take("conversation", reading(), ["[1 story]"], here)
    await take("tokens", reading(), ["[1 story]"], [*here, "2"])
    await take("arms", reading(), ["[1 story]"], [*here, "6"])
    await take("runs", RunsScreen(store), [f"run {run}"])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("store", type=Path)
    parser.add_argument("run")
    parser.add_argument("conversation")
    parser.add_argument("--turn", type=int, default=1)
    parser.add_argument("--step", type=int, default=1)
    arguments = parser.parse_args()
    os.environ["TZ"] = "UTC"
    time.tzset()
    asyncio.run(main(arguments.store, arguments.run, arguments.conversation, arguments.turn, arguments.step))
