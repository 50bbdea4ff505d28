"""A program in a pseudo-terminal: what it paints is taken in at once and timed, and keys can be pressed."""

import fcntl
import json
import os
import struct
import subprocess
import termios
import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

KEPT = 64


class Painted:
    """Something that was painted, and when (`time.perf_counter`)."""

    def __init__(self, at_s: float, data: bytes) -> None:
        self.at_s = at_s
        self.data = data


class PseudoTerminal:
    """Runs a command with stdin and stderr on a terminal of its own, as the view wants it; stdout is piped.

    A thread reads what is painted, so that the program never waits for its terminal.
    """

    def __init__(
        self, command: Sequence[str], size: tuple[int, int], environment: Mapping[str, str], folder: Path
    ) -> None:
        ours, theirs = os.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
        names = {"TERM": "xterm-256color", "COLUMNS": str(size[0]), "LINES": str(size[1])}
        self.process = subprocess.Popen(
            command,
            stdin=theirs,
            stderr=theirs,
            stdout=subprocess.PIPE,
            cwd=folder,
            env={**environment, **names},
            start_new_session=True,
        )
        os.close(theirs)
        self._terminal = ours
        self._changed = threading.Condition()
        self._last: deque[Painted] = deque(maxlen=KEPT)
        self.bytes = 0
        self.repaints: list[float] = []
        """When a repaint began: the first of what came without a pause."""
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self._reader.join(5)
        os.close(self._terminal)

    def _read(self) -> None:
        before = 0.0
        while True:
            try:
                data = os.read(self._terminal, 1 << 16)
            except OSError:  # the other end is closed
                data = b""
            if not data:
                return
            now = time.perf_counter()
            with self._changed:
                if now - before > 0.02:
                    self.repaints.append(now)
                before = now
                self.bytes += len(data)
                self._last.append(Painted(now, data))
                self._changed.notify_all()

    def press(self, key: bytes, paints: bytes, patience_s: float = 10.0) -> float | None:
        """Press a key; seconds until `paints` was painted, None if the program ended before.

        Raises TimeoutError when it is not.
        """
        with self._changed:
            self._last.clear()
        began = time.perf_counter()
        os.write(self._terminal, key)
        return self.wait(paints, began, patience_s)

    def wait(self, text: bytes, since_s: float, patience_s: float = 60.0) -> float | None:
        """Seconds from `since_s` until a text was painted, None if the program ended before."""
        deadline = time.perf_counter() + patience_s
        with self._changed:
            while True:
                seen = b""
                for painted in self._last:
                    seen += painted.data
                    if text in seen:
                        return painted.at_s - since_s
                if self.process.poll() is not None:
                    return None
                left = deadline - time.perf_counter()
                if left <= 0:
                    raise TimeoutError(f"{text!r} was not painted in {patience_s:g} s")
                self._changed.wait(min(left, 0.2))

    def leave(self, text: bytes, patience_s: float = 3600.0) -> None:
        """Press q once a text is painted. Raises TimeoutError when it is not."""
        if self.wait(text, 0.0, patience_s) is not None:
            os.write(self._terminal, b"q")

    def result(self) -> Any:
        """Wait for the program; the last line of its stdout, as JSON. Raises RuntimeError if it failed."""
        assert self.process.stdout is not None
        said = self.process.stdout.read().decode()
        if self.process.wait():
            tail = b"".join(painted.data for painted in self._last)[-2000:]
            raise RuntimeError(f"it ended with {self.process.returncode}: {tail.decode(errors='replace')}")
        return json.loads(said.splitlines()[-1])
