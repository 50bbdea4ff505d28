"""Making smaller files with llama.cpp's quantizer: what is written, said and left over."""

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import psutil
import pytest
import tiny_gguf
from hypothesis import given, settings
from hypothesis import strategies as st

from rig.core.errors import RigError
from rig.plugins.llama import EngineSettings, load
from rig.plugins.llama.files import derived, registry
from rig.plugins.llama.files.caches import sha256_of
from rig.plugins.llama.files.derived import LocalEntry, local_registry, record
from rig.plugins.llama.files.header import read_header
from rig.plugins.llama.files.info import Origin, inspect
from rig.plugins.llama.files.registry import Entry, Source, resolve
from rig.plugins.tune.quantize import DerivedModel, QuantizeRecipe, quantize
from rig.plugins.tune.types import TYPES

ONE_LAYER = 2 * tiny_gguf.LAYERS


@pytest.fixture
def models(models: Path) -> Path:
    tiny_gguf.write(models / "tiny.gguf")
    return models


def make(kind: str, parent: str = "tiny", threads: int = 1) -> DerivedModel:
    return quantize(resolve(parent), QuantizeRecipe(kind), threads=threads, progress=lambda _done, _of: None)


@pytest.mark.slow
@pytest.mark.parametrize("kind", TYPES)
def test_what_is_said_is_what_is_in_the_file(models: Path, kind: str) -> None:
    seen: list[tuple[int, int]] = []
    made = quantize(
        resolve("tiny"), QuantizeRecipe(kind), threads=1, progress=lambda done, of: seen.append((done, of))
    )
    tensors = read_header(models / f"tiny-{kind}.gguf").tensors
    assert seen == [(number + 1, len(tensors)) for number in range(len(tensors))]
    assert made.entry.tensors == {t.type.name: sum(u.type is t.type for u in tensors) for t in tensors}
    assert made.entry.quantization == kind.upper()
    # No tiny tensor has rows of 256, which all types with a K, most with an I and the ternary ones need; 64
    # do for the others, but for the output, which is meant to be Q6_K. One matrix has a type that it can have
    # from the start.
    matrices = sum(len(tensor.shape) == 2 for tensor in tensors)
    whole = kind in ("f32", "f16", "bf16", "q8_0")
    needs_256 = "k" in kind or kind.startswith(("iq3", "iq4_xs", "tq"))
    falls_back = matrices - 1 if needs_256 else 0 if whole else 1
    assert sum(made.entry.fell_back.values()) == falls_back
    for change in made.entry.fell_back:
        assert change.split(" to ")[1] in made.entry.tensors
    assert made.entry.sha256 == sha256_of(models / f"tiny-{kind}.gguf")
    assert made.info.origin == Origin("tiny", *(2 * (sha256_of(models / "tiny.gguf"),)), ("F32",), False)


@pytest.mark.slow
def test_it_can_be_run_under_its_name_at_once_and_says_what_it_is(models: Path) -> None:
    make("q8_0")
    make("q4_0", "tiny-q8_0")
    path = resolve("tiny-q8_0-q4_0").path
    said: list[str] = []
    model = load(path, EngineSettings(n_threads=1, n_ctx=512), "tiny-q8_0-q4_0", said.append)
    model.close()
    assert "tiny-q8_0-q4_0: requantized from tiny-q8_0 (F32 > Q8_0)" in said
    origin = model.fingerprint["made_from"]
    assert origin["sha256"] == sha256_of(models / "tiny-q8_0.gguf")
    assert origin["root_sha256"] == sha256_of(models / "tiny.gguf")
    assert origin["requantized"] is True
    # 64 numbers a row are two blocks of Q4_0; the output keeps more bits, as llama.cpp has it.
    assert model.fingerprint["tensor_types"]["Q4_0"] >= ONE_LAYER
    assert list(local_registry()) == ["tiny-q8_0.gguf", "tiny-q8_0-q4_0.gguf"]


def test_the_same_parent_makes_the_same_bytes_whatever_the_threads(models: Path) -> None:
    first = make("q4_k_m")
    assert make("q4_k_m").seconds is None  # kept
    (models / "tiny-q4_k_m.gguf").unlink()
    again = make("q4_k_m", threads=2)
    assert again.seconds is not None
    assert again.entry == first.entry
    assert len(local_registry()) == 1


@pytest.mark.slow
def test_whoever_is_killed_leaves_no_half_file_and_no_entry(models: Path, rig: Callable[..., Any]) -> None:
    """Also llama.cpp, which works in a process of its own, stops then."""
    code = "from rig.cli import main; main(['models', 'quantize', 'tiny', '--to', 'q8_0,q6_k,q4_0,q2_k'])"
    sizes: set[int] = set()
    for delay in (0.0, 0.1, 0.3):
        with subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE) as child:
            until = time.monotonic() + 120
            while not (begun := list(models.glob(".*/*.gguf"))) and time.monotonic() < until:
                time.sleep(0.002)
            assert begun
            time.sleep(delay)
            quantizers = psutil.Process(child.pid).children()
            child.kill()
        assert psutil.wait_procs(quantizers, 60)[1] == []
        made = {path.name for path in models.glob("tiny-*.gguf")}
        assert made == set(local_registry())
        sizes |= {len(made)}
    assert min(sizes) < 4
    assert rig("models", "list").code == 0
    assert not [path for path in models.iterdir() if path.name.startswith(".")]
    assert make("q8_0").entry.file in local_registry()
    assert not [path for path in models.iterdir() if path.name.startswith(".")]


def test_another_file_of_that_name_is_not_replaced(models: Path) -> None:
    target = tiny_gguf.write(models / "tiny-q8_0.gguf", seed=1)
    before = target.read_bytes()
    with pytest.raises(RigError, match="is here already"):
        make("q8_0")
    assert target.read_bytes() == before
    target.unlink()
    make("q8_0")
    tiny_gguf.write(models / "tiny.gguf", seed=2)
    with pytest.raises(RigError, match="is here already"):
        make("q8_0")


def test_an_interruption_leaves_nothing(models: Path) -> None:
    def interrupt(done: int, _of: int) -> None:
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        quantize(resolve("tiny"), QuantizeRecipe("q8_0"), threads=1, progress=interrupt)
    assert [path.name for path in models.iterdir()] == ["tiny.gguf"]


def test_what_llama_cpp_refuses_is_one_line_and_leaves_nothing(
    models: Path, write_gguf: Callable[..., Path]
) -> None:
    # A header that is in order, of an architecture that nobody knows.
    write_gguf("models/strange.gguf", architecture="strange", numbers={}, texts={})
    with pytest.raises(RigError, match=r"cannot make q8_0 of it: .*strange") as error:
        make("q8_0", "strange")
    assert "\n" not in str(error.value)
    assert {path.name for path in models.iterdir()} == {"tiny.gguf", "strange.gguf"}
    assert local_registry() == {}


def test_a_full_disk_is_one_line(models: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(derived, "put_in_place", full)
    with pytest.raises(RigError, match="cannot be written: No space left"):
        make("q8_0")
    assert not (models / "tiny-q8_0.gguf").exists()


@pytest.mark.slow
def test_a_template_of_the_registry_goes_to_the_children(
    models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bare = tiny_gguf.write(models / "bare.gguf", template=None)
    entry = Entry(
        name="bare",
        file=bare.name,
        sha256=sha256_of(bare),
        size=bare.stat().st_size,
        licence="CC0-1.0",
        source=(Source(package="bare", version="1", member="bare.gguf"),),
        chat_template="bare.jinja",
    )
    monkeypatch.setattr(registry, "load_registry", lambda: {"bare": entry})
    monkeypatch.setattr(registry, "REGISTRY", tmp_path / "registry.toml")
    (tmp_path / "bare.jinja").write_text(tiny_gguf.CHATML)
    make("q8_0", "bare")
    make("q4_0", "bare-q8_0")
    for name in ("bare", "bare-q8_0", "bare-q8_0-q4_0"):
        load(resolve(name).path, EngineSettings(n_threads=1, n_ctx=512), name, lambda _: None).close()


def test_a_local_registry_that_cannot_be_understood_is_one_line(models: Path) -> None:
    for text, says in (("[[model", "not TOML"), ('[[model]]\nname = "x"', "not a registry of local models")):
        (models / "local.toml").write_text(text)
        with pytest.raises(RigError, match=says) as error:
            make("q8_0")
        assert "\n" not in str(error.value)


NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)


@settings(deadline=None)
@given(NAMES, NAMES)
def test_any_name_is_read_as_it_was_written(name: str, parent: str) -> None:
    entry = LocalEntry(
        name=name,
        file="x.gguf",
        sha256="0" * 64,
        size=1,
        quantization="Q8_0",
        parent=parent,
        parent_sha256="f" * 64,
        requantized=False,
        tensors={"Q8_0": 2, "F32": 1},
        llama_cpp="1",
    )
    with pytest.MonkeyPatch.context() as patch, TemporaryDirectory() as folder:
        patch.setattr(derived, "models_directory", lambda: Path(folder))
        written = Path(folder) / "unfinished"
        written.write_bytes(b"x")
        record(entry, written)
        assert local_registry() == {"x.gguf": entry}
        assert not written.exists()
        (Path(folder) / "x.gguf").unlink()
        assert local_registry() == {}


@pytest.mark.parametrize("cut", ["name", "sha256", "requantized"])
def test_a_file_that_says_only_a_part_of_it_says_nothing(tmp_path: Path, cut: str) -> None:
    import gguf

    whole = Origin("a", "0" * 64, "1" * 64, ("F32",), True).metadata()
    for left_out, expected in ((None, True), (f"rig.made_from.{cut}", False)):
        writer = gguf.GGUFWriter(tmp_path / "x.gguf", "llama")
        for key, value in whole.items():
            if key != left_out:
                writer.add_bool(key, value) if isinstance(value, bool) else writer.add_string(key, value)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        assert (inspect(tmp_path / "x.gguf").origin is not None) == expected
