"""`rig serve-command`: an arm's settings in the words of llama-server, Ollama and LM Studio."""

import hashlib
import json
import os
import re
import shlex
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import graded_talks
import pytest
import small_talks

from rig.core.paths import REGISTRY
from rig.methods.scripted import Scripted
from rig.plugins.llama.files.registry import load_registry

Rig = Callable[..., Any]

FINGERPRINT: dict[str, Any] = {
    "model.engine": "llama.cpp",
    "model.file": "a b-q4.gguf",
    "model.file_sha256": "ab" * 32,
    "model.file_bytes": 4096,
    "model.n_ctx": 8192,
    "model.n_batch": 512,
    "model.n_threads": 4,
    "model.n_gpu_layers": -1,
    "model.kv_type": "q8_0/q4_0",
    "model.flash_attention": True,
    "model.max_tokens": 256,
    "model.temperature": 0.0,
    "model.chat_template_sha256": "cd" * 32,
    "model.prompt_format": "native-1",
    "model.native_format": {
        "tools_in": "system",
        "thinking": {"on": {"enable_thinking": True}, "off": {"enable_thinking": False}, "off_word": ""},
    },
    "model.grammar": "json",
    "model.leaked_calls": "lenient",
}
SETTINGS = {"models": ["/files/a b-q4.gguf"], "lora": [], "chat_template": None}


class Arm:
    """The one arm of a stored run, whose fingerprint and settings a test rewrites."""

    def __init__(self, rig: Rig, path: Path) -> None:
        self._rig, self._path = rig, path
        small_talks.play(small_talks.plan(path, Scripted(small_talks.erratic)))

    def write(self, changes: dict[str, Any] | None = None, **settings: Any) -> None:
        own = {**FINGERPRINT, **{f"model.{name}": value for name, value in (changes or {}).items()}}
        with closing(sqlite3.connect(self._path)) as database, database:
            database.execute("UPDATE arms SET fingerprint = ?", [json.dumps(own)])
            [text] = database.execute("SELECT settings FROM runs").fetchone()
            database.execute(
                "UPDATE runs SET settings = ?", [json.dumps({**json.loads(text), **SETTINGS, **settings})]
            )

    def say(self, *options: str, **settings: Any) -> Any:
        return self._rig("serve-command", "abcde/arm0", "--runs", self._path, *options)

    def told(self, changes: dict[str, Any] | None = None, **settings: Any) -> Any:
        self.write(changes, **settings)
        done = self.say("--json")
        assert done.code == 0, done.err
        return done.json

    def words(self, changes: dict[str, Any] | None = None, **settings: Any) -> list[str]:
        [line] = self.told(changes, **settings)["llama_server"]["lines"]
        return shlex.split(line)

    def refused(self, changes: dict[str, Any] | None = None, **settings: Any) -> str:
        self.write(changes, **settings)
        done = self.say()
        assert (done.code, done.out) == (2, "")
        assert done.err.count("\n") == 1
        assert done.err.isascii()
        assert all(character.isprintable() for character in done.err.rstrip("\n"))
        return str(done.err)


@pytest.fixture
def arm(rig: Rig, tmp_path: Path) -> Arm:
    return Arm(rig, tmp_path / "runs.sqlite")


def after(words: list[str], option: str) -> str:
    return words[words.index(option) + 1]


def test_everything_that_was_tested_is_in_the_command(arm: Arm) -> None:
    words = arm.words()
    assert words[:3] == ["llama-server", "-m", "/files/a b-q4.gguf"]
    expected = {"-c": "8192", "-np": "1", "-ctk": "q8_0", "-ctv": "q4_0", "-fa": "on", "-ngl": "all"}
    expected |= {"-b": "512", "-ub": "512", "-t": "4", "--temp": "0"}
    assert {option: after(words, option) for option in expected} == expected
    assert "--jinja" in words
    for absent in ("--chat-template-file", "--lora", "--rope-scaling", "--chat-template-kwargs"):
        assert absent not in words


def test_sampling_leaves_nothing_to_the_defaults_of_the_server_or_the_file(arm: Arm) -> None:
    words = arm.words({"temperature": 0.6, "sampling": "temp=0.6,top_k=20,dry_multiplier=0.5,dry_last_n=32"})
    assert after(words, "--temp") == "0.6"
    assert after(words, "--top-k") == "20"
    assert after(words, "--top-p") == "1"
    assert after(words, "--min-p") == "0"
    assert after(words, "--dry-multiplier") == "0.5"
    assert after(words, "--dry-penalty-last-n") == "32"


def test_placement_positions_and_adapters(arm: Arm) -> None:
    changes = {
        "n_gpu_layers": 12,
        "n_cpu_moe": 3,
        "llama.tensor_buft_overrides": "exps=CPU",
        "llama.rope_scaling_type": "yarn",
        "llama.rope_freq_scale": 0.25,
        "llama.yarn_orig_ctx": 4096,
        "llama.use_mmap": "false",
        "adapter": "fine.gguf",
        "adapter_scale": 0.5,
    }
    told = arm.told(changes, lora=["/files/fine.gguf:0.5"])
    words = shlex.split(told["llama_server"]["lines"][0])
    expected = {"-ngl": "12", "--n-cpu-moe": "3", "-ot": "exps=CPU", "--rope-scaling": "yarn"}
    expected |= {
        "--rope-freq-scale": "0.25",
        "--yarn-orig-ctx": "4096",
        "--lora-scaled": "/files/fine.gguf:0.5",
    }
    assert {option: after(words, option) for option in expected} == expected
    assert not any(line.startswith("ADAPTER") for line in told["ollama"]["lines"])
    left = " ".join(told["ollama"]["notes"])
    knobs = "rope_scaling_type, rope_freq_scale, yarn_orig_ctx, tensor_buft_overrides, use_mmap=false"
    assert f"n_cpu_moe, {knobs}" in left
    assert "not carried over: llama.cpp's own use_mmap=false" in told["llama_server"]["notes"]
    assert "the adapter's scale" in left
    whole = arm.told({"adapter": "fine.gguf", "adapter_scale": 1.0}, lora=["/files/fine.gguf"])
    assert "ADAPTER /files/fine.gguf" in whole["ollama"]["lines"]
    assert after(shlex.split(whole["llama_server"]["lines"][0]), "--lora") == "/files/fine.gguf"


def test_thinking_and_variables_reach_the_template(arm: Arm) -> None:
    changes = {"thinking": "off", "thinking_tokens": 4096, "template_set": "mode=fast,deep=2"}
    told = arm.told(changes)
    words = shlex.split(told["llama_server"]["lines"][0])
    variables = {"enable_thinking": False, "mode": "fast", "deep": 2}
    assert json.loads(after(words, "--chat-template-kwargs")) == variables
    assert "--reasoning-budget" not in words
    assert "the template's variables" in " ".join(told["ollama"]["notes"])
    assert after(arm.words({**changes, "thinking": "auto"}), "--reasoning-budget") == "4096"


def test_another_template_is_given_behind_jinja_and_said(arm: Arm) -> None:
    told = arm.told(chat_template="/files/mine.jinja")
    words = shlex.split(told["llama_server"]["lines"][0])
    assert after(words, "--chat-template-file") == "/files/mine.jinja"
    assert words.index("--jinja") < words.index("--chat-template-file")
    assert "has to be given" in told["llama_server"]["notes"][0]
    assert "Prompt Template (Jinja): the text of /files/mine.jinja" in told["lm_studio"]["lines"]


@pytest.mark.parametrize(("name", "place"), [("a.jinja", "/files/a.jinja"), ("own", None)])
def test_of_several_templates_the_arms_own_is_given(
    rig: Rig, tmp_path: Path, name: str, place: str | None
) -> None:
    label = f"tiny chat-template={name}"
    arm = Arm(rig, tmp_path / "runs.sqlite")
    with closing(sqlite3.connect(tmp_path / "runs.sqlite")) as database, database:
        database.execute("UPDATE arms SET name = ?", [label])
    arm.write(chat_template=["own", "/files/a.jinja"])
    done = rig("serve-command", f"abcde/{label}", "--runs", tmp_path / "runs.sqlite", "--json")
    words = shlex.split(done.json["llama_server"]["lines"][0])
    assert (after(words, "--chat-template-file") if place else "--chat-template-file" in words) == (
        place or False
    )


def test_a_template_of_rigs_own_registry_is_named(arm: Arm) -> None:
    entry = next((one for one in load_registry().values() if one.chat_template), None)
    assert entry is not None
    assert entry.chat_template
    place = REGISTRY.parent / entry.chat_template
    digest = hashlib.sha256(place.read_text(encoding="utf-8").encode()).hexdigest()
    changes = {"file_sha256": entry.sha256, "chat_template_sha256": digest}
    assert after(arm.words(changes), "--chat-template-file") == str(place)
    assert "--chat-template-file" not in arm.words({"file_sha256": entry.sha256})


def test_the_modelfile_is_of_known_instructions(arm: Arm) -> None:
    told = arm.told({"temperature": 0.7})
    lines = told["ollama"]["lines"]
    assert lines[0] == "FROM /files/a b-q4.gguf"
    pattern = re.compile(r"PARAMETER (num_\w+|temperature|top_[kp]|min_p) [\d.]+")
    assert all(pattern.fullmatch(line) for line in lines[1:])
    assert "PARAMETER num_ctx 8192" in lines
    assert "PARAMETER temperature 0.7" in lines
    notes = " ".join(told["ollama"]["notes"])
    assert "the chat template" in notes
    assert "OLLAMA_KV_CACHE_TYPE=q8_0" in notes
    assert "keys and values of different types" in notes


def test_a_form_that_no_server_reads_is_said(arm: Arm) -> None:
    told = arm.told({"prompt_format": "rig-1", "native_format": None})
    assert any("these results do not hold there" in note for note in told["notes"])
    assert not any("do not hold there" in note for note in arm.told()["notes"])


def test_a_file_by_its_registry_name_and_one_that_is_nowhere(arm: Arm) -> None:
    entry = load_registry()["smollm2-135m"]
    assert after(arm.words({"file": entry.file}, models=["smollm2-135m"]), "-m") == str(entry.path)
    told = arm.told(models=["/other.gguf"])
    assert told["file"] == "./a b-q4.gguf"
    assert any("does not say where" in note for note in told["notes"])
    twice = arm.told(models=["/one/a b-q4.gguf", "/two/a b-q4.gguf"])
    assert any("names 2 files" in note for note in twice["notes"])


@pytest.mark.parametrize(
    ("changes", "settings"),
    [
        ({"file": "x\nPARAMETER y"}, {"models": ["/f/x\nPARAMETER y"]}),
        ({}, {"models": ["/\x1b]2;t\x07/a b-q4.gguf"]}),
        ({}, {"chat_template": "/files/\u202egnp"}),
        ({}, {"chat_template": ["/files"]}),
        ({"n_ctx": "1; rm -rf ~"}, {}),
        ({"n_ctx": True}, {}),
        ({"n_ctx": -1}, {}),
        ({"temperature": float("nan")}, {}),
        ({"kv_type": "$(id)"}, {}),
        ({"sampling": "temp=$(id)"}, {}),
        ({"sampling": "temp=1,shell=1"}, {}),
        ({"llama.rope_scaling_type": "`id`"}, {}),
        ({"llama.other": "\x1b[2J"}, {}),
        ({"native_format": ["no"]}, {}),
        ({"template_set": "\x00"}, {}),
        ({"file_sha256": "no"}, {}),
    ],
)
def test_what_fits_no_command_is_refused_in_a_line(
    arm: Arm, changes: dict[str, Any], settings: dict[str, Any]
) -> None:
    arm.refused(changes, **settings)


def test_what_a_shell_would_run_is_quoted_and_options_stay_values(arm: Arm) -> None:
    evil = "/f/$(touch x)';`id` & #.gguf"
    words = arm.words({"file": Path(evil).name}, models=[evil])
    assert words[2] == evil
    words = arm.words({"file": "--host"}, models=["--host"])
    assert words[2] == "./--host"
    words = arm.words({"template_set": "a='; rm -rf /"})
    assert json.loads(after(words, "--chat-template-kwargs")) == {"a": "'; rm -rf /"}


def test_nothing_that_a_run_names_is_opened(arm: Arm, tmp_path: Path) -> None:
    """A pipe without a writer would make whoever opens it wait for ever."""
    pipe = tmp_path / "a b-q4.gguf"
    os.mkfifo(pipe)
    assert after(arm.words(models=[str(pipe)], chat_template=str(pipe)), "-m") == str(pipe)


def test_what_was_no_file_is_said(arm: Arm) -> None:
    assert "no file was run" in arm.refused({"engine": "oracle"})
    assert "behind a server already" in arm.refused({"engine": "served"})


def test_servers_that_keep_leaked_calls_are_named(arm: Arm, monkeypatch: pytest.MonkeyPatch) -> None:
    from rig.plugins.serve_commands.programs import common_notes
    from rig.plugins.serve_commands.tested import ServedArm, Tested

    own = {name.removeprefix("model."): value for name, value in FINGERPRINT.items()}
    served = ServedArm(run="r", arm="a", tested=Tested(**own), file="/f")
    notes = " ".join(common_notes(served, "28 of 30 calls leaked"))
    assert "28 of 30 calls leaked" in notes
    assert "rig carried them out; llama-server, vLLM and LM Studio leave" in notes
    assert "leave such calls" not in " ".join(common_notes(served, ""))


@pytest.mark.slow
def test_a_run_stands_for_the_file_it_decides_for(rig: Rig, tmp_path: Path) -> None:
    """Of a large and a small file that are alike, the small one; `rig compare` names the command."""
    path = tmp_path / "runs.sqlite"
    graded_talks.play(path, graded_talks.model(200), graded_talks.model(200), number=200, names=("f16", "q4"))
    with closing(sqlite3.connect(path)) as database, database:
        for position, size in enumerate((2048, 1024)):
            own = {**FINGERPRINT, "model.file_bytes": size}
            database.execute(
                "UPDATE arms SET fingerprint = ? WHERE position = ?", [json.dumps(own), position]
            )
    assert rig("serve-command", "abcde", "--runs", path, "--json").json["arm"] == "q4"
    assert "serve     rig serve-command abcde/q4\n" in rig("compare", "abcde", "--runs", path).out


def test_without_a_decision_the_arms_are_listed(rig: Rig, tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    graded_talks.play(path, graded_talks.model(4), graded_talks.model(4), number=4, names=("f16", "q4"))
    done = rig("serve-command", "abcde", "--runs", path)
    assert done.code == 2
    assert "give one of abcde/f16, abcde/q4" in done.err


def test_layouts_of_weights_are_as_they_were(arm: Arm) -> None:
    assert "--no-repack" in arm.words({"cpu_weight_layouts": False})
    assert "--no-repack" not in arm.words({"cpu_weight_layouts": True})


def test_every_option_is_one_of_llama_servers(arm: Arm) -> None:
    """By the source of the llama.cpp that rig uses; the short text of an option is all that is read of it."""
    if not (place := os.environ.get("RIG_LLAMA_CPP")):
        pytest.skip("RIG_LLAMA_CPP is not set")
    source = (Path(place) / "vendor/llama.cpp/common/arg.cpp").read_text(encoding="utf-8")
    named = {
        name
        for group in re.findall(r"\{\s*((?:\"-[\w-]+\",?\s*)+)\}", source)
        for name in re.findall(r'"(-[\w-]+)"', group)
    }
    from rig.plugins.serve_commands.programs import _KNOBS, _SAMPLING

    changes: dict[str, Any] = {
        "cpu_weight_layouts": False,
        "n_cpu_moe": 3,
        "adapter": "fine.gguf",
        "thinking": "on",
        "thinking_tokens": 9,
    }
    changes |= {"llama.main_gpu": 0, "llama.tensor_split": "1,1", "llama.tensor_buft_overrides": "exps=CPU"}
    both = [arm.words({**changes, "adapter_scale": scale}, chat_template="/t") for scale in (1.0, 0.5)]
    options = {word for words in both for word in words if re.fullmatch(r"--?[a-z][\w-]*", word)}
    assert {"-m", "-fa", "--jinja", "--no-repack", "--lora", "--lora-scaled", "--reasoning-budget"} <= options
    assert (options | {*_SAMPLING.values(), *_KNOBS.values()}) <= named
