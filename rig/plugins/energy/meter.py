"""Read the counters of energy: of CPU packages by Linux powercap, and of NVIDIA's GPUs by NVML."""

import os
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from rig.core.meters import Costs, largest, total_of

POWERCAP = Path("/sys/class/powercap")


class EnergyMeter:
    """Measures energy and memory from its creation on. Counters overflow after some minutes."""

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
        used = total_of([*packages, *(gpu.used() for gpu in self._gpus)])
        held = total_of([gpu.memory() for gpu in self._gpus])
        self._device_peak = largest(self._device_peak, held)
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
