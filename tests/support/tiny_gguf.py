"""Tiny GGUF files with random weights, written by the tests: real architectures and tokenizers."""

from pathlib import Path

import gguf
import numpy as np

CHATML = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content']"
    " + '<|im_end|>\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
"""A plain ChatML template, as many model families use."""

# Two rules that some families have: no system role, and strictly alternating turns.
STRICT = (
    "{{ bos_token }}{% for message in messages %}"
    "{% if message['role'] not in ['user', 'assistant'] %}{{ raise_exception('no such role') }}{% endif %}"
    "{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('alternate') }}"
    "{% endif %}{{ '<start_of_turn>' + message['role'] + '\n' + message['content'] | trim }}"
    "{{ '<end_of_turn>\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<start_of_turn>model\n' }}{% endif %}"
)

WIDTH, HEADS, LAYERS, INNER = 64, 2, 2, 64
KV_HEADS: int | None = None
"""Of llama alone; as many as heads if None."""
_NORMAL, _CONTROL, _BYTE = 1, 3, 6


def write(
    path: Path,
    *,
    architecture: str = "llama",
    tokenizer: str = "bpe",
    template: str | None = CHATML,
    n_ctx: int = 4096,
    seed: int = 0,
    window: int | None = None,
    marks: tuple[str, ...] = (),
    sampling: tuple[tuple[str, float], ...] = (),
) -> Path:
    """Write a model and return its path. `architecture`: llama, gemma3 or mamba.

    `tokenizer`: bpe; merged, which has tokens over JSON's punctuation and parts of characters too; marks,
    which has special tokens for tool calls; or spm. `marks` are more special tokens,
    `sampling` what the author recommends.
    """
    writer = gguf.GGUFWriter(path, architecture)
    writer.add_name(f"tiny {architecture}")
    writer.add_context_length(n_ctx)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(INNER)
    writer.add_file_type(0)
    if tokenizer == "spm":
        n_vocab = _spm(writer, marks)
    else:
        words, own = _BPE[tokenizer]
        n_vocab = _bpe(writer, words, (*own, *marks))
    for name, value in sampling:
        write_number = writer.add_int32 if isinstance(value, int) else writer.add_float32
        write_number(f"general.sampling.{name}", value)
    if template is not None:
        writer.add_chat_template(template)
    random = np.random.default_rng(seed)
    _ARCHITECTURES[architecture](writer, random, n_vocab, window)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def write_adapter(
    path: Path, base: Path, *, rank: int = 4, alpha: float | None = 8.0, seed: int = 0, kind: str = "lora"
) -> Path:
    """Write an adapter that changes what all matrices of a model's blocks do, and return its path."""
    reader = gguf.GGUFReader(base)
    random = np.random.default_rng(seed)
    writer = gguf.GGUFWriter(path, reader.fields["general.architecture"].contents())
    writer.add_type(gguf.GGUFType.ADAPTER)
    writer.add_string(gguf.Keys.Adapter.TYPE, kind)
    if alpha is not None:
        writer.add_float32(gguf.Keys.Adapter.LORA_ALPHA, alpha)
    for tensor in reader.tensors:
        if tensor.name.startswith("blk.") and len(tensor.shape) == 2:
            inputs, outputs = map(int, tensor.shape)
            _matrix(writer, random, f"{tensor.name}.lora_a", rank, inputs)
            _matrix(writer, random, f"{tensor.name}.lora_b", outputs, rank)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _matrix(writer: gguf.GGUFWriter, random: np.random.Generator, name: str, *shape: int) -> None:
    writer.add_tensor(name, (random.standard_normal(shape) * 0.3).astype(np.float32))


def _ones(writer: gguf.GGUFWriter, name: str, *shape: int) -> None:
    writer.add_tensor(name, np.ones(shape, dtype=np.float32))


def _attention(writer: gguf.GGUFWriter, random: np.random.Generator, layer: str) -> None:
    _ones(writer, f"{layer}.attn_norm.weight", WIDTH)
    _ones(writer, f"{layer}.ffn_norm.weight", WIDTH)
    kept = WIDTH // HEADS * (KV_HEADS or HEADS)
    for name, rows in (("attn_q", WIDTH), ("attn_k", kept), ("attn_v", kept), ("attn_output", WIDTH)):
        _matrix(writer, random, f"{layer}.{name}.weight", rows, WIDTH)
    for name in ("ffn_gate", "ffn_up"):
        _matrix(writer, random, f"{layer}.{name}.weight", INNER, WIDTH)
    _matrix(writer, random, f"{layer}.ffn_down.weight", WIDTH, INNER)


def _llama(writer: gguf.GGUFWriter, random: np.random.Generator, n_vocab: int, _window: int | None) -> None:
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KV_HEADS or HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    _matrix(writer, random, "token_embd.weight", n_vocab, WIDTH)
    _ones(writer, "output_norm.weight", WIDTH)
    _matrix(writer, random, "output.weight", n_vocab, WIDTH)
    for number in range(LAYERS):
        _attention(writer, random, f"blk.{number}")


def _gemma3(writer: gguf.GGUFWriter, random: np.random.Generator, n_vocab: int, window: int | None) -> None:
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_key_length(WIDTH // HEADS)
    writer.add_value_length(WIDTH // HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_sliding_window(window or 64)
    _matrix(writer, random, "token_embd.weight", n_vocab, WIDTH)
    _ones(writer, "output_norm.weight", WIDTH)
    for number in range(LAYERS):
        layer = f"blk.{number}"
        _attention(writer, random, layer)
        for name in ("attn_q_norm", "attn_k_norm"):
            _ones(writer, f"{layer}.{name}.weight", WIDTH // HEADS)
        for name in ("post_attention_norm", "post_ffw_norm"):
            _ones(writer, f"{layer}.{name}.weight", WIDTH)


def _mamba(writer: gguf.GGUFWriter, random: np.random.Generator, n_vocab: int, _window: int | None) -> None:
    inner, state, rank, kernel = 2 * WIDTH, 8, 4, 4
    writer.add_ssm_conv_kernel(kernel)
    writer.add_ssm_inner_size(inner)
    writer.add_ssm_state_size(state)
    writer.add_ssm_time_step_rank(rank)
    writer.add_head_count(0)
    writer.add_layer_norm_rms_eps(1e-5)
    _matrix(writer, random, "token_embd.weight", n_vocab, WIDTH)
    _ones(writer, "output_norm.weight", WIDTH)
    _matrix(writer, random, "output.weight", n_vocab, WIDTH)
    for number in range(LAYERS):
        layer = f"blk.{number}"
        _ones(writer, f"{layer}.attn_norm.weight", WIDTH)
        _matrix(writer, random, f"{layer}.ssm_in.weight", 2 * inner, WIDTH)
        _matrix(writer, random, f"{layer}.ssm_conv1d.weight", inner, kernel)
        _matrix(writer, random, f"{layer}.ssm_conv1d.bias", inner)
        _matrix(writer, random, f"{layer}.ssm_x.weight", rank + 2 * state, inner)
        _matrix(writer, random, f"{layer}.ssm_dt.weight", inner, rank)
        _matrix(writer, random, f"{layer}.ssm_dt.bias", inner)
        writer.add_tensor(f"{layer}.ssm_a", -np.ones((inner, state), dtype=np.float32))
        _ones(writer, f"{layer}.ssm_d", inner)
        _matrix(writer, random, f"{layer}.ssm_out.weight", WIDTH, inner)


_ARCHITECTURES = {"llama": _llama, "gemma3": _gemma3, "mamba": _mamba}

_WORDS = ("reply", "tool", "arguments", "time", "the", "and", "alarm", "12:00:00")

# Across JSON's punctuation, and over characters that are several tokens otherwise.
_MERGED = (
    *('{"tool": "', '", "arguments": {"', '": "', '": [', '": {"', '", "'),
    *('"}}', '"}]', "}}", "]}", "{}}", '"]}}', "true", "null"),
    *("2024-", "-02-29", "00:", "@", ".example", "12345678901234567890"),
    *("\\n", "\\u00", '\\"', "😀", " 😀", "語", "नम"),
)


_BPE: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "bpe": (_WORDS, ()),
    "merged": (_WORDS + _MERGED, ()),
    "marks": (_WORDS, ("<tool_call>", "</tool_call>")),
}
"""Words that are one token each, and special tokens besides ChatML's."""


def _bpe(writer: gguf.GGUFWriter, words: tuple[str, ...], marks: tuple[str, ...]) -> int:
    """GPT-2 style: 256 bytes in their printable alphabet, merges for some words, ChatML's special tokens."""
    alphabet = _gpt2_alphabet()
    tokens = [alphabet[byte] for byte in range(256)]
    merges = []
    for word in words:
        left, *letters = (alphabet[byte] for byte in word.encode())
        for letter in letters:
            if left + letter not in tokens:
                merges.append(f"{left} {letter}")
                tokens.append(left + letter)
            left += letter
    specials = [*marks, "<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    types = [_NORMAL] * len(tokens) + [_CONTROL] * len(specials)
    tokens += specials
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(tokens)
    writer.add_token_types(types)
    writer.add_token_merges(merges)
    writer.add_bos_token_id(len(tokens) - 3)
    writer.add_eos_token_id(len(tokens) - 1)
    writer.add_add_bos_token(False)
    return len(tokens)


def _spm(writer: gguf.GGUFWriter, marks: tuple[str, ...]) -> int:
    """SentencePiece style: control tokens, the 256 byte tokens, ASCII characters and a few words."""
    tokens = ["<unk>", "<s>", "</s>", "<start_of_turn>", "<end_of_turn>", *marks]
    types = [2, _CONTROL, _CONTROL, _CONTROL, _CONTROL, *[_CONTROL] * len(marks)]
    tokens += [f"<0x{byte:02X}>" for byte in range(256)]
    types += [_BYTE] * 256
    pieces = [chr(code) for code in range(33, 127)] + ["\u2581"]
    pieces += [word[:end] for word in _WORDS for end in range(2, len(word) + 1)] + ["\u2581the", "\u2581t"]
    pieces = list(dict.fromkeys(pieces))
    tokens += pieces
    types += [_NORMAL] * len(pieces)
    scores = [0.0] * (len(tokens) - len(pieces)) + [-float(10 - len(piece)) for piece in pieces]
    writer.add_tokenizer_model("llama")
    writer.add_token_list(tokens)
    writer.add_token_scores(scores)
    writer.add_token_types(types)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_eot_token_id(4)
    writer.add_add_bos_token(True)
    writer.add_add_space_prefix(True)
    return len(tokens)


def _gpt2_alphabet() -> dict[int, str]:
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printable]
    return {byte: chr(byte) for byte in printable} | {
        byte: chr(256 + number) for number, byte in enumerate(others)
    }
