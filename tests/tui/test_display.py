"""The display without a terminal: results, exceptions and the way back to plain lines."""

import io
import os
import signal
import threading
from collections.abc import Callable

import pytest

import tui.display
from rig.core.errors import RigError
from rig.core.events import Emit, Event, TurnFinished
from rig.plugins.lines.displays import PlainDisplay
from rig.running.control import Control
from tui.display import TuiDisplay, _stop, guarded
from tui.live.live_run import EventQueue


@pytest.fixture
def lines() -> io.StringIO:
    return io.StringIO()


@pytest.fixture
def display(lines: io.StringIO) -> TuiDisplay:
    return TuiDisplay(PlainDisplay(lines))


def job_of(events: list[Event], result: object = None) -> Callable[[Emit], object]:
    def job(emit: Emit) -> object:
        for event in events:
            emit(event)
        if isinstance(result, BaseException):
            raise result
        return result

    return job


def views(monkeypatch: pytest.MonkeyPatch, watch: Callable[[EventQueue, Control], Exception | None]) -> None:
    """Put a terminal there, and this in the application's place."""
    monkeypatch.setattr(tui.display, "has_terminal", lambda: True)
    monkeypatch.setattr(tui.display, "_watch", watch)


def to_the_end(feed: EventQueue, control: Control) -> None:
    while not feed.over:
        feed.wait(1)
        feed.drain()


def test_without_a_terminal_it_says_so_and_shows_plain_lines(
    display: TuiDisplay, lines: io.StringIO, whole_run: list[Event]
) -> None:
    assert display.run(job_of(whole_run, 7), Control()) == 7
    shown = lines.getvalue()
    assert "needs a terminal" in shown
    assert [name for name in ("AddAlarm", "AddReminder", "CreateEvent") if name not in shown] == []


def test_the_result_comes_out(
    monkeypatch: pytest.MonkeyPatch, display: TuiDisplay, lines: io.StringIO, whole_run: list[Event]
) -> None:
    views(monkeypatch, to_the_end)
    assert display.run(job_of(whole_run, "result"), Control()) == "result"
    assert lines.getvalue() == ""


@pytest.mark.parametrize("error", [RigError("no such model"), ZeroDivisionError("bug"), KeyboardInterrupt()])
def test_what_the_job_raises_comes_out(
    monkeypatch: pytest.MonkeyPatch, display: TuiDisplay, mid_run: list[Event], error: BaseException
) -> None:
    views(monkeypatch, to_the_end)
    with pytest.raises(type(error)):
        display.run(job_of(mid_run, error), Control())


def test_the_job_has_a_thread_of_its_own(monkeypatch: pytest.MonkeyPatch, display: TuiDisplay) -> None:
    views(monkeypatch, to_the_end)
    assert display.run(lambda emit: threading.current_thread(), Control()) is not threading.main_thread()


@pytest.mark.parametrize(
    ("fault", "said"),
    [(None, "left the live view; the run continues"), (RuntimeError("needle"), "failed, which is a bug")],
)
def test_after_the_view_the_run_goes_on_in_plain_lines(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    display: TuiDisplay,
    lines: io.StringIO,
    whole_run: list[Event],
    fault: Exception | None,
    said: str,
) -> None:
    left = threading.Event()

    def watch(feed: EventQueue, control: Control) -> Exception | None:
        control.pause()
        left.set()
        return fault

    def job(emit: Emit) -> int:
        for number, event in enumerate(whole_run):
            emit(event)
            if number == len(whole_run) // 2:
                left.wait(60)
        return number

    control = Control()
    views(monkeypatch, watch)
    assert display.run(job, control) == len(whole_run) - 1
    assert not control.is_paused
    shown = lines.getvalue()
    assert said in shown
    assert all(shown.count(f"{name}-easy") == 1 for name in ("AddAlarm", "AddReminder", "CreateEvent"))
    assert ("needle" in capsys.readouterr().err) == (fault is not None)


def test_what_is_left_is_estimated_from_when_things_happened(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], whole_run: list[Event]
) -> None:
    """The milestones that the view had shown reach the fallback all at once."""
    now = [0.0]
    monkeypatch.setattr("tui.display.time.monotonic", lambda: now[0])
    left = threading.Event()

    def job(emit: Emit) -> None:
        for event in whole_run:
            now[0] += 60.0 * isinstance(event, TurnFinished)
            emit(event)
        left.set()

    def watch(feed: EventQueue, control: Control) -> None:
        assert left.wait(60)

    views(monkeypatch, watch)
    TuiDisplay().run(job, Control())
    first, *_ = (line for line in capsys.readouterr().err.splitlines() if "tok/s" in line)
    assert not first.endswith(" 0:00 left")


def test_a_second_signal_is_not_held_up_by_the_run() -> None:
    control = Control()
    with guarded(lambda: _stop(control)):
        os.kill(os.getpid(), signal.SIGTERM)
        assert control.is_stopped
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGTERM)
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
