"""The process in which chat templates run, from outside: it is asked, limited, and replaced when it dies.

A template can loop forever, double a string until memory is gone, or crash the interpreter; in a separate
process, it harms nobody. One such process serves all templates. It is never asked the same question twice:
contents of messages are not part of the question, so most steps of a run ask the same.
"""

import atexit
import json
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache

from rig.calls import Json, JsonObject

SECONDS = 5
"""Of computing, for one question. Real templates take milliseconds."""
MEMORY_BYTES = 1 << 30
MOST_CHARACTERS = 4_000_000
"""Of what a template makes."""
MOST_KEPT = 20_000_000
"""Characters of the answers that are kept, all together."""
_PATIENCE_S = 120.0
"""By the clock: a busy machine may compute little in that time, and a template that sleeps is stopped too."""
_MOST_DEATHS = 2
"""So often a template may stop its process. After that it is not run any more."""


class TemplateError(Exception):
    """A template does not compile, refused these messages or lost one of them, or went beyond its bounds."""


def compile(source: str) -> None:
    """See that a template compiles. Raises TemplateError."""
    _answer(source, {})


def render(
    source: str, messages: Sequence[JsonObject], tools: Sequence[JsonObject], variables: Mapping[str, Json]
) -> str:
    """What a template makes of messages and declarations, with these variables. Raises TemplateError."""
    return _answer(source, {"messages": list(messages), "tools": list(tools), "given": dict(variables)})


def _answer(source: str, question: JsonObject) -> str:
    text, fault = _answered(source, json.dumps({"source": source, **question}))
    if fault:
        raise TemplateError(fault)
    return text


class _Process:
    """A process under way. It ends with the process that began it, whose end closes its input."""

    def __init__(self) -> None:
        begin = (
            f"import sys; sys.path[:] = {sys.path!r}; from rig.engine.templates.child import serve;"
            f" serve({SECONDS}, {MEMORY_BYTES}, {MOST_CHARACTERS})"
        )
        self._child = subprocess.Popen(
            [sys.executable, "-c", begin],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            encoding="ascii",
        )

    def ask(self, question: str) -> str:
        """The line that answers this one; empty if the process died over it."""
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        stopped = threading.Timer(_PATIENCE_S, self._child.kill)
        stopped.start()
        try:
            self._child.stdin.write(f"{question}\n")
            self._child.stdin.flush()
            return self._child.stdout.readline()
        except OSError:
            return ""
        finally:
            stopped.cancel()

    def end(self) -> None:
        """Let go of it, no matter what it is doing."""
        self._child.kill()
        self._child.communicate()


_lock = threading.Lock()
_processes: list[_Process] = []
_deaths: Counter[str] = Counter()
_kept = [0]
_BEYOND = f"it was stopped: it wants more than {SECONDS} s of computing or {MEMORY_BYTES >> 20} MiB of memory"


@atexit.register
def end() -> None:
    """Let go of the process, if there is one; the next question begins another."""
    with _lock:
        while _processes:
            _processes.pop().end()


@lru_cache(maxsize=512)
def _answered(source: str, question: str) -> tuple[str, str]:
    """(text, fault) that a question is answered with; a template is as sure of its faults as of its texts."""
    with _lock:
        if _deaths[source] >= _MOST_DEATHS:
            return "", _BEYOND
        if not _processes:
            _processes.append(_Process())
        line = ""
        try:
            line = _processes[0].ask(question)
        finally:
            # Whoever is interrupted while waiting leaves a process behind that is about to answer.
            if not line.endswith("\n"):
                _processes.pop().end()
        if not line.endswith("\n"):
            _deaths[source] += 1
            return "", _BEYOND
        _kept[0] += len(line) + len(question)
        if _kept[0] > MOST_KEPT:
            _answered.cache_clear()
            _kept[0] = 0
    answer = json.loads(line)
    return answer.get("text", ""), answer.get("fault", "")
