"""`rig show`: a run, and a conversation call by call."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import small_talks
import small_world
import tiny_gguf
from click.shell_completion import ShellComplete
from spoken import speak

from rig.cli import cli
from rig.core.events import ConversationFinished, TurnFinished
from rig.core.models import Notify
from rig.methods.scripted import Scripted
from rig.plugins.llama.core.settings import EngineSettings
from rig.plugins.llama.engine import LlamaCppModel
from rig.plugins.llama.loading import load
from rig.plugins.tooltalk.prompt import ToolTalkSettings
from rig.running.control import Control
from rig.running.runner import run
from rig.store import Runs

Rig = Callable[..., Any]


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store with a run of the oracle and of a poor model, and one that stopped after its first turn."""
    path = tmp_path / "runs.sqlite"
    small_talks.play(small_talks.plan(path, small_talks.oracle(), Scripted(small_talks.erratic)))
    control = Control()

    def stop(event: object) -> None:
        if isinstance(event, TurnFinished):
            control.stop()

    run(small_talks.plan(path, small_talks.oracle(), run="begun"), stop, control)
    monkeypatch.setenv("RIG_RUNS", str(path))
    return path


def test_a_run_shows_its_summary_and_a_line_for_each_conversation(rig: Rig, store: Path) -> None:
    out = rig("show", "abcde").out
    assert out.startswith("run abcde, ")
    assert re.search(r"^success +100.0% +0.0%$", out, re.MULTILINE)
    assert re.search(r"^alarms +\+ success 3/3 +# incorrect \d/3", out, re.MULTILINE)
    assert "rig show abcde" in out


def test_a_run_that_stopped_shows_how_far_it_came(rig: Rig, store: Path) -> None:
    out = rig("show", "latest").out
    assert re.search(r"^alarms +1/3 turns$", out, re.MULTILINE)
    assert re.search(r"^login +-$", out, re.MULTILINE)
    assert "rig run --resume begun" in out


def test_the_rates_of_a_part_say_of_how_many_conversations_they_are(
    rig: Rig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, control = tmp_path / "part.sqlite", Control()

    def stop(event: object) -> None:
        if isinstance(event, ConversationFinished):
            control.stop()

    run(small_talks.plan(path, small_talks.oracle()), stop, control)
    monkeypatch.setenv("RIG_RUNS", str(path))
    assert re.search(r"^conversations +1 of 3$", rig("show", "latest").out, re.MULTILINE)
    assert re.search(r"^abcde/\S+ +1 of 3 ", rig("leaderboard").out, re.MULTILINE)
    exported = rig("export", "latest", "--format", "jsonl", "--rows", "rates")
    assert re.search("rig: run abcde is not finished: [1-9] of [1-9] turns are made\n", exported.err)
    assert exported.code == 0


def test_run_as_json(rig: Rig, store: Path) -> None:
    shown = rig("show", "abcde", "--json").json
    assert (shown["run"], shown["state"], shown["store"]) == ("abcde", "finished", str(store))
    cells = shown["conversations"]
    assert [(cell["arm"], cell["conversation"]) for cell in cells[:2]] == [
        ("arm0", "alarms"),
        ("arm0", "reminders"),
    ]
    assert cells[0]["metrics"]["success_rate"] == 1
    assert rig("show", "begun", "--json").json["conversations"][0]["metrics"] is None


def test_a_conversation_shows_what_was_said_called_answered_and_judged(rig: Rig, store: Path) -> None:
    out = rig("show", "abcde", "login").out
    oracle, poor = out.split("\n\nlogin, arm1")
    assert oracle.startswith(
        "login, arm0: + success, 3 of 3 calls matched\n2024-03-05 09:00:00, Springfield, nobody"
    )
    for line in (
        "user: Let me in.",
        'call: UserLogin {"username": "mara", "password": "pw-mara"}',
        "+ match: expected call 1",
        'expected: DeleteAlarm {"alarm_id": "0001-0002"} (+ made in turn 2, step 2)',
        "reply: Gone.",
    ):
        assert line in oracle
    assert "(x missed)" in poor


def test_a_conversation_of_a_run_under_way_says_what_is_missing(rig: Rig, store: Path) -> None:
    out = rig("show", "begun", "alarms").out
    assert out.startswith("alarms, arm0: 1 of 3 turns played")
    assert out.count("not played yet") == 2


def test_text_of_a_model_is_shown_inert(rig: Rig, store: Path) -> None:
    for name in ("alarms", "reminders", "login"):
        for arguments in (("show", "abcde", name), ("show", "abcde", name, "--json")):
            out = rig(*arguments).out
            assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", out)


def test_conversation_as_json(rig: Rig, store: Path) -> None:
    shown = rig("show", "abcde", "reminders", "--json").json
    assert (shown["run"], shown["conversation"]) == ("abcde", "reminders")
    oracle, poor = shown["transcripts"]
    assert (oracle["arm"], oracle["metrics"]["successes"]) == ("arm0", 1)
    turn = oracle["turns"][3]
    assert turn["ground_truth"][0]["request"]["api_name"] == "GetReminders"
    assert turn["ground_truth"][0]["match"] is True
    call, reply = turn["steps"]
    assert (call["kind"], call["executed"]["request"]["api_name"]) == ("call", "GetReminders")
    assert call["verdict"]["match"] is True
    assert (reply["kind"], reply["reply"]) == ("reply", "Yes.")
    assert poor["turns"][1]["steps"]
    assert rig("show", "begun", "login", "--json").json["transcripts"][0]["turns"][2]["steps"] is None


@pytest.fixture
def with_world(tmp_path: Path) -> Path:
    """A store with a run of the oracle that names the world it was made in."""
    path = tmp_path / "runs.sqlite"
    recipe = {
        "models": ["oracle"],
        "world": str(small_world.write(tmp_path / "databases")),
        "similarity": "exact",
    }
    small_talks.play(small_talks.plan(path, small_talks.oracle(), recipe=recipe))
    return path


def test_what_each_call_did_to_the_world_is_below_it(rig: Rig, with_world: Path) -> None:
    done = rig("show", "abcde", "login", "--diff", "--runs", with_world)
    assert done.err == ""
    lines = [line.strip() for line in done.out.splitlines()]
    found = [line for line in lines if line.startswith("world:")]
    assert found == [
        'world: changed users mara: session_token "' + found[0].partition('"')[2],
        "world: no record changed",
        'world: removed alarms mara 0001-0002: time "07:30:00"',
    ]
    assert lines[lines.index(found[2]) - 1] == "+ match: expected call 2"


def test_effects_are_in_the_json_too_and_another_world_is_said(rig: Rig, with_world: Path) -> None:
    shown = rig("show", "abcde", "alarms", "--diff", "--json", "--runs", with_world).json
    [call, reply] = shown["transcripts"][0]["turns"][1]["steps"]
    assert [(each["kind"], each["table"]) for each in call["effect"]["changes"]] == [
        ("added", "alarms"),
        ("added", "id_generators"),
    ]
    assert "effect" not in reply
    assert "effect" not in str(rig("show", "abcde", "alarms", "--json", "--runs", with_world).json)
    databases = with_world.parent / "databases"
    alarms = json.loads((databases / "Alarm.json").read_text())
    alarms["mara"] = {}
    (databases / "Alarm.json").write_text(json.dumps(alarms))
    done = rig("show", "abcde", "alarms", "--diff", "--runs", with_world)
    assert done.code == 0
    assert done.err.startswith("rig: the world is not the one this run was made in")


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        (("abcde", "--diff"), "--diff needs a conversation"),
        (("zzz",), "no run 'zzz'"),
        (("abcde", "breakfast"), "no conversation 'breakfast'"),
        ((), "Missing argument 'RUN'"),
    ],
)
def test_what_is_not_there_is_one_line(rig: Rig, store: Path, arguments: tuple[str, ...], fault: str) -> None:
    done = rig("show", *arguments)
    assert (done.code, done.out) == (2, "")
    assert fault in done.err
    assert done.err.count("\n") == 1


def _completions(*words: str, incomplete: str) -> list[str]:
    complete = ShellComplete(cli, {}, "rig", "_RIG_COMPLETE")
    return [item.value for item in complete.get_completions(list(words), incomplete)]


def test_runs_and_conversations_complete_in_the_shell(store: Path) -> None:
    assert _completions("show", incomplete="") == ["latest", "begun", "abcde"]
    assert _completions("show", incomplete="ab") == ["abcde"]
    assert _completions("show", "abcde", incomplete="a") == ["alarms"]
    assert _completions("run", "--resume", incomplete="be") == ["begun"]
    assert "oracle" in _completions("run", incomplete="or")


def test_nothing_completes_where_there_is_no_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RIG_RUNS", str(tmp_path / "none.sqlite"))
    assert _completions("show", incomplete="") == []


def test_of_a_conversation_some_arms_are_shown(rig: Rig, store: Path) -> None:
    out = rig("show", "abcde", "login", "--arm", "arm1").out
    assert out.startswith("login, arm1")
    assert "login, arm0" not in out
    both = rig("show", "abcde", "login", "--arm", "arm1", "--arm", "arm0", "--json").json
    assert [each["arm"] for each in both["transcripts"]] == ["arm0", "arm1"]
    for arguments, fault in (
        (("abcde", "login", "--arm", "q4"), "run abcde: 'q4' is not one of its arms, which are: arm0, arm1"),
        (("abcde", "--arm", "arm1"), "--arm needs a conversation"),
    ):
        done = rig("show", *arguments)
        assert (done.code, done.out) == (2, "")
        assert fault in done.err


SPOKEN = {
    (1, 0): '<tool_call>\n{"name": "AddAlarm", "arguments": {"time": "07:00:00"}}\n</tool_call>',
    (1, 1): "Done.",
    (3, 0): '```json\n{"tool": "AddAlarm", "arguments": {"time": "09:00:00"}}\n```',
    (3, 1): '{"tool": "AddAlarm", "arguments": {"time": 8}}',
    (5, 0): '{"reply": "None."}',
}


def test_answers_without_a_grammar_are_judged_and_shown_with_what_was_salvaged(
    rig: Rig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "runs.sqlite"
    settings = EngineSettings(grammar="none", parallel=1, n_threads=1)
    weights = tiny_gguf.write(tmp_path / "tiny.gguf", tokenizer="marks", n_ctx=8192)

    def loaded(notify: Notify) -> LlamaCppModel:
        model = load(weights, settings, "tiny", notify)
        speak(monkeypatch, model, lambda key: SPOKEN[key.turn, key.step])
        return model

    alarms = small_talks.conversations()[:1]
    exact = ToolTalkSettings(docs="names", tools="exact", max_calls=3)
    small_talks.play(small_talks.plan(path, loaded, conversations=alarms, settings=exact))
    out = rig("show", "latest", "alarms", "--runs", path).out
    assert "alarms, arm0: # incorrect, 1 of 3 calls matched" in out
    how, raw = "<tool_call>, name/arguments", SPOKEN[1, 0].replace("\n", "\\n")
    for lines in (
        f'1. call: AddAlarm {{"time": "07:00:00"}}\n     salvaged ({how}) from: {raw}\n',
        "2. reply: Done.\n     salvaged (words)\n",
        '1. call: AddAlarm {"time": "09:00:00"}\n     salvaged (fenced) from: ```json',
        f"2. ! error: invalid: AddAlarm: 8 is not of type 'string'\n     raw: {SPOKEN[3, 1]}\n",
        "1. reply: None.\n  expected: FindAlarms",
    ):
        assert lines in out
    [arm] = rig("show", "latest", "alarms", "--runs", path, "--json").json["transcripts"]
    assert [step["salvage"] for turn in (1, 3, 5) for step in arm["turns"][turn]["steps"]] == [
        "<tool_call>, name/arguments",
        "words",
        "fenced",
        "",
        "",
    ]
    with Runs.open(path) as runs:
        counted = list(
            runs._database.query("SELECT arm, salvage, kind, predictions FROM salvaged ORDER BY 2")
        )
    assert [tuple(row.values()) for row in counted] == [
        ("arm0", "<tool_call>, name/arguments", "call", 1),
        ("arm0", "fenced", "call", 1),
        ("arm0", "words", "reply", 1),
    ]
