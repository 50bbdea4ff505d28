"""A toy of every tenant goes from the command line to `show`, `compare`, `report` and the live view.

The toys are in `tests/tenants` and `tests/world/notes`: files as somebody outside would write them. Nothing
under `rig/` or `tui/` knows of them.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tiny_gguf
from terminals import RIG, Terminal

TOYS = Path(__file__).parent / "tenants"
NOTES = Path(__file__).parent / "world" / "notes"

Call = Callable[..., str]


def live(test: Callable[..., None]) -> Callable[..., None]:
    """A test that also looks at the live view, in a real terminal."""
    missing = pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")
    return pytest.mark.terminal(missing(test))


@pytest.fixture
def call(tmp_path: Path) -> Call:
    """Runs `rig` with plugins in a process of its own, and gives what it printed."""

    def run(*arguments: object, plugins: tuple[str, ...] = (), code: int = 0) -> str:
        places = [argument for plugin in plugins for argument in ("--plugin", str(TOYS / plugin))]
        done = subprocess.run(
            [sys.executable, "-m", "rig", *places, *map(str, arguments)],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            env={**os.environ, "RIG_CACHE": str(tmp_path / "cache"), "RIG_RUNS": "runs.sqlite"},
        )
        assert done.returncode == code, done.stderr
        return done.stdout if code == 0 else done.stderr

    return run


@pytest.fixture
def secrets(tmp_path: Path) -> Path:
    (tmp_path / "secrets").mkdir()
    numbers = [{"name": f"number {number}", "number": number} for number in (1, 3, 6, 8, 13, 15)]
    (tmp_path / "secrets" / "secrets.json").write_text(json.dumps(numbers))
    return tmp_path / "secrets"


def last(out: str) -> Any:
    """The last of the JSON lines that `rig` printed: the result."""
    return json.loads(out.splitlines()[-1])


def guess(call: Call, secrets: Path, *arguments: object) -> Any:
    """Two models of the toy method play against its honest user."""
    return last(
        call(
            *("run", "bisecting", "counting", "--suite", secrets, "--role", "user=honest", "--json"),
            *("--display", "none", *arguments),
            plugins=("guessing.py",),
        )
    )


@pytest.mark.slow
def test_a_method_with_a_user_and_metrics_of_its_own_runs_and_is_compared(call: Call, secrets: Path) -> None:
    played = guess(call, secrets)
    better, worse = played["arms"]
    assert (better["arm"], better["conversations"], better["hit_rate"]) == ("bisecting", 6, 1.0)
    assert worse["hit_rate"] == pytest.approx(2 / 6)
    assert better["guesses_each"] == pytest.approx((4 + 4 + 3 + 1 + 4 + 4) / 6)
    assert "recall" not in better
    summary = call("show", "latest")
    assert "hits" in summary
    assert "33.3%" in summary
    assert "recall" not in summary
    compared = last(call("compare", "latest", "--json", plugins=("guessing.py",)))
    flips = [flip["conversation"] for pair in compared["pairs"] for flip in pair["flips"]]
    assert sorted(flips) == ["number 13", "number 15", "number 6", "number 8"]
    assert "guesses" in call("compare", "latest", plugins=("guessing.py",))
    [listed] = last(call("runs", "--json"))
    assert (listed["conversations"], listed["state"]) == (6, "finished")


@pytest.mark.slow
def test_both_voices_are_shown_whoever_made_them(call: Call, secrets: Path, tmp_path: Path) -> None:
    guess(call, secrets)
    shown = call("show", "latest", "number 13", "--arm", "bisecting", plugins=("guessing.py",))
    for said in ("reply: 8", "user: more", "reply: 13", "user: yes"):
        assert said in shown
    call("report", "latest", "-o", "report.html", plugins=("guessing.py",))
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "hits" in page
    assert "number 13" in page
    call("export", "latest", "--format", "jsonl", "--output", "steps.jsonl", "--rows", "steps")
    steps = [json.loads(line) for line in (tmp_path / "steps.jsonl").read_text().splitlines()]
    roles = [step["role"] for step in steps if step["arm"] == "bisecting"]
    assert roles == ["assistant", "user"] * (4 + 4 + 3 + 1 + 4 + 4)


@pytest.mark.slow
def test_what_was_stored_with_a_plugin_is_read_without_it(call: Call, secrets: Path, tmp_path: Path) -> None:
    guess(call, secrets)

    def everything(**plugins: tuple[str, ...]) -> list[str]:
        call("report", "latest", "-o", "report.html", "--force", **plugins)
        page = (tmp_path / "report.html").read_text(encoding="utf-8")
        return [
            page,
            call("show", "latest", "number 13", **plugins),
            call("show", "latest", "number 13", "--json", **plugins),
            call("show", "latest", "--by", "suite", **plugins),
            call("report", "latest", "--format", "json", **plugins),
            call("compare", "latest", "--json", **plugins),
            call("export", "latest", "--format", "jsonl", "--rows", "steps", **plugins),
            re.sub('"time": "[^"]*"', "", call("watch", "latest", "--display", "log", **plugins)),
            call("leaderboard", "--json", "--suite", "secrets", **plugins),
        ]

    assert everything() == everything(plugins=("guessing.py",))
    for verb in (("score", "latest"), ("run", "--resume", "latest")):
        assert "no method is called 'guessing'" in call(*verb, code=2)


@pytest.mark.slow
def test_a_method_that_was_stopped_goes_on_at_the_first_turn_that_is_not_stored(
    call: Call, secrets: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RIG_PLUGINS", str(TOYS / "guessing.py"))
    script = """
import sys
from pathlib import Path
from rig.core.events import TurnFinished
from rig.running.control import Control
from rig.config.options import RunConfig
from rig.running.planning import plan
from rig.running.runner import run
control, seen = Control(), []
def emit(event):
    if isinstance(event, TurnFinished):
        seen.append(event)
        if len(seen) == 7:
            control.stop()
options = RunConfig.of(models=("bisecting", "counting"), suite=sys.argv[1], role=("user=honest",))
run(plan(options, Path("runs.sqlite")), emit, control)
"""
    subprocess.run([sys.executable, "-c", script, str(secrets)], cwd=tmp_path, check=True)
    assert "interrupted" in call("runs")
    resumed = last(call("run", "--resume", "latest", "--display", "none", "--json"))
    (tmp_path / "runs.sqlite").rename(tmp_path / "stopped.sqlite")
    whole = guess(call, secrets)
    told = [{name: arm[name] for name in ("arm", "hit_rate", "guesses_each")} for arm in resumed["arms"]]
    assert told == [
        {name: arm[name] for name in ("arm", "hit_rate", "guesses_each")} for arm in whole["arms"]
    ]


@pytest.mark.slow
def test_what_was_played_is_scored_again(call: Call, secrets: Path) -> None:
    guess(call, secrets)
    again = last(call("score", "latest", "--json", plugins=("guessing.py",)))
    assert [arm["total"]["metrics"]["hit_rate"] for arm in again["arms"]] == [1.0, pytest.approx(2 / 6)]
    assert "6 tasks, no faults" in call("check", "secrets", plugins=("guessing.py",))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        (("score", "latest", "--reexecute"), "the method guessing has no world"),
        (("score", "latest", "--similarity", "exact"), "--similarity has no effect on the method guessing"),
        (("show", "latest", "number 13", "--diff"), "the method guessing has no world"),
        (("show", "latest", "--tables"), "the method guessing has no tables of a paper"),
        (
            ("export", "latest", "--format", "guessing", "--output", "out"),
            "guessing has no files of its own",
        ),
        (("score", "secrets"), "the method guessing reads no predictions from files"),
        (("check", "secrets", "--record"), "the method guessing hold no responses"),
    ],
)
def test_what_a_method_does_not_offer_is_one_line(
    call: Call, secrets: Path, arguments: tuple[str, ...], fault: str
) -> None:
    guess(call, secrets)
    assert fault in call(*arguments, plugins=("guessing.py",), code=2)


@pytest.mark.slow
def test_models_are_screened_by_what_a_method_knows_to_be_right(
    call: Call, secrets: Path, tmp_path: Path
) -> None:
    model = tiny_gguf.write(tmp_path / "tiny.gguf")
    asked = ("screen", model, "--suite", secrets, "--limit", 2, "--threads", 1)
    [arm] = last(call(*asked, "--json", plugins=("guessing.py",)))["arms"]
    assert (arm["calls"], arm["replies"]) == (0, 4 + 4)
    (tmp_path / "kept").mkdir()
    call(*asked, "--output", "kept/steps.json", plugins=("guessing.py",))
    [arm] = json.loads((tmp_path / "kept" / "steps.json").read_text())["arms"]
    assert [step["turn"] for step in arm["steps"]] == [1, 2, 3, 4, 1, 2, 3, 4]
    guess(call, secrets)
    judging = ("screen", model, "--suite", "runs.sqlite", "--threads", 1)
    fault = call(*judging, plugins=("guessing.py", "judge.py"), code=2)
    assert "the method reviewing has no models that know what is right" in fault


@pytest.mark.slow
def test_options_that_only_the_method_knows_make_arms(call: Call, secrets: Path) -> None:
    arms = guess(call, secrets, "--set", "most=1", "--set", "most=2")["arms"]
    assert [arm["arm"] for arm in arms] == [
        f"{model} most={most}" for model in ("bisecting", "counting") for most in (1, 2)
    ]
    assert [arm["guesses_each"] <= most for arm, most in zip(arms, (1, 2, 1, 2), strict=True)] == [True] * 4


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        (("--set", "much=1"), "no option of the method is called much; choose from: most"),
        (("--set", "most=lots"), "--set most=lots: takes a whole number, not 'lots'"),
        (("--docs", "names"), "--docs has no effect on the method guessing"),
        (("--role", "judge=honest"), "not a role of the method guessing; its roles: user"),
        (("--role", "user=nobody"), "nobody"),
    ],
)
def test_what_the_method_does_not_know_is_one_line(
    call: Call, secrets: Path, arguments: tuple[str, ...], fault: str
) -> None:
    asked = ("run", "bisecting", "--suite", secrets, "--role", "user=honest", *arguments)
    assert fault in call(*asked, plugins=("guessing.py",), code=2)


@pytest.mark.slow
def test_a_role_that_nobody_plays_is_one_line(call: Call, secrets: Path) -> None:
    asked = ("run", "bisecting", "--suite", secrets)
    assert "who plays the user? Give --role user=MODEL" in call(*asked, plugins=("guessing.py",), code=2)


@pytest.mark.slow
@live
def test_a_judge_is_driven_stored_and_shown_as_a_model_is(
    call: Call, secrets: Path, tmp_path: Path, terminal: Terminal
) -> None:
    guess(call, secrets)
    asked = ("run", "patient", "hasty", "--suite", "runs.sqlite", "--runs", "judged.sqlite", "--json")
    plugins = ("guessing.py", "judge.py")
    patient, hasty = last(call(*asked, "--display", "none", plugins=plugins))["arms"]
    assert (patient["pass_rate"], patient["conversations"]) == (1.0, 12)
    assert 0 < hasty["pass_rate"] < 1
    assert "passes" in call("compare", "latest", "--runs", "judged.sqlite", plugins=plugins)
    shown = call("show", "latest", "bisecting: number 13", "--runs", "judged.sqlite", plugins=plugins)
    assert "Was this short?" in shown
    assert "judge" in shown
    call("report", "latest", "--runs", "judged.sqlite", "-o", "judged.md", plugins=plugins)
    assert "passes" in (tmp_path / "judged.md").read_text(encoding="utf-8")
    places = " ".join(f"--plugin {TOYS / plugin}" for plugin in plugins)
    terminal.resize(120, 40)
    terminal.type(f"{RIG} {places} watch latest --runs judged.sqlite --speed 64")
    terminal.wait("counting: number 1", "passes", "Was this short?")


@pytest.mark.slow
@live
def test_a_toolbox_in_a_folder_is_used_by_the_method_that_is_there(
    call: Call, tmp_path: Path, terminal: Terminal
) -> None:
    (tmp_path / "talks").mkdir()
    note = {"api_name": "AddNote", "parameters": {"text": "Buy stamps"}}
    answered = {"request": note, "response": {"note_id": "5bff"}, "exception": None}
    talk = {
        "name": "stamps",
        "conversation_id": "1",
        "user": {"username": "mara"},
        "metadata": {"location": "Springfield", "timestamp": "2024-03-05 09:00:00"},
        "conversation": [
            {"role": "user", "text": "note: buy stamps"},
            {"role": "assistant", "text": "Noted.", "apis": [answered]},
        ],
    }
    (tmp_path / "talks" / "stamps.json").write_text(json.dumps(talk))
    asked = ("--suite", "talks", "--toolbox", NOTES, "--similarity", "exact", "--display", "none", "--json")
    arms = last(call("run", "oracle", *asked, "--docs", "full", "--docs", "names"))["arms"]
    assert [(arm["success_rate"], arm["recall"]) for arm in arms] == [(1.0, 1.0)] * 2
    assert "Buy stamps" in call("--open", NOTES, "show", "latest", "stamps", "--diff")
    assert "oracle docs=names" in call("compare", "latest")
    call("report", "latest", "-o", "report.json")
    assert "Buy stamps" in (tmp_path / "report.json").read_text(encoding="utf-8")
    terminal.resize(120, 40)
    terminal.type(f"{RIG} watch latest --runs runs.sqlite --speed 64")
    terminal.wait("AddNote", "Buy stamps")


@pytest.mark.slow
@live
def test_an_answer_format_is_one_more_arm_of_the_same_file(
    call: Call, tmp_path: Path, terminal: Terminal
) -> None:
    model = tiny_gguf.write(tmp_path / "tiny.gguf")
    asked = ("--limit", 1, "--max-calls", 1, "--max-tokens", 24, "--threads", 1, "--tools", "exact")
    formats = ("--format", "rig", "--format", "tagged", "--display", "none", "--json")
    arms = last(call("run", model, *asked, *formats, plugins=("tagged.py",)))["arms"]
    assert [arm["arm"] for arm in arms] == ["tiny format=rig", "tiny format=tagged"]
    assert "format=tagged" in call("compare", "latest")
    assert "format=tagged" in call("show", "latest")
    call("report", "latest", "-o", "report.html")
    assert "format=tagged" in (tmp_path / "report.html").read_text(encoding="utf-8")
    terminal.resize(120, 40)
    terminal.type(f"{RIG} watch latest --runs runs.sqlite --speed 64")
    terminal.wait("format=rig", "format=tagged")
    fault = call("run", model, *asked, "--format", "nothing", plugins=("tagged.py",), code=2)
    assert "nothing" in fault
    assert "tagged" in fault


TOY_TEMPLATE = (
    "{% if tools %}A toy may call {{ tools | tojson }}\n{% endif %}"
    "{% for message in messages %}{{ message.role }}: {{ message.content }}\n{% endfor %}assistant: "
)


@pytest.mark.slow
@live
def test_a_preset_is_the_form_of_the_templates_it_is_for(
    call: Call, tmp_path: Path, terminal: Terminal
) -> None:
    model = tiny_gguf.write(tmp_path / "tiny.gguf")
    (tmp_path / "toy.jinja").write_text(TOY_TEMPLATE)
    asked = ("--limit", 1, "--max-calls", 1, "--max-tokens", 24, "--threads", 1, "--tools", "exact")
    forms = ("--format", "native", "--format", "toy", "--format", "rig", "--chat-template", "toy.jinja")
    played = last(call("run", model, *asked, *forms, "--display", "none", "--json", plugins=("preset.py",)))
    assert [arm["arm"] for arm in played["arms"]] == [
        f"tiny format={form}" for form in ("native", "toy", "rig")
    ]
    assert "format=toy" in call("compare", "latest")
    assert "format=toy" in call("show", "latest")
    call("report", "latest", "-o", "report.html")
    assert "format=toy" in (tmp_path / "report.html").read_text(encoding="utf-8")
    terminal.resize(120, 40)
    terminal.type(f"{RIG} watch latest --runs runs.sqlite --speed 64")
    terminal.wait("format=native", "format=toy")
    fault = call("run", model, *asked, "--format", "native", "--chat-template", "toy.jinja", code=2)
    assert "does not show the calls of earlier messages" in fault


@pytest.mark.slow
def test_a_display_listens_to_a_run_and_to_what_is_stored_of_it(call: Call, secrets: Path) -> None:
    asked = ("run", "bisecting", "counting", "--suite", secrets, "--role", "user=honest", "--display", "dots")
    ran = call(*asked, plugins=("guessing.py", "dots.py"))
    assert ran.startswith(f"{12 * '.'} 12 conversations\n")
    assert "is stored in" in ran
    assert call("watch", "latest", "--display", "dots", plugins=("dots.py",)).startswith(f"{12 * '.'} 12")
    assert "[auto|tui|plain|log|notebook|none|dots]" in call("run", "--help-all", plugins=("dots.py",))
    fault = call(*asked, plugins=("guessing.py",), code=2)
    assert "'dots' is not one of 'auto', 'tui', 'plain', 'log', 'notebook', 'none'" in fault
    compared = call("compare", "latest", plugins=("guessing.py", "dots.py"))
    assert "hits" in compared


@pytest.mark.slow
@live
def test_the_live_view_shows_both_voices_and_the_methods_own_metrics(
    terminal: Terminal, secrets: Path, tmp_path: Path
) -> None:
    plugin = f"{RIG} --plugin {TOYS / 'guessing.py'}"
    terminal.resize(120, 40)
    terminal.type(f"{plugin} run bisecting counting --suite {secrets} --role user=honest --runs runs.sqlite")
    screen = terminal.wait("hits", "guesses", "number 15")
    assert "recall" not in screen
    terminal.wait("read the run")
    terminal.press("q")
    terminal.wait("is stored in")
    terminal.type(f"{plugin} watch latest --runs runs.sqlite --speed 64")
    terminal.wait("number 15", "hits")
    terminal.press("Enter")
    terminal.wait("turn 1", "user")
    terminal.press("q")


@pytest.mark.slow
def test_an_export_writes_runs_of_any_method(call: Call, tmp_path: Path) -> None:
    call("run", "oracle", "--limit", "1", "--similarity", "exact", "--display", "none")
    written = call("export", "latest", "--format", "haiku", "--set", "season=winter", plugins=("haiku.py",))
    assert written == "winter evening\noracle, 1 of 1\nthe tools are at rest\n"
    refused = call("export", "latest", "--format", "haiku", "--set", "sun=1", plugins=("haiku.py",), code=2)
    assert "takes NAME=VALUE of season" in refused


@pytest.mark.slow
def test_a_dial_makes_arms_and_has_a_metric_of_its_own(call: Call) -> None:
    asked = ("run", "oracle", "--limit", 2, "--similarity", "exact", "--display", "none")
    levels = ("--set", "shouting=0,2", "--set", "shouting=5", "--json")
    arms = last(call(*asked, *levels, plugins=("shouting.py",)))["arms"]
    assert [arm["arm"] for arm in arms] == [f"oracle shouting={level}" for level in (0, 2, 5)]
    assert [(arm["success_rate"], arm["shouts_back"]) for arm in arms] == [(1.0, 0.0)] * 3
    wrong = (*asked, "--set", "shouting=x")
    assert "--set shouting=x: takes a whole number, not 'x'" in call(*wrong, plugins=("shouting.py",), code=2)
    assert "shouting=5" in call("show", "latest")
    compared = call("compare", "latest", plugins=("shouting.py",))
    assert "stress.shouting (none -> 5)" in compared
    assert "shouts back" in call("show", "latest")
    assert "no option of the method is called shouting" in call(*asked, "--set", "shouting=1", code=2)
    fault = call(*asked, "--set", "shouting=x", plugins=("shouting.py",), code=2)
    assert "takes a whole number, not 'x'" in fault


@pytest.mark.slow
def test_a_plugin_of_80_lines_has_a_verb_options_a_strategy_and_a_note(call: Call, secrets: Path) -> None:
    plugin = ("patience.py",)
    toy = (TOYS / "patience.py").read_text(encoding="utf-8")
    assert len(toy.splitlines()) <= 80
    assert f"```python\n{toy}```" in (TOYS.parents[1] / "docs/how-to/plugins.md").read_text(encoding="utf-8")
    assert re.search(r"Plugins:\n  moods +Say in which mood", call("--help", plugins=plugin))
    assert re.search(r"Patience:\n  --patience N +Drop an arm", call("run", "--help-all", plugins=plugin))
    asked = ("run", "bisecting", "counting", "--suite", secrets, "--role", "user=honest", "--json")
    options = ("--patience", 2, "--mood", "calm", "--mood", "wild", "--display", "none")
    plugins = (*plugin, "guessing.py")
    better, _, worse, _ = last(call(*asked, *options, plugins=plugins))["arms"]
    assert (better["arm"], better["conversations"]) == ("bisecting mood=calm", 6)
    assert 2 <= worse["conversations"] < 6
    assert worse["decided"] == "dropped after 2 wrong"
    assert worse["notes"] == {"mood": {"text": "was calm", "lines": []}}
    assert "counting mood=wild was wild" in call("moods", "latest", plugins=plugin)
    # What the plugin noted is shown without it.
    assert "counting mood=wild: was wild" in call("show", "latest")
    both = ("latest/bisecting mood=calm", "latest/bisecting mood=wild")
    assert "differs in mood (none -> wild)" in call("compare", *both)
    refused = call("run", "--resume", "latest", plugins=("guessing.py",), code=2)
    assert "options that nothing here registers (patience, mood); name their plugin" in refused
    wrong = call(*asked, "--patience", 0, plugins=plugin, code=2)
    assert "--patience takes a whole number from 1 on, not 0" in wrong


@pytest.mark.slow
def test_options_of_a_plugin_are_in_the_settings_file_and_in_the_api(call: Call, tmp_path: Path) -> None:
    config = tmp_path / "own.toml"
    config.write_text(
        f'[places]\nplugins = "{TOYS / "patience.py"}"\n[run]\nmood = "grim"\n', encoding="utf-8"
    )
    script = """
import rig
run = rig.run("oracle", limit=1, similarity="exact", display="none", mood=["calm", "grim"], patience=1)
print(*(arm.fingerprint.get("Patience.mood") for arm in run.arms))
"""
    # A command line that was tried in this process may have left its plugins in the environment.
    inherited = {name: value for name, value in os.environ.items() if name != "RIG_PLUGINS"}
    environment = {**inherited, "RIG_CONFIG": str(config), "RIG_RUNS": "runs.sqlite"}
    command = [sys.executable, "-m", "rig", "run", "oracle", "--limit", "1", "--similarity", "exact"]
    subprocess.run([*command, "--display", "none"], cwd=tmp_path, env=environment, check=True)
    completing = {"COMP_WORDS": "rig moo", "COMP_CWORD": "1", "_RIG_COMPLETE": "bash_complete"}
    for more, arguments, printed in (
        ({}, ("-m", "rig", "moods", "latest"), "oracle was grim"),
        (completing, ("-m", "rig"), "plain,moods"),
        ({"RIG_PLUGINS": str(TOYS / "patience.py")}, ("-c", script), "None grim"),
    ):
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=tmp_path,
            env={**environment, **more},
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout.strip() == printed, done.stderr
