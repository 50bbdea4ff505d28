import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rig import methods
from rig.core.paths import CONVERSATIONS

Command = Callable[..., Any]


@pytest.mark.slow
def test_the_shipped_suites(rig: Command) -> None:
    done = rig("check")
    assert done.code == 0
    assert len(done.out.splitlines()) == len(methods.suites())
    assert all(line.endswith("no faults") for line in done.out.splitlines())


@pytest.mark.slow
def test_json(rig: Command) -> None:
    done = rig("check", "--json")
    assert done.code == 0
    assert [report["faults"] for report in done.json] == [[] for _ in methods.suites()]
    assert [Path(report["directory"]).name for report in done.json] == list(methods.suites())


def test_one_line_for_each_fault(rig: Command, tmp_path: Path) -> None:
    shutil.copy(CONVERSATIONS / "easy" / "AddAlarm-easy.json", tmp_path / "Renamed.json")
    (tmp_path / "broken.json").write_text("{", "utf-8")
    done = rig("check", tmp_path)
    assert done.code == 1
    lines = done.out.splitlines()
    assert len(lines) == 3
    assert lines[0].startswith("Renamed.json: name: ")
    assert lines[1].startswith("broken.json: unreadable: not JSON")
    assert lines[2].endswith("2 conversations, 1 call, 1 response reproduced, 2 faults")


def test_what_a_file_says_cannot_steer_the_terminal(rig: Command, tmp_path: Path) -> None:
    source = json.loads((CONVERSATIONS / "easy" / "AddAlarm-easy.json").read_text("utf-8"))
    source["name"] = "\x1b[31mred"
    (tmp_path / "x.json").write_text(json.dumps(source), "utf-8")
    done = rig("check", tmp_path)
    assert done.code == 1
    assert "\x1b" not in done.out


def test_recording(rig: Command, tmp_path: Path) -> None:
    source = json.loads((CONVERSATIONS / "easy" / "AddAlarm-easy.json").read_text("utf-8"))
    del source["conversation"][3]["apis"][0]["response"]
    path = tmp_path / "AddAlarm-easy.json"
    path.write_text(json.dumps(source), "utf-8")
    done = rig("check", "--record", tmp_path)
    assert done.code == 0
    assert done.out.splitlines()[0] == f"recorded {path}"
    assert path.read_bytes() == (CONVERSATIONS / "easy" / "AddAlarm-easy.json").read_bytes()
    assert "recorded" not in rig("check", "--record", "--json", tmp_path).out


@pytest.mark.parametrize(
    "arguments",
    [
        ("missing",),
        (".",),
        ("--record",),
        ("--record", "missing"),
        (CONVERSATIONS / "easy", "--world", "missing"),
        (CONVERSATIONS / "easy", "--world", "."),
    ],
)
def test_unusable_input(
    arguments: tuple[object, ...], rig: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = rig("check", *arguments)
    assert done.code == 2
    assert not done.out
    assert "Traceback" not in done.err
