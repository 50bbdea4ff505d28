"""Run Python code of others: within a time, with modules that stand in for theirs, and say where it failed.

The guards that keep it from hanging a run or printing into the display are against accidents only.
"""

import ctypes
import io
import os
import re
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from traceback import extract_tb
from types import FrameType, ModuleType
from typing import Any, TextIO

from rig.core.errors import RigError
from rig.core.registry import module_of

LIMIT_S = 10.0
"""The seconds that a call may take."""
_STANDING_IN = threading.RLock()
_LAST_WORDS_S = 0.5
"""The seconds that a function has to end in, once it is asked to."""


class Overdue(Exception):
    """A function did not finish in time. `place` is where it was, `is_over` whether it could be stopped."""

    def __init__(self, limit_s: float, place: str, is_over: bool) -> None:
        super().__init__(f"did not finish within {limit_s:g} s")
        self.place = place
        self.is_over = is_over


class _Stop(BaseException):
    """Raised in a function that has to end."""


@dataclass(slots=True)
class Done:
    """The outcome of a function: its result or its fault, and what it printed."""

    result: Any = None
    fault: BaseException | None = None
    printed: io.StringIO = field(default_factory=io.StringIO)


def in_time(work: Callable[[], Any], limit_s: float, within: Path) -> Done:
    """Run a function of the files `within` a folder; its own fault is in the outcome. Raises Overdue."""
    done = Done()

    def run() -> None:
        with suppress(_Stop):  # whenever it comes
            try:
                done.result = work()
            except BaseException as fault:  # a tool may well call exit()
                done.fault = fault

    thread = threading.Thread(target=run, daemon=True, name="a tool of yours")
    # `_Stop` can arrive just after the function has ended; it is no fault then.
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
    """Run a file and return its module. Raises RigError, with the place, for any fault in it."""
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


@contextmanager
def standing_in(members: Mapping[str, Mapping[str, Any]], **variables: str) -> Iterator[None]:
    """A context in which loaded code can import modules with these members, but nothing else of their
    packages.

    The modules have no files unless a `__path__` is named. The environment has the variables. Afterwards, the
    process has neither these packages nor the variables.
    """
    roots = {name.partition(".")[0] for name in members}
    parents = {name[: dot.start()] for name in members for dot in re.finditer(r"\.", name)}
    modules = {name: ModuleType(name) for name in (*parents, *members)}
    for name, module in modules.items():
        vars(module).update({"__path__": [], **members.get(name, {})})

    def removed() -> dict[str, ModuleType]:
        names = [name for name in sys.modules if name.partition(".")[0] in roots]
        return {name: sys.modules.pop(name) for name in names}

    with _STANDING_IN:
        before, environment = removed(), {name: os.environ.get(name) for name in variables}
        sys.modules.update(modules)
        os.environ.update(variables)
        try:
            yield
        finally:
            removed()
            sys.modules.update(before)
            for name, value in environment.items():
                os.environ.pop(name, None)
                os.environ.update({} if value is None else {name: value})


def place_of(fault: BaseException, within: Path) -> str:
    """Return the file and line of a fault: the innermost in a folder or, if none is there, of all."""
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
    """A context that keeps what this thread prints; what others print goes where it always did."""
    before, errors = sys.stdout, sys.stderr
    mine: list[Any] = [_Apart(thread, printed, stream) for stream in (before, errors)]
    sys.stdout, sys.stderr = mine
    try:
        yield
    finally:
        if [sys.stdout, sys.stderr] == mine:
            sys.stdout, sys.stderr = before, errors


class _Apart(io.TextIOBase):
    """A stream that keeps one thread's output apart from everybody else's."""

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
