"""Keep your own functions from harming a run: from hanging, and from printing into the display.

They run like any program of yours, and can do whatever you can. This only guards against accidents.
"""

import ctypes
import io
import json
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from traceback import extract_tb
from types import FrameType, ModuleType
from typing import Any, TextIO

from pydantic_core import PydanticSerializationError, to_jsonable_python

from rig.calls import Json
from rig.errors import RigError
from rig.plugins import module_of

LIMIT_S = 10.0
"""Seconds that a call may take."""
LONGEST = 2**20
"""Characters of a result. No model reads as much."""
_LAST_WORDS_S = 0.5
"""Seconds that a function has to end in, once it was told to."""


class Overdue(Exception):
    """A function did not come to an end. `place` is where it was; `is_over` says that it could be stopped."""

    def __init__(self, limit_s: float, place: str, is_over: bool) -> None:
        super().__init__(f"did not finish within {limit_s:g} s")
        self.place = place
        self.is_over = is_over


class _Stop(BaseException):
    """Raised in a function that has to end."""


class Done:
    """The outcome of a function: its result or its fault, and what it printed."""

    def __init__(self) -> None:
        self.result: Any = None
        self.fault: BaseException | None = None
        self.printed = io.StringIO()


def in_time(work: Callable[[], Any], limit_s: float, within: Path) -> Done:
    """Run a function of the files `within` a folder. Raises Overdue; its own fault is in what is returned."""
    done = Done()

    def run() -> None:
        with suppress(_Stop):  # whenever it comes
            try:
                done.result = work()
            except BaseException as fault:  # a tool may well call exit()
                done.fault = fault

    thread = threading.Thread(target=run, daemon=True, name="a tool of yours")
    # `_Stop` can come when the function has just ended, and is then nobody's fault.
    thread._invoke_excepthook = lambda *_: None  # type: ignore[attr-defined]
    with _kept_quiet(thread, done.printed):
        thread.start()
        thread.join(limit_s)
        if thread.is_alive():
            place = _where(sys._current_frames().get(thread.ident or 0), within)
            # It ends as soon as it executes anything of Python's.
            identity = ctypes.c_ulong(thread.ident or 0)
            ctypes.pythonapi.PyThreadState_SetAsyncExc(identity, ctypes.py_object(_Stop))
            thread.join(_LAST_WORDS_S)
            raise Overdue(limit_s, place, not thread.is_alive())
    return done


def loaded(file: Path, within: Path) -> ModuleType:
    """The module of a file, run. What goes wrong in it is a fault of the user's: RigError says its place."""
    try:
        done = in_time(lambda: module_of(str(file)), LIMIT_S, within)
    except Overdue as error:
        raise RigError(f"{error.place}: loading it {error}") from error
    fault = done.fault
    if isinstance(fault, RigError):
        raise fault
    if fault is not None:
        text = fault.msg if isinstance(fault, SyntaxError) else str(fault)
        raise RigError(f"{place_of(fault, within)}: {type(fault).__name__}: {text}") from fault
    module: ModuleType = done.result
    return module


def as_json(value: Any) -> Json:
    """A result as JSON, apart from what it was made of. Raises ValueError if it is not one, or too long."""
    try:
        text = json.dumps(to_jsonable_python(value), allow_nan=False)
    except (PydanticSerializationError, ValueError, TypeError, RecursionError) as error:
        raise ValueError(f"it returned something that is not JSON: {error}") from error
    if len(text) > LONGEST:
        raise ValueError(f"it returned {len(text):,} characters, more than {LONGEST:,}")
    return json.loads(text)


def place_of(fault: BaseException, within: Path) -> str:
    """The file and line where something went wrong: the last of those in a folder, else the last of all."""
    if isinstance(fault, SyntaxError):
        return f"{fault.filename}, line {fault.lineno}" if fault.filename else str(within)
    frames = extract_tb(fault.__traceback__)
    own = [frame for frame in frames if Path(frame.filename).is_relative_to(within)] or frames
    return f"{own[-1].filename}, line {own[-1].lineno}" if own else str(within)


def _where(frame: FrameType | None, within: Path) -> str:
    while frame is not None:
        if Path(frame.f_code.co_filename).is_relative_to(within):
            return f"{frame.f_code.co_filename}, line {frame.f_lineno}"
        frame = frame.f_back
    return str(within)


@contextmanager
def _kept_quiet(thread: threading.Thread, printed: io.StringIO) -> Iterator[None]:
    """What this thread prints is kept; what others print goes where it always went."""
    before, errors = sys.stdout, sys.stderr
    mine: list[Any] = [_Apart(thread, printed, stream) for stream in (before, errors)]
    sys.stdout, sys.stderr = mine
    try:
        yield
    finally:
        if [sys.stdout, sys.stderr] == mine:
            sys.stdout, sys.stderr = before, errors


class _Apart(io.TextIOBase):
    """A stream for one thread, and another for everybody else."""

    _MOST = 10_000

    def __init__(self, thread: threading.Thread, own: io.StringIO, others: TextIO) -> None:
        self._thread, self._own, self._others = thread, own, others

    def write(self, text: str) -> int:
        if threading.current_thread() is not self._thread:
            return self._others.write(text)
        return self._own.write(text[: max(self._MOST - self._own.tell(), 0)])

    def __getattr__(self, name: str) -> Any:
        return getattr(self._others, name)

    def flush(self) -> None:
        self._others.flush()
