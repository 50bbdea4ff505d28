"""`rig.toml`: defaults from a file, which never change an answer silently, and `rig config`."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Finished

Rig = Callable[..., Finished]
OVERWRITING = (("gate", "junit"), ("screen", "output"), ("screen", "save-all-logits"), ("docs", "man"))
ORACLE = ("run", "oracle", "--display", "none")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that a test is in, without places that the environment names."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RIG_RUNS", str(tmp_path / "runs.sqlite"))
    return tmp_path


def _users(text: str) -> None:
    Path(os.environ["RIG_CONFIG"]).write_text(text, encoding="utf-8")


def _settings(rig: Rig) -> dict[str, object]:
    settings: dict[str, object] = rig("runs", "--json").json[0]["settings"]
    return settings


def test_options_from_a_file_are_as_if_given_and_the_run_says_so(folder: Path, rig: Rig) -> None:
    (folder / "rig.toml").write_text('[run]\nlimit = 2\nmax-tokens = 99\ndocs = ["full", "names"]\n')
    done = rig(*ORACLE)
    assert done.code == 0
    assert "rig: from rig.toml: --limit 2, --docs full,names, --max-tokens 99" in done.err
    (stored,) = rig("runs", "--json").json
    assert stored["conversations"] == 2
    assert [arm["arm"] for arm in stored["arms"]] == ["oracle docs=full", "oracle docs=names"]
    given = rig(*ORACLE, "--limit", 2, "--max-tokens", 99, "--docs", "full", "--docs", "names")
    assert "from rig.toml" not in given.err
    with_file, without = rig("runs", "--json").json
    assert with_file["settings"] == without["settings"]


def test_the_command_line_counts_for_most_then_the_folder_then_the_user(folder: Path, rig: Rig) -> None:
    _users("[run]\nlimit = 3\nmax_tokens = 77\nseed = 5\n")
    (folder / "rig.toml").write_text("[run]\nlimit = 2\nseed = 6\n")
    assert rig(*ORACLE, "--seed", 7).code == 0
    settings = _settings(rig)
    assert (settings["limit"], settings["max_tokens"], settings["seed"]) == (2, 77, 7)


def test_a_suite_of_the_file_gives_way_to_conversations_of_the_command_line(folder: Path, rig: Rig) -> None:
    (folder / "rig.toml").write_text('[run]\nsuite = "hard"\nlimit = 1\n')
    place = Path(__file__).resolve().parents[2] / "conversations" / "easy"
    done = rig(*ORACLE, "--conversations", place)
    assert done.code == 0, done.err
    assert "--suite" not in done.err
    assert _settings(rig)["suite"] == "easy"


def test_a_run_goes_on_with_the_options_it_began_with(folder: Path, rig: Rig) -> None:
    assert rig(*ORACLE, "--limit", 1).code == 0
    (run,) = rig("runs", "--json").json
    (folder / "rig.toml").write_text('[run]\nlimit = 5\nname = "other"\nthreshold = 0.5\n')
    done = rig("run", "--resume", run["run"], "--display", "none")
    assert done.code == 0, done.err
    assert "from rig.toml" not in done.err
    assert _settings(rig)["limit"] == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("[run]\nlimt = 2\n", "rig.toml: run.limt is not an option of `rig run` (did you mean 'limit'?)"),
        ("[rnu]\nlimit = 2\n", "rig.toml: rnu is not a table of settings (did you mean 'run'?)"),
        ("run = 3\n", "rig.toml: run is not a table of settings"),
        ("[run.limit]\nx = 2\n", "rig.toml: run.limit.x is not an option of `rig run`"),
        ("[models.lst]\njson = true\n", None),
        ('[run]\nlimit = "two"\n', "rig.toml: run.limit cannot be used: 'two' is not a valid integer"),
        ("[run]\nlimit = 1.5\n", "rig.toml: run.limit cannot be used: '1.5' is not a valid integer"),
        ("[run]\nlimit = [1, 2]\n", "rig.toml: run.limit takes one value"),
        ("[run]\nlimit = true\n", "rig.toml: run.limit takes a text or a number"),
        ('[run]\nexact = "yes"\n', "rig.toml: run.exact takes true or false"),
        ('[run]\ndocs = "all"\n', "rig.toml: run.docs cannot be used: 'all' is not one of"),
        ("[run\n", "rig.toml: not TOML"),
        ("[run]\nlimit = " + "9" * 5_000, "rig.toml: not TOML"),
        ("x = " + "[" * 50_000, "rig.toml: not TOML"),
        (".".join(["a"] * 5_000) + " = 1", "rig.toml: nested deeper than 64 levels"),
        ("[places]\nruns = 3\n", "rig.toml: places.runs needs a path in quotes"),
        ("[places]\nrun = 3\n", "rig.toml: places.run is not a place (did you mean 'runs'?)"),
        ("[keys]\nhelp = 3\n", "rig.toml: keys.help needs a key in quotes"),
        ("a" * (1 << 21), "rig.toml: larger than 1 MiB"),
    ],
)
def test_a_mistake_is_one_line_that_names_file_and_setting(
    text: str, fault: str | None, folder: Path, rig: Rig
) -> None:
    (folder / "rig.toml").write_text(text)
    done = rig(*ORACLE, "--limit", 1)
    if fault is None:  # of another verb, which is not asked for
        assert done.code == 0
        done = rig("models", "list")
        fault = "models.lst is not a verb of `rig models` (did you mean 'list'?)"
    assert done.code == 2
    assert fault in done.err
    assert done.err.count("\n") == 1


@pytest.mark.parametrize(
    "line",
    [
        *('notify = "x"', 'on = "ray:x"', 'toolbox = "."', 'set = "code=."', 'similarity = "."'),
        *('allow-host = "example.com"', 'key-from = "HOME"', 'role = ["user=http://127.0.0.1:1"]'),
    ],
)
def test_a_folder_cannot_have_code_run_or_reach_a_server(line: str, folder: Path, rig: Rig) -> None:
    (folder / "rig.toml").write_text(f"[run]\n{line}\n")
    done = rig(*ORACLE, "--limit", 1)
    assert done.code == 2
    assert "can run code, reach a server or replace files, so it is only read from your own file" in done.err


@pytest.mark.parametrize(
    ("text", "verb"),
    [
        ('[bundle]\nwheel = "evil.whl"\n', "bundle"),
        ("[report]\nforce = true\n", "report"),
        ('[report]\noutput = "rig.toml"\n', "report"),
        *((f'[{verb}]\n{name} = "rig.toml"\n', verb) for verb, name in OVERWRITING),
        ("[check]\nrecord = true\n", "check"),
        ('[places]\ncache = "cache"\n', "runs"),
    ],
)
def test_a_folder_cannot_have_packages_packed_or_files_replaced(
    text: str, verb: str, folder: Path, rig: Rig
) -> None:
    (folder / "rig.toml").write_text(text)
    words = {
        "report": ["latest"],
        "bundle": ["-oall.tar.gz"],
        "gate": ["gate.toml", "latest"],
        "screen": ["a"],
    }
    done = rig(verb, *words.get(verb, ()))
    assert done.code == 2
    assert "is only read from your own file" in done.err
    assert [each.name for each in folder.iterdir()] == ["rig.toml"]


def test_a_group_takes_options_of_its_own_beside_those_of_its_verbs(folder: Path, rig: Rig) -> None:
    (folder / "rig.toml").write_text('[bundle]\nmodels = ["nowhere.gguf"]\n\n[bundle.verify]\njson = true\n')
    done = rig("bundle", "-o", "all.tar.gz")
    assert done.code == 2
    assert "rig: from rig.toml: --models nowhere.gguf" in done.err
    assert "nowhere.gguf" in done.err.splitlines()[-1]
    rows = [line.split() for line in rig("config", "bundle").out.splitlines()]
    assert ["bundle.models", "nowhere.gguf", "rig.toml"] in rows
    assert ["bundle.verify.json", "true", "rig.toml"] in rows
    assert ["bundle.instructions", "native", "default"] in rows
    (folder / "rig.toml").write_text('[bundle]\nmodel = "a"\n')
    assert (
        "bundle.model is not a verb or option of `rig bundle` (did you mean 'models'?)" in rig("bundle").err
    )


def test_a_file_leaves_the_short_name_of_help(folder: Path) -> None:
    (folder / "rig.toml").write_text("[tools.list]\njson = true\n")
    done = subprocess.run(
        [sys.executable, "-m", "rig", "tools", "list", "-h"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "-h, --help" in done.stdout


def test_plugins_are_not_read_from_a_folder(folder: Path, rig: Rig) -> None:
    (folder / "rig.toml").write_text('[places]\nplugins = "evil.py"\n')
    assert "can run code" in rig("runs").err


def test_places_of_the_users_file_are_relative_to_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch, rig: Rig
) -> None:
    monkeypatch.delenv("RIG_RUNS")
    _users('[places]\nruns = "mine.sqlite"\n[run]\nlimit = 1\n')
    place = Path(os.environ["RIG_CONFIG"]).parent / "mine.sqlite"
    assert rig(*ORACLE).code == 0
    assert place.is_file()
    rows = {row["setting"]: row for row in rig("config", "--json").json["settings"]}
    assert rows["places.runs"] == {
        "setting": "places.runs",
        "value": str(place),
        "from": os.environ["RIG_CONFIG"],
    }
    assert rows["run.limit"]["value"] == 1


def test_config_shows_what_holds_and_where_it_comes_from(folder: Path, rig: Rig) -> None:
    (folder / "rig.toml").write_text('[run]\nlimit = 2\n[keys]\nnext_theme = "f2"\n')
    done = rig("config")
    assert done.code == 0
    lines = [line.split() for line in done.out.splitlines()]
    assert ["run.limit", "2", "rig.toml"] in lines
    assert ["keys.next_theme", "f2", "rig.toml"] in lines
    assert ["places.runs", os.environ["RIG_RUNS"], "RIG_RUNS"] in lines
    every = [line.split() for line in rig("config", "run").out.splitlines()]
    assert ["run.limit", "2", "rig.toml"] in every
    assert ["run.max-tokens", "256", "default"] in every
    keys = [line.split() for line in rig("config", "keys").out.splitlines()]
    assert ["keys.next_theme", "f2", "rig.toml"] in keys
    assert ["keys.help", "question_mark", "default"] in keys


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ('[keys]\nnext_thme = "f2"\n', "keys.next_thme is not an action (did you mean 'next_theme'?)"),
        ("[runs]\njsno = true\n", "runs.jsno is not an option of `rig runs`"),
        ("[zzz]\nx = 1\n", "zzz is not a table of settings"),
    ],
)
def test_config_finds_every_mistake(text: str, fault: str, folder: Path, rig: Rig) -> None:
    (folder / "rig.toml").write_text(text)
    done = rig("config")
    assert done.code == 2
    assert fault in done.err


def test_the_examples_of_the_page_and_of_the_help_are_settings(folder: Path, rig: Rig) -> None:
    page = (Path(__file__).resolve().parents[2] / "docs/how-to/settings.md").read_text(encoding="utf-8")
    described = rig("config", "--help").out.replace("\b", "")
    for example in (page.partition("```toml\n")[2], described.partition("An example:\n")[2]):
        _users(re.split("```|Options that", example)[0])
        done = rig("config")
        assert done.code == 0, done.err
        assert f"places.runs {os.environ['RIG_RUNS']} RIG_RUNS" in " ".join(done.out.split())
        assert "keys.next_theme" in done.out


def test_config_of_no_verb_is_a_mistake(rig: Rig) -> None:
    assert "there is no `rig rn` (did you mean 'run'?)" in rig("config", "rn").err


def test_json_stays_json_with_a_file(folder: Path, rig: Rig) -> None:
    (folder / "rig.toml").write_text("[run]\nlimit = 1\n")
    done = rig(*ORACLE, "--json")
    assert json.loads(done.out)["arms"]
    assert "from rig.toml" in done.err
