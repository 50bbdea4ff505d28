"""Being told to end, as an exception: what was begun is then swept up, as it is for Ctrl-C."""

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn


@contextmanager
def endings_as_exceptions() -> Iterator[None]:
    """Let a process that is told to end sweep up what it began."""

    def leave(number: int, _: object) -> NoReturn:
        sys.exit(128 + number)

    before = {ending: signal.signal(ending, leave) for ending in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for ending, handler in before.items():
            signal.signal(ending, handler)
