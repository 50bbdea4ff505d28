"""A run as a fixed stream of events: every kind of event, outcome and verdict that the view can meet."""

import asyncio
import inspect
import itertools
import re
from collections.abc import Callable

import counted
import pytest
from patience import eventually

from rig.core.calls import Call, CallPlace, Difference, ExecutedCall, Outcome, Verdict
from rig.core.errors import ErrorKind
from rig.core.events import (
    ArmFinished,
    ArmInfo,
    ArmReady,
    ArmStarted,
    CallJudged,
    ConversationFinished,
    ConversationInfo,
    ConversationStarted,
    Event,
    Notice,
    PieceGenerated,
    PredictionMade,
    RunFinished,
    RunStarted,
    Speed,
    TurnFinished,
    TurnStarted,
    Where,
)
from rig.core.metrics import Counts, total
from rig.core.models import Prediction
from rig.plugins.tooltalk.scoring import DECLARATION
from rig.running.control import Control
from tui.app import RigApp
from tui.live.layout import plain
from tui.live.live_run import EventQueue, LiveRun
from tui.screens.run import RunScreen
from tui.widgets.lines import Lines
from tui.widgets.meters import Meters

ALARM = ExecutedCall(
    Call("AddAlarm", {"time": "07:30:00", "session_token": "0000"}), Outcome({"alarm_id": "5bff-dd80"})
)
FIND = ExecutedCall(Call("FindAlarms", {"start_range": "06:00:00"}), Outcome({"alarms": ["5bff-dd80"]}))
DELETE = ExecutedCall(Call("DeleteAlarm", {"alarm_id": "5bff-dd80"}), Outcome({"status": "success"}))

SPEED = Speed(
    prompt_tokens=42_000,
    cached_tokens=39_400,
    completion_tokens=1_880,
    prefill_s=3.2,
    decode_s=28.5,
    wall_s=33.0,
    steps=24,
    peak_memory=612 * 2**20,
)


def call_raw(call: ExecutedCall) -> str:
    arguments = ", ".join(f'"{k}": "{v}"' for k, v in call.arguments.items() if k != "session_token")
    return f'{{"tool": "{call.name}", "arguments": {{{arguments}}}}}'


class Stream:
    """Builds the events of a run in the order in which a runner emits them."""

    def __init__(self, conversations: int = 12, arms: int = 1, turns: int = 2) -> None:
        self.names = [f"{name}-easy" for name in itertools.islice(_names(), conversations)]
        self.turns = turns
        self.counts: Counts = {}
        self.events: list[Event] = [
            RunStarted(
                "20261121-101500-3f2a",
                "runs.sqlite",
                tuple(ArmInfo(f"model-{number}" if arms > 1 else "smollm2-135m") for number in range(arms)),
                tuple(ConversationInfo(name, turns, turns) for name in self.names),
                declaration=DECLARATION,
            ),
            ArmStarted(0),
            ArmReady(0, ArmInfo("smollm2-135m" if arms == 1 else "model-0", {"seed": 0}), 1.5),
        ]

    def where(self, number: int, arm: int = 0) -> Where:
        return Where(arm, self.names[number])

    def start(self, number: int, arm: int = 0) -> Where:
        where = self.where(number, arm)
        self.events.append(ConversationStarted(where))
        return where

    def turn(self, where: Where, turn: int, said: str, *truth: ExecutedCall) -> None:
        self.events.append(TurnStarted(where, turn, (said,), truth, "It is done."))

    def pieces(self, where: Where, turn: int, step: int, text: str, size: int = 7) -> None:
        self.events += [
            PieceGenerated(where, turn, step, text[start : start + size], 2, False)
            for start in range(0, len(text), size)
        ]

    def call(self, where: Where, turn: int, step: int, call: ExecutedCall, verdict: Verdict) -> None:
        raw = call_raw(call)
        self.pieces(where, turn, step, raw)
        self.events += [
            PredictionMade(where, turn, step, Prediction(raw=raw, call=call.call)),
            CallJudged(where, turn, step, call, verdict),
        ]

    def reply(self, where: Where, turn: int, step: int, text: str) -> None:
        self.pieces(where, turn, step, f'{{"reply": "{text}"}}')
        self.events.append(PredictionMade(where, turn, step, Prediction(raw=text, reply=text)))

    def fail(self, where: Where, turn: int, step: int, kind: ErrorKind, detail: str, raw: str) -> None:
        self.pieces(where, turn, step, raw)
        prediction = Prediction(raw=raw, error=kind, error_detail=detail, finish_reason="length")
        self.events.append(PredictionMade(where, turn, step, prediction))

    def end_turn(self, where: Where, turn: int) -> None:
        self.events.append(TurnFinished(where, turn, self.counts, SPEED))

    def finish(self, where: Where, counts: Counts, errors: dict[str, int] | None = None) -> None:
        self.counts = total((self.counts, counts))
        self.events.append(ConversationFinished(where, counts, self.counts, SPEED, errors or {}))

    def success(self, number: int, arm: int = 0) -> None:
        """A conversation in which every call matches."""
        where = self.start(number, arm)
        for turn in range(1, 2 * self.turns, 2):
            self.turn(where, turn, "Wake me at half past seven tomorrow.", ALARM)
            self.call(where, turn, 0, ALARM, Verdict(True, CallPlace(turn, 0)))
            self.reply(where, turn, 1, "Your alarm is set for 7:30.")
            self.end_turn(where, turn)
        self.finish(
            where, counted.counts(1, 1, 1.0, self.turns, self.turns, self.turns, self.turns, self.turns, 0)
        )

    def failure(self, number: int, arm: int = 0) -> None:
        """A conversation with a wrong argument, an incorrect action and a missed call."""
        where = self.start(number, arm)
        self.turn(where, 1, "Which alarms do I have after six?", FIND)
        late = ExecutedCall(Call("FindAlarms", {"start_range": "18:00:00"}), Outcome({"alarms": []}))
        differences = (Difference("start_range", "06:00:00", "18:00:00"),)
        self.call(where, 1, 0, late, Verdict(False, reason="start_range differs", differences=differences))
        self.reply(where, 1, 1, "You have none.")
        self.end_turn(where, 1)
        self.turn(where, 3, "Then remind me to call the plumber about the kitchen tap.", ALARM)
        reason = "this turn's ground truth has no call of DeleteAlarm"
        self.call(where, 3, 0, DELETE, Verdict(False, bad_action=True, reason=reason))
        task = (Difference("task", "call the plumber about the tap", "kitchen", 0.41, 0.9),)
        remind = ExecutedCall(Call("AddReminder", {"task": "kitchen"}), Outcome(None, "Task is too short"))
        self.call(where, 3, 1, remind, Verdict(False, reason="task: similarity 0.41", differences=task))
        self.reply(where, 3, 2, "I took care of it.")
        self.end_turn(where, 3)
        self.finish(where, counted.counts(1, 0, 0.0, 3, 2, 0, 1, 0, 1))

    def error(self, number: int, arm: int = 0) -> None:
        """A conversation that ends in a generation failure."""
        where = self.start(number, arm)
        for turn in range(1, 2 * self.turns, 2):
            self.turn(where, turn, "Tell me everything about tomorrow.", FIND)
            self.fail(where, turn, 0, ErrorKind.TRUNCATED, "256 tokens", '{"reply": "Tomorrow, tomorrow')
            self.end_turn(where, turn)
        self.finish(where, counted.counts(1, 0, 0.0, 0, 2, 0, 0, 0, 0), {"truncated": 2})

    def half(self, number: int, arm: int = 0) -> None:
        """A conversation in the middle of its second turn, with a call being written."""
        where = self.start(number, arm)
        self.turn(where, 1, "Wake me at half past seven tomorrow.", ALARM)
        self.call(where, 1, 0, ALARM, Verdict(True, CallPlace(1, 0)))
        self.reply(where, 1, 1, "Your alarm is set for 7:30.")
        self.end_turn(where, 1)
        self.turn(where, 3, "On second thoughts, show me the alarms and delete that one.", FIND, DELETE)
        self.call(where, 3, 0, FIND, Verdict(True, CallPlace(3, 0)))
        self.pieces(where, 3, 1, '{"tool": "DeleteAlarm", "arguments": {"alarm_id": "5bf')

    def end(self, interrupted: bool = False) -> None:
        self.events += [
            ArmFinished(0, self.counts, SPEED),
            Notice("the store was read again"),
            RunFinished("20261121-101500-3f2a", interrupted),
        ]


def _names() -> "itertools.chain[str]":
    tools = ["AddAlarm", "AddReminder", "CreateEvent", "CurrentWeather", "DeleteAlarm", "DeleteEvent"]
    more = ["ForecastWeather", "GetAccountInformation", "ModifyEvent", "QueryCalendar", "SearchInbox"]
    return itertools.chain([*tools, *more, "SendEmail"], (f"Conversation{n}" for n in itertools.count()))


@pytest.fixture(scope="session")
def stream() -> Callable[..., Stream]:
    """Builds streams of events; called with the number of conversations, arms and turns."""
    return Stream


@pytest.fixture
def mid_run() -> list[Event]:
    """A run of twelve conversations in the middle of the fifth."""
    run = Stream()
    run.success(0)
    run.failure(1)
    run.success(2)
    run.error(3)
    run.half(4)
    return run.events


@pytest.fixture
def whole_run() -> list[Event]:
    """A run from its first event to its last."""
    run = Stream(conversations=4)
    run.success(0)
    run.failure(1)
    run.error(2)
    run.success(3)
    run.end()
    return run.events


@pytest.fixture
def three_arms() -> list[Event]:
    """Three arms over twelve conversations, the second arm in its fifth; they differ in one."""
    run = Stream(arms=3)
    for arm in (0, 1):
        run.success(0, arm)
        (run.failure if arm else run.success)(1, arm)
        run.failure(2, arm)
        run.error(3, arm)
    run.half(4, 1)
    return run.events


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run tests that are coroutines; a plugin for just that is not worth its place."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    names = inspect.signature(pyfuncitem.obj).parameters
    asyncio.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names}))
    return True


class Watched:
    """The application over a stream of events, with a clock that stands where it is put.

    What it copies goes to `copied`.
    """

    def __init__(self, events: list[Event]) -> None:
        self.now = 0.0
        self.feed = EventQueue()
        self.control = Control()
        self.run = RunScreen(LiveRun(self.feed, self.control, clock=lambda: self.now))
        self.app = RigApp(self.run)
        self.copied: list[str] = []
        self.app.copy_to_clipboard = self.copied.append  # type: ignore[method-assign]
        self.tell(events)

    def tell(self, events: list[Event]) -> None:
        for event in events:
            self.feed.emit(event)

    def end(self) -> None:
        self.feed.close()

    async def until(self, condition: Callable[[], object]) -> None:
        """Wait for something the application does in its own time."""
        await eventually(condition, lambda: self.screen)

    @property
    def said(self) -> list[str]:
        """What was announced."""
        return [one.message for one in self.app._notifications]

    def number(self, title: str) -> str:
        """What stands below a title of the meters."""
        titles, values = plain(self.run.query_one(Meters).lines).splitlines()
        start = titles.index(title)
        return re.split(" {3}", values[start:])[0].strip()

    @property
    def screen(self) -> str:
        """The text of the run screen's widgets."""
        texts = []
        for widget in self.run.query(Lines):
            top = widget.scroll_offset.y
            texts.append(plain(widget.lines[top : top + widget.size.height]))
        return "\n".join(texts)


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "COLORFGBG", "SSH_CONNECTION", "TEXTUAL_THEME"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def watch() -> Callable[[list[Event]], Watched]:
    """Makes an application that watches a stream of events."""
    return Watched
