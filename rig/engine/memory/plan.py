"""The plan of how a model is loaded, with every number that it was made from."""

from dataclasses import asdict, dataclass
from typing import NamedTuple

from rig.calls import JsonObject

MACHINE = "CPU"
"""What llama.cpp calls the device whose memory is the machine's own."""


class Shape(NamedTuple):
    """The settings that decide how large everything is: `n_ctx` tokens for each of `n_seq` sequences."""

    n_gpu_layers: int
    n_ctx: int
    n_batch: int
    n_seq: int
    kv_type: str
    flash_attention: bool


@dataclass(frozen=True, slots=True)
class DeviceUse:
    """What one GPU, or the machine's own memory, has to hold. Bytes.

    Of what is `free` now, `margin` is left alone; `swap` is beside it. `layers` counts the output as one.
    `other` is what only the machine has: weights laid out again for its processor, and what it computes in
    beside llama.cpp's buffers. Its weights are pages of the model's file, which can be given up and read
    again: no part of `needed` there. A `unified` GPU has no memory apart from the machine's.
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

    @property
    def title(self) -> str:
        """`CUDA0 (NVIDIA H200)`."""
        return f"{self.name} ({self.description})" if self.description else self.name

    @property
    def needed(self) -> int:
        """What must be free for it."""
        return self.held - (self.weights if self.is_machine else 0)

    @property
    def held(self) -> int:
        """Everything, pages of the file too."""
        return self.weights + self.kv + self.state + self.compute + self.other

    @property
    def missing(self) -> int:
        """Bytes that it lacks; 0 if everything fits and leaves the margin."""
        return max(self.needed + self.margin - self.free, 0) if self.needed else 0

    def as_json(self) -> JsonObject:
        """Every number by name."""
        numbers = asdict(self)
        del numbers["unified"]
        return {**numbers, "needed": self.needed, "missing": self.missing}


@dataclass(frozen=True, slots=True)
class FitPlan:
    """How a model will be loaded, and what that takes.

    `n_gpu_layers` of `offloadable` (all layers, and the output) go to GPUs. `n_seq` sequences are planned
    for, and `most_sequences` of them would fit. `uses` are the GPUs in llama.cpp's order, then the machine.
    `fits` says whether all of it is within what is free; `remarks` say in words what was given up for that.
    """

    n_gpu_layers: int
    offloadable: int
    n_ctx: int
    n_batch: int
    n_seq: int
    most_sequences: int
    kv_type: str
    flash_attention: bool
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

    @property
    def missing(self) -> int:
        """Bytes that are lacking, over all devices."""
        return sum(use.missing for use in self.uses)

    @property
    def brief(self) -> str:
        """The choices that can be given up, in a few words."""
        layers = f"{self.n_gpu_layers} of {self.offloadable} layers on the GPU, " if self.n_gpu_layers else ""
        return f"{layers}a context of {self.n_ctx}, batches of {self.n_batch}"

    @property
    def line(self) -> str:
        """What is where, and the memory it takes of what is free, in one line."""
        places = [
            f"{use.layers} of {self.offloadable} layers on {use.title},"
            f" {size(use.held)} of {size(use.free)} free"
            for use in self.uses
            if use.layers
        ]
        flash = "on" if self.flash_attention else "off"
        return (
            f"{'; '.join(places)}; context {self.n_ctx}, batch {self.n_batch},"
            f" KV cache {self.kv_type}, flash attention {flash}"
        )

    def as_json(self) -> JsonObject:
        """Every number by name."""
        return {
            **asdict(self),
            "remarks": list(self.remarks),
            "missing": self.missing,
            "uses": [use.as_json() for use in self.uses],
        }


def size(count: int) -> str:
    """Bytes for people: `812 MiB`, `5.3 GiB`."""
    return f"{count / 2**20:.0f} MiB" if count < 2**30 else f"{count / 2**30:.1f} GiB"
