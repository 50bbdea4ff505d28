"""An adapter as llama.cpp's GGUF; `rig.plugins.tune.merging` reads it, and merges it into a model."""

from collections.abc import Mapping
from pathlib import Path

import gguf
import numpy as np

from rig.plugins.tune.merging import Floats

Pairs = Mapping[str, tuple[Floats, Floats]]
"""For the weight of a layer, by its name: a [rank, inputs] and b [outputs, rank]."""


def write_adapter(path: Path, pairs: Pairs, alpha: float, *, name: str, base: str) -> None:
    """Write an adapter as llama.cpp reads it, in half precision. `base` names what it was made for."""
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_type(gguf.GGUFType.ADAPTER)
    writer.add_string(gguf.Keys.Adapter.TYPE, "lora")
    writer.add_float32(gguf.Keys.Adapter.LORA_ALPHA, alpha)
    writer.add_name(name)
    writer.add_base_model_count(1)
    writer.add_base_model_name(0, base)
    for weight, (a, b) in pairs.items():
        writer.add_tensor(f"{weight}.lora_a", a.astype(np.float16))
        writer.add_tensor(f"{weight}.lora_b", b.astype(np.float16))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
