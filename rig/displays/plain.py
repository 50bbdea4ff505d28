"""One line for each finished conversation, for pipes, logs and simple terminals."""

from collections.abc import Callable
from typing import TextIO

from rig import events
from rig.displays.asking import Asking
from rig.displays.base import T
from rig.displays.numbers import clock_time, measured, rate, unclear_texts
from rig.displays.printable import printable
from rig.displays.progress import NOT_EVALUATED, Answered, Progress
from rig.displays.signals import stopping
from rig.displays.steps import ended
from rig.errors import counted
from rig.events import Emit, Event
from rig.running.control import Control

_SIGN = 11
"""Characters of the longest way in which a conversation can end."""


class PlainDisplay:
    """Writes lines without any control sequence, each flushed."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._progress = Progress()
        self._answered = Answered()
        self._started = events.RunStarted("", "", (), ())
        self._asking: Asking | None = None

    def run(self, job: Callable[[Emit], T], control: Control) -> T:
        self._asking = Asking(self._stream, control)
        with stopping(control):
            return job(self._show)

    def _show(self, event: Event) -> None:
        self._progress.tell(event)
        self._answered.tell(event)
        match event:
            case events.RunStarted():
                self._start(event)
            case events.ArmStarted():
                self._line(f"loading {self._arm(event.arm)}")
            case events.ArmReady():
                self._line(f"{self._arm(event.arm)} is ready after {event.seconds:.1f} s")
            case events.ConversationFinished():
                self._line(self._conversation(event))
            case events.EvidenceMoved():
                self._line(f"{self._arm(event.arm)}: {event.text}")
            case events.ArmFinished(failure=str() as failure):
                self._line(f"{self._arm(event.arm)} failed: {failure}")
            case events.PersonAsked() if self._asking:
                self._asking.ask(event)
            case events.Notice():
                self._line(event.text)
            case _:
                pass

    def _start(self, event: events.RunStarted) -> None:
        self._started = event
        arms = f"{len(event.arms)} arms, " if len(event.arms) > 1 else ""
        progress = self._progress
        turns = f", {progress.total} turns" if progress.unit == "turns" else ""
        done = f", {progress.done} done before" if event.finished_turns else ""
        self._line(
            f"run {event.run}: {arms}{counted(len(event.conversations), 'conversation')}{turns}{done};"
            f" stored in {event.store}"
        )

    def _conversation(self, event: events.ConversationFinished) -> str:
        declaration, total = self._started.declaration, self._progress.total
        sign = ended(declaration, event.counts, event.errors).sign
        who = f" {self._arm(event.where.arm)}" if len(self._started.arms) > 1 else ""
        # How far it got, as in `3/4 calls`.
        parts = (part for part in declaration.outcome if part.whole)
        got = "".join(f"  {part.brief(event.counts)} {part.short or part.noun}" for part in parts)
        counts = event.arm_counts
        rates = [f"{metric.title} {measured(metric, counts)}" for metric in declaration.shown("lines")]
        told = ", ".join(filter(None, [*rates, unclear_texts(counts)]))
        if not self._answered.evaluated(event.where.arm):
            told = NOT_EVALUATED
        remaining, left = self._progress.remaining, "?"
        if remaining is not None:
            low, high = clock_time(remaining.low), clock_time(remaining.high)
            left = clock_time(remaining.seconds) + (f" ({low} to {high})" if low != high else "")
        return (
            f"{self._progress.done:{len(str(total))}}/{total} {sign.label:<{_SIGN}}{who}"
            f" {event.where.conversation}{got} | {told}"
            f" | {rate(event.speed.decode_rate)} tok/s, {left} left"
        )

    def _arm(self, position: int) -> str:
        return self._started.arms[position].name

    def _line(self, text: str) -> None:
        print(printable(text).replace("\n", "\\n"), file=self._stream, flush=True)
