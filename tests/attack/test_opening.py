"""A run store from elsewhere names files; no verb opens one that the user did not name."""

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from rig.cli import cli
from rig.core import opening
from rig.core.errors import RigError

CODE = "from pathlib import Path\nPath({marker!r}).write_text('run')\nraise SystemExit(3)\n"
WATCHED = """
import os, sys
from pathlib import Path
traps, marker = os.path.realpath("traps"), os.path.realpath("MARKER")
def see(event, arguments):
    if event in ("open", "os.listdir", "os.scandir", "sqlite3.connect", "shutil.copyfile", "import"):
        place = arguments[0]
        if isinstance(place, (str, bytes)) and os.path.realpath(os.fsdecode(place)).startswith(traps):
            handle = os.open(marker, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
            os.write(handle, f"{event} {place}".encode())
            os.close(handle)
sys.addaudithook(see)
from rig.cli import main
main(sys.argv[1:])
"""
"""Runs a verb, and writes down every file or folder that it opens below `traps`."""
UNREAD = {
    "bench": "measures the engine, and reads no store",
    "demo": "plays a store that comes with rig",
    "tour": "plays a store that comes with rig",
    "models": "knows files of models only",
    "tools": "takes toolboxes that the user names",
    "suites": "takes folders that the user names",
    "check": "takes folders that the user names",
    "world": "takes worlds that the user names",
    "config": "shows settings",
    "bundle": "packs models that the user names",
    "docs": "opens pages that come with rig",
    "noise": "plays models that the user names",
    "author": "takes toolboxes and scenes that the user names",
    "start": "lists files where programs keep models",
}
"""Verbs that read nothing out of a run store, and why."""
CALLS = {
    "run": [("--resume", "RUN", "--display", "none")],
    "watch": [("RUN", "--display", "plain", "--speed", "1000"), ("RUN",)],
    "runs": [(), ("--json",)],
    "show": [
        ("RUN",),
        ("RUN", "NAME"),
        ("RUN", "NAME", "--diff"),
        ("RUN", "--json"),
        ("RUN", "--by", "tool"),
    ],
    "history": [("MODEL",)],
    "compare": [("RUN", "RUN"), ("RUN",)],
    "report": [("RUN", "--output", "OUT.html"), ("--all", "--output", "ALL.html")],
    "leaderboard": [("--suite", "notes")],
    "screen": [("--against", "RUN"), ("RUN",)],
    "score": [("RUN",), ("RUN", "--reexecute"), ("RUN", "--grader", "upstream")],
    "adjudicate": [("RUN", "--json"), ("RUN",)],
    "judge": [
        ("RUN", "--evaluator", "truth", "--display", "none"),
        ("MODEL", "RUN", "--display", "none"),
        ("rates", "RUN"),
    ],
    "export": [
        ("RUN", "--format", "tooltalk", "--output", "OUT"),
        ("RUN", "--format", "csv"),
        ("RUN", "--format", "toolbench", "--output", "OUT2"),
        *(("RUN", "--format", name, "--output", f"OUT-{name}") for name in ("inspect", "lm-eval", "junit")),
        ("RUN", "--format", "github"),
    ],
    "gate": [("gate.toml", "RUN")],
    "card": [
        ("make", "RUN/oracle", "--output", "CARD.html"),
        ("make", "RUN/oracle", "--output", "CARD.json"),
        ("make", "RUN", "--svg", "--output", "CARD.svg"),
    ],
    "plan": [("oracle", "oracle", "--like", "RUN", "--seconds", "0")],
    "doctor": [()],
    "serve-command": [("RUN",), ("RUN", "--json")],
    "import": [("STORE", "--runs", "NEW.sqlite")],
}
UNWALKED = {
    "noise": "stores runs of models that the user names",
    "judge calibrate": "stores how well a judge does on labels, and reads no run",
    "models tune": "goes on with a run as `run --resume` does",
}
"""Commands that take a run store, and why none of these calls is of them."""


def test_every_verb_is_tried_or_said_to_read_no_store() -> None:
    assert set(cli.list_commands(click.Context(cli))) == CALLS.keys() | UNREAD.keys()
    assert not CALLS.keys() & UNREAD.keys()


def _taking_a_store(command: click.Command, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    context = click.Context(command)
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            yield from _taking_a_store(inner, (*path, name))
    elif any(parameter.name == "runs" for parameter in command.params):
        yield path


def test_every_command_that_takes_a_store_is_tried() -> None:
    tried = set()
    for verb, call in _calls():
        tried |= {(verb,), (verb, *call[:1])}
    tried.add(("judge", "answers"))  # which is what `judge` alone is
    commands = set(_taking_a_store(cli))
    assert len(commands) > 15
    assert commands - tried == {tuple(name.split()) for name in UNWALKED}


TRAPS = {
    "models": ["model.gguf"],
    "lora": ["adapter.gguf:0.5"],
    "chat_template": "template.jinja",
    "toolbox": "mine",
    "world": "world",
    "similarity": "distilbert:similar@0.5",
    "reader": "model.gguf",
}
"""Options of a stored run that name a trap, by what they say of it."""


def _rig(
    place: Path, *arguments: str, watched: bool = False, **more: str
) -> subprocess.CompletedProcess[str]:
    program = ["-c", WATCHED] if watched else ["-m", "rig"]
    return subprocess.run(
        [sys.executable, *program, *arguments],
        env={**os.environ, "RIG_CACHE": str(place / "cache"), "RIG_RUNS": str(place / "runs.sqlite"), **more},
        cwd=place, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=120,
    )  # fmt: skip


def _change(place: Path, run: str, new: str | None, **settings: object) -> None:
    """Change the settings of a stored run, or of a copy of it under another id."""
    with sqlite3.connect(place / "runs.sqlite") as store:
        if new is not None:
            columns = [name for (_, name, *_) in store.execute("pragma table_info(runs)")][1:]
            store.execute(
                f"insert into runs select ?, {', '.join(columns)} from runs where id = ?", [new, run]
            )
        (before,) = store.execute("select settings from runs where id = ?", [run]).fetchone()
        changed = json.dumps({**json.loads(before), **settings})
        store.execute("update runs set settings = ? where id = ?", [changed, new or run])
    store.close()


@pytest.fixture(scope="module")
def trapped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store whose runs name a toolbox, a world, models and more, each of which is a trap by now."""
    place = tmp_path_factory.mktemp("trapped")
    traps = place / "traps"
    traps.mkdir()
    assert _rig(place, "suites", "new", "traps/mine", "--code").returncode == 0
    asked = ("--toolbox", "traps/mine", "--display", "none", "--json")
    played = _rig(place, "run", "oracle", *asked)
    assert played.returncode == 0, played.stderr
    first = json.loads(played.stdout.splitlines()[-1])["run"]
    assert _rig(place, "judge", first, "--evaluator", "truth", "--display", "none").returncode in (0, 2)
    # Only its author knows where it was played: whoever gets it has never started it.
    (place / "cache" / "started-runs").unlink()
    for file in (traps / "mine").glob("*.py"):
        file.write_text(CODE.format(marker=str(place / "MARKER")))
    for name in ("model.gguf", "adapter.gguf", "template.jinja"):
        (traps / name).write_bytes(b"GGUF")
    (place / "gate.toml").write_text('[[required]]\nmetric = "success_rate"\nmax_loss = 5\n')
    for name in ("world", "similar"):
        (traps / name).mkdir()
        (traps / name / "modules.json").write_text("[]")

    def named(value: object, folder: str) -> object:
        if isinstance(value, list):
            return [named(part, folder) for part in value]
        kind, colon, rest = str(value).rpartition("distilbert:")
        return f"{kind}{colon}{folder}/{rest}"

    for run, folder in (("relative", "traps"), (None, str(traps))):
        _change(place, first, run, **{name: named(value, folder) for name, value in TRAPS.items()})
    for option, value in TRAPS.items():
        others = {
            "models": ["oracle"],
            "toolbox": None,
            "world": None,
            "similarity": "exact",
            "lora": [],
            "chat_template": None,
            "reader": None,
        }
        _change(place, first, f"only{option}", **{**others, option: named(value, "traps")})
    return place


def _calls() -> list[tuple[str, tuple[str, ...]]]:
    return [(verb, call) for verb, calls in CALLS.items() for call in calls]


@pytest.mark.slow
@pytest.mark.parametrize("run", ["latest", "relative"])
def test_no_verb_opens_what_a_store_names(trapped: Path, run: str) -> None:
    stored = sqlite3.connect(trapped / "runs.sqlite")
    (name,) = stored.execute("select name from conversations limit 1").fetchone()
    stored.close()
    for verb, call in _calls():
        words = {"RUN": run, "NAME": name, "MODEL": "oracle", "STORE": str(trapped / "runs.sqlite")}
        arguments = [words.get(word, word.replace("RUN/", f"{run}/")) for word in call]
        done = _rig(trapped, verb, *arguments, watched=True, RIG_CACHE=str(trapped / "other"))
        marker = trapped / "MARKER"
        assert not marker.exists(), (verb, call, marker.read_text(), done.stderr)
        assert "Traceback" not in done.stderr, (verb, call, done.stderr)
        assert done.returncode in (0, 1, 2, 3), (verb, call, done.stderr)


@pytest.mark.slow
@pytest.mark.parametrize("option", TRAPS)
def test_each_trap_alone_stops_what_would_open_it(trapped: Path, option: str) -> None:
    run = f"only{option}"
    for verb in (("run", "--resume", run, "--display", "none"), ("score", run)):
        done = _rig(trapped, *verb, watched=True, RIG_CACHE=str(trapped / "other"))
        assert not (trapped / "MARKER").exists(), (verb, done.stderr)
        if verb[0] == "run" or option in ("toolbox", "world", "similarity", "reader"):
            assert done.returncode == 2, (verb, done.stderr)
            assert f"names files ({option})" in done.stderr


@pytest.mark.slow
def test_the_message_says_what_to_name_and_naming_it_opens_it(trapped: Path) -> None:
    refused = _rig(trapped, "score", "onlytoolbox")
    assert refused.returncode == 2
    assert refused.stderr.count("\n") == 1
    assert "--open traps/mine" in refused.stderr
    opened = _rig(trapped, "--open", "traps/mine", "score", "onlytoolbox")
    assert (trapped / "MARKER").exists(), opened.stderr
    (trapped / "MARKER").unlink()


@pytest.mark.slow
def test_a_store_cannot_have_a_model_read_by_its_name(trapped: Path) -> None:
    _change(trapped, "onlytoolbox", "byname", toolbox=None, reader="smollm2-135m-tools")
    refused = _rig(trapped, "score", "byname")
    assert refused.returncode == 2
    assert "names files (reader)" in refused.stderr
    assert "--open smollm2-135m-tools" in refused.stderr
    opened = _rig(trapped, "--open", "smollm2-135m-tools", "score", "byname")
    assert "names files" not in opened.stderr


@pytest.mark.parametrize(
    "value",
    [
        "trap",
        "./trap",
        "trap:0.5",
        "user=trap",
        "evaluator=trap",
        "distilbert:trap",
        "distilbert:trap@0.8",
        "trap@0.8",
        "similarity=distilbert:trap@0.5",
        ".",
        ["rig", "trap"],
    ],
)
def test_a_path_is_found_in_every_form_that_options_have(
    value: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "trap").mkdir()
    opening.forget()
    with pytest.raises(RigError, match="names files"):
        opening.require_named("abcde", {"option": value})
    opening.name(tmp_path)
    opening.require_named("abcde", {"option": value})
    opening.forget()
    opening.require_named("abcde", {"option": ["rig", "user=scripted", "minilm@0.8", "cot@1", "none", ""]})
