"""A store to look into: two arms, one of them clumsy, with tokens, a world, and times that stand still."""

import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import small_talks
import small_world
from patience import eventually
from textual.pilot import Pilot

from rig.core.errors import ErrorKind
from rig.core.models import Prediction, Request, Usage
from rig.methods.scripted import Oracle, Scripted, called, failed, replied
from tui.app import RigApp
from tui.live.layout import plain
from tui.screens.base import RigScreen
from tui.widgets.lines import Lines

USAGE = Usage(
    prompt_tokens=2025,
    cached_tokens=1985,
    completion_tokens=12,
    forced_tokens=4,
    prefill_s=0.8,
    decode_s=0.4,
    mask_s=0.01,
    first_token_s=0.85,
)


def with_tokens(prediction: Prediction) -> Prediction:
    """The prediction as if it had been generated: tokens of four characters, every third one forced."""
    chars = [len(prediction.raw[start : start + 4]) for start in range(0, len(prediction.raw), 4)]
    forced = [number % 3 == 1 for number in range(len(chars))]
    return replace(
        prediction,
        usage=replace(USAGE, completion_tokens=len(chars), forced_tokens=sum(forced)),
        token_ids=tuple(range(100, 100 + len(chars))),
        logprobs=tuple(0.0 if each else -0.25 * (number % 5) for number, each in enumerate(forced)),
        token_chars=tuple(chars),
        token_forced=tuple(forced),
    )


def clumsy(request: Request) -> Prediction:
    """Takes an incorrect action, misses a call, and fails to end; the rest is in words."""
    script = {
        ("alarms", 1, 0): called("AddAlarm", {"time": "09:00:00"}),
        ("alarms", 1, 1): called("DeleteAlarm", {"alarm_id": "no such"}),
        ("alarms", 1, 2): replied("It is set for nine."),
        ("alarms", 3, 0): failed(ErrorKind.TRUNCATED, "incomplete after 256 tokens", '{"tool": "AddAlarm'),
        ("alarms", 5, 0): called("FindAlarms", {"start_range": "00:00:00", "end_range": "23:59:59"}),
        ("alarms", 5, 1): replied(small_talks.HOSTILE),
    }
    key = request.key
    return with_tokens(script.get((key.conversation, key.turn, key.step), replied("All right.")))


class Careful(Oracle):
    """Knows the answers, and has tokens."""

    def predict(self, request: Request, on_piece: Any) -> Prediction:
        return with_tokens(super().predict(request, on_piece))


def write(path: Path, *, run: str = "abcde", name: str | None = "two arms") -> Path:
    """A store with a finished run of a careful and a clumsy model."""
    databases = path.parent / "databases"
    if not databases.exists():
        small_world.write(databases)
    recipe = {
        "models": ["careful", "clumsy"],
        "world": str(databases),
        "suite": "small",
        "similarity": "exact",
    }
    models = (Careful(small_talks.conversations()), Scripted(clumsy))
    small_talks.play(small_talks.plan(path, *models, run=run, name=name, recipe=recipe))
    stand_still(path)
    return path


def stand_still(path: Path) -> None:
    """Make everything that was measured the same in every test."""
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("UPDATE turns SET wall_s = 1.5, tools_s = 0.005, scoring_s = 0.002")
        database.execute("UPDATE runs SET created = '2026-11-21T10:15:00+00:00'")
        database.execute("UPDATE arms SET load_s = 1, store_s = 0, display_s = 0, peak_memory = NULL")


class Seen:
    """A screen under a pilot. What is copied goes to `copied`."""

    def __init__(self, app: RigApp, pilot: Pilot[Any]) -> None:
        self.app = app
        self.pilot = pilot
        self.copied: list[str] = []
        app.copy_to_clipboard = self.copied.append  # type: ignore[method-assign]

    @property
    def text(self) -> str:
        """All lines of the screen on top, in sight or not."""
        return "\n".join(plain(widget.lines) for widget in self.app.screen.query(Lines))

    @property
    def said(self) -> list[str]:
        """What was announced."""
        return [one.message for one in self.app._notifications]

    async def until(self, condition: Callable[[], object]) -> None:
        """Wait for what the application does in its own time."""
        await eventually(condition, lambda: f"{self.text}\n{self.said}")

    async def shows(self, *texts: str) -> None:
        await self.until(lambda: all(text in self.text for text in texts))

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)
        await self.pilot.pause()


@asynccontextmanager
async def seeing(screen: RigScreen[None], size: tuple[int, int] = (120, 40)) -> AsyncIterator[Seen]:
    """The application with this screen first."""
    app = RigApp(screen)
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        yield Seen(app, pilot)
