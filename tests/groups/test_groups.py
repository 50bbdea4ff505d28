"""Shares by tool, tag and suite: counted, printed, reported, and read in the live view."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import stored_runs
from terminals import RIG, Terminal

from rig.plugins.groups.groups import Share
from rig.plugins.groups.text import MARKS, mark

TOOLS = {
    "tools": [
        {"name": name, "parameters": {"properties": {"n": {"type": "integer"}}}}
        for name in ("get_a", "send_b")
    ]
}
TALKS = """
- name: one
  tags: [short, both]
  turns:
    - user: a
      calls: [{get_a: {n: 1}}, {send_b: {n: 1}}]
- name: two
  tags: [both]
  turns:
    - user: b
      calls: [{get_a: {n: 2}}]
    - user: maybe
      calls: [{send_b: {n: 3}, optional: true}]
- name: three
  turns: [{user: c}]
"""

ENDING = """
from dataclasses import dataclass
from rig.methods import kit

@dataclass(frozen=True)
class Task(kit.Task):
    name: str
    suite: str = ""
    known_turns = (0,)

    def expected(self, turn):
        return kit.ExpectedTurn(("end",), (kit.ExecutedCall(kit.Call("end", {}), kit.Outcome()),))

class Episode(kit.Episode):
    def execute(self, call):
        return kit.ExecutedCall(call, kit.Outcome("ended"))

    def score(self):
        return kit.Score({"right": 1})

class Method(kit.Method):
    name, file, task, episode = "ending", "ending.json", Task, Episode
    declaration = kit.Declaration("ending", (kit.Metric("success_rate", "right", "right"),), success="right")

    def opening(self, task, settings, role):
        return kit.Request(kit.StepKey(task.name), "", (kit.ToolDoc("end", "End.", {"type": "object"}),), "")

def register(registry):
    registry.methods.add(Method())
"""


@pytest.fixture
def box(tmp_path: Path) -> Path:
    (tmp_path / "box" / "conversations").mkdir(parents=True)
    (tmp_path / "box" / "tools.json").write_text(json.dumps(TOOLS))
    (tmp_path / "box" / "conversations" / "talks.yaml").write_text(TALKS)
    return tmp_path / "box"


@pytest.fixture
def played(rig: Callable[..., Any], box: Path) -> str:
    asked = ("--toolbox", box, "--similarity", "exact", "--display", "none", "--json")
    done = rig("run", "oracle", *asked, "--docs", "full", "--docs", "names")
    assert done.code == 0, done.err
    return str(done.json["run"])


def test_calling_takes_the_right_tool_the_right_arguments_and_silence(
    rig: Callable[..., Any], tmp_path: Path
) -> None:
    wrong = stored_runs.write(tmp_path / "runs.sqlite")
    shown = rig("show", "latest", "--by", "skill", "--runs", wrong, "--json").json["groups"]
    by_name = {group["group"]: [(arm["part"], arm["whole"]) for arm in group["arms"]] for group in shown}
    # Of eight calls that are due, the clumsy arm tries two of the right tool, one of them rightly; it calls
    # nothing where nothing is due.
    assert by_name == {
        "tool selection": [(8, 8), (2, 8)],
        "argument correctness": [(8, 8), (1, 2)],
        "abstention": [(1, 1), (1, 1)],
        "trigger precision": [(7, 7), (2, 2)],
        "trigger F1": [(14, 14), (4, 9)],
    }
    printed = rig("show", "latest", "--runs", wrong).out
    for name in by_name:
        assert name in printed


def test_a_call_is_due_in_no_turn_of_its_own_where_a_user_talks_back(rig: Callable[..., Any]) -> None:
    done = rig("run", "oracle", "--suite", "dynamic", "--limit", 2, "--display", "none", "--json").json
    groups = rig("show", done["run"], "--by", "skill", "--json").json["groups"]
    assert [group["arms"][0]["rate"] for group in groups] == [1.0, 1.0, None, 1.0, 1.0]


def test_where_only_the_end_is_judged_no_call_is_missed(rig: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "plugin.py").write_text(ENDING)
    (tmp_path / "ending.json").write_text('[{"name": "one"}]')
    asked = ("--plugin", tmp_path / "plugin.py", "run", "oracle", "--suite", tmp_path, "--display", "none")
    run = rig(*asked, "--json").json["run"]
    groups = rig("show", run, "--by", "skill", "--json").json["groups"]
    assert [group["arms"][0]["rate"] for group in groups] == [1.0, None, None, 1.0, 1.0]
    assert "it is not known which true calls were made" in rig("show", run, "--by", "tool").err
    text = rig("show", run, "one").out
    assert "expected: end {}\n" in text
    assert "missed" not in text
    assert "response: null" not in text.partition("expected")[2]
    assert rig("report", run, "-o", tmp_path / "page.html").code == 0
    assert "missed" not in (tmp_path / "page.html").read_text().partition("class=t")[2]


@pytest.mark.parametrize(
    ("by", "groups"),
    [
        ("tool", {"get_a": 2, "send_b": 1}),
        ("tag", {"both": 2, "short": 1, "(no tag)": 1}),
        ("suite", {"box": 3}),
    ],
)
def test_what_was_right_is_counted_by_group_and_arm(
    rig: Callable[..., Any], played: str, by: str, groups: dict[str, int]
) -> None:
    found = rig("show", played, "--by", by, "--json").json
    assert {each["group"]: [arm["whole"] for arm in each["arms"]] for each in found["groups"]} == {
        name: [whole, whole] for name, whole in groups.items()
    }
    assert {arm["rate"] for each in found["groups"] for arm in each["arms"]} == {1.0}
    text = rig("show", played, "--by", by).out
    for name, whole in groups.items():
        assert f"{whole}/{whole} 100.0% #" in next(
            line for line in text.splitlines() if line.startswith(name)
        )


def test_a_report_has_the_heat_maps(rig: Callable[..., Any], played: str, tmp_path: Path) -> None:
    for ending in ("html", "md", "json"):
        assert rig("report", played, "-o", tmp_path / f"report.{ending}").code == 0
    page, text = ((tmp_path / f"report.{ending}").read_text() for ending in ("html", "md"))
    assert "By tool" in page
    assert "By tag" in page
    assert '--n:10"><span>2/2</span>' in page
    assert "## By tool" in text
    assert [each["by"] for each in json.loads((tmp_path / "report.json").read_text())["by"]] == [
        "tool",
        "skill",
        "tag",
    ]


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [(("one",), "leave out the conversation"), (("--tables",), "show different things")],
)
def test_a_view_of_its_own(
    rig: Callable[..., Any], played: str, arguments: tuple[str, ...], fault: str
) -> None:
    done = rig("show", played, *arguments, "--by", "tool")
    assert (done.code, fault in done.err) == (2, True)


def test_marks_grow_with_the_share() -> None:
    marks = [mark(Share(part, 100)) for part in range(101)]
    assert marks[0] == MARKS[0]
    assert marks[100] == MARKS[-1]
    assert [MARKS.index(each) for each in marks] == sorted(MARKS.index(each) for each in marks)
    assert set(marks[1:100]) == set(MARKS[1:-1])
    assert mark(Share()) == " "


@pytest.mark.slow
@pytest.mark.terminal
@pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")
def test_the_live_view_shows_the_heat_map(played: str, terminal: Terminal) -> None:
    terminal.resize(120, 40)
    terminal.type(f"{RIG} watch {played} --speed 64")
    terminal.wait("three")
    terminal.press("T")
    terminal.wait("true calls of each tool", "send_b", "2/2 100% #")
    terminal.press("q")
    terminal.wait("docs=names", "recall")
