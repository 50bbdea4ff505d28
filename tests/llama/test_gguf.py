"""What `rig.plugins.llama.files.info` reads from files: good ones, damaged ones and hostile ones."""

import json
import re
import struct
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gguf import GGUFReader, GGUFWriter
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from patience import in_a_moment

from rig.core.errors import RigError
from rig.plugins.llama.core.settings import EngineSettings
from rig.plugins.llama.files.header import MAX_HEADER, Array, read_header
from rig.plugins.llama.files.info import inspect
from rig.plugins.llama.loading import load

WriteGguf = Callable[..., Path]
STRING, ARRAY, UINT32 = 8, 9, 4


def header(version: int = 3, tensors: int = 0, entries: int = 0) -> bytes:
    return b"GGUF" + struct.pack("<IQQ", version, tensors, entries)


def text(value: str) -> bytes:
    encoded = value.encode()
    return struct.pack("<Q", len(encoded)) + encoded


def refusal(path: Path) -> str:
    with pytest.raises(RigError) as error:
        inspect(path)
    message = str(error.value)
    assert "\n" not in message
    assert message.startswith(f"{path}: ")
    return message.removeprefix(f"{path}: ")


def test_reads_what_a_model_says_of_itself(write_gguf: WriteGguf) -> None:
    info = inspect(write_gguf())
    assert (info.architecture, info.name, info.quantization) == ("llama", "Tiny", "Q8_0")
    assert (info.layers, info.heads, info.kv_heads, info.key_length, info.value_length) == (4, 8, 2, 8, 8)
    assert (info.context_length, info.embedding_length, info.vocabulary_size) == (2048, 64, 50)
    assert info.parameters == 64 * 64 + 64
    assert info.special_tokens == {"bos": 1}
    assert info.chat_template is None
    assert info.memory == "attention"


def test_tensor_types_are_counted_not_believed(write_gguf: WriteGguf) -> None:
    info = inspect(write_gguf())
    assert {name: (t.tensors, t.bytes) for name, t in info.tensor_types.items()} == {
        "Q8_0": (1, 64 * 64 // 32 * 34),
        "F32": (1, 64 * 4),
    }
    assert info.weight_bytes == 64 * 64 // 32 * 34 + 64 * 4
    assert info.bits_per_weight == pytest.approx(8 * info.weight_bytes / info.parameters)


def test_named_templates_are_kept_apart(write_gguf: WriteGguf) -> None:
    texts = {"tokenizer.chat_template": "{{ a }}", "tokenizer.chat_template.tool_use": "{{ b }}"}
    info = inspect(write_gguf(texts=texts))
    assert info.chat_template == "{{ a }}"
    assert info.other_templates == {"tool_use": "{{ b }}"}


STATEFUL = {"embedding_length": 64, "attention.head_count": 8, "ssm.state_size": 16}


@pytest.mark.parametrize(
    ("numbers", "memory"),
    [
        ({"block_count": 4, "ssm.state_size": 16}, "recurrent"),
        ({**STATEFUL, "block_count": 3, "attention.head_count_kv": [0, 0, 0]}, "recurrent"),
        ({**STATEFUL, "block_count": 3, "attention.head_count_kv": [0, 2, 0]}, "hybrid"),
        ({**STATEFUL, "block_count": 8, "attention.head_count_kv": 2}, "hybrid"),
        ({"block_count": 2, "embedding_length": 64, "attention.head_count": [8, 4]}, "attention"),
        ({"block_count": 2, "attention.kv_lora_rank": 1}, "attention"),
        ({"block_count": 2}, "attention"),
    ],
)
def test_models_with_a_state_are_told_from_others(
    write_gguf: WriteGguf, numbers: dict[str, Any], memory: str
) -> None:
    assert inspect(write_gguf(numbers=numbers)).memory == memory


@pytest.mark.slow
def test_agrees_with_the_gguf_package_on_the_real_model(smollm2: Path) -> None:
    ours, theirs = read_header(smollm2), GGUFReader(smollm2)
    assert [(t.name, t.elements, t.bytes, t.type) for t in ours.tensors] == [
        (t.name, t.n_elements, t.n_bytes, t.tensor_type) for t in theirs.tensors
    ]
    own_fields = [name for name in theirs.fields if not name.startswith("GGUF.")]
    assert list(ours.metadata) == own_fields
    for name in own_fields:
        value = ours.metadata[name]
        found = theirs.fields[name]
        if isinstance(value, Array):
            assert value.length == len(found.data)
        else:
            assert value == found.contents()


def test_the_real_model_is_what_its_name_says(smollm2: Path) -> None:
    info = inspect(smollm2)
    assert (info.architecture, info.quantization, info.context_length) == ("llama", "Q4_1", 8192)
    assert 134e6 < info.parameters < 136e6
    assert "<|im_start|>" in (info.chat_template or "")


def test_inspecting_is_fast_enough_to_list_a_folder(smollm2: Path) -> None:
    with in_a_moment():
        for _ in range(20):
            inspect(smollm2)


def test_a_missing_file(tmp_path: Path) -> None:
    assert "No such file" in refusal(tmp_path / "none.gguf")


def test_a_directory(tmp_path: Path) -> None:
    assert "not a file" in refusal(tmp_path)


@pytest.mark.parametrize(
    "content", [b"", b"GG", b"hello, I am a text file\n" * 100, b"PK\x03\x04" + bytes(100)]
)
def test_what_is_no_gguf(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "text.gguf"
    path.write_bytes(content)
    assert "not a GGUF file" in refusal(path)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (header(version=1), "version 1 is not supported"),
        (header(version=99), "version 99 is not supported"),
        (b"GGUF" + struct.pack(">I", 3) + bytes(100), "big-endian"),
        (b"GGUF", "truncated"),
        (header(entries=1), "truncated"),
        (header(entries=2**63), "truncated"),
        (header(tensors=2**63), "truncated"),
        (header(tensors=70_000) + bytes(2_000_000), "70,000 entries"),
        (header(entries=1) + struct.pack("<Q", 2**62) + bytes(64), "truncated"),
        (header(entries=1) + text("a") + struct.pack("<I", 77) + bytes(64), "value type 77"),
        (header(entries=1) + text("a") + struct.pack("<IIQ", ARRAY, 99, 1) + bytes(64), "value type 99"),
        (header(entries=1) + text("a") + struct.pack("<IIQ", ARRAY, ARRAY, 1) + bytes(64), "array of arrays"),
        (header(entries=1) + text("a") + struct.pack("<IIQ", ARRAY, STRING, 2**60) + bytes(64), "truncated"),
        (header(entries=1) + text("a") + struct.pack("<IIQ", ARRAY, UINT32, 2**60) + bytes(64), "truncated"),
        (
            header(entries=1) + text("a") + struct.pack("<IIQQQ", ARRAY, STRING, 2, 2**63, 0) + bytes(64),
            "truncated",
        ),
        (
            header(entries=2) + (text("a") + struct.pack("<II", UINT32, 1)) * 2 + bytes(64),
            "'a' appears twice",
        ),
        (header(tensors=1) + text("t") + struct.pack("<I", 2**31) + bytes(64), "2147483648 dimensions"),
        (header(tensors=1) + text("t") + struct.pack("<IQIQ", 1, 64, 9_999, 0) + bytes(64), "type 9999"),
        (header(tensors=1) + text("t") + struct.pack("<IQIQ", 1, 33, 8, 0) + bytes(64), "not whole blocks"),
        (header(tensors=1) + text("t") + struct.pack("<IQIQ", 1, 2**60, 0, 0) + bytes(64), "truncated"),
        (header(tensors=1) + text("t") + struct.pack("<IQIQ", 1, 1, 0, 2**63) + bytes(64), "truncated"),
        (
            header(entries=1) + text("general.alignment") + struct.pack("<II", UINT32, 3) + bytes(64),
            "general.alignment",
        ),
        (header() + bytes(64), "holds no model"),
        (
            header(entries=2)
            + text("general.architecture")
            + struct.pack("<I", STRING)
            + text("llama")
            + text("split.count")
            + struct.pack("<II", UINT32, 3),
            "one part of 3",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_makes_no_sense_is_said_in_one_line(tmp_path: Path, content: bytes, says: str) -> None:
    path = tmp_path / "bad.gguf"
    path.write_bytes(content)
    assert says in refusal(path)


def test_names_out_of_the_file_are_escaped(tmp_path: Path) -> None:
    path = tmp_path / "bad.gguf"
    path.write_bytes(header(entries=1) + text("\x1b[2J" + "x" * 500) + struct.pack("<I", 77) + bytes(64))
    message = refusal(path)
    assert "\x1b" not in message
    assert len(message) < 200


def test_a_sparse_file_cannot_make_the_reader_run_on(tmp_path: Path) -> None:
    path = tmp_path / "sparse.gguf"
    path.write_bytes(header(entries=1) + text("a") + struct.pack("<IIQ", ARRAY, STRING, 2**32))
    with path.open("r+b") as file:
        file.truncate(2**36)
    with in_a_moment():
        assert f"more than {MAX_HEADER // 2**20} MiB" in refusal(path)


def test_every_truncation_is_noticed(write_gguf: WriteGguf) -> None:
    path = write_gguf(vocabulary=3)
    whole = path.read_bytes()
    inspect(path)
    for length in range(4, len(whole) - 32, 7):  # the last tensor may end in padding
        path.write_bytes(whole[:length])
        assert "truncated" in refusal(path)


@pytest.mark.slow
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_damage_anywhere_gives_an_answer_or_one_line(write_gguf: WriteGguf, data: st.DataObject) -> None:
    path = write_gguf(vocabulary=3)
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 8))):
        position = data.draw(st.integers(4, 900))
        content[position] = data.draw(st.integers(0, 255))
    path.write_bytes(content)
    with suppress(RigError):
        info = inspect(path)
        json.dumps(info.as_json())


@pytest.mark.parametrize(
    ("architecture", "key", "value", "words"),
    [
        ("nomic-bert", "", None, "an embedding model"),
        ("llama", "pooling_type", 3, "an embedding model"),
        ("qwen3", "pooling_type", 4, "a model that ranks texts"),
        ("llama", "attention.causal", False, "reads in both directions"),
        ("clip", "", None, "the vision part of a model"),
        ("llama", "pooling_type", 0, ""),
    ],
)
def test_a_file_that_writes_no_text_is_called_what_it_is(
    rig: Any, tmp_path: Path, architecture: str, key: str, value: int | bool | None, words: str
) -> None:
    path = tmp_path / "m.gguf"
    writer = GGUFWriter(path, architecture)
    if isinstance(value, bool):
        writer.add_bool(f"{architecture}.{key}", value)
    elif value is not None:
        writer.add_uint32(f"{architecture}.{key}", value)
    writer.add_tensor("token_embd.weight", np.ones((4, 32), dtype=np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    other = inspect(path).other
    assert (words in other) if words else other == ""
    if words:
        about = rig("models", "info", path)
        assert f"none: it is {other}, which writes no text" in about.out
        with pytest.raises(RigError, match=f"{re.escape(other)}, which writes no text"):
            load(path, EngineSettings(), "m", lambda _: None)
