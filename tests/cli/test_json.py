"""`--json` of every verb, and the schema in the documentation that other programs rely on."""

import json
import re
import shlex
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import click
import json_schema
import jsonschema
import pytest
import tiny_gguf
from native_templates import OWN

from rig.cli.json_lines import LINES, parted
from rig.cli.mistakes import usual_remedy

CHECKOUT = Path(__file__).resolve().parents[2]
Rig = Callable[..., Any]

VERBS = dict(json_schema.verbs())
_RUN = "run oracle oracle --docs full --limit 3 --similarity exact --display none"
_TWO = f"{_RUN} --docs names"
_OWN = "suites new mine"
_ASKED = "--tools exact --threads 1 --limit 1"

EXAMPLES: dict[str, list[str]] = {
    "run": [f"{_RUN} --json", "run --resume latest --display log --json"],
    "watch": [_RUN, "watch latest --display plain --json"],
    "demo": ["demo --json", "demo --save ladder.sqlite --json"],
    "noise": [f"noise tiny.gguf {_ASKED} --max-tokens 4 --json", "noise --of latest --json"],
    "plan": ["plan oracle --limit 3 --json"],
    "screen": ["screen tiny.gguf tiny.gguf --tools exact --threads 1 --limit 1 --json"],
    "start": ["start --json"],
    "runs": [_TWO, "runs --json"],
    "show": [
        _TWO,
        "show latest --json",
        "show latest AddAlarm-easy --json",
        "show latest --by tool --json",
        "show latest --by skill --json",
        "show latest --tables --json",
    ],
    "compare": [
        _TWO,
        "compare latest --json",
        "compare latest --at-least 3tok/s --memory 1GiB --json",
        "compare latest --json --fail-if-worse 5",
        "compare latest --sequential --json",
        "compare latest --paths --json",
    ],
    "gate": [_TWO, "gate policy.toml latest --json"],
    "export": [
        _RUN,
        "export latest --format csv --output a.csv --json",
        "export latest --format inspect --output b --json",
    ],
    "import": [_RUN, "import runs.sqlite --runs other.sqlite --json"],
    "judge answers": [_RUN, "judge latest --evaluator truth --display none --json"],
    "judge calibrate": ["judge calibrate --evaluator truth --display none --json"],
    "judge rates": [_RUN, "judge latest --evaluator truth --display none", "judge rates latest --json"],
    "leaderboard": [_TWO, "leaderboard --json"],
    "history": ["run tiny.gguf --limit 1 --max-tokens 4 --display none", "history tiny.gguf --json"],
    "report": [_TWO, "report latest -o a.html --json"],
    "card make": [_RUN, "card latest/oracle --json", "card latest/oracle -o a.md --json"],
    "card verify": [_RUN, "card latest/oracle -o a.json", "card verify a.json --json"],
    "score": [_RUN, "score latest --json", "score latest --reexecute --json"],
    "adjudicate": [_RUN, "adjudicate latest --json"],
    "serve-command": ["run tiny.gguf --limit 1 --max-tokens 4 --display none", "serve-command latest --json"],
    "author new": [_OWN, "author new --toolbox mine -o scenes --json"],
    "author": [
        _OWN,
        "author new --toolbox mine -o scenes",
        "author --toolbox mine --scenes scenes --count 2 -o out --json",
    ],
    "author review": [
        _OWN,
        "author new --toolbox mine -o scenes",
        "author --toolbox mine --scenes scenes --count 2 -o out",
        "author review out --toolbox mine --json",
    ],
    "world build": ["world build --output world.sqlite --json"],
    "world check": ["world check --json"],
    "models info": [
        "models info tiny.gguf --json",
        "models info tiny.gguf --fit --json",
        "models info tiny.gguf --tools --json",
    ],
    "models list": ["models list --json"],
    "models verify": ["models verify tiny.gguf --json"],
    "models templates": ["models templates tiny.gguf other.gguf --json"],
    "models merge": ["models merge tiny.gguf --lora a.lora --json"],
    "models quantize": ["models quantize tiny --to q8_0 --json"],
    "models calibrate": [f"models calibrate tiny {_ASKED} --json"],
    "suites info": ["suites info easy --json"],
    "suites list": ["suites list --json"],
    "suites new": [f"{_OWN} --json"],
    "check": [_OWN, "check --toolbox mine --json"],
    "tools check": [_OWN, "tools check mine --json"],
    "tools import": [_OWN, "tools import mine/tools.json --json"],
    "tools info": [_OWN, "tools info mine --json"],
    "tools list": [_OWN, "tools list mine --json"],
    "docs": ["docs --man pages --json"],
    "doctor": ["doctor --json"],
    "config": ["config --json", "config run --json"],
}
"""Command lines that are run one after the other in a folder of their own."""

ELSEWHERE = {
    "tour": "tests/cli/test_json.py",
    "models pull": "tests/pull/test_pull.py",
    "models tune": "tests/tune/test_tune.py",
    "tools record": "tests/mcp/test_verbs.py",
    "bundle": "tests/bundle/test_bundle.py",
    "bundle verify": "tests/bundle/test_bundle.py",
    "bench": "tests/bench/test_command.py",
}
"""Verbs that need what other tests have. There, too, whatever is printed is checked against the schema."""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a model, a policy, and the run store."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RIG_RUNS", "runs.sqlite")
    monkeypatch.setenv("RIG_MODELS", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    tiny = tiny_gguf.write(tmp_path / "tiny.gguf", n_ctx=24_576)
    tiny_gguf.write(tmp_path / "other.gguf", template=next(iter(OWN.values())))
    tiny_gguf.write_adapter(tmp_path / "a.lora", tiny)
    (tmp_path / "policy.toml").write_text('[[required]]\nmetric = "success_rate"\nmin = 10\n')
    return tmp_path


def test_every_verb_is_tried() -> None:
    assert {*EXAMPLES, *ELSEWHERE} == set(VERBS)
    for verb, place in ELSEWHERE.items():
        text = (CHECKOUT / place).read_text(encoding="utf-8")
        assert '"--json"' in text
        assert verb.split()[-1] in text


@pytest.mark.parametrize("verb", EXAMPLES)
def test_what_a_verb_prints_fits_the_schema(rig: Rig, place: Path, verb: str) -> None:
    checked = 0
    for line in EXAMPLES[verb]:
        done = rig(*shlex.split(line))  # which checks what `--json` prints
        assert done.code in (0, 1), f"{line}: {done.err}"
        checked += "--json" in line and verb == json_schema.verb_of(shlex.split(line))
        assert "--json" not in line or "error" not in done.json
    assert checked


@pytest.mark.parametrize("verb", VERBS)
def test_every_mistake_is_an_error_with_its_remedy(rig: Rig, place: Path, verb: str) -> None:
    for wrong in (["--no-such-option"], ["no-such-thing", "neither-this"], ["--runs", "policy.toml", "x"]):
        done = rig(*verb.split(), *wrong, "--json")
        if done.code == 2:
            error = done.json["error"]
            assert error["message"]
            assert error["remedy"]
            assert done.err.startswith("rig: ")
        else:
            assert "--no-such-option" not in wrong


def test_the_error_says_what_stderr_says(rig: Rig, place: Path) -> None:
    done = rig("show", "nope", "--json")
    error = done.json["error"]
    assert f"rig: {error['message']}; {error['remedy']}\n" == done.err
    assert error["code"] == done.code == 2


@pytest.mark.parametrize(
    ("line", "message", "remedy"),
    [
        ("a: is gone; give another", "a: is gone", "give another"),
        ("a; b; choose c", "a; b", "choose c"),
        ("no x; choose from: a (or b; c)", "no x", "choose from: a (or b; c)"),
        ("no verb (did you mean 'run'?)", "no verb", "did you mean 'run'?"),
        ("no x (did you mean 'y'?); see z", "no x", "did you mean 'y'? see z"),
        ("which model? Give one", "which model?", "Give one"),
        (
            "Missing argument 'RUN' of `rig show`: `latest`",
            "Missing argument 'RUN' of `rig show`",
            "`latest`",
        ),
        ("all is lost", "all is lost", ""),
    ],
)
def test_a_message_is_parted_from_its_remedy(line: str, message: str, remedy: str) -> None:
    assert parted(line) == (message, remedy)


@pytest.mark.parametrize(
    ("line", "remedy"),
    [
        ("world build --output no/where/x.sqlite", "permissions"),
        ("card verify nothing.json", "check the path"),
        ("run oracle --limit 0", "give another value; `rig run --help` has the bounds"),
    ],
)
def test_a_message_without_a_remedy_gets_the_usual_one(rig: Rig, place: Path, line: str, remedy: str) -> None:
    assert remedy in rig(*shlex.split(line), "--json").json["error"]["remedy"]
    assert usual_remedy("all is lost", "rig run") == "`rig run --help` says what it takes"


def test_tour_is_for_people_even_in_a_terminal(rig: Rig) -> None:
    assert "rig demo --json" in rig("tour", "--json").json["error"]["remedy"]


def test_a_place_before_the_verb_is_told(rig: Rig) -> None:
    done = rig("--json", "runs")
    assert "after the verb" in done.json["error"]["message"] + done.json["error"]["remedy"]


@pytest.mark.parametrize(
    ("raised", "code", "message"),
    [
        (KeyboardInterrupt(), 130, "interrupted"),
        (SystemExit(143), 143, "interrupted"),
        (click.Abort(), 130, "interrupted"),
        (OSError(28, "No space left on device"), 2, "No space left"),
        (MemoryError(), 2, "out of memory"),
    ],
)
def test_however_it_ends_there_is_an_error(
    rig: Rig, monkeypatch: pytest.MonkeyPatch, raised: BaseException, code: int, message: str
) -> None:
    def recording() -> None:
        raise raised

    monkeypatch.setattr("rig.plugins.displays.verb.recording", recording)
    done = rig("demo", "--json")
    start, error = map(json.loads, done.out.splitlines())
    assert (start["event"], start["verb"]) == ("start", "demo")
    assert done.code == error["error"]["code"] == code
    assert message in error["error"]["message"]
    assert error["error"]["remedy"]


def test_a_bug_is_told_and_stays_a_traceback(
    rig: Rig, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("rig.plugins.displays.verb.recording", lambda: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        rig("demo", "--json")
    error = json.loads(capfd.readouterr().out.splitlines()[-1])["error"]
    assert error["message"] == "ZeroDivisionError: division by zero"
    assert "report" in error["remedy"]


def test_a_run_whose_arm_fails_has_a_result_and_another_verb_an_error(rig: Rig, place: Path) -> None:
    (place / "bad.gguf").write_bytes(b"GGUF")
    done = rig("noise", "bad.gguf", "--limit", "1", "--json")
    assert done.code
    assert "bad.gguf" in done.json["error"]["message"]


def test_progress_is_told_at_a_bounded_rate(rig: Rig, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun = time.monotonic()
    done = rig(*shlex.split(_RUN.replace("--limit 3", "--limit 20")), "--json")
    took = time.monotonic() - begun
    _, *told, last = map(json.loads, done.out.splitlines())
    assert 2 <= len(told) <= 2 + took + 1
    assert (told[0]["done"], told[-1]["done"]) == (0, told[-1]["of"])
    assert {line["name"] for line in told} == {last["run"]}


def test_settings_of_a_file_ask_for_it_too(rig: Rig, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (place / "own.toml").write_text("[runs]\njson = true\n[suites.info]\njson = true\n")
    monkeypatch.setenv("RIG_CONFIG", str(place / "own.toml"))
    rig("run", "oracle", "--limit", "1", "--display", "none")
    assert len(rig("runs").json) == 1
    assert rig("suites", "info", "nope").json["error"]["code"] == 2
    assert rig("show", "nope").out == ""


def test_help_is_text(rig: Rig) -> None:
    assert rig("run", "--help", "--json").json["text"].startswith("Usage: rig run")


def test_a_verb_of_a_plugin_gets_it(rig: Rig, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (place / "own.py").write_text(
        "import click\nfrom rig.cli.verbs import verb\n\n\n@verb()\ndef hello() -> int:\n    'Say it.'\n"
        "    click.echo('Hello')\n    return 0\n\n\ndef register(registry):\n"
        "    registry.verbs.add(hello, does='Say it.')\n"
    )
    monkeypatch.setenv("RIG_PLUGINS", str(place / "own.py"))
    assert rig("hello").out == "Hello\n"
    assert rig("hello", "--json").json == {"text": "Hello\n"}


def test_the_schema_is_one_and_says_what_each_verb_prints() -> None:
    jsonschema.Draft202012Validator.check_schema(json_schema.schema())
    definitions = json_schema.schema()["$defs"]
    assert {name for name in definitions if name.startswith("rig ")} == {f"rig {verb}" for verb in VERBS}
    assert all(definitions[f"rig {verb}"]["description"] for verb in VERBS)
    names = [f"rig {verb}" for verb in VERBS]
    whole = {reference["$ref"] for reference in json_schema.schema()["anyOf"]}
    assert whole == {f"#/$defs/{quote(name)}" for name in ("start", "progress", "error", "text", *names)}


def test_the_page_has_a_row_for_each_verb() -> None:
    page = (CHECKOUT / "docs/reference/json.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `(.+?)` \| (lines|)", page, re.MULTILINE))
    assert set(rows) >= set(VERBS)
    for verb, command in VERBS.items():
        (option,) = (parameter for parameter in command.params if parameter.name == "as_json")
        assert bool(rows[verb]) == (getattr(option, "help", "") == LINES), verb
