"""A run store from elsewhere names files; no verb opens one that the user did not name."""

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from rig.cli import VERBS

CODE = "from pathlib import Path\nPath({marker!r}).write_text('run')\nraise SystemExit(3)\n"
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
    "doctor": "looks at what is installed",
    "noise": "plays models that the user names",
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
    "report": [("RUN", "--output", "OUT.html")],
    "leaderboard": [("--suite", "notes")],
    "screen": [("--against", "RUN"), ("RUN",)],
    "score": [("RUN",), ("RUN", "--reexecute"), ("RUN", "--grader", "upstream")],
    "adjudicate": [("RUN", "--json"), ("RUN",)],
    "judge": [("RUN", "--evaluator", "truth", "--display", "none"), ("MODEL", "RUN", "--display", "none")],
    "export": [
        ("RUN", "--format", "tooltalk", "--output", "OUT"),
        ("RUN", "--format", "csv"),
        ("RUN", "--format", "toolbench", "--output", "OUT2"),
    ],
    "import": [("STORE", "--runs", "NEW.sqlite")],
}


def test_every_verb_is_tried_or_said_to_read_no_store() -> None:
    assert set(VERBS) == CALLS.keys() | UNREAD.keys()
    assert not CALLS.keys() & UNREAD.keys()


@pytest.fixture(scope="module")
def trapped(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A store whose run names a toolbox, a world, models and more, each of which is a trap by now."""
    place = tmp_path_factory.mktemp("trapped")
    tools = place / "mine"
    environment = {**os.environ, "RIG_CACHE": str(place / "cache"), "RIG_RUNS": str(place / "runs.sqlite")}

    def rig(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "rig", *arguments],
            env=environment, cwd=place, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=120,
        )  # fmt: skip

    assert rig("suites", "new", "mine", "--code").returncode == 0
    played = rig("run", "oracle", "--toolbox", "mine", "--display", "none", "--json")
    assert played.returncode == 0, played.stderr
    # Only its author knows where it was played: whoever gets it has never started it.
    (place / "cache" / "started-runs").unlink()
    for file in tools.glob("*.py"):
        file.write_text(CODE.format(marker=str(place / "MARKER")))
    for pipe in ("model.gguf", "world"):
        os.mkfifo(place / pipe)
    with sqlite3.connect(place / "runs.sqlite") as store:
        (settings,) = store.execute("select settings from runs").fetchone()
        changed = {
            **json.loads(settings),
            "models": [str(place / "model.gguf")],
            "world": str(place / "world"),
        }
        store.execute("update runs set settings = ?", [json.dumps(changed)])
        changed["toolbox"] = "mine"
        store.execute(
            "insert into runs select 'relative', "
            + ", ".join(
                "?" if name == "settings" else name
                for (_, name, *_) in store.execute("pragma table_info(runs)").fetchall()[1:]
            )
            + " from runs",
            [json.dumps(changed)],
        )
    store.close()
    return place


def _calls() -> list[tuple[str, tuple[str, ...]]]:
    return [(verb, call) for verb, calls in CALLS.items() for call in calls]


@pytest.mark.slow
@pytest.mark.parametrize("run", ["latest", "relative"])
def test_no_verb_opens_what_a_store_names(trapped: Path, run: str) -> None:
    stored = sqlite3.connect(trapped / "runs.sqlite")
    (name,) = stored.execute("select name from conversations limit 1").fetchone()
    stored.close()
    environment = {
        **os.environ,
        "RIG_CACHE": str(trapped / "other"),
        "RIG_RUNS": str(trapped / "runs.sqlite"),
    }
    for verb, call in _calls():
        words = {"RUN": run, "NAME": name, "MODEL": "oracle", "STORE": str(trapped / "runs.sqlite")}
        arguments = [words.get(word, word) for word in call]
        done = subprocess.run(
            [sys.executable, "-m", "rig", verb, *arguments],
            env=environment, cwd=trapped, capture_output=True, text=True, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        assert not (trapped / "MARKER").exists(), (verb, call, done.stderr)
        assert "Traceback" not in done.stderr, (verb, call, done.stderr)
        assert done.returncode in (0, 1, 2), (verb, call, done.stderr)


@pytest.mark.slow
def test_the_message_says_what_to_name_and_naming_it_opens_it(trapped: Path) -> None:
    environment = {**os.environ, "RIG_RUNS": str(trapped / "runs.sqlite")}

    def rig(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "rig", *arguments],
            env=environment, cwd=trapped, capture_output=True, text=True, stdin=subprocess.DEVNULL,
        )  # fmt: skip

    refused = rig("score", "relative")
    assert refused.returncode == 2
    assert refused.stderr.count("\n") == 1
    assert f"--open mine --open {trapped / 'world'}" in refused.stderr
    opened = rig("--open", "mine", "--open", str(trapped / "world"), "score", "relative")
    assert (trapped / "MARKER").exists(), opened.stderr
    (trapped / "MARKER").unlink()
