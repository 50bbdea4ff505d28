"""Displays that write lines: JSON for each event, or words for each finished conversation.

In a notebook, a progress bar is shown above the last of these lines.
"""

import re
import shutil
import signal
import sys
from collections import deque
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime
from importlib import import_module
from time import monotonic
from typing import Any, TextIO

from markupsafe import escape

from rig.core import events
from rig.core.calls import ExecutedCall, Json, JsonObject
from rig.core.errors import RigError, counted
from rig.core.events import (
    ConversationInfo,
    Emit,
    Event,
    PersonAsked,
    PieceGenerated,
    RunStarted,
    Speed,
    Where,
)
from rig.core.files import json_text
from rig.core.metrics import UNDECLARED, Declaration
from rig.core.models import CallMessage, Prediction, ReplyMessage
from rig.core.tasks import Counted, numbered, turn_number
from rig.plugins.lines.pace import NOT_EVALUATED, Answered, TimedProgress
from rig.running.control import Control
from rig.show import is_terminal
from rig.show.base import T, handled, stopping
from rig.show.compare import evidence_line
from rig.show.steps import ended
from rig.show.texts import clock_time, measured, printable, rate, read_so_far, unclear_texts

_WORD = re.compile(r"(?<!^)(?=[A-Z])")
_TOKENS = frozenset({"token_ids", "logprobs", "token_chars", "token_forced"})
"""Fields with a value for each token; they are only in the store, not in the log."""

_MEASURED = {"counts": "metrics", "arm_counts": "arm_metrics"}
"""Fields with counts, and their names in the log, which has the rates as well."""


class LogDisplay:
    """The display that writes each event as a line of JSON, and flushes it."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._declaration = UNDECLARED
        self._counted: dict[str, ConversationInfo] = {}

    def run(self, job: Callable[[Emit], T], control: Control) -> T:
        with stopping(control):
            return job(self._write)

    def _write(self, event: Event) -> None:
        if isinstance(event, RunStarted):
            self._declaration = event.declaration
            self._counted = {conversation.name: conversation for conversation in event.conversations}
        if not isinstance(event, PieceGenerated):
            # ASCII, so that text of a model cannot steer the terminal of whoever reads the log.
            line = event_json(event, self._declaration)
            if counted := self._counted.get(str(line.get("conversation"))):
                _count(line, counted)
            print(json_text(line), file=self._stream, flush=True)


def event_json(event: Event, declaration: Declaration) -> JsonObject:
    """Return an event as one flat object: its name, the time, where it belongs, and its fields."""
    name = _WORD.sub("_", type(event).__name__).lower()
    line: JsonObject = {"event": name, "time": datetime.now(UTC).isoformat(timespec="milliseconds")}
    for part in fields(event):
        value = getattr(event, part.name)
        if part.name in _MEASURED:
            line[_MEASURED[part.name]] = declaration.as_json(value)
        else:
            line.update(_json(value) if isinstance(value, Where) else {part.name: _json(value)})
    return line


def _count(line: JsonObject, counted: Counted) -> None:
    """Number the turns of a line as people do, from 1; `position` keeps the task's own number."""
    if "turn" in line:
        line["position"] = line["turn"]
    for name in ("turn", "first_turn"):
        if name in line:
            line[name] = turn_number(counted, line[name])
    if line.get("verdict"):
        line["verdict"] = numbered(line["verdict"], counted)
    if "rejudged" in line:
        line["rejudged"] = [
            {**numbered(moved, counted), "verdict": numbered(moved["verdict"], counted)}
            for moved in line["rejudged"]
        ]


def _json(value: Any) -> Json:
    if isinstance(value, Speed | ExecutedCall):
        return value.as_json()
    if isinstance(value, Declaration):
        return value.to_json()
    if is_dataclass(value) and not isinstance(value, type):
        omitted = _TOKENS if isinstance(value, Prediction) else frozenset()
        return {p.name: _json(getattr(value, p.name)) for p in fields(value) if p.name not in omitted}
    if isinstance(value, tuple):
        return [_json(part) for part in value]
    return value


_SIGN = 11
"""The characters of the longest label of how a conversation ended."""


_LONG = 512
"""The prompt tokens from which reading them is shown; fewer take a moment on most machines."""


class PassingLine:
    """A line on stderr that the next line replaces; nothing where stderr is no terminal."""

    def __init__(self) -> None:
        self._is_drawn = False

    def show(self, text: str) -> None:
        """Draw a text in place of the last one, on one line."""
        if is_terminal(sys.stderr):
            self._is_drawn = True
            text = printable(text)[: shutil.get_terminal_size().columns - 1]
            print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)

    def clear(self) -> None:
        """Remove the text, if there is one."""
        if self._is_drawn:
            self._is_drawn = False
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


class PlainDisplay:
    """The display that writes lines and flushes each.

    They are without control sequences. Only on a terminal there is also a passing line for a prompt that is
    being read.
    """

    def __init__(self, stream: TextIO, clock: Callable[[], float] = monotonic) -> None:
        self._stream = stream
        self._progress = TimedProgress(clock)
        self._answered = Answered()
        self._started = events.RunStarted("", "", (), ())
        self._asking: Asking | None = None
        self._passing = PassingLine()

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
            case events.PromptRead():
                read = read_so_far(event.read, event.prompt)
                # The line is cut to the terminal, and names of files are long: what changes stands in front.
                self._passing.show(f"reading the shared prompt: {read}, {self._arm(event.arm)}")
            case events.PieceGenerated(read=(read, prompt)) if prompt - read >= _LONG:
                self._passing.show(
                    f"reading the prompt: {read_so_far(read, prompt)}, {event.where.conversation}"
                )
            case events.PieceGenerated():
                self._passing.clear()
            case events.ArmReady():
                self._line(f"{self._arm(event.arm)} is ready after {event.seconds:.1f} s")
            case events.ConversationFinished():
                self._line(self._conversation(event))
            case events.EvidenceMoved():
                self._line(f"{self._arm(event.arm)}: {evidence_line(event)}")
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
        progress = self._progress
        arms = f"{len(event.arms)} arms, " if len(event.arms) > 1 else ""
        conversations = counted(len(event.conversations), "conversation")
        turns = f", {counted(progress.total, 'turn')}" if progress.unit == "turns" else ""
        done = f", {progress.done} done before" if event.finished_turns else ""
        self._line(f"run {event.run}: {arms}{conversations}{turns}{done}; stored in {event.store}")

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
        self._passing.clear()
        print(printable(text).replace("\n", "\\n"), file=self._stream, flush=True)


class Asking:
    """Asks a person on a stream and reads the answer from stdin. Each conversation begins with its script."""

    def __init__(self, stream: TextIO, control: Control) -> None:
        self._stream = stream
        self._control = control
        self._where: Where | None = None
        self._read = 0
        control.takes_answers = True

    def ask(self, question: PersonAsked) -> None:
        """Answer a question that is still open. The end of stdin, or Ctrl-C, stops the run."""
        if self._control.question != question:
            return
        if question.where != self._where:
            # Print messages from the role's own first words on, if it has said any.
            own = (n for n, message in enumerate(question.messages) if isinstance(message, ReplyMessage))
            self._where, self._read = question.where, next(own, 0)
            words = f"; {' or '.join(question.phrases)} ends it" if question.phrases else ""
            self._print(f"\n{question.where.conversation}: you are the {question.role}{words}\n")
            self._print(f"{question.script}\n")
        for message in question.messages[self._read :]:
            if isinstance(message, CallMessage):
                self._print(f"(a call of {message.call.name})")
            else:
                self._print(f"{'you' if isinstance(message, ReplyMessage) else 'they'}> {message.text}")
        self._read = len(question.messages) + 1
        with handled(signal.default_int_handler, signal.SIGINT):
            try:
                self._control.answer(self._line())
            except (EOFError, KeyboardInterrupt):
                self._print(f"\n{self._control.STOPPING}")
                self._control.stop()

    def _line(self) -> str:
        """Read the next line that is not blank. Raises EOFError at the end of stdin."""
        while True:
            print("you> ", end="", file=self._stream, flush=True)
            line = sys.stdin.readline()
            if not line:
                raise EOFError
            if text := line.encode(errors="replace").decode().strip():
                return text

    def _print(self, text: str) -> None:
        print(printable(text), file=self._stream, flush=True)


_LINES = 8
_REDRAW_S = 0.5


class NotebookDisplay(PlainDisplay):
    """The display that redraws one output of a notebook's cell, at most twice a second. It needs IPython."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__(stream)
        self._output: Any = None
        self._lines: deque[str] = deque(maxlen=_LINES)
        self._drawn = 0.0

    def run(self, job: Callable[[Emit], T], control: Control) -> T:
        try:
            self._output = import_module("IPython.display").DisplayHandle()
        except ImportError as error:
            raise RigError("--display notebook draws in a notebook, and IPython is not installed") from error
        self._output.display({"text/html": "", "text/plain": ""}, raw=True)
        try:
            return super().run(job, control)
        finally:
            self._draw()

    def _show(self, event: Event) -> None:
        super()._show(event)
        if monotonic() - self._drawn >= _REDRAW_S:
            self._draw()

    def _line(self, text: str) -> None:
        self._lines.append(printable(text).replace("\n", "\\n"))

    def _draw(self) -> None:
        self._drawn = monotonic()
        done, total = self._progress.done, self._progress.total
        lines = "\n".join(self._lines)
        bar = f'<progress value="{done}" max="{total or 1}" style="width:100%"></progress>'
        page = f"{bar}<div>{done} of {total} {self._progress.unit}</div><pre>{escape(lines)}</pre>"
        self._output.update({"text/html": page, "text/plain": lines}, raw=True)
