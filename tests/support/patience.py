"""Waiting for what another thread, process or an application does in its own time, and for hostile input."""

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

PATIENCE_S = 60.0
MOMENT_S = 20.0


@contextmanager
def in_a_moment() -> Iterator[None]:
    """Fail if what is done inside takes more than `MOMENT_S` of CPU.

    That is many times what it takes on a slow machine, and far less than it would if time grew with the
    square of the input, or without end.
    """
    began = time.process_time()
    yield
    assert time.process_time() - began < MOMENT_S


async def eventually(condition: Callable[[], object], said: Callable[[], str] = str) -> None:
    """Come back once `condition` holds; fail after `PATIENCE_S`, with what `said` says then.

    Never assert at once what follows a key: a busy machine needs more than one turn of the loop.
    """
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, f"it did not happen in time\n{said()}"
        await asyncio.sleep(0.02)
