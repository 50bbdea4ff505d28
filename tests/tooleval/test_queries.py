"""Queries are read, worked on in a world that goes back with the search, and judged without a judge."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from time import process_time
from typing import Any

import pytest

from rig.core.calls import Call, ExecutedCall, Outcome
from rig.core.errors import RigError
from rig.core.events import Where
from rig.core.models import CallMessage, Prediction, Request, UserMessage
from rig.core.paths import CONVERSATIONS
from rig.methods.scripted import called, replied
from rig.plugins.solutions.solution import solution_of
from rig.plugins.tooleval.episode import path_of, replayed
from rig.plugins.tooleval.method import _DEFAULTS, ToolEval, ToolEvalSetup
from rig.plugins.tooleval.queries import Query, load, names, parse
from rig.plugins.tooleval.search import Strategy

SUITE = CONVERSATIONS / "queries"
Rig = Callable[..., Any]
Answer = Callable[[Request], Prediction]


@pytest.fixture(scope="module")
def queries() -> dict[str, Query]:
    return {query.name: query for query in load(SUITE)}


def setup_of(search: str = "cot@1", **more: Any) -> ToolEvalSetup:
    return ToolEval().ready({**_DEFAULTS, "search": search, **more})


def work(query: Query, setup: ToolEvalSetup, model: Answer) -> Any:
    """A query worked on by a scripted model; the episode."""
    settings = setup.settings
    episode = setup.start(query, settings, Where(0, query.name), lambda _: None, 0)
    playing = episode.play()
    try:
        ask = next(playing)
        while True:
            ask = playing.send(model(ask.request))
    except StopIteration:
        return episode


def finish(words: str, kind: str = "give_answer") -> Prediction:
    return called("Finish", {"return_type": kind, "final_answer": words})


def calls_in(request: Request) -> list[CallMessage]:
    return [message for message in request.messages if isinstance(message, CallMessage)]


@pytest.mark.slow
def test_the_suite_has_queries_of_three_kinds_and_no_fault(queries: dict[str, Query]) -> None:
    assert ToolEval().check(SUITE).faults == ()
    counts = {path.stem: len(load(path)) for path in SUITE.glob("*.json")}
    assert counts == {"one-tool": 20, "one-plugin": 20, "several-plugins": 20}
    for query in load(SUITE / "one-tool.json"):
        assert len(query.calls) == 1
    for query in load(SUITE / "one-plugin.json"):
        assert len(query.plugins) == 1
        assert len(query.calls) > 1
    for query in load(SUITE / "several-plugins.json"):
        assert len(query.plugins) > 1
    assert len({query.query for query in queries.values()}) == 60
    assert parse(queries["later-alarm"].source, "here", "queries") == queries["later-alarm"]


@pytest.mark.slow
def test_the_oracle_passes_everything_by_either_search(rig: Rig) -> None:
    arms = rig(
        *("run", "oracle", "--suite", "queries", "--set", "search=cot@1", "--set", "search=dfs_w2"),
        *("--display", "none", "--json"),
    ).json["arms"]
    assert [arm["true_pass_rate"] for arm in arms] == [1, 1]
    assert [arm["arm"] for arm in arms] == ["oracle search=cot@1", "oracle search=dfs_w2"]


def test_at_every_node_the_world_is_that_nodes(queries: dict[str, Query]) -> None:
    """Two alarms are set on each path, always other ones; then the alarms are listed."""
    query = queries["alarms-of-a-choirmaster"]
    setup = setup_of("dfs_w2")
    number = iter(range(1, 60))

    def model(request: Request) -> Prediction:
        made = calls_in(request)
        if len(made) < 2:
            return called("AddAlarm", {"time": f"03:{next(number):02}:00"})
        return called("FindAlarms", {}) if len(made) == 2 else finish("", "give_up_and_restart")

    episode = work(query, setup, model)
    found = replayed(setup.settings, episode.played)
    assert (found.queries, found.size, len(found.given_up)) == (22, 45, 8)
    seen = 0
    for root in found.roots:
        for node in root.walk():
            executed = node.state.executed if node.kind == "input" else None
            if executed is None or executed.name != "FindAlarms":
                continue
            set_on_path = {
                each.state.executed.arguments["time"]
                for each in node.path
                if each.kind == "input" and each.state.executed.name == "AddAlarm"
            }
            rings = {alarm["time"] for alarm in executed.response["alarms"]}
            assert {time for time in rings if time.startswith("03:")} == set_on_path
            assert len(set_on_path) == 2
            seen += 1
    assert seen == 8


def test_others_are_told_of_and_only_where_they_were_tried(queries: dict[str, Query]) -> None:
    told: list[tuple[int, list[str]]] = []

    def model(request: Request) -> Prediction:
        words = [message.text for message in request.messages[1:] if isinstance(message, UserMessage)]
        told.append((len(calls_in(request)), words))
        return called("AddAlarm", {"time": f"04:{len(told):02}:00"})

    work(queries["later-alarm"], setup_of("dfs_w2", max_queries=9), model)
    for depth, words in told[:6]:
        assert (depth, words) == (depth, [])
    depth, words = told[6]
    assert depth == 5
    assert len(words) == 1
    assert '"name": "AddAlarm", "arguments": "{\\"time\\": \\"04:06:00\\"}"' in words[0]
    assert "alarm_id" in words[0]


def score(query: Query, model: Answer, search: str = "cot@1") -> dict[str, float]:
    setup = setup_of(search)
    episode = work(query, setup, model)
    counts = dict(episode.score().counts)
    assert dict(setup.score(query, episode.played, setup.settings).counts) == counts
    return counts


def scripted(*predictions: Prediction) -> Answer:
    left = iter(predictions)
    return lambda request: next(left)


MOVED = (called("DeleteAlarm", {"alarm_id": "2c00-9f64"}), called("AddAlarm", {"time": "07:30:00"}))


def test_the_world_and_the_facts_decide(queries: dict[str, Query]) -> None:
    later = queries["later-alarm"]
    assert score(later, scripted(*MOVED, finish("Done.")))["passes"] == 1
    assert score(later, scripted(*reversed(MOVED), finish("Done.")))["passes"] == 1
    half = score(later, scripted(MOVED[0], finish("Done.")))
    assert (half["passes"], half["answered"], half["world_wrong"], half["harmed"]) == (0, 1, 1, 0)
    more = score(later, scripted(*MOVED, called("AddAlarm", {"time": "08:00:00"}), finish("Done.")))
    assert (more["passes"], more["harmed"]) == (0, 1)
    silent = score(later, scripted(*MOVED, *(replied("hm") for _ in range(8))))
    assert (silent["passes"], silent["answered"], silent["unanswered"]) == (0, 0, 1)


def test_facts_are_looked_for_in_the_final_answer_alone(queries: dict[str, Query]) -> None:
    query = queries["board-number"]
    look = called("SearchInbox", {"query": "poster"})
    assert score(query, scripted(look, finish("It is board 17.")))["passes"] == 1
    assert score(query, scripted(look, replied("17"), finish("Done.")))["passes"] == 0
    assert score(query, scripted(finish("It is board 170.")))["facts_named"] == 0


def test_what_leaves_no_record_counts_by_its_arguments(queries: dict[str, Query]) -> None:
    query = queries["tell-tariq"]

    def sent(text: str, receiver: str = "tariq_m") -> Prediction:
        return called("SendMessage", {"receiver": receiver, "message": text})

    assert score(query, scripted(sent("the seal is in my drawer."), finish("Sent.")))["passes"] == 1
    assert score(query, scripted(sent("The seal is in your drawer"), finish("Sent.")))["passes"] == 0
    assert score(query, scripted(sent("The seal is in my drawer", "graceoh"), finish("Sent.")))["passes"] == 0
    assert score(query, scripted(finish("Sent.")))["passes"] == 0


def test_only_the_path_to_the_answer_counts(queries: dict[str, Query]) -> None:
    later = queries["later-alarm"]
    astray = called("AddAlarm", {"time": "01:00:00"})
    moved = score(
        later, scripted(astray, finish("", "give_up_and_restart"), *MOVED, finish("Done.")), "cot@2"
    )
    assert (moved["passes"], moved["gave_up"], moved["queries"]) == (1, 1, 5)


def test_a_wrong_finish_is_an_error_and_goes_on(queries: dict[str, Query]) -> None:
    wrong = called("Finish", {"return_type": "give_answer"})
    found = score(queries["later-alarm"], scripted(wrong, *MOVED, finish("Done.")))
    assert (found["passes"], found["queries"]) == (1, 4)


def test_a_search_is_a_solution_with_the_path_alone(queries: dict[str, Query]) -> None:
    setup = setup_of("cot@2")
    query = queries["later-alarm"]
    gave_up = finish("", "give_up_and_restart")
    episode = work(query, setup, scripted(gave_up, *MOVED, finish("Done.")))
    path = ToolEval().path(query, episode.played, setup.settings).steps
    tools = ToolEval().opening(query, setup.settings, "assistant").tools
    solution = solution_of(query, episode.played, tools, "assistant", Strategy.parse("cot@2").method, path)
    assert [node.call.name for node in solution.steps if node.call] == ["DeleteAlarm", "AddAlarm", "Finish"]
    assert (solution.final, solution.final_words, solution.is_finished) == ("answer", "Done.", True)
    assert solution.invented == ()
    assert path_of(replayed(setup.settings, episode.played), episode.played) == path


def test_searches_are_shown_as_stored_runs_are(rig: Rig) -> None:
    run = rig(
        "run", "oracle", "--suite", "queries", "--only", "alarm-before-sunrise", "--display", "none", "--json"
    ).json["run"]
    shown = rig("show", run, "alarm-before-sunrise").out
    assert "AddAlarm" in shown
    assert "Finish" in shown
    assert "true pass rate" in rig("show", run).out
    judged = rig("judge", run, "--evaluator", "truth", "--display", "none", "--json").json["arms"][0]
    assert (judged["pass_rate"], judged["true_pass_rate"]) == (1, 1)


@pytest.mark.parametrize(
    ("answer", "way", "named"),
    [
        ("It rings at 5:40.", "5:40", True),
        ("It rings at 15:40.", "5:40", False),
        ("It costs $1,860!", "1,860", True),
        ("Room F.", "row F", False),
        ("In ROW  F, as ever", "row F", True),
        ("a@b.example.", "a@b.example", True),
        ("32°F", "32", True),
        ("132", "32", False),
    ],
)
def test_facts_are_named_as_whole_words(answer: str, way: str, named: bool) -> None:
    assert names(answer, (way,)) is named


def test_ids_that_differ_are_no_difference(queries: dict[str, Query]) -> None:
    setup = setup_of()
    query = queries["cupping-and-tasting"]
    other = Call("CreateEvent", {**query.calls[2].arguments, "name": "Other"})
    gone = Call("DeleteEvent", {"event_id": "5a1d0000-0000"})
    calls = [ExecutedCall(call, Outcome()) for call in (*query.calls, gone)]
    assert setup.changes(query, calls) == setup.due(query)
    wrong = [ExecutedCall(call, Outcome()) for call in (*query.calls[:2], other)]
    assert setup.changes(query, wrong) != setup.due(query)


@pytest.mark.slow
def test_an_action_made_twice_is_harm(queries: dict[str, Query]) -> None:
    """Of every query: the right calls, with each one that makes or sends something made once more.

    An update made once more changes nothing.
    """
    setup = setup_of()
    doubled = 0
    for query in queries.values():
        wanted = setup.due(query)
        for call in query.calls:
            if call.name.startswith(("Modify", "Update", "Complete", "Delete")):
                again = [ExecutedCall(made, Outcome()) for made in (*query.calls, call, call)]
                assert setup.changes(query, again) == wanted, (query.name, call)
            if call.name.startswith(("Add", "Create", "Send", "Register")):
                calls = [ExecutedCall(made, Outcome()) for made in (*query.calls, call)]
                changes = setup.changes(query, calls)
                if call.name in ("CreateEvent", "RegisterUser") and changes == wanted:
                    continue  # refused by the simulator the second time
                doubled += 1
                assert changes - wanted, (query.name, call)
    assert doubled >= 26


def test_a_search_that_acts_twice_does_not_pass(queries: dict[str, Query]) -> None:
    twice = score(queries["later-alarm"], scripted(*MOVED, MOVED[1], finish("Done.")))
    assert (twice["passes"], twice["world_wrong"], twice["harmed"]) == (0, 1, 1)


def bad(**more: Any) -> dict[str, Any]:
    row = json.loads((SUITE / "one-tool.json").read_text())["queries"][0]
    return {**row, **more}


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        (bad(answer=""), "answer is no text"),
        (bad(now="yesterday"), "not a query"),
        (bad(facts=[[]]), "a fact is a text"),
        (bad(facts=["!"]), "a fact is a text"),
        (bad(calls=[["AddAlarm"]]), "not a query"),
        ({"name": "x"}, "query is missing"),
    ],
)
def test_what_is_no_query_is_one_line(tmp_path: Path, row: dict[str, Any], fault: str) -> None:
    (tmp_path / "q.json").write_text(json.dumps({"queries": [row]}))
    with pytest.raises(RigError, match=fault):
        load(tmp_path)


@pytest.mark.parametrize(
    ("more", "fault"),
    [
        ({"plugins": ["Nothing"]}, "has no plugin Nothing"),
        ({"calls": [["AddAlarm", {"time": "99"}]]}, "AddAlarm fails"),
        ({"calls": [["SendMessage", {}]]}, "SendMessage is not on offer"),
        ({"facts": ["noon"]}, "the answer does not name noon"),
        ({"facts": ["ten to six"], "answer": "ten to six"}, "the query gives ten to six away"),
        ({"calls": []}, "it wants no action and no fact"),
    ],
)
def test_check_says_what_is_wrong(tmp_path: Path, more: dict[str, Any], fault: str) -> None:
    (tmp_path / "q.json").write_text(json.dumps({"queries": [bad(**more)]}))
    found = ToolEval().check(tmp_path).faults
    assert any(fault in line for line in found)


def test_settings_that_cannot_be_are_one_line(rig: Rig) -> None:
    for arguments, fault in (
        (("--set", "search=bfs"), "--set search=bfs: choose from cot@N"),
        (("--set", "offer=some"), "offer=some: takes one of plugins, all"),
        (("--docs", "names"), "--docs has no effect on the method tooleval"),
    ):
        done = rig("run", "oracle", "--suite", "queries", *arguments)
        assert (done.code, len(done.err.splitlines())) == (2, 1)
        assert fault in done.err


def test_all_tools_can_be_on_offer(queries: dict[str, Query]) -> None:
    settings = replace(ToolEval().settings(_DEFAULTS), tools="all")
    request = ToolEval().opening(queries["later-alarm"], settings, "assistant")
    assert (len(request.tools), request.tools_are_shared) == (29, True)
    assert request.now == queries["later-alarm"].now


@pytest.mark.slow
def test_many_calls_beside_many_are_scored_in_little_time_and_to_the_last(
    queries: dict[str, Query],
) -> None:
    """A fifth of a thousand alarms; only the last differs."""
    setup = setup_of()
    times = [f"{number // 60:02}:{number % 60:02}:00" for number in range(201)]
    calls = tuple(Call("AddAlarm", {"time": time}) for time in times)
    query = replace(queries["later-alarm"], calls=calls[:200])
    begun = process_time()
    made = [ExecutedCall(call, Outcome()) for call in (*calls[:199], calls[200])]
    changes, due = setup.changes(query, made), setup.due(query)
    assert (sum((changes - due).values()), sum((due - changes).values())) == (1, 1)
    assert process_time() - begun < 6


def test_a_hundred_facts_of_a_long_answer_take_little_and_more_are_refused(
    queries: dict[str, Query],
) -> None:
    text = " ".join(f"Poster {number} is on board {number + 700}." for number in range(200))
    source = queries["board-number"].source
    many = [f"board {number + 700}" for number in range(100)]
    query = parse({**source, "facts": many, "answer": text}, "here")
    begun = process_time()
    assert all(names(text, ways, text) for ways in query.named)
    other = text.replace("board", "shelf")
    assert not any(names(other, ways, text) for ways in query.named[:5])
    assert process_time() - begun < 10
    with pytest.raises(RigError, match="here: not a query: an answer names at most 100 facts"):
        parse({**source, "facts": [*many, "board 800"], "answer": text}, "here")
