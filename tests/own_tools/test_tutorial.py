"""docs/tutorials/your-own.md, line by line: its files are written, its commands are given."""

import re
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from rig.plugins.documents.documents import read
from rig.plugins.matching import agreement

PAGE = (Path(__file__).parents[2] / "docs" / "tutorials" / "your-own.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"(?P<before>[^\n]*\n?[^\n]*)\n\n```(?P<kind>\w+)\n(?P<text>.*?)```", re.DOTALL)
FILE = re.compile(r"`([\w/.-]+\.(?:json|yaml))`")


class Block(NamedTuple):
    """A block of the page, and what stands before it."""

    kind: str
    before: str
    text: str


def blocks() -> Iterator[Block]:
    return (Block(found["kind"], found["before"], found["text"]) for found in BLOCK.finditer(PAGE))


@pytest.mark.slow
@pytest.mark.model
def test_the_tutorial_works_as_it_stands(
    rig: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, smollm2: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    done: dict[str, Any] = {}
    for block in blocks():
        if block.kind in ("json", "yaml"):
            place = tmp_path / FILE.findall(block.before)[-1]
            place.parent.mkdir(exist_ok=True)
            place.write_text(block.text, encoding="utf-8")
            continue
        assert block.kind == "console"
        for line in block.text.splitlines():
            words = shlex.split(line.removeprefix("$ "))
            if words[0] == "cat":
                assert (tmp_path / words[1]).is_file()
                continue
            assert words[0] == "rig"
            done[line] = rig(*words[1:])
            assert done[line].code == 0, (line, done[line].err)
    assert 'returns: {"status": "ok"}' in (tmp_path / "trains/conversations/milan.yaml").read_text()
    assert "5 tasks, no faults" in done["$ rig check --toolbox trains"].out
    for folder in ("trains", "rooms"):
        assert "100.0" in done[f"$ rig run oracle --toolbox {folder}"].out
    assert "bookings" in done["$ rig --open rooms show latest book-a-room --diff"].out
    assert "smollm2-135m-tools" in done["$ rig compare first"].out
    assert (tmp_path / "trains.html").is_file()


ROWS = re.findall(r"^\| `(\{\$.*?\})` \|", PAGE, re.MULTILINE)


@pytest.mark.parametrize("written", ROWS)
def test_every_rule_of_the_table_is_one(tmp_path: Path, written: str) -> None:
    (tmp_path / "rule.yaml").write_text(f"rule: {written}\n")
    [document] = read(tmp_path / "rule.yaml")
    rule = agreement.parse(document.value["rule"])
    assert rule is not None
    assert rule.as_json() == document.value["rule"]


def test_the_table_has_every_rule() -> None:
    assert {name for row in ROWS for name in re.findall(r"^\{\$(\w+)", row)} == set(agreement.names())
