"""The machine's own figures: its cores, and a run's costs in memory, energy and time for displays."""

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

POWERCAP = Path("/sys/class/powercap")
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
            _largest(self.peak_memory, later.peak_memory),
            _largest(self.peak_device_memory, later.peak_device_memory),
            _total([self.energy_j, later.energy_j]),
        )


class CostMeter:
    """Measures costs from its creation on. `read` must be called every few minutes, as counters overflow."""

    def __init__(self, powercap: Path = POWERCAP) -> None:
        self._packages = []
        for folder in sorted(powercap.glob("intel-rapl:*")):
            if folder.name.removeprefix("intel-rapl:").isdecimal():
                with suppress(OSError, ValueError):  # many systems let only root read it
                    self._packages.append(_Package(folder))
        self._gpus = _gpus()
        self._device_peak: int | None = None

    def read(self) -> Costs:
        """Return peaks and energy since the beginning."""
        packages = [package.used() for package in self._packages]
        used = _total([*packages, *(gpu.used() for gpu in self._gpus)])
        held = _total([gpu.memory() for gpu in self._gpus])
        self._device_peak = _largest(self._device_peak, held)
        return Costs(0.0, None, self._device_peak, used)


class _Package:
    """The energy counter of a CPU package (Linux powercap, RAPL), in microjoules up to a maximum."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "energy_uj"
        self._range = int((folder / "max_energy_range_uj").read_text())
        self._last = int(self._file.read_text())
        self._joules = 0.0

    def used(self) -> float:
        with suppress(OSError, ValueError):
            now = int(self._file.read_text())
            self._joules += (now - self._last) % self._range / 1e6
            self._last = now
        return self._joules


class _Gpu:
    """An NVIDIA GPU, read through NVML."""

    def __init__(self, nvml: Any, handle: Any) -> None:
        self._nvml = nvml
        self._handle = handle
        self._first = self._millijoules()

    def used(self) -> float | None:
        now = self._millijoules()
        return None if now is None or self._first is None else (now - self._first) / 1e3

    def memory(self) -> int | None:
        with suppress(self._nvml.NVMLError):
            processes = self._nvml.nvmlDeviceGetComputeRunningProcesses(self._handle)
            own = [process.usedGpuMemory for process in processes if process.pid == os.getpid()]
            return sum(own) if own and None not in own else None
        return None

    def _millijoules(self) -> int | None:
        with suppress(self._nvml.NVMLError):
            return int(self._nvml.nvmlDeviceGetTotalEnergyConsumption(self._handle))
        return None


def _gpus() -> list[_Gpu]:
    try:
        pynvml: Any = import_module("pynvml")
    except ImportError:  # it comes with the extra `gpu`
        return []
    try:
        pynvml.nvmlInit()
        count = pynvml.nvmlDeviceGetCount()
        return [_Gpu(pynvml, pynvml.nvmlDeviceGetHandleByIndex(index)) for index in range(count)]
    except pynvml.NVMLError:
        return []


def _largest(*values: int | None) -> int | None:
    return max((value for value in values if value is not None), default=None)


def _total(values: Sequence[Number | None]) -> Number | None:
    measured = [value for value in values if value is not None]
    return sum(measured[1:], measured[0]) if measured else None
