"""The machine's cores, and what a run costs in memory, energy and time for displays."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

Number = TypeVar("Number", int, float)


def available_cores() -> int:
    """Return the cores that this process may use; with more threads than that, llama.cpp spins."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # macOS
        return os.cpu_count() or 1


@dataclass(frozen=True, slots=True)
class Costs:
    """Costs of an arm so far. None means that the machine does not report it.

    `display_s` are seconds spent on showing events. `peak_memory` is what its models take in main memory, for
    weights, KV cache and compute buffers, and `peak_device_memory` the same on all GPUs, in bytes; where that
    is unknown, what the process held on GPUs. `energy_j` is what CPU packages and GPUs used
    during the arm, including other programs, in joules.
    """

    display_s: float = 0.0
    peak_memory: int | None = None
    peak_device_memory: int | None = None
    energy_j: float | None = None

    def __add__(self, later: "Costs") -> "Costs":
        """Add two costs: the larger of the peaks, and sums of the others."""
        return Costs(
            self.display_s + later.display_s,
            largest(self.peak_memory, later.peak_memory),
            largest(self.peak_device_memory, later.peak_device_memory),
            total_of([self.energy_j, later.energy_j]),
        )


class CostMeter(Protocol):
    """What a plugin registers to measure costs of arms (`registry.meters`), made anew for each."""

    def read(self) -> Costs:
        """Return the costs since it was made. Called every few minutes at least."""
        ...


def largest(*values: int | None) -> int | None:
    """Return the largest of the values that are known, None if none is."""
    return max((value for value in values if value is not None), default=None)


def total_of(values: Sequence[Number | None]) -> Number | None:
    """Return the sum of the values that are known, None if none is."""
    measured = [value for value in values if value is not None]
    return sum(measured[1:], measured[0]) if measured else None
