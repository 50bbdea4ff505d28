"""`rig models`: what a person sees of model files, good and bad."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tiny_gguf
from click.shell_completion import ShellComplete
from patience import in_a_moment

from rig.cli import cli

Rig = Callable[..., Any]
WriteGguf = Callable[..., Path]


def test_an_empty_directory_lists_what_could_be_pulled(rig: Rig, models: Path) -> None:
    rows = rig("models", "list", "--json").json
    assert {row["name"]: row["status"] for row in rows} == {
        "smollm2-135m": "not pulled",
        "smollm2-135m-tools": "not pulled",
        "qwen2.5-coder-0.5b": "not pulled",
        "qwen2.5-coder-1.5b": "not pulled",
        "gemma3-270m": "not pulled",
    }
    table = rig("models", "list").out
    assert "not pulled" in table
    assert "Apache-2.0" in table
    assert "qwen2.5-coder-0.5b: Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF on huggingface.co" in table


def test_a_file_dropped_into_the_directory_is_listed(rig: Rig, models: Path, write_gguf: WriteGguf) -> None:
    write_gguf("models/My-Model.gguf")
    row = rig("models", "list", "--json").json[-1]
    assert (row["name"], row["status"], row["registered"]) == ("My-Model", "here", False)
    assert (row["architecture"], row["quantization"], row["context_length"]) == ("llama", "Q8_0", 2048)
    assert "My-Model" in rig("models", "list").out


def test_a_bad_file_does_not_hide_the_others(rig: Rig, models: Path, write_gguf: WriteGguf) -> None:
    write_gguf("models/good.gguf")
    (models / "bad.gguf").write_text("not a model")
    statuses = {row["name"]: row["status"] for row in rig("models", "list", "--json").json}
    assert statuses["good"] == "here"
    assert statuses["bad"].startswith("not a GGUF file")


def test_a_registered_file_is_verified_or_said_to_differ(rig: Rig, models: Path, smollm2: Path) -> None:
    shutil.copy(smollm2, models)
    rows = {row["name"]: row for row in rig("models", "list", "--json").json}
    assert rows["smollm2-135m"]["status"] == "here"  # listing reads no weights
    assert rig("models", "verify").code == 0
    rows = {row["name"]: row for row in rig("models", "list", "--json").json}
    assert rows["smollm2-135m"]["status"] == "verified"

    with (models / smollm2.name).open("r+b") as file:
        file.seek(-1, 2)
        file.write(b"\xff")
    finished = rig("models", "verify")
    assert finished.code == 1
    assert finished.out.startswith("FAIL  smollm2-135m:")
    rows = {row["name"]: row for row in rig("models", "list", "--json").json}
    assert rows["smollm2-135m"]["status"] == "not the registry's file"
    assert rig("models", "pull", "smollm2-135m").code == 2  # and does not replace it


def test_listing_twenty_models_takes_a_moment(rig: Rig, models: Path, smollm2: Path) -> None:
    for number in range(20):
        (models / f"model-{number}.gguf").symlink_to(smollm2)
    with in_a_moment():
        rows = rig("models", "list", "--json").json
    assert len([row for row in rows if not row["registered"]]) == 20


def test_info_shows_everything_that_decides_a_run(rig: Rig, smollm2: Path) -> None:
    out = rig("models", "info", smollm2).out
    for part in ("llama", "134.5M", "Q4_1", "8192", "gpt2 / smollm", "bos 1", "<|im_start|>"):
        assert part in out


def test_fit_says_how_it_would_be_loaded(rig: Rig, smollm2: Path) -> None:
    out = rig("models", "info", smollm2, "--fit").out
    for part in ("all 31 on the CPU", "8192 tokens", "512 tokens", "f16, flash attention off", "180.0 MiB"):
        assert part in out
    assert "it fits" in out


def test_fit_gives_every_number_as_json(rig: Rig, smollm2: Path) -> None:
    plan = rig("models", "info", smollm2, "--fit", "--json", "--parallel", "4", "--kv", "q8_0").json
    assert (plan["n_seq"], plan["kv_type"], plan["flash_attention"]) == (4, "q8_0", True)
    assert (plan["n_gpu_layers"], plan["n_ctx"], plan["n_batch"]) == (0, 8192, 512)
    (use,) = plan["uses"]
    assert use["kv"] == 4 * 8192 * 11520 // 32 * 34
    assert plan["n_threads"] >= 1
    assert plan["loaded"] is False


@pytest.mark.slow
def test_fit_can_be_tried(rig: Rig, write_gguf: WriteGguf, tmp_path: Path) -> None:
    path = tiny_gguf.write(tmp_path / "tiny.gguf")
    finished = rig("models", "info", path, "--fit", "--load", "--n-ctx", "512", "--n-batch", "64")
    assert finished.code == 0
    assert "512 tokens of the model's 4096" in finished.out
    assert "loaded like this, and released again" in finished.out
    fault = rig("models", "info", write_gguf("no-model.gguf"), "--fit", "--load")
    assert fault.code == 2
    assert len(fault.err.splitlines()) == 1


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--fit", "--kv", "q8_0", "--flash-attention", "off"], "needs flash attention"),
        (["--fit", "--n-ctx", "99999"], "is more than the 8192 tokens"),
        (["--n-ctx", "512"], "go with --fit"),
        (["--load"], "go with --fit"),
    ],
)
def test_a_fit_that_cannot_be_is_one_line(rig: Rig, smollm2: Path, options: list[str], says: str) -> None:
    finished = rig("models", "info", smollm2, *options)
    assert (finished.code, finished.out) == (2, "")
    assert says in finished.err
    assert len(finished.err.splitlines()) == 1


def test_info_of_a_model_that_says_little(rig: Rig, write_gguf: WriteGguf) -> None:
    path = write_gguf(architecture="mamba", numbers={"ssm.state_size": 16}, texts={})
    finished = rig("models", "info", path)
    assert finished.code == 0
    assert "recurrent" in finished.out
    assert "--chat-template" in finished.out


def test_a_hostile_name_and_template_cannot_steer_the_terminal(rig: Rig, write_gguf: WriteGguf) -> None:
    steering = "\x1b]0;owned\x07\u202e"
    path = write_gguf(texts={"general.name": steering, "tokenizer.chat_template": steering})
    out = rig("models", "info", path).out
    assert not set(out) & {"\x1b", "\x07", "\u202e"}
    assert r"\x1b]0;owned" in out


@pytest.mark.parametrize("verb", ["info", "pull", "verify"])
def test_an_unknown_name_is_one_line(rig: Rig, models: Path, verb: str) -> None:
    finished = rig("models", verb, "no-such-model")
    if verb == "verify":
        assert finished.code == 1
        assert "no-such-model" in finished.out
    else:
        assert finished.code == 2
        assert finished.out == ""
        assert len(finished.err.splitlines()) == 1
        assert "smollm2-135m" in finished.err


def test_verify_reads_files_of_the_users_own(rig: Rig, models: Path, write_gguf: WriteGguf) -> None:
    path = write_gguf("models/own.gguf")
    (result,) = rig("models", "verify", "--json").json
    assert result["ok"]
    path.write_bytes(path.read_bytes()[:-200])
    finished = rig("models", "verify", "own", "--json")
    assert finished.code == 1
    assert "truncated" in finished.json[0]["fault"]


def test_names_complete_in_the_shell(models: Path, write_gguf: WriteGguf) -> None:
    write_gguf("models/smol-own.gguf")
    assert [name for _, name in complete(["models", "info"], "smol")] == [
        "smollm2-135m",
        "smollm2-135m-tools",
        "smol-own",
    ]
    real = ("qwen2.5-coder-0.5b", "qwen2.5-coder-1.5b")
    names = ("smollm2-135m", "smollm2-135m-tools", *real, "gemma3-270m", "smol-own", "oracle")
    assert complete(["run"], "") == [("plain", name) for name in names]


def test_paths_complete_where_no_name_does(models: Path) -> None:
    assert complete(["models", "info"], "./some") == [("file", "./some")]
    assert complete(["models", "info"], "orac") == [("file", "orac")]


def complete(before: list[str], typed: str) -> list[tuple[str, str]]:
    shell = ShellComplete(cli, {}, "rig", "_RIG_COMPLETE")
    return [(item.type, item.value) for item in shell.get_completions(before, typed)]
