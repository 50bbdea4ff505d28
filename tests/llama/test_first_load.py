"""Files that llama.cpp dies of: each is one line, the next arm is played, and nothing is tried twice."""

import signal
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tiny_gguf

from rig.core.errors import RigError
from rig.plugins.llama.memory import weights as first_load
from rig.plugins.llama.memory.weights import check_loads
from rig.store import Runs

UINT32, STRING = struct.pack("<I", 4), struct.pack("<I", 8)
EPSILON = "llama.attention.layer_norm_rms_epsilon"


def text(value: str) -> bytes:
    return struct.pack("<Q", len(value)) + value.encode()


def with_entry(data: bytes, key: str, kind: bytes, value: bytes) -> bytes:
    entries = struct.unpack_from("<Q", data, 16)[0] + 1
    return data[:16] + struct.pack("<Q", entries) + text(key) + kind + value + data[24:]


def with_float(data: bytes, key: str, value: float) -> bytes:
    place = data.index(text(key)) + len(text(key)) + 4
    return data[:place] + struct.pack("<f", value) + data[place + 4 :]


def of_tokenizer(data: bytes, name: str) -> bytes:
    key = text("tokenizer.ggml.model") + STRING
    assert key + text("gpt2") in data
    return data.replace(key + text("gpt2"), key + text(name))


DEADLY: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "aligned to 1": (
        lambda data: with_entry(data, "general.alignment", UINT32, struct.pack("<I", 1)),
        "align",
    ),
    "aligned to 2": (
        lambda data: with_entry(data, "general.alignment", UINT32, struct.pack("<I", 2)),
        "align",
    ),
    "another tokenizer": (lambda data: of_tokenizer(data, "llama"), "unordered_map"),
    "no epsilon": (lambda data: with_float(data, EPSILON, float("nan")), "eps"),
    "an epsilon below 0": (lambda data: with_float(data, EPSILON, -1.0), "eps"),
}


@pytest.fixture
def whole(tmp_path: Path) -> Path:
    return tiny_gguf.write(tmp_path / "whole.gguf", n_ctx=8192, seed=19)


@pytest.mark.parametrize(("harm", "said"), DEADLY.values(), ids=DEADLY)
def test_a_file_that_llama_cpp_dies_of_is_one_line(
    whole: Path, harm: Callable[[bytes], bytes], said: str
) -> None:
    damaged = whole.with_name("damaged.gguf")
    damaged.write_bytes(harm(whole.read_bytes()))
    for _ in range(2):
        with pytest.raises(RigError, match=r"damaged.gguf: llama.cpp crashes on this file") as caught:
            check_loads(damaged)
    assert said in str(caught.value)
    assert len(str(caught.value)) < 400 + len(str(damaged))


def test_the_next_arm_is_played_and_so_is_the_failed_one_on_resume(
    rig: Callable[..., Any], whole: Path
) -> None:
    damaged = whole.with_name("damaged.gguf")
    damaged.write_bytes(DEADLY["no epsilon"][0](whole.read_bytes()))
    short = ("--limit", "1", "--max-calls", "1", "--max-tokens", "4", "--tools", "exact", "--display", "none")
    store = whole.with_name("runs.sqlite")
    done = rig("run", damaged, whole, *short, "--threads", "1", "--runs", store)
    assert done.code == 1
    with Runs.open(store) as runs:
        run = runs.get("latest")
    assert "llama.cpp crashes on this file (SIGABRT)" in (run.arms[0].failure or "")
    assert run.arms[1].failure is None
    assert run.turns_done > 0
    damaged.write_bytes(whole.read_bytes())
    assert rig("run", "--resume", run.id, "--display", "none", "--runs", store).code == 0


def test_what_loaded_once_is_not_tried_again(whole: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check_loads(whole)
    monkeypatch.setattr(first_load.subprocess, "run", None)
    check_loads(whole)
    copy = whole.with_name("copy.gguf")
    copy.write_bytes(whole.read_bytes())
    check_loads(copy)


@pytest.mark.parametrize("end", [-signal.SIGKILL, 1])
def test_whoever_is_killed_or_refused_says_nothing_of_the_file(
    whole: Path, monkeypatch: pytest.MonkeyPatch, end: int
) -> None:
    other = tiny_gguf.write(whole.with_name("other.gguf"), seed=20 + end)
    asked = []

    def run(command: list[str], **_: Any) -> Any:
        asked.append(command)
        return first_load.subprocess.CompletedProcess(command, end, "", "")

    monkeypatch.setattr(first_load.subprocess, "run", run)
    check_loads(other)
    check_loads(other)
    assert len(asked) == 2


def test_tokens_that_no_grammar_can_hold_are_one_line(rig: Callable[..., Any], whole: Path) -> None:
    whole.write_bytes(of_tokenizer(whole.read_bytes(), "bert"))
    done = rig("run", whole, "--limit", "1", "--display", "none")
    assert done.code == 2
    assert done.err.count("\n") == 1
    assert "no grammar can hold its tokens" in done.err
