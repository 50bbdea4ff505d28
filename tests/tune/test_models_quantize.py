"""`rig models quantize`, and how what it made is shown afterwards."""

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest
import small_talks
import tiny_gguf

quantizing = importlib.import_module("rig.plugins.tune.verbs")
Rig = Callable[..., Any]


@pytest.fixture
def models(models: Path) -> Path:
    tiny_gguf.write(models / "tiny.gguf", n_ctx=8192)
    return models


@pytest.mark.slow
def test_a_ladder_is_made_and_said(rig: Rig, models: Path) -> None:
    done = rig("models", "quantize", "tiny", "--to", "Q8_0, q4_k_m,q8_0")
    assert done.code == 0
    assert [line.split()[0] for line in done.out.splitlines()[:3]] == ["NAME", "tiny-q8_0", "tiny-q4_k_m"]
    assert "tiny-q4_k_m: tensors whose rows are too short for their type got another: " in done.out
    assert "from q4_k to q5_0" in done.out
    assert "requantized" not in done.out
    assert "tiny-q8_0: quantizing" in done.err
    assert "here already" in rig("models", "quantize", "tiny", "--to", "q8_0").out
    again = rig("models", "quantize", "tiny-q8_0", "--to", "q4_0")
    assert "requantized from tiny-q8_0 (F32 > Q8_0): its weights were quantized before" in again.out


def test_every_number_as_json(rig: Rig, models: Path) -> None:
    (made,) = rig("models", "quantize", "tiny", "--to", "q8_0", "--json").json
    assert (made["name"], made["parent"], made["requantized"]) == ("tiny-q8_0", "tiny", False)
    assert made["size"] == (models / "tiny-q8_0.gguf").stat().st_size
    assert set(made["tensors"]) == {"Q8_0", "F32"}
    assert made["bits_per_weight"] == pytest.approx(8.5, abs=0.2)
    assert made["seconds"] > 0


@pytest.mark.slow
def test_list_info_and_verify_know_it(rig: Rig, models: Path) -> None:
    rig("models", "quantize", "tiny", "--to", "q8_0")
    row = {row["name"]: row for row in rig("models", "list", "--json").json}["tiny-q8_0"]
    assert (row["status"], row["made_from"]["quantizations"]) == ("quantized from tiny (F32)", ["F32"])
    assert "quantized from tiny (F32)" in rig("models", "info", "tiny-q8_0").out
    assert "made          quantized from tiny (F32)" in rig("models", "info", "tiny-q8_0", "--fit").out
    assert rig("models", "verify", "tiny-q8_0").code == 0
    with (models / "tiny-q8_0.gguf").open("r+b") as file:
        file.seek(-1, 2)
        file.write(b"\x7f")
    done = rig("models", "verify", "tiny-q8_0")
    assert (done.code, "is not the file that was made here" in done.out) == (1, True)


@pytest.mark.slow
def test_a_run_says_it_everywhere(rig: Rig, models: Path, tmp_path: Path) -> None:
    small_talks.write(tmp_path)
    rig("models", "quantize", "tiny", "--to", "q8_0")
    rig("models", "quantize", "tiny-q8_0", "--to", "q4_0")
    note = "requantized from tiny-q8_0 (F32 > Q8_0)"
    options = ("--conversations", tmp_path / "conversations", "--world", tmp_path / "databases")
    limits = ("--tools", "exact", "--max-tokens", "8", "--max-calls", "1", "--limit", "1", "--parallel", "1")
    quiet = ("--similarity", "exact", "--threads", "1", "--display", "plain")
    done = rig("run", "tiny-q8_0", "tiny-q8_0-q4_0", *options, *limits, *quiet)
    assert done.code == 0, done.err
    assert f"tiny-q8_0-q4_0: {note}" in done.out
    shown = rig("show", "latest").out
    assert f"tiny-q8_0-q4_0: {note}; " in shown
    assert "Q4_0" in shown.split(note)[1].splitlines()[0]
    arms = rig("show", "latest", "--json").json["arms"]
    assert arms[1]["made_from"].startswith(note)
    assert arms[1]["fingerprint"]["model.made_from"]["name"] == "tiny-q8_0"
    compared = rig("compare", "latest")
    assert f"tiny-q8_0-q4_0: {note}; " in compared.out
    assert "tiny-q8_0-q4_0 differs in model (tiny-q8_0.gguf -> tiny-q8_0-q4_0.gguf)" in compared.out
    assert rig("compare", "latest", "--json").json["arms"][1]["made_from"].startswith(note)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["tiny", "--to", "q9"], "there is no type 'q9'"),
        (["tiny", "--to", ""], "there is no type ''"),
        (["nobody"], "unknown model"),
        (["tiny", "--threads", "0"], "--threads takes a whole number from 1 to 512, not 0"),
    ],
)
def test_bad_input_is_one_line(rig: Rig, models: Path, arguments: list[str], says: str) -> None:
    done = rig("models", "quantize", *arguments)
    assert (done.code, done.out) == (2, "")
    assert says in done.err
    assert len(done.err.splitlines()) == 1
    assert [path.name for path in models.iterdir()] == ["tiny.gguf"]


def test_a_name_of_the_registry_is_not_taken(rig: Rig, models: Path) -> None:
    tiny_gguf.write(models / "smollm2.gguf")
    (models / "smollm2.gguf").rename(models / "gemma-3-270m.gguf")
    done = rig("models", "quantize", models / "gemma-3-270m.gguf", "--to", "q4_k_m")
    assert done.code == 2
    assert "the registry has another model of this name" in done.err


def test_without_types_it_says_what_it_could_make(models: Path, rig: Rig) -> None:
    done = rig("models", "quantize", "tiny")
    assert done.code == 2
    assert "--to q8_0,q6_k,q5_k_m,q4_k_m,q3_k_m,q2_k would make tiny-q8_0.gguf, tiny-q6_k.gguf" in done.err
    assert sorted(path.name for path in models.glob("tiny-*.gguf")) == []


def test_in_a_terminal_it_asks_for_the_types(models: Path, rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quantizing, "_is_asked", lambda: True)
    asked: list[str] = []
    monkeypatch.setattr(click, "prompt", lambda text, **given: asked.append(given["default"]) or "q8_0")
    done = rig("models", "quantize", "tiny")
    assert done.code == 0, done.err
    assert asked == ["q8_0,q6_k,q5_k_m,q4_k_m,q3_k_m,q2_k"]
    assert (models / "tiny-q8_0.gguf").is_file()
