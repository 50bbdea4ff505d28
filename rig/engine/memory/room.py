"""Whether there is memory for one model more beside those that are loaded."""

from pathlib import Path

from rig.engine.core import llama
from rig.engine.memory.devices import Device, Memory, gpus, machine_memory

_TIMES = 3
"""What a model takes at most, in sizes of its file: weights laid out again for the processor, and caches."""


def has_room(path: Path) -> bool:
    """Whether so much memory is free that a file is loaded as it would be if it were alone.

    Half of each device's memory has to be, and three times the file.
    """
    needed = _TIMES * path.stat().st_size
    devices: list[Memory | Device] = [machine_memory()]
    if llama.supports_gpu_offload():
        devices += gpus()
    return all(device.free >= max(needed, device.total / 2) for device in devices)
