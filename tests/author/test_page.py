"""docs/how-to/author.md, line by line: its files are written, its commands are given."""

import json
import re
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rig.plugins.author.suite import Maker

PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "author.md").read_text(encoding="utf-8")
FILE = re.compile(r"`([\w/.-]+\.(?:json|yaml))`[^\n]*:\n\n```\w+\n(.*?)```", re.DOTALL)
COMMANDS = re.compile(r"```console\n(.*?)```", re.DOTALL)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the files of the page, where its commands are given."""
    monkeypatch.chdir(tmp_path)
    for name, text in FILE.findall(PAGE):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


@pytest.mark.slow
def test_six_tools_and_three_scenes_make_two_hundred(folder: Path, rig: Callable[..., Any]) -> None:
    lines = [line for block in COMMANDS.findall(PAGE) for line in block.splitlines() if "hall" in line]
    for line in lines:
        done = rig(*shlex.split(line.removeprefix("$ "))[1:])
        assert done.code == 0, (line, done.err)
    assert len(lines) == 4
    assert len(list((folder / "hall" / "conversations").glob("*.json"))) == 200
    assert "100.0" in done.out
    rig("author", "--toolbox", "hall", "--scenes", "hall/scenes", "--count", 200, "--seed", 1, "-o", "again")
    for file in (folder / "again").iterdir():
        assert file.read_bytes() == (folder / "hall" / "conversations" / file.name).read_bytes()


def test_a_folder_is_continued_where_it_was_left(folder: Path, rig: Callable[..., Any]) -> None:
    make = ("author", "--toolbox", "hall", "--scenes", "hall/scenes", "--count", 30, "--json", "-o")
    whole = rig(*make, "whole").json
    assert rig(*make, "part").code == 0
    state = folder / "part" / "author.json.txt"
    left = json.loads(state.read_text())
    state.write_text(json.dumps({**left, "conversations": 7, "scenes": left["scenes"][:7]}))
    for number in range(9, 31):
        (folder / "part" / f"hall-{number:04}.json").unlink()
    (folder / "part" / "hall-0008.json").write_text('{"name": "hall-0008", "conv')
    again = rig(*make, "part").json
    assert again["sha256"] == whole["sha256"]
    assert again["tools"] == whole["tools"]


def test_a_folder_is_continued_before_the_first_twenty(
    folder: Path, rig: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C after some conversations, or before the first."""
    make = ("author", "--toolbox", "hall", "--scenes", "hall/scenes", "--count", 12, "--json", "-o")
    whole = rig(*make, "whole").json
    offer = Maker.offer
    for stop in (0, 3, 7):
        left = iter(range(stop))

        def stopping(self: Maker, number: int, attempt: int = 0, left: Iterator[int] = left) -> Any:
            proposal = offer(self, number, attempt)
            if proposal is not None and next(left, None) is None:
                raise KeyboardInterrupt
            return proposal

        with monkeypatch.context() as patched:
            patched.setattr(Maker, "offer", stopping)
            assert rig(*make, "part").code == 130
        assert len(list((folder / "part").glob("*.json"))) == stop
    assert rig(*make, "part").json == {**whole, "folder": "part"}
    for file in (folder / "whole").iterdir():
        assert file.read_bytes() == (folder / "part" / file.name).read_bytes()


@pytest.mark.parametrize("name", ["../x", "a/b", "", ".", "a\nb", "x" * 300])
def test_a_name_that_cannot_name_files_is_refused(folder: Path, rig: Callable[..., Any], name: str) -> None:
    files = sorted(folder.rglob("*"))
    refused = rig("author", "--toolbox", "hall", "--scenes", "hall/scenes", "--count", 1, "--name", name)
    assert (refused.code, refused.err.count("\n")) == (2, 1)
    assert "--name" in refused.err
    assert sorted(folder.rglob("*")) == files


def test_a_scene_may_come_to_nothing(folder: Path, rig: Callable[..., Any]) -> None:
    """All of its turns are only sometimes said, and it may be the first."""
    scenes = [
        {
            "scene": call,
            "slots": {"n": {"number": "30..60"}},
            "turns": [
                {"chance": 0.3, "user": f"{call}, {{n}} or B{{n}}, please.", "calls": [{call: arguments}]}
            ],
        }
        for call, arguments in (
            ("rent_gear", {"item": "shoes", "size": "{n}"}),
            ("cancel_booking", {"booking": "B{n}"}),
        )
    ]
    (folder / "some.yaml").write_text(json.dumps(scenes))
    make = ("author", "--toolbox", "hall", "--scenes", "some.yaml", "--count", 2)
    done = rig(*make, "-o", "some")
    assert done.code == 0, done.err
    assert len(list((folder / "some").glob("*.json"))) == 2


def test_a_name_is_for_scenes_of_ones_own(folder: Path, rig: Callable[..., Any]) -> None:
    assert "--name needs --scenes" in rig("author", "--name", "mine", "-o", "mine").err


def test_a_folder_of_other_conversations_is_left_alone(folder: Path, rig: Callable[..., Any]) -> None:
    make = ("author", "--toolbox", "hall", "--scenes", "hall/scenes", "--count", 5)
    assert rig(*make, "-o", "five").code == 0
    refused = rig(*make, "--seed", 9, "-o", "five")
    assert refused.code == 2
    assert "made from other scenes or with other options" in refused.err
    (folder / "own").mkdir()
    (folder / "own" / "mine.yaml").write_text("- user: hi\n")
    assert "holds conversations already" in rig(*make, "-o", "own").err
    assert len(list((folder / "own").iterdir())) == 1


def test_a_first_scene_of_each_tool_runs(folder: Path, rig: Callable[..., Any]) -> None:
    assert rig("author", "new", "--toolbox", "hall", "-o", "drafts").code == 0
    assert len(list((folder / "drafts").iterdir())) == 6
    made = rig("author", "--toolbox", "hall", "--scenes", "drafts", "--count", 12, "-o", "out", "--json")
    assert made.code == 0, made.err
    assert len(made.json["tools"]) == 6
    assert rig("check", "out", "--toolbox", "hall").code == 0
