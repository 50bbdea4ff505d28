"""What a model takes on each device, as llama.cpp itself counts.

It lays everything out without allocating it, and logs what it would put where, to the hundredth of a MiB.
Weights are the exception: the log only says on which device each layer is and which tensors are elsewhere;
their sizes are in the file.
"""

import platform
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeAlias

from rig.plugins.llama.core.llama import LlamaContext, LlamaModel, listening
from rig.plugins.llama.core.placement import MACHINE, ON_CPU, Placement
from rig.plugins.llama.files.header import Tensor, read_header
from rig.plugins.llama.memory.plan import Shape

_REPACKED = {"Q4_0", "Q4_K", "Q2_K", "IQ4_NL", "MXFP4"}
if platform.machine() in ("arm64", "aarch64"):
    _REPACKED |= {"Q5_K", "Q6_K", "Q8_0"}
"""Types for which llama.cpp's CPU backend has interleaved layouts, if the processor has the instructions."""

_LAYER = re.compile(r"load_tensors: layer +\d+ assigned to device (\S+),")
_BUFFER = re.compile(r"(\S+) +(?:compute|output) buffer size = +([\d.]+) MiB")
_CACHED_LAYER = re.compile(r"layer +\d+: dev = (\S+)")
_CACHE = re.compile(r"(llama_(?:kv_cache|memory)\w*|\w*dsv4\w*): (?!.*buffer).*?\bsize = +([\d.]+) MiB")
_OF_LAYER = re.compile(r"blk\.(\d{1,4})\.")
_OVERRIDDEN = re.compile(r"tensor (\S+) \(.*\) buffer type overridden to (\S+)")

MOST_CELLS = 2**22
"""A larger cache is inferred: llama.cpp allocates 40 bytes for each cell even when it only counts."""


@dataclass(slots=True)
class Needs:
    """What a model needs on one device in bytes, and how many layers it has there; the output counts as one.

    `repacked` are the bytes of its weights that may be laid out again for the processor, and then count
    twice.
    """

    layers: int = 0
    weights: int = 0
    repacked: int = 0
    kv: float = 0.0
    state: float = 0.0
    compute: float = 0.0


@dataclass(frozen=True, slots=True)
class Count:
    """What a model takes, by device name; `layers` are the devices of its layers, then the output's."""

    layers: tuple[str, ...]
    devices: dict[str, Needs] = field(default_factory=dict)

    def on(self, device: str) -> Needs:
        """Return the needs on a device; all zero if it holds nothing."""
        return self.devices.get(device, Needs())

    def grown(self, half: "Count", times: float) -> "Count":
        """Return the count for so many times the context, from this one and that for half of it."""

        def grow(now: float, before: float) -> float:
            return now + (now - before) * 2 * (times - 1)

        devices = {
            name: replace(
                needs,
                kv=grow(needs.kv, half.on(name).kv),
                compute=grow(needs.compute, half.on(name).compute),
            )
            for name, needs in self.devices.items()
        }
        return Count(self.layers, devices)


Counting: TypeAlias = Callable[[Shape], Count]
"""Counts what a model takes in a shape. Raises RigError, with the reason, if llama.cpp refuses it."""

OpenContext: TypeAlias = Callable[..., LlamaContext]
"""Opens a context for a model in a shape, by default with the cells it needs; a third argument sets them."""


class LlamaCount:
    """Counts what one file takes, with contexts opened as a run opens them; its model is kept until `close`.

    `placement` is where weights go, except for layers and experts, which the shape decides.
    """

    def __init__(self, path: Path, open_context: OpenContext, placement: Placement = ON_CPU) -> None:
        self._tensors = read_header(path).tensors
        self._path = path
        self._placement = placement
        self._open_context = open_context
        self._model: LlamaModel | None = None
        self._model_log = ""
        self._counts: dict[Shape, Count] = {}

    def __call__(self, shape: Shape) -> Count:
        """Return the count for a shape. Raises RigError if llama.cpp refuses it."""
        if shape.n_ctx * shape.n_seq > MOST_CELLS:
            n_ctx = MOST_CELLS // shape.n_seq
            large, half = (self(shape._replace(n_ctx=length)) for length in (n_ctx, n_ctx // 2))
            return large.grown(half, shape.n_ctx / n_ctx)
        if shape not in self._counts:
            lines: list[str] = []
            with listening(lines.append):
                placement = shape.place(self._placement)
                if self._model is None or self._model.placement != placement:
                    self.close()
                    self._model = LlamaModel(self._path, placement, weightless=True)
                    self._model_log = "".join(lines)
                    lines.clear()
                self._open_context(self._model, shape).close()
            self._counts[shape] = read_log(self._model_log + "".join(lines), self._tensors)
        return self._counts[shape]

    def close(self) -> None:
        """Free the model that was loaded to count."""
        if self._model is not None:
            self._model.close()
            self._model = None


def read_log(log: str, tensors: Sequence[Tensor] = ()) -> Count:
    """Return the count that llama.cpp's log contains; what is on no layer's device is on the machine."""
    layers = tuple(_LAYER.findall(log))
    devices = {device: Needs(layers=count) for device, count in Counter(layers).items()}
    devices.setdefault(MACHINE, Needs())
    cached: Counter[str] = Counter()
    for line in log.splitlines():
        if match := _CACHED_LAYER.search(line):
            cached[match[1]] += 1
        elif match := _BUFFER.search(line):
            devices.get(match[1], devices[MACHINE]).compute += float(match[2]) * 2**20
        elif match := _CACHE.match(line):
            for device, count in cached.items():
                held, share = devices.get(device, devices[MACHINE]), count / cached.total()
                if "recurrent" in match[1]:
                    held.state += float(match[2]) * 2**20 * share
                else:
                    held.kv += float(match[2]) * 2**20 * share
            cached.clear()
    _add_weights(devices, layers, tensors, dict(_OVERRIDDEN.findall(log)))
    return Count(layers, devices)


def _add_weights(
    devices: dict[str, Needs], layers: Sequence[str], tensors: Sequence[Tensor], overridden: Mapping[str, str]
) -> None:
    """Add the weights: each on its layer's device, the input on the machine, a tied input and output on both.

    Tensors in `overridden` are in the buffers named there instead.
    """
    output = layers[-1] if layers else MACHINE
    is_tied = not any(tensor.name == "output.weight" for tensor in tensors)
    for tensor in tensors:
        layer = _OF_LAYER.match(tensor.name)
        if layer and int(layer[1]) < len(layers) - 1:
            place = overridden.get(tensor.name, layers[int(layer[1])])
            held = devices.get(place, devices[MACHINE])
            held.repacked += tensor.bytes if tensor.type.name in _REPACKED else 0
        else:
            place = overridden.get(tensor.name, output if tensor.name.startswith("output") else MACHINE)
            held = devices.get(place, devices[MACHINE])
        held.weights += tensor.bytes
        if is_tied and tensor.name == "token_embd.weight" and output != MACHINE:
            devices[output].weights += tensor.bytes
