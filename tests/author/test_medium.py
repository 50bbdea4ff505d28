"""The suite `medium`: what it has, that it is true, and that nobody has read it elsewhere."""

import json
import re
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from benchmarks.teach.overlap import OWN, lesson
from rig.core.calls import JsonObject
from rig.plugins.author.cast import lists
from rig.plugins.author.desk import ALIKE, Desk, Proposal
from rig.plugins.author.overlap import files, names, runs
from rig.plugins.author.shipped import MEDIUM
from rig.plugins.author.suite import TURNS, calls_of, digest
from rig.plugins.tooltalk_tools import TOOLTALK
from rig.world.toolbox import Simulator

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def sources() -> list[JsonObject]:
    """Made from its seed, and of the hash that was released."""
    return MEDIUM.sources()


def test_it_is_made_once_and_then_read(sources: list[JsonObject], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(MEDIUM), "maker", None)
    assert digest(MEDIUM.sources()) == digest(sources) == MEDIUM.sha256


def test_tools_and_lengths_are_balanced(sources: list[JsonObject]) -> None:
    tools = Counter(call["request"]["api_name"] for source in sources for call in calls_of(source))
    assert set(tools) == set(TOOLTALK.tools)
    assert max(tools.values()) <= 3 * min(tools.values())
    turns = Counter(sum(turn["role"] == "user" for turn in source["conversation"]) for source in sources)
    assert turns == dict.fromkeys(TURNS, 200)
    assert len({scene for source in sources for scene in source["tags"]}) > 70


def test_no_two_are_nearly_the_same(sources: list[JsonObject]) -> None:
    desk = Desk(Simulator(TOOLTALK.world(), TOOLTALK))
    for source in sources:
        desk.take(Proposal(source, ()))
    assert max(desk.nearest) < ALIKE
    texts = [tuple(turn["text"] for turn in source["conversation"]) for source in sources]
    assert len(set(texts)) == len(texts) == 1000


def test_names_are_said_once_they_were_seen(sources: list[JsonObject]) -> None:
    first_names = {name for name, _ in lists().first}
    for source in sources:
        seen = json.dumps([source["user"], source["metadata"]]).lower()
        for turn in source["conversation"]:
            if turn["role"] == "assistant":
                seen += json.dumps(turn.get("apis", [])).lower()
                said = first_names & set(re.findall(r"\w+", turn["text"]))
                assert all(name.lower() in seen for name in said), (source["name"], turn["text"])
            seen += turn["text"].lower()


def test_nobody_says_thanks_for_a_refusal(sources: list[JsonObject]) -> None:
    thanks = ("much appreciated", "that was quick, thank you", "just what i needed", "you're a star")
    for source in sources:
        for answer, line in pairwise(source["conversation"]):
            if line["role"] == "user" and line["text"].lower().startswith(thanks):
                assert answer.get("apis"), (source["name"], line["text"])


def test_halves_are_told_apart_and_the_second_can_be_made_anew(sources: list[JsonObject]) -> None:
    assert all("public" in source["tags"] for source in sources[:500])
    assert all("renewable" in source["tags"] for source in sources[500:])
    others = [proposal.source for proposal in MEDIUM.maker(seed=7, count=24).make()]
    assert digest(others[:12]) == digest([p.source for p in MEDIUM.maker(count=24).make()][:12])
    spoken = {tuple(turn["text"] for turn in source["conversation"]) for source in sources}
    assert not spoken & {tuple(turn["text"] for turn in source["conversation"]) for source in others[12:]}


def test_it_is_checked_and_played_like_any_other(rig: Callable[..., Any], tmp_path: Path) -> None:
    checked = rig("check", "medium")
    assert checked.code == 0, checked.out[:2000]
    assert "1,000 conversations" in checked.out
    assert "no faults" in checked.out
    runs_file = tmp_path / "runs.sqlite"
    run = ("run", "oracle", "--suite", "medium", "--similarity", "exact", "--display", "none")
    assert rig(*run, "--tools", "exact", "--limit", 40, "--runs", runs_file).code == 0
    assert "100.0%" in rig("show", "latest", "--runs", runs_file).out


def test_nothing_is_shared_with_the_lesson_and_the_other_suites(sources: list[JsonObject]) -> None:
    ours = [{name: part for name, part in source.items() if name != "name"} for source in sources]
    for others in (list(lesson(1, 2000)), list(files(*OWN))):
        assert not runs(ours) & runs(others)
        assert not names(ours) & names(others)


def test_nothing_is_shared_with_the_public_dataset(sources: list[JsonObject], tooltalk: Path) -> None:
    others = list(files(tooltalk))
    assert not runs(sources) & runs(others)
    assert not names(sources) & names(others)
