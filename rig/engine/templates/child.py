"""The process in which chat templates run, from inside: one question per line, one answer per line."""

import json
import resource
import signal
import sys
from contextlib import suppress
from functools import lru_cache
from typing import Any

from rig.engine.templates.environment import Compiled

_compiled = lru_cache(maxsize=64)(Compiled)


def serve(seconds: int, memory: int, characters: int) -> None:
    """Answer until nobody asks any more. Each question may take this many seconds of computing."""
    # The terminal tells all processes of Ctrl-C; what that means is for the one that asks to say.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    limit_memory(memory)
    for line in sys.stdin:
        limit_time(seconds)
        print(json.dumps(_answer(json.loads(line), characters)), flush=True)


def limit_memory(size: int) -> None:
    """Let this process have at most so many bytes of memory, where the system can limit it."""
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_AS, (size, size))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def limit_time(seconds: int) -> None:
    """Let this process compute so many seconds from now on; the kernel ends it when they are over."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    until = int(used.ru_utime + used.ru_stime) + seconds + 1
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (until, hard))


def _answer(asked: dict[str, Any], characters: int) -> dict[str, str]:
    """The text that a template makes, or what it is at fault in; a template can raise anything."""
    try:
        compiled = _compiled(asked["source"])
        if "messages" not in asked:
            return {}
        text = compiled.render(asked["messages"], asked["tools"], asked["given"])
    except MemoryError:
        return {"fault": "it wants too much memory"}
    except Exception as error:
        return {"fault": f"{type(error).__name__}: {error}"[:2_000]}
    if len(text) > characters:
        return {"fault": f"it makes a text of over {characters:,} characters"}
    return {"text": text}
