"""The model in torch is llama.cpp's, with and without an adapter, and its gradients are right."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import tiny_gguf
import torch
from torch.nn import functional as F

from benchmarks.teach.llama import Llama, read_model
from benchmarks.teach.render import Lesson
from benchmarks.teach.train import pack, prefix_state, write_model
from rig.plugins.llama.files.adapters import Adapter
from rig.plugins.llama.files.info import Origin
from rig.plugins.tune.merging import Floats, MergedAdapter, read_pairs, rewrite

TOKENS = [*range(40, 72), *range(90, 110), 41, 42, 43]


def _logits(model: Llama, tokens: list[int]) -> torch.Tensor:
    with torch.no_grad():
        hidden, _ = model(torch.tensor(tokens), torch.arange(len(tokens)))
        return model.logits(hidden)


def _changed(model: Llama, seed: int = 0) -> Llama:
    """The model with an adapter that does something."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for _, layer in model.adapted():
            layer.b.copy_(torch.randn(layer.b.shape, generator=generator) * 0.05)
    return model


def test_logits_are_those_of_llama_cpp(tiny: Path, llama_cpp_logits: Callable[..., Floats]) -> None:
    ours = _logits(read_model(tiny, rank=4, alpha=8), TOKENS).numpy()
    assert np.abs(ours - llama_cpp_logits(tiny, TOKENS)).max() < 2e-3 * np.abs(ours).max()


def test_an_adapter_does_in_llama_cpp_what_it_does_here(
    tiny: Path, tmp_path: Path, llama_cpp_logits: Callable[..., Floats]
) -> None:
    model = _changed(read_model(tiny, rank=4, alpha=8))
    file = tmp_path / "adapter.gguf"
    write_model(file, model, "tiny")
    base, ours = llama_cpp_logits(tiny, TOKENS), _logits(model, TOKENS).numpy()
    theirs = llama_cpp_logits(tiny, TOKENS, file)
    assert np.abs(ours - theirs).max() < 0.02 * np.abs(ours - base).max()
    assert np.array_equal(llama_cpp_logits(tiny, TOKENS, file, scale=0.0), base)


def _merge(base: Path, adapter: Path, target: Path, kind: str, scale: float = 1.0) -> Path:
    merged = MergedAdapter(Adapter(adapter, scale))
    origin = Origin("base", "", "", (), requantized=False)
    rewrite(base, kind, merged, lambda _done, _of: None, target, origin)
    return target


@pytest.mark.parametrize(("kind", "close"), [("f16", 0.02), ("q8_0", 0.25)])
def test_a_merged_file_does_the_same(
    tiny: Path, tmp_path: Path, kind: str, close: float, llama_cpp_logits: Callable[..., Floats]
) -> None:
    model = _changed(read_model(tiny, rank=4, alpha=8))
    adapter = tmp_path / "adapter.gguf"
    write_model(adapter, model, "tiny")
    merged = _merge(tiny, adapter, tmp_path / "merged.gguf", kind)
    none = _merge(tiny, adapter, tmp_path / "none.gguf", kind, 0.0)
    base, ours = (_logits(each, TOKENS).numpy() for each in (read_model(tiny, rank=4, alpha=8), model))
    for wanted, file in ((ours, merged), (base, none)):
        found = llama_cpp_logits(file, TOKENS)
        assert np.abs(wanted - found).mean() < close * np.abs(ours - base).mean()


def test_an_adapter_file_says_what_it_is(tiny: Path, tmp_path: Path) -> None:
    model = _changed(read_model(tiny, rank=4, alpha=8))
    write_model(tmp_path / "adapter.gguf", model, "tiny")
    pairs, alpha = read_pairs(tmp_path / "adapter.gguf")
    assert alpha == 8
    assert {name: (a.shape, b.shape) for name, (a, b) in pairs.items()} == {
        name: (layer.a.shape, layer.b.shape) for name, layer in model.adapted()
    }


def test_another_architecture_is_not_read(tmp_path: Path) -> None:
    other = tiny_gguf.write(tmp_path / "other.gguf", architecture="mamba")
    with pytest.raises(ValueError, match="the architecture is mamba"):
        read_model(other, rank=4, alpha=8)


def test_conversations_side_by_side_are_as_each_alone(tiny: Path) -> None:
    model = _changed(read_model(tiny, rank=4, alpha=8))
    prefix, first, second = TOKENS[:20], TOKENS[20:35], TOKENS[35:]
    batch = pack([Lesson("", tuple(part), (0.0,) * len(part)) for part in (first, second)], len(prefix))
    with torch.no_grad():
        hidden, _ = model(batch.tokens, batch.positions, prefix_state(model, prefix), batch.sees)
    alone = torch.cat([_logits(model, prefix + part)[len(prefix) :] for part in (first, second)])
    torch.testing.assert_close(model.logits(hidden), alone, rtol=1e-4, atol=1e-4)


def test_gradients_are_those_of_the_whole_text_without_the_prefix(tiny: Path) -> None:
    """torch's own attention gives the same."""
    model = _changed(read_model(tiny, rank=4, alpha=8))
    prefix, rest = TOKENS[:20], torch.tensor(TOKENS[20:])
    places = torch.arange(20, len(TOKENS))
    sees = torch.ones(len(rest), len(rest), dtype=torch.bool).tril()
    state = prefix_state(model, prefix)

    def gradients(*, own: bool) -> dict[str, torch.Tensor]:
        model.zero_grad()
        hidden, _ = model(rest, places, state, sees) if own else _plainly(model, rest, places, state)
        F.cross_entropy(model.logits(hidden)[:-1], rest[1:]).backward()
        return {name: layer.a.grad.clone() for name, layer in model.adapted() if layer.a.grad is not None}

    ours, torchs = gradients(own=True), gradients(own=False)
    assert len(ours) == 14
    for name, gradient in ours.items():
        torch.testing.assert_close(gradient, torchs[name], rtol=1e-3, atol=1e-6)


def _plainly(
    model: Llama, tokens: torch.Tensor, places: torch.Tensor, state: list[tuple[torch.Tensor, torch.Tensor]]
) -> tuple[torch.Tensor, None]:
    """The same pass with torch's attention in place of the model's own."""
    before = state[0][0].shape[1]
    mask = torch.cat([torch.ones(len(tokens), before), torch.ones(len(tokens), len(tokens)).tril()], 1).bool()

    class Plain:
        @staticmethod
        def apply(queries, keys, values, prefix, _):  # type: ignore[no-untyped-def]
            group = queries.shape[1] // keys.shape[1]
            return F.scaled_dot_product_attention(
                queries,
                torch.cat([prefix[0], keys], 1),
                torch.cat([prefix[1], values], 1),
                attn_mask=mask.repeat(group, 1),
                scale=1.0,
            )

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("benchmarks.teach.llama._Attention", Plain)
        sees = torch.ones(len(tokens), len(tokens), dtype=torch.bool)
        return model(tokens, places, state, sees)[0], None


@pytest.mark.slow
@pytest.mark.model
def test_the_real_model_is_llama_cpps(
    smollm2: Path, tmp_path: Path, llama_cpp_logits: Callable[..., Floats]
) -> None:
    """In half precision, since llama.cpp rounds activations where weights are quantized to four bits."""
    model = _changed(read_model(smollm2, rank=4, alpha=8))
    write_model(tmp_path / "adapter.gguf", model, "smollm2")
    _merge(smollm2, tmp_path / "adapter.gguf", tmp_path / "none.gguf", "f16", 0.0)
    tokens = list(range(1000, 1040))
    ours = _logits(model, tokens).numpy()
    theirs = llama_cpp_logits(tmp_path / "none.gguf", tokens, tmp_path / "adapter.gguf")
    assert np.abs(ours - theirs).max() < 0.02 * ours.std()
    assert np.abs(ours - llama_cpp_logits(tmp_path / "none.gguf", tokens)).max() > 0.2 * ours.std()
