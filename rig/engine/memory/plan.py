"""What is wanted from a fit, and the resulting plan, with every number that it was made from."""

from dataclasses import asdict, dataclass

from rig.calls import JsonObject


@dataclass(frozen=True, slots=True)
class Wishes:
    """What is asked for; None is open. `n_gpu_layers` counts the output as a layer, -1 means all.

    Weights that are `loaded` already, for another who has them too, take nothing.
    """

    n_gpu_layers: int | None = None
    n_ctx: int | None = None
    n_batch: int | None = None
    n_seq: int | None = None
    flash_attention: bool | None = None
    kv_type: str = "f16"
    loaded: bool = False


@dataclass(frozen=True, slots=True)
class Use:
    """What one GPU, or the machine's own memory, has to hold. Bytes.

    Of what is `free` now, `margin` is left alone; `swap` is beside it. `layers` counts the output as one.
    `other` is what only the machine has: the tokenizer, and weights laid out again for its processor. Its
    weights are pages of the model's file, which can be given up and read again: no part of `needed` there.
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
        return {**asdict(self), "needed": self.needed, "missing": self.missing}


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
    uses: tuple[Use, ...]
    fits: bool
    remarks: tuple[str, ...] = ()

    @property
    def gpus(self) -> tuple[Use, ...]:
        """The GPUs that hold anything."""
        return tuple(use for use in self.uses if not use.is_machine and use.layers)

    @property
    def machine(self) -> Use:
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
