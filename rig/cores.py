"""Processors."""

import os


def available_cores() -> int:
    """Cores this process may use; more threads than that make llama.cpp spin."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # macOS
        return os.cpu_count() or 1
