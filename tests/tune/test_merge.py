"""A model and an adapter as one file: what it computes, and what it says of itself."""

from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
import tiny_gguf

from rig.core.errors import RigError
from rig.plugins.llama.core.llama import Chunk, LlamaContext, LlamaModel
from rig.plugins.llama.files.adapters import Adapter
from rig.plugins.llama.files.caches import sha256_of
from rig.plugins.llama.files.derived import DerivedModel, local_registry
from rig.plugins.llama.files.info import inspect
from rig.plugins.llama.files.registry import resolve
from rig.plugins.tune.merging import merge, read_pairs
from rig.plugins.tune.quantize import QuantizeRecipe, quantize


@pytest.fixture
def models(models: Path, tmp_path: Path) -> Path:
    tiny_gguf.write_adapter(tmp_path / "a.lora", tiny_gguf.write(models / "tiny.gguf"))
    return models


def _merge(models: Path, kind: str, scale: float = 1.0, target: Path | None = None) -> DerivedModel:
    adapter = Adapter(models.parent / "a.lora", scale)
    (parent,) = resolve("tiny").with_adapters([adapter])
    return merge(parent, adapter, kind, target=target, progress=lambda _done, _of: None)


def test_the_change_is_in_the_weights(models: Path) -> None:
    import gguf

    def weight(file: str) -> np.ndarray:
        tensors = gguf.GGUFReader(models / file).tensors
        found = next(tensor for tensor in tensors if tensor.name == "blk.0.ffn_up.weight")
        return np.array(gguf.dequantize(found.data, found.tensor_type))

    made = _merge(models, "f32", 0.5)
    assert (made.entry.name, made.entry.tensors) == (
        "tiny+a:0.5-f32",
        {"F32": made.info.tensor_types["F32"].tensors},
    )
    pairs, alpha = read_pairs(models.parent / "a.lora")
    a, b = pairs["blk.0.ffn_up.weight"]
    expected = weight("tiny.gguf") + 0.5 * alpha / 4 * (b @ a)
    np.testing.assert_allclose(weight(made.entry.file), expected, rtol=1e-5)


def test_an_alpha_of_0_is_none_as_to_llama_cpp(models: Path) -> None:
    def logits(path: Path, adapter: Path | None = None) -> np.ndarray:
        with closing(LlamaModel(path)) as model:
            context = LlamaContext(
                model, n_ctx=64, n_batch=16, n_threads=1, flash_attention=False, kv_type="f16"
            )
            if adapter:
                context.apply_adapter(model.adapter(adapter), 1.0)
            context.decode([Chunk(0, [1, 2, 3], 1)])
            row = context.logits().copy()
            context.close()
            return row

    lora = tiny_gguf.write_adapter(models.parent / "a.lora", models / "tiny.gguf", alpha=0.0)
    merged = logits(models / _merge(models, "f32").entry.file)
    np.testing.assert_allclose(merged, logits(models / "tiny.gguf", lora), atol=1e-3)
    assert abs(merged - logits(models / "tiny.gguf")).max() > 1


@pytest.mark.parametrize("kind", ["f16", "bf16", "f32", "q8_0"])
def test_it_says_what_it_was_made_of(models: Path, kind: str) -> None:
    made = _merge(models, kind)
    origin = made.info.origin
    assert origin is not None
    assert made.info.quantization == kind.upper()
    assert origin.note == "quantized from tiny (F32), with a merged"
    assert (origin.sha256, origin.adapter_sha256) == (
        sha256_of(models / "tiny.gguf"),
        sha256_of(models.parent / "a.lora"),
    )
    assert list(local_registry()) == [f"tiny+a-{kind}.gguf"]
    assert inspect(models / "tiny.gguf").chat_template == made.info.chat_template
    assert _merge(models, kind).seconds is None


def test_what_is_quantized_then_still_says_it(models: Path) -> None:
    _merge(models, "f16")
    made = quantize(
        resolve("tiny+a-f16"), QuantizeRecipe("q4_0"), threads=1, progress=lambda _done, _of: None
    )
    assert made.info.origin is not None
    assert made.info.origin.note == "quantized from tiny+a-f16 (F32 > F16), with a merged"
    assert made.info.origin.adapter_sha256 == sha256_of(models.parent / "a.lora")
    assert made.info.origin.root_sha256 == sha256_of(models / "tiny.gguf")


@pytest.mark.parametrize(("kind", "scale"), [("f16", 1e9), ("q8_0", -1e9), ("f32", 1e40), ("bf16", 1e40)])
def test_numbers_that_a_type_cannot_have_are_one_line(models: Path, kind: str, scale: float) -> None:
    with pytest.raises(RigError, match=rf"\S+ would hold numbers that {kind} cannot"):
        _merge(models, kind, scale)
    assert [each.name for each in models.iterdir()] == ["tiny.gguf"]


def test_another_file_is_not_overwritten(models: Path, tmp_path: Path) -> None:
    made = _merge(models, "f16")
    (models / made.entry.file).write_bytes((models / "tiny.gguf").read_bytes())
    with pytest.raises(RigError, match="was not made of tiny here"):
        _merge(models, "f16")
    _merge(models, "f16", target=tmp_path / "own.gguf")
    with pytest.raises(RigError, match="already exists"):
        _merge(models, "f16", target=tmp_path / "own.gguf")
    with pytest.raises(RigError, match=r"a \.gguf file in an existing folder"):
        _merge(models, "f16", target=tmp_path / "nowhere" / "own.gguf")
    assert not list(models.glob(".derive*"))


def test_a_model_with_an_adapter_is_merged_before_it_is_quantized(models: Path) -> None:
    (parent,) = resolve("tiny").with_adapters([Adapter(models.parent / "a.lora")])
    with pytest.raises(RigError, match="merge both into one file first: `rig models merge"):
        quantize(parent, QuantizeRecipe("q4_0"), threads=1, progress=lambda _done, _of: None)
