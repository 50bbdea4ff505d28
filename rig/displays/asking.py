"""A role that a person plays on a plain terminal: it prints what was said, and the person types an answer."""

import signal
import sys
from typing import TextIO

from rig.displays.printable import printable
from rig.displays.signals import handled
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
            # It is worth reading from the role's own first words on, if it said any.
            own = (n for n, message in enumerate(question.messages) if isinstance(message, ReplyMessage))
            self._where, self._read = question.where, next(own, 0)
            words = f"; {' or '.join(question.phrases)} ends it" if question.phrases else ""
            self._print(f"\n{question.where.conversation}: you are the {question.role}{words}\n")
            self._print(f"{question.script}\n")
        for message in question.messages[self._read :]:
            self._print(_said(message, question.role))
        self._read = len(question.messages) + 1
        with handled(signal.default_int_handler, signal.SIGINT):
            try:
                self._control.answer(self._line())
            except (EOFError, KeyboardInterrupt):
                self._print(f"\n{self._control.STOPPING}")
                self._control.stop()

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


def _said(message: Message, role: str) -> str:
    if isinstance(message, CallMessage):
        return f"(a call of {message.call.name})"
    return f"{'you' if isinstance(message, ReplyMessage) else 'they'}> {message.text}"
