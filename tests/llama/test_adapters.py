"""Adapters: what their files say, which fit a model, and what they change when it runs."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny_gguf
from hypothesis import given
from hypothesis import strategies as st

from rig.core.errors import RigError
from rig.core.models import Piece, Prediction, Request
from rig.plugins.llama import EngineSettings, load
from rig.plugins.llama.core import llama
from rig.plugins.llama.engine import LlamaCppModel
from rig.plugins.llama.files.adapters import Adapter, inspect_adapter, named
from rig.plugins.llama.files.info import inspect
from rig.plugins.llama.files.registry import ResolvedModel

Ask = Callable[..., Request]


def ignore(_: object) -> None:
    pass


def essence(prediction: Prediction) -> tuple[object, ...]:
    return prediction.raw, prediction.token_ids, prediction.logprobs


@pytest.fixture
def base(tmp_path: Path) -> Path:
    return tiny_gguf.write(tmp_path / "tiny.gguf")


@pytest.fixture
def adapter(tmp_path: Path, base: Path) -> Path:
    return tiny_gguf.write_adapter(tmp_path / "changed.lora", base)


def test_an_adapter_says_what_it_is(base: Path, adapter: Path) -> None:
    found = inspect_adapter(adapter)
    assert (found.architecture, found.alpha, found.ranks, found.types) == ("llama", 8.0, (4, 4), ("F32",))
    assert found.changes["blk.0.ffn_up.weight"] == (tiny_gguf.WIDTH, tiny_gguf.INNER)
    assert found.as_json()["changes"] == 7 * tiny_gguf.LAYERS
    Adapter(adapter).check(base)


def test_an_adapter_is_no_model_and_a_model_no_adapter(base: Path, adapter: Path) -> None:
    with pytest.raises(RigError, match="an adapter, not a model; give it with --lora"):
        inspect(adapter)
    with pytest.raises(RigError, match="holds no adapter"):
        inspect_adapter(base)


def test_adapters_for_other_models_are_refused(base: Path, adapter: Path, tmp_path: Path) -> None:
    mamba = tiny_gguf.write(tmp_path / "mamba.gguf", architecture="mamba")
    with pytest.raises(RigError, match=r"an adapter for 'llama' models; .*mamba.gguf is mamba"):
        Adapter(adapter).check(mamba)
    original = tiny_gguf.INNER
    try:
        tiny_gguf.INNER = 2 * original
        wide = tiny_gguf.write(tmp_path / "wide.gguf")
    finally:
        tiny_gguf.INNER = original
    with pytest.raises(
        RigError, match=r"blk.0.ffn_down.weight is 64 x 64 in the one and 128 x 64 in the other"
    ):
        Adapter(adapter).check(wide)


def test_what_is_no_whole_adapter_is_refused(base: Path, tmp_path: Path) -> None:
    path = tmp_path / "odd.lora"
    for given_, message in (
        ({"alpha": None}, "without adapter.lora.alpha"),
        ({"alpha": float("nan")}, "adapter.lora.alpha is nan"),
        ({"kind": "control_vector"}, "only lora can be used"),
    ):
        tiny_gguf.write_adapter(path, base, **given_)  # type: ignore[arg-type]
        with pytest.raises(RigError, match=message):
            inspect_adapter(path)


def test_pairs_must_be_whole(base: Path, adapter: Path) -> None:
    content = adapter.read_bytes()
    adapter.write_bytes(content.replace(b"blk.0.attn_q.weight.lora_b", b"blk.0.attn_q.weight.lora_c"))
    with pytest.raises(RigError, match="not pairs of lora_a and lora_b"):
        inspect_adapter(adapter)


@pytest.mark.slow
@given(share=st.floats(0, 1, exclude_max=True))
def test_a_truncated_adapter_is_one_line(tmp_path_factory: pytest.TempPathFactory, share: float) -> None:
    folder = tmp_path_factory.mktemp("cut")
    whole = tiny_gguf.write_adapter(folder / "a.lora", tiny_gguf.write(folder / "tiny.gguf")).read_bytes()
    (folder / "cut.lora").write_bytes(whole[: int(share * len(whole))])
    with pytest.raises(RigError) as caught:
        inspect_adapter(folder / "cut.lora")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("suffix", "scale", "name"),
    [("", 1.0, ""), (":0.5", 0.5, ":0.5"), (":0", 0.0, ":0"), (":-1", -1.0, ":-1")],
)
def test_a_scale_stands_behind_the_file(adapter: Path, suffix: str, scale: float, name: str) -> None:
    found = Adapter.parse(f"{adapter}{suffix}")
    assert found == Adapter(adapter, scale)
    assert Adapter.parse(found.text) == found
    assert named("tiny", found) == f"tiny+changed{name}"


def test_a_colon_may_be_part_of_the_name(tmp_path: Path, adapter: Path) -> None:
    odd = adapter.rename(tmp_path / "a:2")
    assert Adapter.parse(str(odd)) == Adapter(odd)
    assert Adapter.parse("none") is None


@pytest.mark.parametrize("text", ["nowhere.lora", "nowhere.lora:2", ".", "{}:nan", "{}:inf", "{}:x"])
def test_what_names_no_adapter_is_one_line(adapter: Path, text: str) -> None:
    with pytest.raises(RigError, match="--lora") as caught:
        Adapter.parse(text.format(adapter))
    assert "\n" not in str(caught.value)


def opened(path: Path, adapter: Adapter | None = None, **settings: Any) -> LlamaCppModel:
    values = {"n_threads": 1, "n_ctx": 4096, "max_tokens": 20, "exact": True, **settings}
    model = load(path, EngineSettings(**values), "tiny", ignore)
    assert isinstance(model, LlamaCppModel)
    model.apply_adapter(adapter)
    return model


def answers(model: LlamaCppModel, ask: Ask) -> list[tuple[object, ...]]:
    model.prepare(ask([]), None)
    return [essence(model.predict(ask(text, step=step), _piece)) for step, text in enumerate(("one", "two"))]


def _piece(_: Piece) -> None:
    pass


def test_a_scale_of_0_is_the_base_bit_for_bit(base: Path, adapter: Path, ask: Ask) -> None:
    alone = answers(opened(base), ask)
    assert answers(opened(base, Adapter(adapter, 0.0)), ask) == alone
    changed = answers(opened(base, Adapter(adapter)), ask)
    assert changed != alone
    assert answers(opened(base, Adapter(adapter, 0.5)), ask) not in (alone, changed)


def test_one_model_wears_one_after_another_and_mixes_nothing_up(
    base: Path, adapter: Path, tmp_path: Path, ask: Ask
) -> None:
    """With the prompt's state kept in memory and on disk, answers are those of a model opened for each."""
    other = tiny_gguf.write_adapter(tmp_path / "other.lora", base, seed=7, rank=2)
    wishes = [None, Adapter(adapter), Adapter(other), Adapter(adapter, 0.25), None, Adapter(adapter)]
    alone = [answers(opened(base, wish, prefix_cache=False), ask) for wish in wishes]
    assert len({str(each) for each in alone}) == 4
    for _ in range(2):  # the second finds what the first kept on disk
        model = opened(base)
        for wish, expected in zip(wishes, alone, strict=True):
            model.apply_adapter(wish)
            assert model.name == named("tiny", wish)
            assert answers(model, ask) == expected
            told = {key: value for key, value in model.fingerprint.items() if key.startswith("adapter")}
            assert told == ({} if wish is None else wish.as_json())
        model.close()


def test_the_weights_are_loaded_once(
    base: Path, adapter: Path, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded: list[object] = []
    real = llama.C.llama_model_load_from_file

    def load(path: bytes, parameters: Any) -> Any:
        if not parameters.no_alloc:  # a load to count what it takes has no weights
            loaded.append(path)
        return real(path, parameters)

    monkeypatch.setattr(llama.C, "llama_model_load_from_file", load)
    model = opened(base)
    for wish in (Adapter(adapter), None, Adapter(adapter, 2.0)):
        model.apply_adapter(wish)
        answers(model, ask)
    assert len(loaded) == 1


def test_two_models_of_the_same_weights_have_their_own_adapters(base: Path, adapter: Path, ask: Ask) -> None:
    """As where two roles of a run are played from one file."""
    alone = answers(opened(base), ask)
    changed = answers(opened(base, Adapter(adapter)), ask)
    one, other = opened(base, Adapter(adapter)), opened(base)
    assert answers(other, ask) == alone
    assert answers(one, ask) == changed
    one.close()
    other.apply_adapter(None)
    assert answers(other, ask) == alone


def test_what_llama_cpp_refuses_leaves_the_model_as_it_was(base: Path, adapter: Path, ask: Ask) -> None:
    """Nothing here finds it out from the header: llama.cpp takes matrices of some types only."""
    model = opened(base)
    before = answers(model, ask)
    with pytest.raises(RigError, match=r"llama\.cpp cannot load the adapter"):
        model.apply_adapter(Adapter(base))
    assert answers(model, ask) == before


def test_an_adapter_of_the_registrys_own_is_the_only_one(base: Path, adapter: Path) -> None:
    model = ResolvedModel("tools", base, adapter=Adapter(adapter))
    assert model.with_adapters([]) == [model]
    with pytest.raises(RigError, match="has an adapter of its own"):
        model.with_adapters([Adapter(adapter)])
    plain = ResolvedModel("tiny", base)
    names = [each.name for each in plain.with_adapters([None, Adapter(adapter), Adapter(adapter, 0.5)])]
    assert names == ["tiny", "tiny+changed", "tiny+changed:0.5"]


@pytest.mark.slow
@pytest.mark.model
def test_a_scale_of_0_is_the_real_base_bit_for_bit(smollm2: Path, tmp_path: Path, ask: Ask) -> None:
    adapter = tiny_gguf.write_adapter(tmp_path / "any.lora", smollm2, rank=2, alpha=0.02)
    assert np.isfinite(inspect_adapter(adapter).alpha)
    alone = answers(opened(smollm2), ask)
    assert answers(opened(smollm2, Adapter(adapter, 0.0)), ask) == alone
    assert answers(opened(smollm2, Adapter(adapter, 1.0)), ask) != alone
