"""How fast a mixture of experts decodes with the experts of some layers in main memory.

    .venv/bin/python -m benchmarks.engine.experts [--layers 48] [--n-cpu-moe 0 9 21 33 48] [--threads N]
        [--tokens 32] [--repeats 3] [--folder DIR]

Writes a file with the shape of Qwen3-30B-A3B (128 experts, 8 for a token, Q4_K, about 0.38 GB a layer), whose
weights mean nothing but cost the same; loads it with all layers on the GPU and the experts of the first ones
in main memory; and decodes token after token behind a prompt of 512. Printed for each placement: milliseconds
for a token and for the prompt. The file goes to DIR and is deleted at the end.
"""

import argparse
import tempfile
from contextlib import closing
from pathlib import Path
from statistics import median
from time import perf_counter

import gguf
import numpy as np
import numpy.typing as npt

from rig.core.meters import available_cores
from rig.plugins.llama.core.llama import Chunk, LlamaContext, LlamaModel
from rig.plugins.llama.core.placement import Placement

WIDTH, HEADS, KV_HEADS, HEAD, INNER, EXPERTS, USED = 2048, 32, 4, 128, 768, 128, 8
VOCABULARY, PROMPT = 32_768, 512
_BLOCK, _BYTES = 256, 144


def quantized(shape: tuple[int, ...], rng: np.random.Generator) -> npt.NDArray[np.uint8]:
    """Blocks of Q4_K with random quants and scales: uint8, `shape` with 144 bytes for each 256 weights."""
    data = rng.integers(0, 256, (*shape[:-1], shape[-1] // _BLOCK, _BYTES), dtype=np.uint8)
    data[..., :4] = np.frombuffer(np.array([2e-4, 1e-3], np.float16).tobytes(), np.uint8)
    return data.reshape(*shape[:-1], -1)


def write(path: Path, layers: int) -> None:
    """Write the file; every layer has the same weights."""
    rng = np.random.default_rng(0)
    writer = gguf.GGUFWriter(path, "qwen3moe")
    writer.add_block_count(layers)
    writer.add_context_length(4096)
    writer.add_embedding_length(WIDTH)
    writer.add_feed_forward_length(3 * WIDTH)
    writer.add_expert_feed_forward_length(INNER)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KV_HEADS)
    writer.add_key_length(HEAD)
    writer.add_value_length(HEAD)
    writer.add_expert_count(EXPERTS)
    writer.add_expert_used_count(USED)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_rope_freq_base(1e6)
    writer.add_tokenizer_model("no_vocab")
    writer.add_vocab_size(VOCABULARY)
    shapes = {
        "attn_q": (HEADS * HEAD, WIDTH),
        "attn_k": (KV_HEADS * HEAD, WIDTH),
        "attn_v": (KV_HEADS * HEAD, WIDTH),
        "attn_output": (WIDTH, HEADS * HEAD),
        "ffn_gate_exps": (EXPERTS, INNER, WIDTH),
        "ffn_up_exps": (EXPERTS, INNER, WIDTH),
        "ffn_down_exps": (EXPERTS, WIDTH, INNER),
    }
    weights = {name: quantized(shape, rng) for name, shape in shapes.items()}
    ones = {
        name: np.ones(size, np.float32)
        for name, size in [
            ("attn_norm", WIDTH),
            ("ffn_norm", WIDTH),
            ("attn_q_norm", HEAD),
            ("attn_k_norm", HEAD),
        ]
    }
    router = rng.standard_normal((EXPERTS, WIDTH), dtype=np.float32)
    rows = quantized((VOCABULARY, WIDTH), rng)
    for name in ("token_embd", "output"):
        writer.add_tensor(f"{name}.weight", rows, raw_dtype=gguf.GGMLQuantizationType.Q4_K)
    writer.add_tensor("output_norm.weight", ones["attn_norm"])
    for layer in range(layers):
        for name, data in weights.items():
            writer.add_tensor(f"blk.{layer}.{name}.weight", data, raw_dtype=gguf.GGMLQuantizationType.Q4_K)
        for name, norm in ones.items():
            writer.add_tensor(f"blk.{layer}.{name}.weight", norm)
        writer.add_tensor(f"blk.{layer}.ffn_gate_inp.weight", router)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def measure(model: LlamaModel, threads: int, tokens: int, repeats: int) -> tuple[list[float], list[float]]:
    """Seconds of each token, and of each prompt after the first, which warms up."""
    rng = np.random.default_rng(1)
    steps: list[float] = []
    prompts: list[float] = []
    context = LlamaContext(
        model, n_ctx=2048, n_batch=PROMPT, n_threads=threads, flash_attention=True, kv_type="f16"
    )
    with closing(context):
        for repeat in range(repeats + 1):
            context.drop_tail(0, 0)
            pieces = [
                rng.integers(0, VOCABULARY, PROMPT).tolist(),
                *rng.integers(0, VOCABULARY, (tokens, 1)).tolist(),
            ]
            for piece in pieces:
                start = perf_counter()
                context.decode([Chunk(0, piece, 1)])
                assert np.isfinite(context.logits()).all()
                if repeat:
                    (steps if len(piece) == 1 else prompts).append(perf_counter() - start)
    return steps, prompts


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--layers", type=int, default=48)
    parser.add_argument("--n-cpu-moe", type=int, nargs="+", default=[0, 9, 21, 33, 48])
    parser.add_argument("--gpu-layers", type=int, default=-1)
    parser.add_argument("--threads", type=int, default=available_cores())
    parser.add_argument("--tokens", type=int, default=32)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--folder", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        path = Path(folder) / "experts.gguf"
        write(path, options.layers)
        print(f"{path.stat().st_size / 1e9:.1f} GB, {options.layers} layers, {options.threads} threads")
        print("| experts in main memory | ms a token, least | median | ms for 512 tokens, median |")
        print("| --- | --- | --- | --- |")
        for count in options.n_cpu_moe:
            with closing(LlamaModel(path, Placement(options.gpu_layers, count))) as model:
                steps, prompts = measure(model, options.threads, options.tokens, options.repeats)
            cells = (min(steps), median(steps), median(prompts))
            print(
                f"| {count} layers | " + " | ".join(f"{1000 * cell:.1f}" for cell in cells) + " |", flush=True
            )


if __name__ == "__main__":
    main()
