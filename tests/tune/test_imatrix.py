"""Importance matrices: collecting them, both file formats, and files that are none."""

import os
import struct
from pathlib import Path

import gguf
import numpy as np
import pytest
import tiny_gguf
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from rig.core.errors import RigError
from rig.plugins.llama.core.llama import LlamaModel
from rig.plugins.tune import imatrix
from rig.plugins.tune.calibrate import Activations
from rig.plugins.tune.imatrix import ImportanceMatrix

TOKENS = [(7 * at) % 250 for at in range(96)]


def collected(path: Path, *sequences: list[int], n_batch: int = 64) -> Activations:
    model = LlamaModel(path)
    with Activations(model, n_ctx=256, n_batch=n_batch, n_threads=1) as activations:
        for sequence in sequences:
            activations.decode(sequence)
    model.close()
    return activations


def test_what_follows_a_norm_has_as_many_squares_as_columns(tmp_path: Path) -> None:
    """Norm weights are 1 in the tiny model, so that the squares of a token add up to its columns."""
    activations = collected(tiny_gguf.write(tmp_path / "tiny.gguf"), TOKENS)
    assert len(activations.sums) == 7 * tiny_gguf.LAYERS
    for name, sums in activations.sums.items():
        assert activations.counts[name] == [len(TOKENS)]
        if name.split(".")[2] in ("attn_q", "attn_k", "attn_v", "ffn_gate", "ffn_up"):
            assert sums.sum() == pytest.approx(tiny_gguf.WIDTH * len(TOKENS), rel=2e-3)
    equal = [activations.sums[f"blk.1.{name}.weight"] for name in ("attn_q", "attn_k", "attn_v")]
    assert (equal[0] == equal[1]).all()
    assert (equal[0] == equal[2]).all()


def test_batches_do_not_matter_and_a_shared_beginning_counts_once(tmp_path: Path) -> None:
    path = tiny_gguf.write(tmp_path / "tiny.gguf")
    whole, pieces = collected(path, TOKENS), collected(path, TOKENS[:40], TOKENS, n_batch=16)
    for name, sums in whole.sums.items():
        assert pieces.counts[name] == whole.counts[name]
        np.testing.assert_allclose(pieces.sums[name], sums, rtol=1e-3, atol=1e-4 * sums.max())
    again = collected(path, TOKENS, [*TOKENS[:40], 3, 4, 5])
    assert again.counts["blk.0.attn_q.weight"] == [len(TOKENS) + 3]


def test_experts_count_the_tokens_that_were_routed_to_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    experts, used = 4, 2

    def with_experts(writer: object, random: np.random.Generator, layer: str) -> None:
        width, inner, matrix = tiny_gguf.WIDTH, tiny_gguf.INNER, tiny_gguf._matrix
        for name in ("attn_norm", "ffn_norm"):
            tiny_gguf._ones(writer, f"{layer}.{name}.weight", width)
        for name in ("attn_q", "attn_k", "attn_v", "attn_output"):
            matrix(writer, random, f"{layer}.{name}.weight", width, width)
        matrix(writer, random, f"{layer}.ffn_gate_inp.weight", experts, width)
        for name, *shape in (("gate", inner, width), ("up", inner, width), ("down", width, inner)):
            matrix(writer, random, f"{layer}.ffn_{name}_exps.weight", experts, *shape)

    llama = tiny_gguf._llama

    def mixture(writer: object, *more: object) -> None:
        writer.add_expert_count(experts)
        writer.add_expert_used_count(used)
        llama(writer, *more)

    monkeypatch.setattr(tiny_gguf, "_attention", with_experts)
    monkeypatch.setitem(tiny_gguf._ARCHITECTURES, "llama", mixture)
    activations = collected(tiny_gguf.write(tmp_path / "tiny.gguf"), TOKENS)
    for part in ("gate", "up", "down"):
        name = f"blk.1.ffn_{part}_exps.weight"
        assert activations.counts[name].sum() == used * len(TOKENS)
        assert len(activations.counts[name]) == experts == len(activations.sums[name])
    entering = activations.sums["blk.1.ffn_up_exps.weight"]
    per_token = entering.sum(axis=1) / activations.counts["blk.1.ffn_up_exps.weight"]
    np.testing.assert_allclose(per_token, tiny_gguf.WIDTH, rtol=2e-3)


def test_a_fault_while_watching_is_raised_and_not_swallowed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object, **__: object) -> None:
        raise RigError("it fails")

    monkeypatch.setattr(Activations, "_take", fails)
    with pytest.raises(RigError, match="it fails"):
        collected(tiny_gguf.write(tmp_path / "tiny.gguf"), TOKENS)


NUMBERS = st.floats(0.0009765625, 65536, width=32)


@settings(deadline=None, max_examples=30)
@given(
    st.dictionaries(
        st.from_regex(r"blk\.\d\.[a-z_]{1,20}\.weight", fullmatch=True),
        st.tuples(
            arrays(np.float32, (2, 5), elements=NUMBERS),
            arrays(np.float32, 2, elements=st.integers(1, 9999).map(float)),
        ),
        min_size=1,
        max_size=4,
    )
)
def test_both_formats_are_read_as_they_were_written(
    tmp_path_factory: pytest.TempPathFactory, entries: dict[str, tuple[np.ndarray, np.ndarray]]
) -> None:
    folder = tmp_path_factory.mktemp("formats")
    matrix = ImportanceMatrix(
        {name: sums for name, (sums, _) in entries.items()},
        {name: counts for name, (_, counts) in entries.items()},
        ("a text",),
        chunks=7,
        traces=("abc",),
    )
    imatrix.write(matrix, folder / "x.gguf")
    imatrix.write(matrix, folder / "x.dat", "dat")
    new, old = imatrix.read(folder / "x.gguf"), imatrix.read(folder / "x.dat")
    assert (new.datasets, new.chunks, new.chunk_size, new.traces) == (("a text",), 7, 512, ("abc",))
    assert (old.datasets, old.chunks, old.chunk_size) == (("a text",), 7, 0)
    for name in entries:
        assert (new.sums[name] == matrix.sums[name]).all()
        assert (new.counts[name] == matrix.counts[name]).all()
        np.testing.assert_allclose(old.means()[name], matrix.means()[name], rtol=1e-6)
    assert imatrix.sha256(new) == imatrix.sha256(matrix)


def test_an_expert_without_tokens_weighs_one() -> None:
    sums, counts = np.array([[2.0, 4.0], [0.0, 0.0]], np.float32), np.array([2.0, 0.0], np.float32)
    matrix = ImportanceMatrix({"a": sums}, {"a": counts})
    assert matrix.means()["a"].tolist() == [1.0, 2.0, 1.0, 1.0]


def old_entry(name: bytes, calls: int, values: list[float]) -> bytes:
    return (
        struct.pack("<i", len(name)) + name + struct.pack(f"<ii{len(values)}f", calls, len(values), *values)
    )


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"GGUF",
        b"\xff\xff\xff\x7f",
        struct.pack("<i", -1),
        struct.pack("<i", 2) + old_entry(b"a", 1, [1.0]),
        struct.pack("<i", 1) + old_entry(b"a", 1, [float("nan")]),
        struct.pack("<i", 1) + old_entry(b"a", 1, [-1.0]),
        struct.pack("<i", 1) + old_entry(b"a", 1, [0.0, 0.0]),
        struct.pack("<i", 1) + struct.pack("<i", 1) + b"a" + struct.pack("<ii", 1, 2**27),
    ],
)
def test_what_is_no_matrix_is_one_line(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "x").write_bytes(data)
    with pytest.raises(RigError, match=r"x: ") as error:
        imatrix.read(tmp_path / "x")
    assert "\n" not in str(error.value)


def test_a_model_is_no_matrix(tmp_path: Path) -> None:
    with pytest.raises(RigError, match="a GGUF file of another type"):
        imatrix.read(tiny_gguf.write(tmp_path / "tiny.gguf"))


@pytest.mark.slow
def test_a_matrix_with_more_than_any_has_is_refused_unread(tmp_path: Path) -> None:
    """The gguf package makes an array for each text, which takes minutes and gigabytes for some millions."""
    writer = gguf.GGUFWriter(tmp_path / "many", "")
    writer.add_type("imatrix")
    writer.add_array("imatrix.datasets", ["a"])
    writer.add_array("many", [""] * 70_000)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()
    (tmp_path / "sparse").write_bytes(b"\1\0\0\0")
    os.truncate(tmp_path / "sparse", 60 << 30)
    os.mkfifo(tmp_path / "pipe")
    for name, says in (("many", "larger than"), ("sparse", "larger than"), ("pipe", "is not a regular file")):
        with pytest.raises(RigError, match=says):
            imatrix.read(tmp_path / name)
