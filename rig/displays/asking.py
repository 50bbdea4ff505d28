"""A role that a person plays on a plain terminal: it prints what was said, and the person types an answer."""

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from rig.displays.printable import printable
from rig.events import PersonAsked, Where
from rig.models import CallMessage, Message, ReplyMessage
from rig.running.control import Control


class Asking:
    """Asks a person on a stream and takes a line from stdin. With each conversation its script is printed."""

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
            self._where, self._read = question.where, _beginning(question.messages)
            self._begin(question)
        for message in question.messages[self._read :]:
            self._print(_said(message, question.role))
        self._read = len(question.messages) + 1
        with _interruptible():
            try:
                self._control.answer(self._line())
            except (EOFError, KeyboardInterrupt):
                self._print(f"\n{self._control.STOPPING}")
                self._control.stop()

    def _begin(self, question: PersonAsked) -> None:
        words = f"; {' or '.join(question.phrases)} ends it" if question.phrases else ""
        self._print(f"\n{question.where.conversation}: you are the {question.role}{words}\n")
        self._print(f"{question.script}\n")

    def _line(self) -> str:
        """What is typed next that is not blank."""
        while True:
            print("you> ", end="", file=self._stream, flush=True)
            line = sys.stdin.readline()
            if not line:
                raise EOFError
            if text := line.encode(errors="replace").decode().strip():
                return text

    def _print(self, text: str) -> None:
        print(printable(text), file=self._stream, flush=True)


def _beginning(messages: tuple[Message, ...]) -> int:
    """From where on the conversation is worth reading: from the role's own first words, if it said any."""
    own = (place for place, message in enumerate(messages) if isinstance(message, ReplyMessage))
    return next(own, 0)


def _said(message: Message, role: str) -> str:
    if isinstance(message, CallMessage):
        return f"(a call of {message.call.name})"
    return f"{'you' if isinstance(message, ReplyMessage) else 'they'}> {message.text}"


@contextmanager
def _interruptible() -> Iterator[None]:
    """While a person is asked, Ctrl-C ends the asking."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
