"""Waiting for what another thread, process or an application does in its own time."""

import asyncio
import time
from collections.abc import Callable

PATIENCE_S = 60.0


async def eventually(condition: Callable[[], object], said: Callable[[], str] = str) -> None:
    """Come back once `condition` holds; fail after `PATIENCE_S`, with what `said` says then.

    Never assert at once what follows a key: a busy machine needs more than one turn of the loop.
    """
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, f"it did not happen in time\n{said()}"
        await asyncio.sleep(0.02)
