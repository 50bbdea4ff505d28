"""`rig run`, whole: what it prints, stores and refuses."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import small_talks

from rig.core.calls import Call
from rig.core.models import OnPiece, Prediction, Request
from rig.methods import base
from rig.methods.scripted import Scripted
from rig.store import Runs

Rig = Callable[..., Any]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with conversations and databases in it."""
    small_talks.write(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("RIG_RUNS")
    return tmp_path


SMALL = ("--conversations", "conversations", "--world", "databases")


def _files(place: Path) -> set[str]:
    return {str(path.relative_to(place)) for path in place.rglob("*") if path.is_file()}


def test_json_ends_with_one_object_of_exactly_these_names(rig: Rig, place: Path) -> None:
    done = rig("run", "oracle", *SMALL, "--display", "none", "--json")
    assert done.code == 0
    result = done.json
    assert list(result) == ["run", "store", "arms"]
    assert result["store"] == "runs.sqlite"
    [arm] = result["arms"]
    rates = {name: arm[name] for name in ("success_rate", "recall", "precision", "incorrect_action_rate")}
    assert rates == {"success_rate": 1, "recall": 1, "precision": 1, "incorrect_action_rate": 0}
    assert (arm["arm"], arm["conversations"], arm["soft_success"], arm["errors"]) == ("oracle", 3, 1, {})
    assert (arm["predictions"], arm["ground_truths"]) == (8, 8)
    assert set(arm) == {
        *("arm", "conversations", "success_rate", "soft_success", "recall", "precision"),
        *("incorrect_action_rate", "predictions", "ground_truths", "errors", "error_types", "faults"),
        *("lower", "upper", "unclear", "limits", "grader", "speed"),
    }
    assert arm["speed"]["steps"] == 16


def test_with_json_the_display_goes_to_stderr(rig: Rig, place: Path) -> None:
    done = rig("run", "oracle", *SMALL, "--json")
    assert json.loads(done.out.splitlines()[0])["event"] == "start"
    assert "8/8 + success   reminders" in done.err


def test_plain_ends_with_the_summary_and_where_the_run_is(rig: Rig, place: Path) -> None:
    done = rig("run", "oracle", *SMALL)
    *_, last = done.out.splitlines()
    run = last.split()[1]
    assert last == f"run {run} is stored in runs.sqlite"
    assert f"next      rig report {run} --open\n" in done.out
    assert re.search(r"^oracle .* 100.0% ", done.out, re.MULTILINE)
    assert not done.err


def test_all_numbers_end_it_where_they_are_asked_for(rig: Rig, place: Path) -> None:
    done = rig("run", "oracle", *SMALL, "--full")
    *_, first, second = done.out.splitlines()
    run = first.split()[1]
    assert first == f"run {run} is stored in runs.sqlite"
    assert second == f"  rig show {run}"
    assert re.search(r"^success +100.0%$", done.out, re.MULTILINE)


def test_none_says_nothing_and_log_says_json(rig: Rig, place: Path) -> None:
    assert rig("run", "oracle", *SMALL, "--display", "none").out == ""
    lines = [json.loads(line) for line in rig("run", "oracle", *SMALL, "--display", "log").out.splitlines()]
    assert lines[0]["event"] == "run_started"
    assert lines[-1] == {**lines[-1], "event": "run_finished", "interrupted": False}


def test_conversations_can_be_chosen(rig: Rig, place: Path) -> None:
    only = ("--only", "login", "--only", "alarms")
    arms = rig("run", "oracle", *SMALL, *only, "--json").json["arms"]
    assert arms[0]["conversations"] == 2
    arms = rig("run", "oracle", *SMALL, "--limit", "1", "--json").json["arms"]
    assert arms[0]["conversations"] == 1


def test_several_arms_run_one_after_another_under_names_of_their_own(rig: Rig, place: Path) -> None:
    arms = rig("run", "oracle", "oracle", *SMALL, "--json", "--repeats", "2").json["arms"]
    assert [arm["arm"] for arm in arms] == ["oracle", "oracle-2"]
    assert [arm["conversations"] for arm in arms] == [6, 6]


def test_several_values_of_a_setting_are_arms_of_one_run(rig: Rig, place: Path) -> None:
    varied = ("--docs", "full", "--docs", "names", "--tools", "all", "--tools", "exact", "--docs", "full")
    result = rig("run", "oracle", *SMALL, *varied, "--json").json
    assert [arm["arm"] for arm in result["arms"]] == [
        "oracle docs=full tools=all",
        "oracle docs=full tools=exact",
        "oracle docs=names tools=all",
        "oracle docs=names tools=exact",
    ]
    assert [arm["conversations"] for arm in result["arms"]] == [3] * 4
    arms = rig("show", result["run"], "--json").json["arms"]
    settings = [(arm["fingerprint"]["protocol.docs"], arm["fingerprint"]["protocol.tools"]) for arm in arms]
    assert settings == [("full", "all"), ("full", "exact"), ("names", "all"), ("names", "exact")]
    assert len({arm["fingerprint"]["protocol.prompt_sha256"] for arm in arms}) == 2


def test_a_run_of_several_settings_is_resumed_with_all_of_them(
    rig: Rig, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(base, "Oracle", Impatient)
    done = rig("run", "oracle", *SMALL, "--docs", "names", "--docs", "full")
    assert done.code == 130
    monkeypatch.setattr(base, "Oracle", lambda *_: Scripted(small_talks.erratic, name="oracle"))
    refused = rig("run", "--resume", "latest", "--docs", "names")
    assert refused.code == 2
    assert "docs was ['names', 'full'], not 'names'" in refused.err
    again = rig("run", "--resume", "latest", "--json").json
    assert [arm["arm"] for arm in again["arms"]] == ["oracle docs=names", "oracle docs=full"]
    assert [arm["conversations"] for arm in again["arms"]] == [3, 3]


def test_a_run_that_was_stored_when_settings_had_one_value_goes_on(
    rig: Rig, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(base, "Oracle", Impatient)
    assert rig("run", "oracle", *SMALL, "--docs", "names").code == 130
    monkeypatch.setattr(base, "Oracle", lambda *_: Scripted(small_talks.erratic, name="oracle"))
    with Runs.open(place / "runs.sqlite") as runs:
        stored = runs.get("latest")
    single = {name: stored.settings[name] for name in ("docs", "tools", "history", "temperature")}
    assert single == {"docs": "names", "tools": "all", "history": "recorded", "temperature": 0.0}
    [arm] = rig("run", "--resume", "latest", "--docs", "names", "--json").json["arms"]
    assert (arm["arm"], arm["conversations"]) == ("oracle", 3)


def test_settings_are_stored_with_the_run(rig: Rig, place: Path) -> None:
    rig("run", "oracle", *SMALL, "--tools", "suite", "--docs", "names", "--max-calls", "2", "--name", "mine")
    with Runs.open(place / "runs.sqlite") as runs:
        run = runs.get("mine")
    assert run.settings["world"] == str(place / "databases")
    assert (run.settings["tools"], run.settings["docs"], run.settings["max_calls"]) == ("suite", "names", 2)
    fingerprint = run.arms[0].fingerprint
    assert fingerprint is not None
    assert fingerprint["protocol.tools"] == "suite"
    assert len(fingerprint["world_sha256"]) == 64


def _bad_conversations(place: Path, text: str) -> tuple[str, ...]:
    (place / "bad").mkdir()
    (place / "bad" / "broken.json").write_text(text, encoding="utf-8")
    return ("oracle", "--conversations", "bad")


BAD: dict[str, tuple[Callable[[Path], tuple[str, ...]], str]] = {
    "no model": (lambda place: SMALL, "which model"),
    "unknown model": (lambda place: ("gpt-9", *SMALL), "unknown model 'gpt-9'"),
    "missing file": (lambda place: ("gone.gguf", *SMALL), "gone.gguf: no such file"),
    "text named .gguf": (lambda place: (_text(place), *SMALL), "text.gguf"),
    "one good model of two": (lambda place: ("oracle", _text(place), *SMALL), "text.gguf"),
    "unknown suite": (
        lambda place: ("oracle", "--suite", "simple"),
        "unknown suite 'simple'; choose from: easy",
    ),
    "unknown name": (
        lambda place: ("oracle", *SMALL, "--only", "nobody"),
        "no conversation is called nobody",
    ),
    "no conversations": (lambda place: ("oracle", "--conversations", "databases/none"), "no such directory"),
    "broken JSON": (lambda place: _bad_conversations(place, '{"name": '), "broken.json: not JSON"),
    "no conversation": (lambda place: _bad_conversations(place, '{"name": 1}'), "not a conversation: name"),
    "no Unicode": (lambda place: _bad_conversations(place, _surrogate()), "holds half of a surrogate pair"),
    "no world": (lambda place: ("oracle", *SMALL[:2], "--world", "nowhere"), "nowhere"),
    "not its world": (lambda place: ("oracle", *SMALL[:2]), "the world has no account"),
    "two sources": (lambda place: ("oracle", *SMALL, "--suite", "easy"), "--suite and --conversations"),
    "no directory": (lambda place: ("oracle", *SMALL, "--runs", "no/runs.sqlite"), "no directory no"),
    "not a store": (lambda place: ("oracle", *SMALL, "--runs", "databases/Alarm.json"), "not a database"),
    "no similarity": (lambda place: ("oracle", *SMALL, "--similarity", "nowhere"), "nowhere"),
    "no calls": (lambda place: ("oracle", *SMALL, "--max-calls", "0"), "--max-calls"),
    "unknown option": (lambda place: ("oracle", "--frobnicate"), "--frobnicate"),
    "nothing to resume": (lambda place: ("--resume", "latest"), "no such file"),
    "not a number": (lambda place: _bad_conversations(place, _not_a_number()), "a number that is not JSON"),
    "no name": (lambda place: _bad_conversations(place, _nameless()), "name: is empty"),
    "nothing to predict": (
        lambda place: _bad_conversations(place, _monologue()),
        "the assistant never speaks",
    ),
    "no such tool": (lambda place: _bad_conversations(place, _other_tool()), "no tool is named Frobnicate"),
    "temperature nan": (
        lambda place: ("oracle", *SMALL, "--temperature", "nan"),
        "takes a number from 0 on, not nan",
    ),
    "temperature inf": (
        lambda place: ("oracle", *SMALL, "--temperature", "inf"),
        "takes a number from 0 on, not inf",
    ),
    "more threads than llama.cpp has": (lambda place: ("oracle", *SMALL, "--threads", "513"), "--threads"),
    "threads that only wait": (lambda place: ("oracle", *SMALL, "--threads", "512"), "--threads 512"),
    "nearly no temperature": (lambda place: ("oracle", *SMALL, "--temperature", "1e-46"), "too close to 0"),
    "a million repeats": (lambda place: ("oracle", *SMALL, "--repeats", "1000000"), "from 1 to 10000"),
    "a device as conversation": (lambda place: _linked(place, "/dev/zero"), "linked: holds no conv"),
    "a pipe as conversation": (
        lambda place: _linked(place, str(place / _pipe(place))),
        "linked: holds no conv",
    ),
    "nested deep": (
        lambda place: _bad_conversations(place, '{"a":' * 980 + "1" + "}" * 980),
        "broken.json: n",
    ),
    "no room for a prompt": (lambda place: ("oracle", *SMALL, "--n-ctx", "256"), "no room for a prompt"),
    "no template": (lambda place: ("oracle", *SMALL, "--chat-template", "gone.jinja"), "no such file"),
    "a pipe as template": (lambda place: ("oracle", *SMALL, "--chat-template", _pipe(place)), "not a file"),
    "a device as store": (lambda place: ("oracle", *SMALL, "--runs", "/dev/null"), "not a regular file"),
    "too long a path": (lambda place: ("oracle", "--conversations", "y" * 300), "name too long"),
    "empty name": (lambda place: ("oracle", *SMALL, "--name", ""), "--name is empty"),
}


def _linked(place: Path, target: str) -> tuple[str, ...]:
    (place / "linked").mkdir()
    (place / "linked" / "a.json").symlink_to(target)
    return "oracle", "--conversations", str(place / "linked")


def _surrogate() -> str:
    return json.dumps(small_talks.source("half a \ud83d", "Hi.", ("Hello.", []), logged_in=False))


def _not_a_number() -> str:
    return json.dumps({**small_talks.source("one", "Hi.", ("Hello.", [])), "scenario_score": float("nan")})


def _nameless() -> str:
    return json.dumps(small_talks.source("", "Hi.", ("Hello.", [])))


def _monologue() -> str:
    return json.dumps(small_talks.source("alone", "Hi.", "Is anybody there?"))


def _other_tool() -> str:
    text = json.dumps(small_talks.source("one", "Hi.", ("Done.", [Call("AddAlarm", {"time": "07:00:00"})])))
    return text.replace('"api_name": "AddAlarm"', '"api_name": "Frobnicate"')


def _pipe(place: Path) -> str:
    os.mkfifo(place / "pipe.jinja")
    return "pipe.jinja"


def _text(place: Path) -> str:
    path = place / "text.gguf"
    path.write_text("weights? no, words " * 100, encoding="utf-8")
    return path.name


@pytest.mark.parametrize(("arguments", "fault"), BAD.values(), ids=BAD)
def test_bad_input_is_one_line_and_nothing_is_written(
    rig: Rig, place: Path, arguments: Callable[[Path], tuple[str, ...]], fault: str
) -> None:
    given = arguments(place)
    before = _files(place)
    done = rig("run", *given)
    assert (done.code, done.out) == (2, "")
    assert fault in done.err
    assert done.err.startswith("rig: ")
    assert done.err.count("\n") == 1
    assert _files(place) == before


def test_bad_input_leaves_a_store_as_it_was(rig: Rig, place: Path) -> None:
    rig("run", "oracle", *SMALL)
    before = (place / "runs.sqlite").read_bytes()
    assert rig("run", _text(place), *SMALL).code == 2
    assert (place / "runs.sqlite").read_bytes() == before


def test_a_name_in_a_file_cannot_steer_the_terminal(rig: Rig, place: Path) -> None:
    source = small_talks.source("bad\x1b]0;owned\x07", "Hi.", ("Hello.", []))
    for path in (place / "conversations").iterdir():
        path.unlink()
    (place / "conversations" / "bad.json").write_text(json.dumps(source), encoding="utf-8")
    shown = rig("run", "oracle", *SMALL)
    assert shown.code == 0
    refused = rig("run", "oracle", *SMALL, "--only", "\x1b[2J")
    assert "\x1b" not in shown.out + shown.err + refused.out + refused.err


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_any_text_can_be_printed_in_any_locale(place: Path, encoding: str) -> None:
    source = small_talks.source("早上", "Größe 🙂?", ("Gut.", []))
    (place / "conversations" / "z.json").write_text(json.dumps(source), encoding="utf-8")
    environment = {**os.environ, "PYTHONIOENCODING": encoding}
    for arguments in (("run", "oracle", *SMALL), ("show", "latest"), ("show", "latest", "早上")):
        command = [sys.executable, "-m", "rig", *arguments]
        done = subprocess.run(command, capture_output=True, env=environment, check=False)
        assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
@pytest.mark.parametrize("arguments", [("run", "oracle", *SMALL), ("--help",)], ids=["run", "help"])
def test_a_full_disk_is_one_line(place: Path, arguments: tuple[str, ...]) -> None:
    with Path("/dev/full").open("w") as full:
        command = [sys.executable, "-m", "rig", *arguments]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (2, "rig: stdout: cannot be written: No space left on device\n")


class Impatient(Scripted):
    """The oracle's place taken by a model that presses Ctrl-C at its fifth step."""

    def __init__(self, *_: object) -> None:
        super().__init__(small_talks.erratic, chunk=10, name="oracle")
        self._steps = 0

    def predict(self, request: Request, on_piece: OnPiece) -> Prediction:
        self._steps += 1
        if self._steps == 5:
            os.kill(os.getpid(), signal.SIGINT)
        return super().predict(request, on_piece)


def test_ctrl_c_stops_says_how_to_go_on_and_going_on_completes_the_run(
    rig: Rig, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(base, "Oracle", Impatient)
    done = rig("run", "oracle", *SMALL)
    assert done.code == 130
    assert "stopping after this step" in done.err
    resume = next(line for line in done.out.splitlines() if "--resume" in line)
    run = resume.split()[4]
    monkeypatch.setattr(base, "Oracle", lambda *_: Scripted(small_talks.erratic, name="oracle"))
    again = rig("run", "--resume", run, "--json")
    assert again.code == 0
    [arm] = again.json["arms"]
    assert arm["conversations"] == 3
    with Runs.open(place / "runs.sqlite") as runs:
        assert runs.get(run).state == "finished"


def test_resuming_accepts_the_same_options_again_and_refuses_others(rig: Rig, place: Path) -> None:
    run = rig("run", "oracle", *SMALL, "--json").json["run"]
    assert rig("run", "oracle", *SMALL, "--resume", run).code == 0
    other = rig("run", "--resume", run, "--max-calls", "3")
    assert other.code == 2
    assert f"cannot resume {run}: max_calls was 10, not 3" in other.err
    assert rig("run", "other.gguf", "--resume", run).code == 2
    assert "--name is for a new run" in rig("run", "--resume", run, "--name", "x").err


def test_no_text_is_the_beginning_of_no_run(rig: Rig, place: Path) -> None:
    rig("run", "oracle", *SMALL)
    for verb in (("run", "--resume", ""), ("show", "")):
        assert "no run ''" in rig(*verb).err


def test_resuming_needs_no_conversation_files(rig: Rig, place: Path) -> None:
    run = rig("run", "oracle", *SMALL, "--json").json["run"]
    for path in (place / "conversations").iterdir():
        path.unlink()
    assert rig("run", "--resume", run[:3]).code == 0


def test_an_arm_that_fails_later_leaves_the_others_and_the_exit_code_says_so(
    rig: Rig, place: Path, write_gguf: Callable[..., Path]
) -> None:
    model = write_gguf("hollow.gguf")
    done = rig("run", "oracle", str(model), *SMALL, "--json")
    assert done.code == 1
    oracle, hollow = done.json["arms"]
    assert oracle["success_rate"] == 1
    assert (hollow["arm"], hollow["conversations"], hollow["success_rate"]) == ("hollow", 0, None)
    assert hollow["failure"] in done.err


def test_the_oracle_loads_nothing_heavy() -> None:
    script = (
        "import sys\n"
        "from rig.cli import main\n"
        "try:\n"
        "    main()\n"
        "except SystemExit as end:\n"
        "    assert not end.code, end.code\n"
        "heavy = {'torch', 'transformers', 'llama_cpp', 'outlines', 'llguidance', 'textual', 'gguf'}\n"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)\n"
    )
    arguments = ("run", "oracle", "--suite", "easy", "--display", "none", "--json")
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments], capture_output=True, text=True, check=False
    )
    assert done.stderr.splitlines()[-1:] == ["[]"], done.stderr
    [arm] = json.loads(done.stdout.splitlines()[-1])["arms"]
    assert (arm["conversations"], arm["success_rate"], arm["recall"], arm["precision"]) == (28, 1, 1, 1)
    assert arm["incorrect_action_rate"] == 0


def test_the_oracle_is_right_about_the_public_easy_conversations(
    rig: Rig, place: Path, tooltalk: Path
) -> None:
    data = tooltalk / "data"
    chosen = ("--conversations", data / "easy", "--world", data / "databases")
    for grader in ("default", "upstream", "per-turn"):
        done = rig("run", "oracle", *chosen, "--grader", grader, "--similarity", "exact", "--json")
        [arm] = done.json["arms"]
        assert (arm["conversations"], arm["success_rate"], arm["recall"], arm["precision"]) == (28, 1, 1, 1)


@pytest.mark.slow
def test_a_reader_who_leaves_does_not_stop_a_run(tmp_path: Path) -> None:
    """As `rig run … | head -1`: the rest is said to nobody, and stored all the same."""
    store = tmp_path / "runs.sqlite"
    given = ("run", "oracle", "--suite", "easy", "--similarity", "exact", "--display", "plain")
    child = subprocess.Popen(
        [sys.executable, "-m", "rig", *given, "--runs", str(store)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert child.stdout is not None
    assert child.stdout.readline()
    child.stdout.close()
    assert child.stderr is not None
    said = child.stderr.read()
    child.stderr.close()
    assert (child.wait(), said) == (0, b"")
    with Runs.open(store) as runs:
        assert runs.get("latest").state == "finished"


def test_until_a_verdict_the_order_is_random_and_kept_and_the_evidence_is_logged(
    rig: Rig, place: Path
) -> None:
    given = ("oracle", "oracle", "--similarity", "exact", "--until", "verdict-in-suite", "--loss", "10")
    done = rig("run", *given, "--display", "log")
    assert done.code == 0
    events = [json.loads(line) for line in done.out.splitlines()]
    moved = [event for event in events if event["event"] == "evidence_moved"]
    assert moved[-1]["found"] is True
    assert moved[-1]["text"].startswith("loss of 10 points in this suite excluded, e = ")
    assert moved[-1]["evidence"]["decided"] == len(moved) < 28
    with Runs.open(place / "runs.sqlite") as runs:
        stored = runs.get("latest")
    assert sorted(stored.conversations) != list(stored.conversations)
    played = [event["conversation"] for event in events if event["event"] == "conversation_finished"]
    assert tuple(dict.fromkeys(played)) == stored.conversations[: len(set(played))]
    assert stored.arms[1].decided == moved[-1]["text"]
    assert "biased" in rig("show", "latest").out
    assert "could have gone unseen" in rig("compare", "latest", "--fail-if-worse", "5").out
    assert rig("run", "oracle", "--until", "verdict").code == 2
