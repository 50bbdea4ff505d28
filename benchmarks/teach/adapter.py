"""An adapter as files: llama.cpp's GGUF, read and written, and merged into the weights it was made for.

python -m benchmarks.teach.adapter merge BASE.gguf ADAPTER.gguf MERGED.gguf [--type Q8_0|F16] [--scale 1]
"""

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gguf
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Pairs = Mapping[str, tuple[Floats, Floats]]
"""For the weight of a layer, by its name: a [rank, inputs] and b [outputs, rank]."""

TYPES = {"Q8_0": gguf.GGMLQuantizationType.Q8_0, "F16": gguf.GGMLQuantizationType.F16}
_FILE_TYPES = {"Q8_0": gguf.LlamaFileType.MOSTLY_Q8_0, "F16": gguf.LlamaFileType.MOSTLY_F16}


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
    _finish(writer)


def read_adapter(path: Path) -> tuple[dict[str, tuple[Floats, Floats]], float]:
    """The pairs of an adapter file, and its alpha."""
    reader = gguf.GGUFReader(path)
    read = {tensor.name: _floats(tensor) for tensor in reader.tensors}
    weights = sorted({name.rpartition(".")[0] for name in read})
    pairs = {weight: (read[f"{weight}.lora_a"], read[f"{weight}.lora_b"]) for weight in weights}
    return pairs, float(reader.fields[gguf.Keys.Adapter.LORA_ALPHA].contents())


def merge(base: Path, adapter: Path, target: Path, *, kind: str = "Q8_0", scale: float = 1.0) -> None:
    """Write the base with `scale` · alpha / rank · b · a added to its weights, as `kind`, one of TYPES.

    The base is dequantized first, so what its own quantization lost stays lost.
    """
    reader = gguf.GGUFReader(base)
    pairs, alpha = read_adapter(adapter)
    unknown = sorted(set(pairs) - {tensor.name for tensor in reader.tensors})
    if unknown:
        raise ValueError(f"{adapter}: not made for {base}, which has no {unknown[0]}")
    writer = gguf.GGUFWriter(target, reader.fields["general.architecture"].contents())
    _copy_fields(reader, writer, kind)
    for tensor in reader.tensors:
        values = _floats(tensor)
        if tensor.name in pairs:
            a, b = pairs[tensor.name]
            values = values + scale * alpha / len(a) * (b @ a)
        if values.ndim == 1:
            writer.add_tensor(tensor.name, values)
        else:
            writer.add_tensor(tensor.name, gguf.quantize(values, TYPES[kind]), raw_dtype=TYPES[kind])
    _finish(writer)


def _copy_fields(reader: gguf.GGUFReader, writer: gguf.GGUFWriter, kind: str) -> None:
    for name, field in reader.fields.items():
        if name.startswith("GGUF.") or name in ("general.architecture", "general.file_type"):
            continue
        first, *rest = field.types
        writer.add_key_value(name, field.contents(), first, rest[-1] if rest else None)
    writer.add_file_type(_FILE_TYPES[kind])


def _floats(tensor: Any) -> Floats:
    return np.array(gguf.dequantize(tensor.data, tensor.tensor_type), dtype=np.float32)


def _finish(writer: gguf.GGUFWriter) -> None:
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("command", choices=["merge"])
    parser.add_argument("base", type=Path)
    parser.add_argument("adapter", type=Path)
    parser.add_argument("target", type=Path)
    parser.add_argument("--type", choices=sorted(TYPES), default="Q8_0")
    parser.add_argument("--scale", type=float, default=1.0)
    options = parser.parse_args()
    merge(options.base, options.adapter, options.target, kind=options.type, scale=options.scale)


if __name__ == "__main__":
    main()
