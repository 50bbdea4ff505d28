"""Make docs/live.svg: the live view itself, in the middle of a real run.

    .venv/bin/python docs/pictures.py [MODEL] [--after N]

The picture is taken once N conversations are over (default 3), as soon as the model is writing something
below a call that matched, or that differed from the ground truth. The run is made in a temporary store and
stopped after the picture.
"""

import argparse
import asyncio
import tempfile
import threading
from pathlib import Path

from rig.control import Control
from rig.planning import Options, plan
from rig.runner import run
from tui.app import RigApp
from tui.feed import Feed
from tui.screens.run import RunScreen
from tui.state import RunState
from tui.transcript import Draft, Judged
from tui.watching import Watching

PICTURE = Path(__file__).resolve().parent / "live.svg"
SIZE = (124, 34)


def worth_a_picture(state: RunState, after: int) -> bool:
    """Whether enough is over and the current conversation shows a verdict and a prediction being written."""
    over = sum(conversation.status.over for conversation in state.conversations.values())
    conversation = state.conversations.get(state.current) if state.current else None
    if over < after or conversation is None or conversation.transcript is None:
        return False
    entries = conversation.transcript.entries
    writing = bool(entries) and isinstance(entries[-1], Draft) and len(entries[-1].text) > 30
    return writing and any(
        isinstance(entry, Judged) and (entry.match or entry.differences) for entry in entries
    )


async def take(model: str, after: int) -> None:
    """Run `model` under the view, write the picture, stop the run."""
    feed, control = Feed(), Control()
    with tempfile.TemporaryDirectory() as directory:
        planned = plan(Options(models=(model,)), Path(directory) / "runs.sqlite")

        def job() -> None:
            try:
                run(planned, feed.emit, control)
            finally:
                feed.close()

        thread = threading.Thread(target=job)
        screen = RunScreen(Watching(feed, control))
        app = RigApp(screen)
        async with app.run_test(size=SIZE) as pilot:
            thread.start()
            while not worth_a_picture(screen.state, after):
                if feed.over:
                    raise SystemExit("the run was over before there was anything to picture")
                await asyncio.sleep(0.05)
            screen.catch_up()
            await pilot.pause()
            PICTURE.write_text(app.export_screenshot(), encoding="utf-8")
            control.stop()
            await asyncio.to_thread(thread.join)
    print(f"wrote {PICTURE}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", nargs="?", default="smollm2-135m")
    parser.add_argument("--after", type=int, default=3)
    arguments = parser.parse_args()
    asyncio.run(take(arguments.model, arguments.after))
