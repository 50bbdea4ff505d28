"""The memory that a process takes."""

import re
import resource
import sys
from contextlib import suppress
from pathlib import Path


def peak_memory() -> int:
    """Return the most bytes that this process has held in memory since its program began."""
    # Linux's `ru_maxrss` outlives exec: a child of a large process begins with the parent's peak.
    with suppress(OSError):
        status = Path("/proc/self/status").read_text(encoding="utf-8")
        if match := re.search(r"^VmHWM:\s+(\d+) kB", status, re.MULTILINE):
            return int(match[1]) * 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
