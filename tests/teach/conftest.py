from collections.abc import Callable, Sequence
from ctypes import c_float
from pathlib import Path

import llama_cpp as C
import numpy as np
import pytest
import tiny_gguf

from rig.plugins.llama.core.llama import LlamaModel
from rig.plugins.tune.merging import Floats


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny Llama model with random weights."""
    return tiny_gguf.write(tmp_path_factory.mktemp("tiny") / "tiny.gguf", n_ctx=16384)


@pytest.fixture(scope="session")
def llama_cpp_logits() -> Callable[..., Floats]:
    """Takes a model file, tokens, and an adapter and its scale where there is one."""
    return _logits


def _logits(model: Path, tokens: Sequence[int], adapter: Path | None = None, scale: float = 1.0) -> Floats:
    """What llama.cpp makes of tokens, [tokens, vocabulary], with an adapter at a scale."""
    model_ = LlamaModel(model)
    loaded = model_.pointer
    parameters = C.llama_context_default_params()
    parameters.n_ctx = parameters.n_batch = parameters.n_ubatch = parameters.n_outputs_max = 512
    parameters.flash_attn_type = C.LLAMA_FLASH_ATTN_TYPE_DISABLED
    parameters.type_k = parameters.type_v = C.GGML_TYPE_F32
    parameters.n_threads = parameters.n_threads_batch = 1
    context = C.llama_init_from_model(loaded, parameters)
    try:
        if adapter is not None:
            pointer = C.llama_adapter_lora_init(loaded, str(adapter).encode())
            assert pointer
            set_ = C.llama_set_adapters_lora(
                context, (C.llama_adapter_lora_p_ctypes * 1)(pointer), 1, (c_float * 1)(scale)
            )
            assert set_ == 0
        batch = C.llama_batch_init(len(tokens), 0, 1)
        batch.n_tokens = len(tokens)
        for place, token in enumerate(tokens):
            batch.token[place], batch.pos[place], batch.logits[place] = token, place, True
            batch.n_seq_id[place], batch.seq_id[place][0] = 1, 0
        assert C.llama_decode(context, batch) == 0
        size = C.llama_vocab_n_tokens(C.llama_model_get_vocab(loaded))
        rows = [
            np.ctypeslib.as_array(C.llama_get_logits_ith(context, place), (size,)).copy()
            for place in range(len(tokens))
        ]
        C.llama_batch_free(batch)
        return np.stack(rows)
    finally:
        C.llama_free(context)
        model_.close()
