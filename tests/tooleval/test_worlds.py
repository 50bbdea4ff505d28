"""Searches of rig's queries: as many questions and nodes as ToolBench's, and every node has its own world."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from searches import GIVE_UP, calls_in, finish, searched

from rig.core.errors import ErrorKind
from rig.core.events import Where
from rig.core.models import CallMessage, Prediction, Request, UserMessage
from rig.core.paths import CONVERSATIONS
from rig.methods.scripted import called, failed, replied
from rig.plugins.tooleval.episode import Search
from rig.plugins.tooleval.method import _DEFAULTS, ToolEval, ToolEvalSetup
from rig.plugins.tooleval.queries import Query, load
from rig.plugins.tooleval.search import Found, SearchNode
from rig.world.world import Snapshot

Rig = Callable[..., Any]
Answer = Callable[[Request], Prediction]

TEN = tuple(query.name for query in load(CONVERSATIONS / "queries")[::6])
CALL = called("FindAlarms", {})
THOUGHT = replace(CALL, content="The alarms may tell.")


def after(calls: int, last: Prediction) -> Answer:
    return lambda request: last if calls_in(request) >= calls else CALL


def late() -> Answer:
    """Gives up at the fourth question, answers from the eighth on, and calls otherwise."""
    number = iter(range(1, 100))
    return lambda request: {4: GIVE_UP}.get(n := next(number), finish("Done.") if n >= 8 else CALL)


def ranking() -> Answer:
    """Answers after three calls, and prefers the first of two."""
    return lambda request: after(3, finish("Done."))(request) if request.tools else replied("A")


def words(request: Request) -> Prediction:
    return replied("hm")


WAYS: list[tuple[str, str, Callable[[], Answer], Mapping[str, float]]] = [
    ("bare calls", "dfs_w2", lambda: after(99, CALL), {"queries": 126, "nodes": 253, "longest": 13}),
    ("words alone", "dfs_w2", lambda: words, {"queries": 200, "nodes": 200, "out_of_budget": 1}),
    ("gives up", "dfs_w2", lambda: after(0, GIVE_UP), {"queries": 1, "nodes": 3, "longest": 3, "gave_up": 1}),
    ("gives up after 2", "dfs_w2", lambda: after(2, GIVE_UP), {"queries": 10, "nodes": 21, "longest": 7}),
    ("gives up after 3", "dfs_w2", lambda: after(3, GIVE_UP), {"queries": 22, "nodes": 45, "longest": 9}),
    ("gives up after 3", "dfs_w3", lambda: after(3, GIVE_UP), {"queries": 66, "nodes": 133, "longest": 9}),
    ("answers", "dfs_w2", lambda: after(3, finish("Done.")), {"queries": 4, "nodes": 9, "answered": 1}),
    ("answers late", "dfs_w2", late, {"queries": 8, "nodes": 17, "longest": 13, "gave_up": 1, "answered": 1}),
    ("thinks and calls", "dfs_w2", lambda: lambda _: THOUGHT, {"queries": 30, "nodes": 91, "longest": 13}),
    ("thinks and calls", "dfs_w1", lambda: lambda _: THOUGHT, {"queries": 4, "nodes": 13, "longest": 13}),
    ("thinks and calls", "cot@1", lambda: lambda _: THOUGHT, {"queries": 4, "longest": 13, "answered": 0}),
    ("ranks", "dfs_w2_filter", ranking, {"queries": 16, "nodes": 17, "longest": 9, "answered": 1}),
    ("fails", "dfs_w2", lambda: lambda _: failed(ErrorKind.DECODE), {"queries": 2, "nodes": 3, "longest": 2}),
    ("bare calls", "cot@1", lambda: after(99, CALL), {"queries": 6, "longest": 13, "answered": 0}),
    ("gives up", "cot@3", lambda: after(0, GIVE_UP), {"queries": 3, "answered": 0}),
]  # fmt: skip


@pytest.mark.parametrize(("way", "search", "model", "wanted"), WAYS)
def test_a_stored_search_asks_and_grows_as_upstreams(
    tmp_path: Path, way: str, search: str, model: Callable[[], Answer], wanted: Mapping[str, float]
) -> None:
    run = searched(tmp_path / "runs.sqlite", model(), search, "alarm-before-sunrise")
    counts = run.arms[0].counts
    assert {name: counts[name] for name in wanted} == dict(wanted), way


def test_ten_queries_are_searched_by_a_tree(tmp_path: Path) -> None:
    run = searched(tmp_path / "runs.sqlite", after(3, GIVE_UP), "dfs_w2", *TEN)
    assert len(run.conversations) == 10
    assert (run.arms[0].counts["queries"], run.arms[0].counts["nodes"]) == (220, 450)


def search_of(query: Query, answer: Answer, way: str, budget: int = 200) -> tuple[Search, ToolEvalSetup]:
    """A search under way to its end."""
    setup = ToolEval().ready({**_DEFAULTS, "search": way, "max_queries": budget})
    episode = setup.start(query, setup.settings, Where(0, query.name), lambda _: None, 0)
    playing = episode.play()
    try:
        ask = next(playing)
        while True:
            ask = playing.send(answer(ask.request))
    except StopIteration:
        return episode, setup


def world_of(node: SearchNode, query: Query, setup: ToolEvalSetup) -> Snapshot:
    """The world that the calls on a node's path alone make, in a world of its own."""
    twin = setup.simulator_of(9)
    twin.start(*query.start)
    for each in node.path:
        executed = each.state.executed if each.kind == "input" else None
        if executed is not None and executed.name != "Finish":
            twin.execute(executed.call)
    return twin.snapshot()


def test_at_every_node_the_snapshot_is_that_of_its_path_alone() -> None:
    query = next(each for each in load(CONVERSATIONS / "queries") if each.name == "later-alarm")
    number = iter(range(1, 60))

    def model(request: Request) -> Prediction:
        deletes = called("DeleteAlarm", {"alarm_id": "2c00-9f64"})
        adds = called("AddAlarm", {"time": f"03:{next(number):02}:00"})
        return [adds, deletes, adds, GIVE_UP][calls_in(request)]

    episode, setup = search_of(query, model, "dfs_w2")
    found = episode.result
    assert found is not None
    assert (found.queries, found.size) == (22, 45)
    assert_worlds(found, query, setup)
    worlds = {node.state.world for node in found.roots[0].walk()}
    assert len(worlds) > 10


def assert_worlds(found: Found, query: Query, setup: ToolEvalSetup) -> None:
    seen = 0
    for root in found.roots:
        for node in root.walk():
            assert node.state.world == world_of(node, query, setup)
            seen += 1
    assert seen == found.size


SEARCHES = ("dfs_w2", "dfs_w3", "dfs_w2_filter", "cot@3")
STEPS = st.sampled_from(
    [
        called("AddAlarm", {"time": "03:30:00"}),
        called("DeleteAlarm", {"alarm_id": "2c00-9f64"}),
        called("AddAlarm", {"time": "never"}),
        called("FindAlarms", {}),
        called("Finish", {"return_type": "give_answer"}),
        replied("hm"),
        GIVE_UP,
        finish("Done."),
    ]
)


@settings(deadline=None, max_examples=15)
@given(
    st.sampled_from(["dfs_w2", "dfs_w3", "dfs_w2_filter", "cot@3"]), st.lists(STEPS, min_size=1, max_size=25)
)
def test_whatever_a_model_does_every_node_has_its_own_world(way: str, script: list[Prediction]) -> None:
    query = next(each for each in load(CONVERSATIONS / "queries") if each.name == "later-alarm")
    left = cycle(script)
    episode, setup = search_of(query, lambda _: next(left), way, budget=25)
    assert episode.result is not None
    assert_worlds(episode.result, query, setup)


@pytest.mark.slow
def test_the_oracle_wins_by_the_rule_that_asks_nobody_and_ties_with_itself(rig: Rig, tmp_path: Path) -> None:
    store, quiet = tmp_path / "runs.sqlite", ("--display", "none", "--json")
    poor = searched(store, after(1, finish("Sorry.")), "cot@1", *TEN, name="poor").id
    only = [each for name in TEN for each in ("--only", name)]
    best = rig("run", "oracle", "--suite", "queries", *only, "--runs", store, *quiet).json["run"]
    judge = ("judge", best, "--evaluator", "truth", "--runs", store, *quiet)
    [won] = rig(*judge[:2], poor, *judge[2:], "--against", "poor").json["arms"]
    assert (won["win_rate"], won["loss_rate"], won["conversations"]) == (1, 0, 10)
    [tied] = rig(*judge, "--against", "oracle").json["arms"]
    assert (tied["tie_rate"], tied["win_half"]) == (1, 0.5)
    by_words = rig(*judge[:2], poor, "--evaluator", "keyword", *judge[4:]).json
    assert [arm["pass_rate"] for arm in by_words["arms"]] == [1, 0]
    assert [arm["true_pass_rate"] for arm in by_words["arms"]] == [1, 0]
    rig("report", by_words["run"], "-o", tmp_path / "r.md", "--runs", store)
    rig("report", by_words["run"], "-o", tmp_path / "r.html", "--runs", store)
    rows = [line for line in (tmp_path / "r.md").read_text().splitlines() if line.startswith("| ")]
    titles = [line.split("|")[1].strip() for line in rows]
    assert titles.index("true pass rate") == titles.index("pass rate") + 1
    assert "judged right" in titles
    assert "true pass rate" in (tmp_path / "r.html").read_text()


def test_words_beside_a_call_are_shown_again_and_told_of_in_no_attempt() -> None:
    asked: list[Request] = []

    def answer(request: Request) -> Prediction:
        asked.append(request)
        return THOUGHT if calls_in(request) < 2 else GIVE_UP

    episode, _ = search_of(load(CONVERSATIONS / "queries")[0], answer, "dfs_w2")
    assert episode.result is not None
    assert (episode.result.queries, episode.result.size) == (10, 27)
    made = [message for message in asked[2].messages if isinstance(message, CallMessage)]
    assert [message.content for message in made] == ["The alarms may tell."] * 2
    tried = asked[3].messages[-1]
    assert isinstance(tried, UserMessage)
    assert "may tell" not in tried.text
    assert tried.text.count("FindAlarms") == 1


def test_attempts_are_compared_with_each_call_told_of_once_and_with_what_was_thought() -> None:
    compared: list[str] = []

    def answer(request: Request) -> Prediction:
        if request.tools:
            return replied("Hm.") if calls_in(request) else called("AddAlarm", {"time": "07:00:00"})
        compared.append(request.messages[-1].text)  # type: ignore[union-attr]
        return replied("B")

    search_of(load(CONVERSATIONS / "queries")[0], answer, "dfs_w2_filter", budget=20)
    attempts = [line for line in compared[2].splitlines() if line.startswith("[")]
    kinds = [[next(iter(part)) for part in json.loads(attempt)] for attempt in attempts]
    assert kinds == [["name", "thought"]] * 2
