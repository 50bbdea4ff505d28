"""Wider rows: the same logits, files that K-quants fit, and models that cannot be widened."""

from pathlib import Path

import numpy as np
import pytest
import tiny_architectures
import tiny_gguf

from rig.engine.core.llama import Chunk, LlamaContext, LlamaModel
from rig.engine.files.adapters import Adapter
from rig.engine.files.header import read_header
from rig.engine.files.info import inspect
from rig.engine.files.registry import resolve
from rig.errors import RigError
from rig.screening.screening import divergence
from rig.tuning.merging import merge, widen
from rig.tuning.quantize import QuantizeRecipe, quantize

TOKENS = [5, 80, 3, 200, 17, 17, 90, 41]


@pytest.fixture
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    directory = tmp_path / "models"
    directory.mkdir()
    monkeypatch.setenv("RIG_MODELS", str(directory))
    return directory


def silent(_done: int, _of: int) -> None:
    pass


def logits(path: Path) -> np.ndarray:
    """Those after each of some tokens, tokens × vocabulary."""
    model = LlamaModel(path)
    context = LlamaContext(
        model, n_ctx=64, n_batch=64, n_threads=1, flash_attention=False, kv_type="f16", n_outputs=64
    )
    context.decode([Chunk(0, TOKENS, len(TOKENS))])
    rows = np.array([context.logits(index) for index in range(len(TOKENS))])
    context.close()
    model.close()
    return rows


@pytest.mark.parametrize(("width", "heads", "kv_heads"), [(64, 2, 2), (96, 6, 2), (96, 3, 1), (320, 5, 5)])
def test_it_computes_the_same(
    models: Path, monkeypatch: pytest.MonkeyPatch, width: int, heads: int, kv_heads: int
) -> None:
    for name, value in {"WIDTH": width, "HEADS": heads, "KV_HEADS": kv_heads, "INNER": 96}.items():
        monkeypatch.setattr(tiny_gguf, name, value)
    path = tiny_gguf.write(models / "tiny.gguf")
    made = widen(resolve("tiny"), "f32", progress=silent)
    old, new = logits(path), logits(models / made.entry.file)
    assert np.abs(old).max() > 1
    np.testing.assert_allclose(new, old, atol=2e-4 * np.abs(old).max())
    assert made.info.embedding_length is not None
    assert made.info.embedding_length % 256 == 0
    assert made.info.origin is not None
    assert made.info.origin.note.endswith(f"widened from {width} to {made.info.embedding_length} columns")
    quantized = quantize(resolve("tiny-wide-f32"), QuantizeRecipe("q4_k_m"), threads=1, progress=silent)
    assert not quantized.entry.fell_back
    assert quantized.info.origin is not None
    assert quantized.info.origin.widened == made.info.origin.widened


def test_biases_are_widened_too(models: Path) -> None:
    path = tiny_architectures.write(models / "tiny.gguf", "qwen2")
    made = widen(resolve("tiny"), "f32", progress=silent)
    assert any(tensor.name.endswith("attn_k.bias") for tensor in read_header(path).tensors)
    old, new = logits(path), logits(models / made.entry.file)
    np.testing.assert_allclose(new, old, atol=2e-4 * np.abs(old).max())


def test_zeros_that_are_not_zero_would_be_seen(models: Path) -> None:
    """What the first test measures is no property of any wider model."""
    path = tiny_gguf.write(models / "tiny.gguf")
    other = tiny_gguf.write(models / "other.gguf", seed=1)
    widen(resolve("other"), "f32", progress=silent)
    assert np.abs(logits(models / "other-wide-f32.gguf") - logits(path)).max() > 0.1
    np.testing.assert_allclose(logits(models / "other-wide-f32.gguf"), logits(other), atol=1e-3)


def test_an_adapter_is_merged_first(models: Path, tmp_path: Path) -> None:
    adapter = Adapter(tiny_gguf.write_adapter(tmp_path / "a.lora", tiny_gguf.write(models / "tiny.gguf")))
    (parent,) = resolve("tiny").with_adapters([adapter])
    merged = merge(parent, adapter, "f32", progress=silent)
    made = widen(parent, "f32", progress=silent)
    old, new = (logits(models / each.entry.file) for each in (merged, made))
    np.testing.assert_allclose(new, old, atol=2e-4 * np.abs(old).max())
    assert made.info.origin is not None
    assert made.info.origin.adapters == ("a",)


@pytest.mark.slow
def test_the_taught_model_computes_the_same(smollm2: Path, tmp_path: Path) -> None:
    taught = resolve("smollm2-135m-tools")
    assert taught.adapter is not None
    # With weights of 16 bits, values are rounded before every product, and how far depends on the processor.
    merge(taught, taught.adapter, "f32", target=tmp_path / "narrow.gguf", progress=silent)
    made = widen(taught, "f32", target=tmp_path / "wide.gguf", progress=silent)
    assert (made.info.embedding_length, made.info.heads, made.info.kv_heads) == (768, 12, 4)
    old, new = logits(tmp_path / "narrow.gguf"), logits(tmp_path / "wide.gguf")
    # Keys and values are still rounded to 16 bits on the way; logits go to 32 here.
    np.testing.assert_allclose(new, old, atol=0.05)
    assert max(map(divergence, old, new)) < 1e-4


@pytest.mark.parametrize(
    ("architecture", "changes", "says"),
    [
        ("gemma3", {}, "rig can widen llama and qwen2 models, not gemma3"),
        ("mamba", {}, "rig can widen llama and qwen2 models, not mamba"),
        ("llama", {"WIDTH": 256, "INNER": 256}, "its rows are multiples of 256 already"),
    ],
)
def test_what_cannot_be_widened_is_one_line(
    models: Path, monkeypatch: pytest.MonkeyPatch, architecture: str, changes: dict[str, int], says: str
) -> None:
    for name, value in changes.items():
        monkeypatch.setattr(tiny_gguf, name, value)
    tiny_gguf.write(models / "tiny.gguf", architecture=architecture)
    with pytest.raises(RigError, match=says):
        widen(resolve("tiny"), "f16", progress=silent)
    assert [path.name for path in models.iterdir()] == ["tiny.gguf"]


def test_a_tensor_that_nobody_knows_is_refused(models: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def with_gate(writer: object, random: np.random.Generator, layer: str) -> None:
        attention(writer, random, layer)
        tiny_gguf._matrix(writer, random, f"{layer}.ffn_gate_inp.weight", 4, tiny_gguf.WIDTH)

    attention = tiny_gguf._attention
    monkeypatch.setattr(tiny_gguf, "_attention", with_gate)
    tiny_gguf.write(models / "tiny.gguf")
    with pytest.raises(RigError, match=r"rig does not know what its blk\.0\.ffn_gate_inp\.weight does"):
        widen(resolve("tiny"), "f16", progress=silent)
    assert inspect(models / "tiny.gguf").origin is None
