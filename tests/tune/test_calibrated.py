"""Quantizing with an importance matrix: what it changes, what is refused, and what the file says."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest
import small_talks
import tiny_gguf

from rig import methods
from rig.compare.leaks import leaked, trace
from rig.core.errors import RigError
from rig.core.tasks import part_of
from rig.plugins.llama.core.llama import LlamaModel
from rig.plugins.llama.files.derived import DerivedModel
from rig.plugins.llama.files.registry import resolve
from rig.plugins.tune import imatrix
from rig.plugins.tune.calibrate import Activations
from rig.plugins.tune.imatrix import ImportanceMatrix
from rig.plugins.tune.quantize import QuantizeRecipe, TensorType, quantize
from rig.plugins.tune.types import CALIBRATED

Rig = Callable[..., Any]


@pytest.fixture
def models(models: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, value in {"WIDTH": 256, "INNER": 512, "HEADS": 4}.items():
        monkeypatch.setattr(tiny_gguf, name, value)
    tiny_gguf.write(models / "tiny.gguf")
    return models


@pytest.fixture
def matrix(models: Path) -> ImportanceMatrix:
    model = LlamaModel(models / "tiny.gguf")
    with Activations(model, n_ctx=256, n_batch=128, n_threads=1) as activations:
        activations.decode([(7 * at) % 250 for at in range(128)])
    model.close()
    single = {name: sums.astype(np.float32) for name, sums in activations.sums.items()}
    counts = {name: count.astype(np.float32) for name, count in activations.counts.items()}
    imatrix.write(made := ImportanceMatrix(single, counts, ("folder/a text",)), models.parent / "m.gguf")
    return made


def make(recipe: QuantizeRecipe, parent: str = "tiny") -> DerivedModel:
    return quantize(resolve(parent), recipe, threads=1, progress=lambda _done, _of: None)


@pytest.mark.slow
@pytest.mark.parametrize("kind", CALIBRATED)
def test_small_types_need_a_matrix(models: Path, matrix: ImportanceMatrix, kind: str) -> None:
    with pytest.raises(RigError, match=r"needs an importance matrix \(--imatrix\); `rig models calibrate"):
        make(QuantizeRecipe(kind))
    made = make(QuantizeRecipe(kind, models.parent / "m.gguf"))
    assert made.entry.name == f"tiny-{kind}-m"
    assert not made.entry.fell_back
    assert made.info.quantization == kind.upper()
    assert made.info.origin is not None
    assert made.info.origin.imatrix == imatrix.sha256(matrix)
    assert made.info.origin.note == "quantized from tiny (F32), calibrated on a text"


@pytest.mark.slow
def test_the_matrix_lowers_the_error_that_it_weights(models: Path, matrix: ImportanceMatrix) -> None:
    def error(file: str) -> float:
        """Of a weight, squared, each column weighted by its importance."""
        tensors = {tensor.name: tensor for tensor in gguf.GGUFReader(models / file).tensors}
        tensor, original = tensors[name], originals[name]
        difference = gguf.dequantize(tensor.data, tensor.tensor_type) - np.array(original.data)
        return float((difference**2 * matrix.means()[name]).sum())

    name = "blk.0.ffn_down.weight"
    originals = {tensor.name: tensor for tensor in gguf.GGUFReader(models / "tiny.gguf").tensors}
    plain, weighted = make(QuantizeRecipe("q2_k")), make(QuantizeRecipe("q2_k", models.parent / "m.gguf"))
    assert plain.entry.tensors == weighted.entry.tensors
    assert error(weighted.entry.file) < 0.95 * error(plain.entry.file)


@pytest.mark.slow
def test_the_older_format_makes_the_same_file(models: Path, matrix: ImportanceMatrix) -> None:
    imatrix.write(matrix, models.parent / "old.dat", "dat")
    new, old = (make(QuantizeRecipe("q2_k", models.parent / name)) for name in ("m.gguf", "old.dat"))
    files = ({t.name: t for t in gguf.GGUFReader(models / made.entry.file).tensors} for made in (new, old))
    for tensor, other in zip(*(tensors.values() for tensors in files), strict=True):
        assert (tensor.name, tensor.tensor_type) == (other.name, other.tensor_type)
        if tensor.tensor_type != gguf.GGMLQuantizationType.F32:
            difference = np.array(tensor.data) != np.array(other.data)
            assert difference.mean() < 0.01  # the mean squares differ in the last bit


@pytest.mark.slow
def test_tensors_have_the_types_that_were_asked_for(models: Path, matrix: ImportanceMatrix) -> None:
    tensors = tuple(map(TensorType.parse, (r"blk\.0\.attn=Q8_0", "attn=q6_k")))
    made = make(QuantizeRecipe("q4_k_m", None, tensors, "q8_0", "f16"))
    types = {t.name: t.tensor_type.name for t in gguf.GGUFReader(models / made.entry.file).tensors}
    assert types["blk.0.attn_q.weight"] == "Q8_0"
    assert types["blk.1.attn_q.weight"] == "Q6_K"
    assert (types["token_embd.weight"], types["output.weight"]) == ("Q8_0", "F16")
    assert types["blk.1.ffn_up.weight"] == "Q4_K"
    assert made.info.origin is not None
    assert made.info.origin.recipe == r"blk\.0\.attn=q8_0, attn=q6_k, embeddings=q8_0, output=f16"
    assert made.entry.name != make(QuantizeRecipe("q4_k_m")).entry.name
    again = make(QuantizeRecipe("q2_k"), made.entry.name)
    assert again.info.origin is not None
    assert again.info.origin.recipe == ""


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--to", "q2_k", "--tensor", "attn"), "write REGEX=TYPE"),
        (("--to", "q2_k", "--tensor", "attn=q9"), "write REGEX=TYPE"),
        (("--to", "q2_k", "--tensor", "at(=q8_0"), "not a regular expression"),
        (("--to", "q2_k", "--tensor", "nothing=q8_0"), "no matrix of"),
        (("--to", "q2_k", "--tensor", "attn_q=iq2_xs"), "needs an importance matrix that has this tensor"),
        (
            ("--to", "q2_k", "--output-tensor-type", "iq1_s"),
            "output.weight: iq1_s needs an importance matrix",
        ),
        (("--to", "q2_k", "--token-embedding-type", "q9"), "there is no type 'q9' for a tensor"),
        (("--to", "f16", "--tensor", "attn=q8_0"), "have no effect on f16"),
        (("--to", "iq1_s"), "needs an importance matrix (--imatrix)"),
        (("--to", "q2_k", "--imatrix", "nowhere"), "cannot be read"),
        (("--to", "q2_k", "--imatrix", "models/tiny.gguf"), "not an importance matrix"),
    ],
)
def test_what_llama_cpp_would_die_of_or_ignore_is_one_line(
    rig: Rig, models: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], says: str
) -> None:
    monkeypatch.chdir(models.parent)
    done = rig("models", "quantize", "tiny", *arguments)
    assert (done.code, len(done.err.splitlines()[-1:])) == (2, 1)
    assert says in done.err
    assert [path.name for path in models.iterdir()] == ["tiny.gguf"]


@pytest.mark.parametrize(
    ("name", "columns", "says"),
    [("blk.0.attn_q.weight", 64, "other columns"), ("blk.9.attn_q.weight", 256, "it has no tensor of")],
)
def test_a_matrix_of_another_model_is_refused(models: Path, name: str, columns: int, says: str) -> None:
    other = ImportanceMatrix({name: np.ones((1, columns), np.float32)}, {name: np.ones(1, np.float32)})
    imatrix.write(other, models.parent / "other.gguf")
    with pytest.raises(RigError, match=f"was made of another model: .*{says}"):
        make(QuantizeRecipe("q2_k", models.parent / "other.gguf"))


@pytest.mark.slow
@pytest.mark.parametrize("form", ["gguf", "dat"])
def test_calibrating_by_the_command_line(
    rig: Rig, models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    tiny_gguf.write(models / "tiny.gguf", n_ctx=8192)
    monkeypatch.chdir(tmp_path)
    quiet = ("--tools", "exact", "--threads", "1", "--limit", "1", "--output-format", form)
    done = rig("models", "calibrate", "tiny", *quiet)
    assert done.code == 0, done.err
    made = imatrix.read(tmp_path / f"tiny.imatrix.{form}")
    assert len(made.sums) == 7 * tiny_gguf.LAYERS
    assert made.title.startswith("easy: 1 conversation, ")
    assert "quantize with it: `rig models quantize tiny --to q2_k,iq2_xs --imatrix tiny.imatrix" in done.out
    (task,) = [task for task in methods.find_tasks("easy")[1] if leaked(made.traces, {"": task.source})] or [
        None
    ]
    assert (task is None) == (form == "dat")  # the older format has no room for traces
    assert task is None or part_of(task.name) == "calibration"
    assert "already exists" in rig("models", "calibrate", "tiny", *quiet).err
    comparison = next(
        task.name for task in methods.find_tasks("easy")[1] if part_of(task.name) == "comparison"
    )
    refused = rig("models", "calibrate", "tiny", "--only", comparison, "--output", "x.gguf")
    assert (refused.code, "is for calibration" in refused.err) == (2, True)


@pytest.mark.slow
def test_calibrating_on_a_text(
    rig: Rig, models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny_gguf.write(models / "tiny.gguf", n_ctx=8192)
    monkeypatch.chdir(tmp_path)
    text = tmp_path / "prose.txt"
    text.write_text("It rained all night, and in the morning the river stood in the cellar.\n" * 40)
    asked = ("models", "calibrate", "tiny", "--text", str(text), "--threads", "1", "--n-ctx", "64")
    for limit, name in (("2", "two.gguf"), ("3", "three.gguf"), ("3", "again.gguf")):
        done = rig(*asked, "--limit", limit, "--output", name)
        assert done.code == 0, done.err
    two, three, again = (imatrix.read(tmp_path / f"{name}.gguf") for name in ("two", "three", "again"))
    assert three.title == "prose.txt, 192 tokens"
    assert not three.traces
    for weight, sums in three.sums.items():
        assert (two.counts[weight], three.counts[weight]) == (2 * 64, 3 * 64)
        # A chunk knows nothing of the one before: what it adds is the same wherever it stands.
        assert (two.sums[weight] <= sums).all()
        np.testing.assert_array_equal(sums, again.sums[weight])
    text.write_text("Too short.")
    short = rig(*asked, "--output", "x.gguf")
    assert (short.code, "two chunks" in short.err) == (2, True)
    refused = rig(*asked, "--suite", "easy", "--output", "x.gguf")
    assert (refused.code, "--suite has no effect on a text" in refused.err) == (2, True)


def conversation(name: str, *words: str) -> dict[str, Any]:
    turns = [f"please set an alarm for {word} and tell {name} about the {word} party" for word in words]
    return {"name": name, "conversation": [{"role": "user", "text": turn} for turn in turns]}


def test_a_copy_is_found_under_another_name_and_with_a_changed_turn() -> None:
    words = [f"{number} o'clock" for number in range(12)]
    whole = conversation("ann", *words)
    changed = {**whole, "name": "bob", "conversation": [*whole["conversation"][:-1], {"role": "user"}]}
    other = {
        "name": "eve",
        "conversation": [{"text": f"delete reminder number {n} of my list"} for n in words],
    }
    sources = {"whole": whole, "changed": changed, "other": other}
    assert leaked([trace(whole)], sources) == ["whole", "changed"]
    assert leaked([trace(other)], sources) == ["other"]
    assert leaked(["", "no trace", "\x00", trace(whole)[:9]], sources) == []
    assert len(trace(whole).encode()) <= 127


@pytest.mark.slow
def test_what_a_file_was_calibrated_on_is_not_compared(
    rig: Rig, models: Path, matrix: ImportanceMatrix, tmp_path: Path
) -> None:
    """The matrix is made elsewhere, of a conversation that is then compared."""
    tiny_gguf.write(models / "tiny.gguf", n_ctx=8192)
    small_talks.write(tmp_path)
    _, tasks = methods.find_tasks("easy", tmp_path / "conversations", None)
    hidden = ImportanceMatrix(matrix.sums, matrix.counts, ("x",), traces=(trace(tasks[0].source),))
    imatrix.write(hidden, tmp_path / "hidden.gguf")
    make(QuantizeRecipe("q4_k_m", tmp_path / "hidden.gguf"))
    options = ("--conversations", tmp_path / "conversations", "--world", tmp_path / "databases")
    limits = ("--tools", "exact", "--max-tokens", "8", "--max-calls", "1", "--limit", "1", "--parallel", "1")
    quiet = ("--similarity", "exact", "--threads", "1", "--display", "plain")
    assert rig("run", "tiny", "tiny-q4_k_m-hidden", *options, *limits, *quiet).code == 0
    for more in ((), ("--sequential",)):
        done = rig("compare", "latest", *more)
        assert done.code == 2
        assert "tiny-q4_k_m-hidden was calibrated on 1 conversation" in done.err
        assert f"({tasks[0].name}); play others, such as `rig run --without calibration`" in done.err
    for listing, what in (
        (("leaderboard",), "it is ranked by"),
        (("history", "tiny-q4_k_m-hidden"), "it played"),
    ):
        told = rig(*listing).out
        assert f"tiny-q4_k_m-hidden was calibrated on 1 conversation that {what}, or on near copies" in told
        assert rig("history", "tiny").out.count("calibrated") == 0
    places = {place["arm"]: place["leaks"] for place in rig("leaderboard", "--json").json["arms"]}
    assert places == {"tiny": [], "tiny-q4_k_m-hidden": [tasks[0].name]}
    (score,) = rig("history", "tiny-q4_k_m-hidden", "--json").json["scores"]
    assert score["leaks"] == [tasks[0].name]
    chosen = (*options, "--tools", "exact", "--limit", "1", "--threads", "1")
    screened = rig("screen", "tiny", "tiny-q4_k_m-hidden", *chosen).out
    assert "tiny-q4_k_m-hidden: its figures look better than they are, as it was calibrated on 1" in screened
    again = rig("models", "quantize", "tiny-q4_k_m-hidden", "--to", "q2_k", "--json").json
    assert again[0]["origin"]["calibrated_on"] == [trace(json.loads(json.dumps(tasks[0].source)))]
