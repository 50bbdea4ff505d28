"""`rig.toml`: defaults from a file, which never change an answer silently, and `rig config`."""

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import pytest
from conftest import Finished

from rig.cli import cli, config
from rig.config.files import Setting

Rig = Callable[..., Finished]
OF_USERS = "is only read from your own file"
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
    (folder / "rig.toml").write_text('[run]\nlimit = 5\nname = "other"\nloss = 0.5\n')
    _users("[run]\nbell = false\n")
    done = rig("run", "--resume", run["run"], "--display", "none")
    assert done.code == 0, done.err
    assert "from rig.toml: --no-bell" in done.err or "from rig.toml: --bell False" in done.err
    assert "--limit" not in done.err
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
        (
            '[run]\nlimit = "two"\n',
            "run.limit cannot be used: takes a whole number from 1 on, not 'two'",
        ),
        (
            "[run]\nlimit = 1.5\n",
            "run.limit cannot be used: takes a whole number from 1 on, not 1.5",
        ),
        ("[run]\nlimit = [1, 2]\n", "rig.toml: run.limit takes one value"),
        ("[run]\nlimit = true\n", "rig.toml: run.limit takes a text or a number"),
        ('[run]\nexact = "yes"\n', "rig.toml: run.exact takes true or false"),
        ('[run]\ndocs = "all"\n', "rig.toml: run.docs cannot be used: 'all' is not one of"),
        ("[run\n", "rig.toml: not TOML"),
        ("[run]\nlimit = " + "9" * 5_000, "rig.toml: not TOML"),
        ("x = " + "[" * 50_000, "rig.toml: nested too deeply"),
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
    _users(text)
    done = rig(*ORACLE, "--limit", 1)
    if fault is None:  # of another verb, which is not asked for
        assert done.code == 0
        done = rig("models", "list")
        fault = "models.lst is not a verb of `rig models` (did you mean 'list'?)"
    assert done.code == 2
    assert fault in done.err
    assert done.err.count("\n") == 1


def _options(command: click.Command, path: tuple[str, ...] = ()) -> Iterator[tuple[str, str, click.Option]]:
    """Every option that a settings file can name, with its table."""
    context = click.Context(command)
    for name in command.list_commands(context) if isinstance(command, click.Group) else ():
        if (member := command.get_command(context, name)) is not None:
            yield from _options(member, (*path, name))
    for name, option in config.settable(command).items() if path else ():
        yield ".".join(path), name, option


def test_a_folder_sets_suites_limits_sampling_and_names_and_nothing_else(folder: Path) -> None:
    """Whatever an option of the future does, a folder cannot set it before it is on the list."""
    settable, places = set(), set()
    for table, name, option in _options(cli):
        setting = Setting((*table.split("."), name), "1", folder / "rig.toml", is_users=False)
        is_free = config._is_of_folders(name, option, setting.value)
        settable |= {name} if is_free else set()
        for place in ("/etc/passwd", "../x", ".", "~/x", "http://127.0.0.1:1", "C:\\x", ["easy", "a/b"]):
            assert not config._is_of_folders(name, option, place)
        if isinstance(option.type, click.Path):
            places.add(name)
            assert not is_free
    assert settable == config._OF_FOLDERS
    assert {"signers", "sign", "backup", "output", "export", "imatrix"} <= places - settable
    for name in ("json", "tui", "toolbox", "model", "models", "notify", "on", "runs", "open", "lora", "set"):
        assert name not in settable


@pytest.mark.parametrize(
    ("text", "verb"),
    [
        *((f"[run]\n{line}\n", ORACLE) for line in ('notify = "x"', 'on = "ray:x"', 'toolbox = "."')),
        *((f"[run]\n{line}\n", ORACLE) for line in ('role = ["user=http://127.0.0.1:1"]', 'suite = "a/b"')),
        ('[card.verify]\nsigners = "allowed"\n', ("card", "verify", "card.json")),
        ('[card.make]\nsign = "key"\n', ("card", "latest")),
        ('[runs]\nbackup = "copy.sqlite"\n', ("runs",)),
        ('[report]\noutput = "rig.toml"\n', ("report", "latest")),
        ('[places]\nruns = "other.sqlite"\n', ("runs",)),
        ('[places]\nplugins = "evil.py"\n', ("runs",)),
        ('[keys]\nhelp = "d"\n', ("runs",)),
    ],
)
def test_a_folder_cannot_have_anything_trusted_signed_run_or_written(
    text: str, verb: tuple[str, ...], folder: Path, rig: Rig
) -> None:
    (folder / "rig.toml").write_text(text)
    (folder / "card.json").write_text("{}")
    done = rig(*verb)
    assert done.code == 2
    [line] = done.err.splitlines()
    assert line.startswith("rig: rig.toml: ")
    assert OF_USERS in line
    assert sorted(each.name for each in folder.iterdir()) == ["card.json", "rig.toml"]


@pytest.mark.parametrize(
    ("text", "verb", "line"),
    [
        ("[compare]\nloss = 7\n", ("compare", "latest"), "--loss 7.0"),
        ('[leaderboard]\nsuite = "hard"\n', ("leaderboard",), "--suite hard"),
        ("[noise]\nlimit = 7\n", ("noise", "--of", "latest"), "--limit 7"),
        ("[models.tune]\nseed = 7\n", ("models", "tune", "none.gguf", "--size", "1GB"), "--seed 7"),
        ('[author]\nname = "mine"\n', ("author", "--scenes", "none.toml"), "--name mine"),
    ],
)
def test_every_verb_says_what_a_file_sets(
    text: str, verb: tuple[str, ...], line: str, folder: Path, rig: Rig
) -> None:
    (folder / "rig.toml").write_text(text)
    said = rig(*verb).err.splitlines()[0]
    assert said == f"rig: from rig.toml: {line} (`rig config` shows the files)"


def test_a_group_takes_options_of_its_own_beside_those_of_its_verbs(folder: Path, rig: Rig) -> None:
    _users('[bundle]\nmodels = ["nowhere.gguf"]\n\n[bundle.verify]\njson = true\n')
    done = rig("bundle", "-o", "all.tar.gz")
    assert done.code == 2
    assert "rig: from rig.toml: --models nowhere.gguf" in done.err
    assert "nowhere.gguf" in done.err.splitlines()[-1]
    rows = [line.split() for line in rig("config", "bundle").out.splitlines()]
    assert ["bundle.models", "nowhere.gguf", os.environ["RIG_CONFIG"]] in rows
    assert ["bundle.verify.json", "true", os.environ["RIG_CONFIG"]] in rows
    assert ["bundle.instructions", "native", "default"] in rows
    _users('[bundle]\nmodel = "a"\n')
    assert (
        "bundle.model is not a verb or option of `rig bundle` (did you mean 'models'?)" in rig("bundle").err
    )


def test_a_file_leaves_the_short_name_of_help(folder: Path) -> None:
    _users("[tools.list]\njson = true\n")
    done = subprocess.run(
        [sys.executable, "-m", "rig", "tools", "list", "-h"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "-h, --help" in done.stdout


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
    (folder / "rig.toml").write_text("[run]\nlimit = 2\n")
    _users('[keys]\nnext_theme = "f2"\n')
    done = rig("config")
    assert done.code == 0
    lines = [line.split() for line in done.out.splitlines()]
    assert ["run.limit", "2", "rig.toml"] in lines
    assert ["keys.next_theme", "f2", os.environ["RIG_CONFIG"]] in lines
    assert ["places.runs", os.environ["RIG_RUNS"], "RIG_RUNS"] in lines
    every = [line.split() for line in rig("config", "run").out.splitlines()]
    assert ["run.limit", "2", "rig.toml"] in every
    assert ["run.max-tokens", "256", "default"] in every
    keys = [line.split() for line in rig("config", "keys").out.splitlines()]
    assert ["keys.next_theme", "f2", os.environ["RIG_CONFIG"]] in keys
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
    _users(text)
    done = rig("config")
    assert done.code == 2
    assert fault in done.err


def test_the_examples_of_the_page_and_of_the_help_are_settings(folder: Path, rig: Rig) -> None:
    page = (Path(__file__).resolve().parents[2] / "docs/how-to/settings.md").read_text(encoding="utf-8")
    described = rig("config", "--help").out.replace("\b", "")
    for example in (page.partition("```toml\n")[2], described.partition("An example:\n")[2]):
        _users(re.split("```|The file of the", example)[0])
        done = rig("config")
        assert done.code == 0, done.err
        assert f"places.runs {os.environ['RIG_RUNS']} RIG_RUNS" in " ".join(done.out.split())
        assert "keys.next_theme" in done.out


def test_config_of_no_verb_is_a_mistake(rig: Rig) -> None:
    assert "there is no `rig rn` (did you mean 'run'?)" in rig("config", "rn").err


def test_json_stays_json_with_a_file(folder: Path, rig: Rig) -> None:
    (folder / "rig.toml").write_text("[run]\nlimit = 1\n")
    done = rig(*ORACLE, "--json")
    assert done.json["arms"]
    assert "from rig.toml" in done.err
