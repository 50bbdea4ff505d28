"""The devices to compute on, how much of their memory is free, and the plan of how a model is loaded there.

GPUs are those that this build of llama.cpp finds, under its own numbers. The machine's memory is what the
operating system and the control groups around this process allow.
"""

import ctypes
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

import psutil

from rig.core.calls import ByName, JsonObject
from rig.core.errors import counted
from rig.core.models import Memory
from rig.plugins.llama.core.placement import MACHINE, Placement, ggml


class Shape(NamedTuple):
    """The settings that decide how large everything is: `n_ctx` tokens for each of `n_seq` sequences.

    The experts of the first `n_cpu_moe` layers are in main memory, whatever else is on a GPU.
    """

    n_gpu_layers: int
    n_ctx: int
    n_batch: int
    n_seq: int
    kv_type: str
    flash_attention: bool
    n_cpu_moe: int = 0

    def place(self, placement: Placement) -> Placement:
        """Return a placement with this shape's layers and experts."""
        return placement._replace(n_gpu_layers=self.n_gpu_layers, n_cpu_moe=self.n_cpu_moe)


@dataclass(frozen=True, slots=True)
class DeviceUse:
    """What one GPU, or the machine's own memory, has to hold, in bytes.

    Of what is `free` now, `margin` is left alone; `swap` comes on top. `layers` counts the output as one.
    `other` only the machine has: weights laid out again for its processor, and what it computes in beside
    llama.cpp's buffers. The machine's weights are pages of the model's file that can be given up and read
    again, so they are no part of its `needed`. Weights that another model has open are `shared`, and take no
    more. A `unified` GPU shares the machine's memory.
    """

    name: str
    description: str
    free: int
    total: int
    margin: int
    swap: int = 0
    is_machine: bool = False
    layers: int = 0
    weights: int = 0
    kv: int = 0
    state: int = 0
    compute: int = 0
    other: int = 0
    unified: bool = False
    shared: int = 0

    @property
    def title(self) -> str:
        """The device's name with its description: `CUDA0 (NVIDIA H200)`."""
        return f"{self.name} ({self.description})" if self.description else self.name

    @property
    def needed(self) -> int:
        """The bytes that must be free for it."""
        return self.held - (self.weights if self.is_machine else 0)

    @property
    def held(self) -> int:
        """All bytes that it holds, including pages of the file."""
        return self.weights + self.kv + self.state + self.compute + self.other

    @property
    def missing(self) -> int:
        """The bytes that it lacks; 0 if everything fits and leaves the margin."""
        return max(self.needed + self.margin - self.free, 0) if self.needed else 0

    def as_json(self) -> JsonObject:
        """Return every number by name."""
        numbers = {name: value for name, value in asdict(self).items() if name != "unified"}
        return {**numbers, "needed": self.needed, "missing": self.missing}


@dataclass(frozen=True, slots=True)
class FitPlan(ByName):
    """How a model will be loaded, and what that takes.

    `n_gpu_layers` of `offloadable` (all layers, and the output) go to GPUs. `n_seq` sequences are planned
    for, and `most_sequences` would fit. `uses` are the GPUs in llama.cpp's order, then the machine. `fits`
    says whether everything is within what is free; `remarks` say in words what was given up for that.
    """

    n_gpu_layers: int
    offloadable: int
    n_ctx: int
    n_batch: int
    n_seq: int
    most_sequences: int
    kv_type: str
    flash_attention: bool
    n_cpu_moe: int
    uses: tuple[DeviceUse, ...]
    fits: bool
    remarks: tuple[str, ...] = ()

    @property
    def shape(self) -> Shape:
        """The settings that decide how large everything is."""
        return Shape(**{name: getattr(self, name) for name in Shape._fields})

    @property
    def gpus(self) -> tuple[DeviceUse, ...]:
        """The GPUs that hold anything."""
        return tuple(use for use in self.uses if not use.is_machine and use.layers)

    @property
    def machine(self) -> DeviceUse:
        return self.uses[-1]

    def memory(self, n_seq: int) -> Memory:
        """Return what a model takes with so many sequences, whoever else uses its weights.

        A process holds more: libraries, and other arms' models that stay loaded. So its size is no model's.
        """
        times = n_seq / self.n_seq
        *gpus, main = [use.shared + use.held + round((times - 1) * (use.kv + use.state)) for use in self.uses]
        return Memory(main, sum(gpus) if self.gpus else None)

    @property
    def missing(self) -> int:
        """The bytes that are lacking over all devices."""
        return sum(use.missing for use in self.uses)

    @property
    def brief(self) -> str:
        """The choices that can be given up, in a few words."""
        layers = f"{self.n_gpu_layers} of {self.offloadable} layers on the GPU, " if self.n_gpu_layers else ""
        if self.n_cpu_moe:
            layers += f"experts of {self.n_cpu_moe} on the CPU, "
        return f"{layers}a context of {self.n_ctx}, batches of {self.n_batch}"

    @property
    def line(self) -> str:
        """The place of each part, and the memory it takes of what is free, in one line."""
        places = [
            f"{use.layers} of {self.offloadable} layers on {use.title},"
            f" {size(use.held)} of {size(use.free)} free"
            for use in self.uses
            if use.layers
        ]
        if self.n_cpu_moe:
            places.append(f"experts of the first {counted(self.n_cpu_moe, 'layer')} on CPU")
        flash = "on" if self.flash_attention else "off"
        return (
            f"{'; '.join(places)}; context {self.n_ctx}, batch {self.n_batch},"
            f" KV cache {self.kv_type}, flash attention {flash}"
        )

    def as_json(self) -> JsonObject:
        """Return every number by name."""
        return {**ByName.as_json(self), "missing": self.missing}


def size(count: int) -> str:
    """Format a number of bytes for people: `812 MiB`, `5.3 GiB`."""
    return f"{count / 2**20:.0f} MiB" if count < 2**30 else f"{count / 2**30:.1f} GiB"


GPU_MARGIN = 2**30
"""Bytes left free on each GPU for libraries and the desktop; llama.cpp leaves as much."""
MACHINE_MARGIN = 2**29
"""Bytes of the machine's memory left free, also for the tokenizer, which llama.cpp does not count."""
_DISCRETE, _INTEGRATED = 1, 2
"""Device types of ggml-backend.h: 0 is the CPU, and those above 2 only help it or combine others."""


def machine(free: int, total: int, swap: int = 0) -> DeviceUse:
    """Return the machine's memory: what a process may still take, the total, and the free swap."""
    return DeviceUse(MACHINE, "", free, total, MACHINE_MARGIN, swap, is_machine=True)


def gpus() -> tuple[DeviceUse, ...]:
    """Return the GPUs that models would use: discrete ones, or else integrated ones, as llama.cpp chooses.

    Asking a GPU for its free memory may wake it up and take some of that memory for good.
    """
    from rig.plugins.llama.core.llama import initialise

    initialise()
    pointer, size = ctypes.c_void_p, ctypes.c_size_t
    device_at = ggml("backend_dev_get", pointer, size)
    name_of = ggml("backend_dev_name", ctypes.c_char_p, pointer)
    description_of = ggml("backend_dev_description", ctypes.c_char_p, pointer)
    kind_of = ggml("backend_dev_type", ctypes.c_int, pointer)
    memory_of = ggml("backend_dev_memory", None, pointer, ctypes.POINTER(size), ctypes.POINTER(size))
    devices: list[tuple[int, DeviceUse]] = []
    for number in range(ggml("backend_dev_count", size)()):
        device = device_at(number)
        kind = kind_of(device)
        if kind not in (_DISCRETE, _INTEGRATED):
            continue
        free, total = size(), size()
        memory_of(device, ctypes.byref(free), ctypes.byref(total))
        use = DeviceUse(
            name=name_of(device).decode("utf-8", "replace"),
            description=description_of(device).decode("utf-8", "replace").strip(),
            free=min(free.value, total.value),
            total=total.value,
            margin=GPU_MARGIN,
            # Apple's GPUs call themselves discrete.
            unified=kind == _INTEGRATED or sys.platform == "darwin",
        )
        devices.append((kind, use))
    return tuple(device for kind, device in devices if kind == min(kind for kind, _ in devices))


def has_room(path: Path) -> bool:
    """Return whether so much memory is free that a file is loaded as it would be if it were alone.

    Each device needs half of its memory free, and three times the file's size: some weights are laid out
    again for the processor, and there are caches.
    """
    from rig.plugins.llama.core.llama import supports_gpu_offload

    needed = 3 * path.stat().st_size
    devices = [machine_memory(), *(gpus() if supports_gpu_offload() else ())]
    return all(device.free >= max(needed, device.total / 2) for device in devices)


def machine_memory(proc: Path = Path("/proc"), groups: Path = Path("/sys/fs/cgroup")) -> DeviceUse:
    """Return the memory this process may use, within every control group around it that sets a limit."""
    all_memory = psutil.virtual_memory()
    memory = machine(all_memory.available, all_memory.total, psutil.swap_memory().free)
    for free, limit in _limits(proc, groups):
        if free < memory.free:
            # Groups have a separate limit for swap, and mostly they may not swap.
            memory = machine(max(free, 0), min(limit, memory.total))
    return memory


def _limits(proc: Path, groups: Path) -> Iterator[tuple[int, int]]:
    """Yield (free, limit) in bytes for each control group that this process is in and that has a limit."""
    for line in _lines(proc / "self" / "cgroup"):
        _, controllers, path = line.split(":", 2)
        if not controllers:
            root, names = groups, ("memory.max", "memory.current", "inactive_file")
        elif "memory" in controllers.split(","):
            root = groups / "memory"
            names = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
        else:
            continue
        # In a container the path may be one from outside; the root of the mount is then the group.
        group = root / path.lstrip("/")
        for place in dict.fromkeys([group, *group.parents, root]):
            if not place.is_relative_to(root):
                continue
            limit, used = _number(place / names[0]), _number(place / names[1])
            if limit is not None and used is not None:
                # Unused pages of files count as used, but the kernel gives them up when memory is short.
                stat = dict(line.split(" ", 1) for line in _lines(place / "memory.stat") if " " in line)
                idle = stat.get(names[2], "0")
                yield limit - used + (int(idle) if idle.isdigit() else 0), limit


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []


def _number(path: Path) -> int | None:
    """Read a limit or a usage; None if there is none, which is written `max`."""
    text = "".join(_lines(path)[:1]).strip()
    return int(text) if text.isdigit() else None
