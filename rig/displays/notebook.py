"""The display in a notebook: a bar that moves, and the last lines of the plain display below it."""

import sys
from collections import deque
from collections.abc import Callable
from importlib import import_module
from time import monotonic
from typing import Any, TextIO

from markupsafe import escape

from rig.displays.base import T
from rig.displays.lines import PlainDisplay
from rig.displays.texts import printable
from rig.errors import RigError
from rig.events import Emit, Event
from rig.running.control import Control

_LINES = 8
_REDRAW_S = 0.5


def is_notebook() -> bool:
    """Whether this process is the kernel of a notebook."""
    shell = sys.modules.get("IPython")
    return shell is not None and hasattr(shell.get_ipython(), "kernel")


class NotebookDisplay(PlainDisplay):
    """Draws in one output of the cell again and again, at most twice a second. It needs IPython."""

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
