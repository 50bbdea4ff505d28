"""How long a context is and how positions are scaled in it, and what models that think get of it."""

import re
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import llama_cpp as C
import numpy as np
import numpy.typing as npt
import pytest
import tiny_gguf
from native_templates import OWN

from rig.core.errors import RigError
from rig.core.models import Request
from rig.plugins.llama import EngineSettings
from rig.plugins.llama.core.llama import Chunk, LlamaModel
from rig.plugins.llama.core.options import AUTO
from rig.plugins.llama.engine import LlamaCppModel
from rig.plugins.llama.loading import load
from rig.plugins.llama.memory.fit import context_opener
from rig.plugins.llama.memory.plan import Shape

YARN = ("rope_scaling_type=yarn", "rope_freq_scale=0.5")
NAMES = ("llama.rope_scaling_type", "llama.rope_freq_scale")
TOKENS = [10 + 7 * index % 200 for index in range(300)]
Open = Callable[..., LlamaCppModel]


def logits(path: Path, *knobs: str) -> npt.NDArray[np.float32]:
    """The logits after some tokens, in a context as rig opens it."""
    model = LlamaModel(path)
    shape = Shape(0, 512, 512, 1, "f16", flash_attention=False)
    context = context_opener(EngineSettings(n_threads=1, knobs=knobs))(model, shape)
    context.decode([Chunk(0, TOKENS, 1)])
    row = context.logits().copy()
    context.close()
    model.close()
    return row


def logits_of_llama_cpp(path: Path, **parameters: Any) -> npt.NDArray[np.float32]:
    """The same from llama.cpp with these parameters, rig aside."""
    model = LlamaModel(path)
    asked = C.llama_context_default_params()
    asked.n_ctx = asked.n_batch = asked.n_ubatch = 512
    asked.n_threads = asked.n_threads_batch = 1
    asked.flash_attn_type, asked.kv_unified, asked.swa_full = 0, True, True
    for name, value in parameters.items():
        setattr(asked, name, value)
    context = C.llama_init_from_model(model.pointer, asked)
    tokens = (C.llama_token * len(TOKENS))(*TOKENS)
    batch = C.llama_batch_get_one(tokens, len(TOKENS))
    assert C.llama_decode(context, batch) == 0
    row = np.ctypeslib.as_array(C.llama_get_logits_ith(context, -1), (model.n_vocab,)).copy()
    C.llama_free(context)
    model.close()
    return row


def test_positions_are_scaled_as_llama_cpp_does(tiny_path: Callable[..., Path]) -> None:
    path = tiny_path(n_ctx=256)
    plain = logits(path)
    assert np.array_equal(plain, logits_of_llama_cpp(path))
    assert np.array_equal(plain, logits(path, "rope_scaling_type=none"))
    yarn = logits(path, "rope_scaling_type=yarn", "rope_freq_scale=0.25")
    linear = logits(path, "rope_scaling_type=linear", "rope_freq_scale=0.5")
    of_llama_cpp = logits_of_llama_cpp(path, rope_scaling_type=2, rope_freq_scale=0.25, yarn_orig_ctx=256)
    assert np.array_equal(yarn, of_llama_cpp)
    assert np.array_equal(
        linear, logits_of_llama_cpp(path, rope_scaling_type=1, rope_freq_scale=0.5, yarn_orig_ctx=0)
    )
    assert np.abs(yarn - plain).max() > 0.01
    assert np.abs(linear - yarn).max() > 0.01
    other = logits(path, "rope_scaling_type=yarn", "rope_freq_scale=0.25", "yarn_orig_ctx=128")
    assert not np.array_equal(other, yarn)


def test_a_longer_context_than_the_models_needs_scaling(
    tiny_path: Callable[..., Path], open_model: Open, ask: Callable[..., Request]
) -> None:
    path = tiny_path(n_ctx=2048)
    with pytest.raises(RigError, match="--llama rope_scaling_type=yarn --llama"):
        open_model(path, n_ctx=4096)
    model = open_model(path, n_ctx=4096, knobs=YARN, max_tokens=5)
    assert model.context.n_ctx == 4096
    answer = model.predict(ask("long " * 800), lambda _: None)
    assert answer.usage.prompt_tokens > 2048
    scaled = {name: model.fingerprint[name] for name in (*NAMES, "n_ctx")}
    assert scaled == {"llama.rope_scaling_type": "yarn", "llama.rope_freq_scale": 0.5, "n_ctx": 4096}
    plain = open_model(path)
    assert not any(name.startswith("llama.") for name in plain.fingerprint)


@pytest.mark.parametrize(
    ("knob", "message"),
    [
        ("rope_freq_scal=2", "has no setting 'rope_freq_scal' (did you mean 'rope_freq_scale'?)"),
        ("rope_freq_scale=two", "takes a number"),
        ("rope_freq_scale=nan", "takes a number"),
        ("rope_scaling_type=yran", "takes linear, longrope, none, yarn"),
        ("offload_kqv=1", "takes true, false"),
        ("main_gpu=-1", "takes a whole number from 0 on"),
        ("main_gpu", "give NAME=VALUE"),
        ("n_ctx=4096", "give --n-ctx instead"),
        ("kv_unified=false", "rig itself sets that"),
        ("cb_eval=1", "has no setting 'cb_eval'"),
    ],
)
def test_what_llama_cpp_cannot_be_set_to_is_one_line(knob: str, message: str) -> None:
    with pytest.raises(RigError, match=re.escape(message)) as refused:
        EngineSettings(knobs=(knob,)).check()
    assert "\n" not in str(refused.value)


def test_the_longest_context_follows_from_the_scale() -> None:
    assert EngineSettings().longest(4096) == 4096
    assert EngineSettings(knobs=("rope_freq_scale=0.25",)).longest(32_768) == 131_072
    assert EngineSettings(knobs=("rope_freq_scale=0.25", "yarn_orig_ctx=8192")).longest(131_072) == 32_768


@pytest.mark.parametrize(
    ("asked", "n_ctx", "thoughts"),
    [
        ({}, 12_288, 4096),
        ({"n_ctx": 4096}, 4096, 2048),
        ({"thinking_tokens": 1024}, 8192, 1024),  # as earlier runs have it
        ({"thinking": "off"}, 8192, 4096),
        ({"format": "rig"}, 8192, None),
    ],
)
def test_a_model_that_thinks_gets_room_for_it(
    tmp_path: Path, open_model: Open, asked: dict[str, Any], n_ctx: int, thoughts: int | None
) -> None:
    path = tiny_gguf.write(tmp_path / "tiny.gguf", template=OWN["opened thinking"], n_ctx=32_768)
    model = open_model(path, parallel=1, **asked)
    assert (model.fingerprint["n_ctx"], model.fingerprint.get("thinking_tokens")) == (n_ctx, thoughts)


def test_others_keep_the_context_that_they_had(tiny_path: Callable[..., Path], open_model: Open) -> None:
    model = open_model(tiny_path(n_ctx=32_768), parallel=1)
    assert model.fingerprint["n_ctx"] == 8192
    assert "thinking_tokens" not in model.fingerprint


@pytest.mark.slow
@pytest.mark.parametrize(
    ("asked", "thoughts"),
    [
        ({}, 4096),
        ({"thinking_tokens": 200}, 200),
        ({"thinking": "off"}, 0),
        ({"format": "rig"}, 0),
    ],
)
def test_the_context_is_what_the_longest_prompt_needs(
    tmp_path: Path, ask: Callable[..., Request], asked: dict[str, Any], thoughts: int
) -> None:
    path = tiny_gguf.write(tmp_path / "tiny.gguf", template=OWN["opened thinking"], n_ctx=32_768)
    prompts = ask("short"), ask("long " * 300), ask("shorter")
    settings = EngineSettings(n_threads=1, parallel=1, n_ctx=AUTO, prompts=prompts, **asked)
    lines: list[str] = []
    with closing(load(path, settings, "tiny", lines.append)) as model:
        length = model.predict(prompts[1], lambda _: None).usage.prompt_tokens
        needed = length + 256 + thoughts
        n_ctx = model.fingerprint["n_ctx"]
        assert n_ctx == model.context.n_ctx == -(-needed // 1024) * 1024
        assert f"tiny: context {n_ctx:,}: the longest conversation needs {needed:,} tokens" in lines
        assert model.room(prompts[1]) == n_ctx - length - 256
        if thoughts:
            assert model.fingerprint["thinking_tokens"] == thoughts
    again = replace(settings, n_ctx=n_ctx, prompts=())
    with closing(load(path, again, "tiny", lines.append)) as model:
        assert model.fingerprint["n_ctx"] == n_ctx


def test_a_context_that_would_be_longer_than_the_models_says_so(
    tiny_path: Callable[..., Path], ask: Callable[..., Request]
) -> None:
    asked = EngineSettings(n_threads=1, parallel=1, n_ctx=AUTO, prompts=(ask("long " * 600),))
    lines: list[str] = []
    path = tiny_path(n_ctx=2048)
    load(path, asked, "tiny", lines.append).close()
    [line] = [line for line in lines if "longest conversation" in line]
    assert line.startswith("tiny: context 2,048: the longest conversation needs 3,")
    assert line.endswith(", which the model or the memory does not allow")
    scaled = replace(asked, knobs=("rope_scaling_type=yarn", "rope_freq_scale=0.25"))
    with closing(load(path, scaled, "tiny", lines.append)) as model:
        assert model.context.n_ctx > 3072
