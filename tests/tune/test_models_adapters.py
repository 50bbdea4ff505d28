"""Adapters on the command line: `--lora`, `rig models merge`, and how they are shown."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tiny_gguf

Rig = Callable[..., Any]


@pytest.fixture
def adapter(models: Path, tmp_path: Path) -> Path:
    return tiny_gguf.write_adapter(tmp_path / "a.lora", tiny_gguf.write(models / "tiny.gguf", n_ctx=8192))


def test_a_merged_file_can_be_named_at_once(rig: Rig, adapter: Path) -> None:
    done = rig("models", "merge", "tiny", "--lora", adapter)
    assert done.code == 0, done.err
    assert "quantized from tiny (F32), with a merged; made in" in done.out
    assert "here already" in rig("models", "merge", "tiny", "--lora", adapter).out
    assert "with a merged" in rig("models", "info", "tiny+a-f16").out
    half = rig("models", "merge", "tiny", "--lora", adapter, "--scale", "0.5", "--to", "q8_0", "--json").json
    assert half["name"] == "tiny+a:0.5-q8_0"
    assert rig("models", "verify").code == 0


def test_merging_needs_an_adapter(rig: Rig, adapter: Path) -> None:
    done = rig("models", "merge", "tiny")
    assert (done.code, "which adapter?" in done.err) == (2, True)


def test_info_says_what_an_adapter_changes(rig: Rig, adapter: Path, tmp_path: Path) -> None:
    assert "a.lora: 14 weights, rank 4, alpha 8, F32" in rig("models", "info", "tiny", "--lora", adapter).out
    assert rig("models", "info", "tiny", "--lora", adapter, "--json").json["adapter"]["ranks"] == [4, 4]
    other = tiny_gguf.write(tmp_path / "other.gguf", architecture="mamba")
    done = rig("models", "info", other, "--lora", adapter)
    assert (done.code, "an adapter for 'llama' models" in done.err) == (2, True)


@pytest.mark.slow
def test_a_screen_knows_adapters(rig: Rig, adapter: Path) -> None:
    options = ("--only", "UserLogin-easy", "--docs", "names", "--tools", "exact", "--threads", "1")
    loras = ("--lora", "none", "--lora", f"{adapter}:0", "--lora", adapter)
    arms = rig("screen", "tiny", *loras, *options, "--json").json["arms"]
    assert [arm["arm"] for arm in arms] == ["tiny", "tiny+a:0", "tiny+a"]
    base, nothing, changed = (arm["call_logprob"] for arm in arms)
    assert base == nothing != changed
    assert arms[2]["fingerprint"]["adapter_scale"] == 1
