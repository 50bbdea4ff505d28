"""BFCL's entries of several turns: calls act in classes that the user names; states are compared."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from public_data import public

from rig.core.calls import Call
from rig.core.errors import RigError
from rig.plugins.bfcl import turn_entries as data
from rig.plugins.bfcl.data import files as entry_files
from rig.plugins.bfcl.turn_entries import MORE_FUNCTIONS, true_call
from rig.plugins.bfcl.turns import fault_of

TICKETS = """
from bfcl_eval.eval_checker.multi_turn_eval.func_source_code.long_context import EXTRA

class TicketAPI:
    def __init__(self):
        self.tickets = []
        self._cursor = 0

    def _load_scenario(self, scenario, long_context=False):
        self.tickets = scenario.get("tickets", []) + (EXTRA if long_context else [])

    def add_ticket(self, title, tags=None):
        self.tickets.append({"title": title, "tags": tags})
        return {"id": len(self.tickets)}

    def tag_ticket(self, id, tag):
        self.tickets[id - 1]["tags"].append(tag)
        return None

    def count_tickets(self):
        self._cursor += 1
        return len(self.tickets)
"""
DOCS = [
    {
        "name": name,
        "description": ".",
        "parameters": {
            "type": "dict",
            "properties": {each: {"type": kind} for each, kind in properties.items()},
            "required": required,
        },
    }
    for name, properties, required in (
        ("add_ticket", {"title": "string", "tags": "array"}, ["title"]),
        ("tag_ticket", {"id": "integer", "tag": "string"}, ["id", "tag"]),
        ("count_tickets", {}, []),
    )
]
ADD = Call("add_ticket", {"title": "a", "tags": ["x"]})
TAG, COUNT = Call("tag_ticket", {"id": 1, "tag": "y"}), Call("count_tickets", {})
TRUTH = [["add_ticket('a', tags=['x'])"], [], ["tag_ticket(1, tag='y')", "count_tickets()"]]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    place = tmp_path / "bfcl"
    for folder in ("data/possible_answer", "data/multi_turn_func_doc", "func_source_code"):
        (place / folder).mkdir(parents=True)
    user = [[{"role": "user", "content": f"turn {number}"}] for number in range(3)]
    entry = {
        "id": "multi_turn_miss_func_0",
        "question": [user[0], [], user[2]],
        "initial_config": {"TicketAPI": {"tickets": []}},
        "involved_classes": ["TicketAPI"],
        "missed_function": {"1": ["tag_ticket"]},
    }
    for category in ("miss_func", "miss_param", "long_context"):
        named = {**entry, "id": f"multi_turn_{category}_0"}
        if category != "miss_func":
            named = {**named, "question": user, "missed_function": {}}
        name = f"BFCL_v4_multi_turn_{category}.json"
        (place / "data" / name).write_text(json.dumps(named))
        (place / "data" / "possible_answer" / name).write_text(
            json.dumps({"id": named["id"], "ground_truth": TRUTH})
        )
    (place / "data/multi_turn_func_doc/ticket_api.json").write_text("\n".join(map(json.dumps, DOCS)))
    (place / "func_source_code/ticket_api.py").write_text(TICKETS)
    (place / "func_source_code/math_api.py").write_text("class MathAPI:\n    pass\n")
    (place / "func_source_code/long_context.py").write_text("EXTRA = [{'title': 'long', 'tags': []}]\n")
    return place


def file(checkout: Path, category: str = "miss_func") -> Path:
    return checkout / "data" / f"BFCL_v4_multi_turn_{category}.json"


@pytest.mark.parametrize("category", ["miss_func", "miss_param", "long_context"])
def test_truths_are_right_and_classes_are_named_by_the_user_alone(
    rig: Callable[..., Any], checkout: Path, category: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("RIG_BFCL", raising=False)
    asked = ("run", "oracle", "--suite", file(checkout, category), "--display", "none", "--json")
    refused = rig(*asked)
    assert (refused.code, "Their code is run: name it with --set code=DIR" in refused.err) == (2, True)
    done = rig(*asked, "--set", f"code={checkout}")
    assert done.code == 0, done.err
    assert done.json["arms"][0][f"multi_turn_{category}"] == 1.0
    shown = rig("show", "latest", f"multi_turn_{category}_0")
    assert 'response: {"id": ' in shown.out or "response: " in shown.out
    assert (MORE_FUNCTIONS in shown.out) is (category == "miss_func")
    assert rig("score", "latest").code == 0


def test_the_oracle_makes_more_calls_in_a_turn_than_messages_are_allowed(
    rig: Callable[..., Any], checkout: Path
) -> None:
    """A turn may have 20 messages with calls, and any number of calls in one message."""
    answers = checkout / "data" / "possible_answer" / "BFCL_v4_multi_turn_long_context.json"
    truth = [[f"add_ticket('{number}')" for number in range(25)], [], TRUTH[2]]
    truth[2] = ["count_tickets()"]
    answers.write_text(json.dumps({"id": "multi_turn_long_context_0", "ground_truth": truth}))
    asked = ("run", "oracle", "--suite", file(checkout, "long_context"), "--set", f"code={checkout}")
    done = rig(*asked, "--display", "none", "--json")
    assert done.code == 0, done.err
    [arm] = done.json["arms"]
    assert (arm["multi_turn_long_context"], arm["speed"]["steps"], arm["errors"]) == (1.0, 29, {})


def test_where_a_parameter_is_missing_nothing_is_due_until_it_is_told(checkout: Path) -> None:
    """Whether the model asks for it is not judged: that is so upstream."""
    [talk] = data.load(file(checkout, "miss_param"))
    assert [talk.texts(turn) for turn in talk.known_turns] == [("turn 0",), ("turn 1",), ("turn 2",)]
    assert [len(talk.offered(turn)) for turn in talk.known_turns] == [3, 3, 3]
    code = checkout / "func_source_code"
    asked, guessed = [[ADD], [], [TAG, COUNT]], [[ADD], [TAG], [COUNT]]
    assert fault_of(talk, asked, code) is None
    assert fault_of(talk, guessed, code) is None
    wrong = [[ADD], [Call("tag_ticket", {"id": 1, "tag": "z"})], [TAG, COUNT]]
    assert fault_of(talk, wrong, code) == (2, "multi_turn:instance_state_mismatch: TicketAPI.tickets")


def test_results_are_written_and_scored_as_bfcls_files(
    rig: Callable[..., Any], checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RIG_BFCL", str(checkout))
    assert rig("run", "oracle", "--suite", file(checkout), "--display", "none").code == 0
    out = tmp_path / "out"
    for name, place in (("bfcl", out), ("bfcl-turns", tmp_path / "again")):
        assert rig("export", "latest", "--format", name, "--output", place).code == 0
    written = out / "oracle" / "BFCL_v4_multi_turn_miss_func_result.json"
    [line] = map(json.loads, written.read_text().splitlines())
    assert line == {
        "id": "multi_turn_miss_func_0",
        "result": [
            [[{"add_ticket": '{"title": "a", "tags": ["x"]}'}], "Done."],
            ["Done."],
            [[{"tag_ticket": '{"id": 1, "tag": "y"}'}], [{"count_tickets": "{}"}], "Done."],
        ],
    }
    scored = rig("score", "--format", "bfcl", out)
    assert scored.code == 0, scored.err
    assert "multi turn miss func 100.0%" in scored.out
    assert "graded by state" in scored.out


GIVEN = [
    ["[add_ticket(title='a', tags=['x'])]", "Done."],
    ["Which?"],
    ["[tag_ticket(id=1, tag='y'), count_tickets()]"],
]


@pytest.mark.parametrize(
    ("result", "rate"),
    [
        (GIVEN, 1.0),
        ([[[{"add_ticket": {"title": "a", "tags": ["x"]}}]], [], GIVEN[2]], 1.0),
        ([["no call", *GIVEN[0]], [], GIVEN[2]], 1.0),
        ([GIVEN[0], [], [GIVEN[2][0].replace("'y'", "'n'")]], 0.0),
        (GIVEN[:2], 0.0),
        ([*GIVEN, []], 0.0),
        ("Error during inference", 0.0),
        (None, 0.0),
        ([GIVEN[0], 5, GIVEN[2]], 1.0),
        ([["[__import__('os').abort()]"], [], []], 0.0),
        ([["[exit(a=1)]"], [], []], 0.0),
    ],
)
def test_results_of_several_turns_are_read_as_bfcl_reads_them(
    rig: Callable[..., Any], checkout: Path, tmp_path: Path, result: Any, rate: float
) -> None:
    """Both kinds of files can lie in one folder, as upstream's do."""
    out = tmp_path / "result" / "model" / "multi_turn"
    out.mkdir(parents=True)
    line = json.dumps({"id": "multi_turn_miss_param_0", "result": result})
    (out / "BFCL_v4_multi_turn_miss_param_result.json").write_text(line)
    named = ("--set", f"data={checkout}", "--set", f"code={checkout}", "--json")
    scored = rig("score", "--format", "bfcl", tmp_path / "result", *named)
    assert scored.code == 0, scored.err
    assert scored.json["total"]["metrics"]["multi_turn_miss_param"] == rate


def test_one_folder_with_results_of_one_turn_and_of_several(
    rig: Callable[..., Any], checkout: Path, tmp_path: Path
) -> None:
    place, truths = checkout / "data", checkout / "data" / "possible_answer"
    name = "BFCL_v4_simple_python.json"
    function = {**DOCS[0], "parameters": {**DOCS[0]["parameters"]}}  # type: ignore[dict-item]
    ask = [[{"role": "user", "content": "Add a ticket: a."}]]
    (place / name).write_text(json.dumps({"id": "simple_python_0", "question": ask, "function": [function]}))
    truth = [{"add_ticket": {"title": ["a"], "tags": [""]}}]
    (truths / name).write_text(json.dumps({"id": "simple_python_0", "ground_truth": truth}))
    for folder, category, result in (
        ("multi_turn", "multi_turn_miss_param", GIVEN),
        ("non_live", "simple_python", "[add_ticket(title='a')]"),
    ):
        out = tmp_path / "result" / folder
        out.mkdir(parents=True)
        line = json.dumps({"id": f"{category}_0", "result": result})
        (out / f"BFCL_v4_{category}_result.json").write_text(line)
    named = ("--set", f"data={checkout}", "--set", f"code={checkout}")
    scored = rig("score", "--format", "bfcl", tmp_path / "result", *named, "--json")
    assert scored.code == 0, scored.err
    one, several = scored.json["methods"]
    assert one["total"]["metrics"]["simple_python"] == 1.0
    assert several["total"]["metrics"]["multi_turn_miss_param"] == 1.0
    assert "overall" not in scored.out.lower()
    shown = rig("score", "--format", "bfcl", tmp_path / "result", *named).out
    assert "simple python 100.0%" in shown
    assert "multi turn miss param 100.0%" in shown
    unknown = rig("score", "--format", "bfcl", tmp_path / "result", *named, "--set", "no=1")
    assert (unknown.code, unknown.err.count("\n")) == (2, 1)


def test_functions_that_are_kept_back_come_with_their_turn(checkout: Path) -> None:
    [talk] = data.load(file(checkout))
    assert [each["name"] for each in talk.offered(0)] == ["add_ticket", "count_tickets"]
    assert [each["name"] for each in talk.offered(1)] == ["add_ticket", "tag_ticket", "count_tickets"]
    assert list(talk.calls(2)) == [Call("tag_ticket", {"id": 1, "tag": "y"}), Call("count_tickets", {})]


@pytest.mark.parametrize(
    ("calls", "fault"),
    [
        ([[ADD], [], [TAG, COUNT]], None),
        ([[ADD], [COUNT], [COUNT, TAG]], None),
        ([[COUNT, ADD], [], [TAG, COUNT]], None),
        ([[ADD], [TAG], [COUNT]], None),
        ([[], [ADD], [TAG, COUNT]], (0, "empty_turn_model_response")),
        ([[ADD, ADD], [], [TAG, COUNT]], (0, "instance_state_mismatch: TicketAPI.tickets")),
        ([[ADD], [], [TAG]], (2, "execution_response_mismatch: no call gave 1")),
        ([[ADD], []], (2, "force_terminated")),
        ([[Call("no_such", {}), ADD], [], [TAG, COUNT]], None),
    ],
)
def test_states_and_results_are_compared_after_each_turn(
    checkout: Path, calls: list[list[Call]], fault: tuple[int, str] | None
) -> None:
    [talk] = data.load(file(checkout))
    for _ in range(2):  # what is given to a call is not changed by it
        found = fault_of(talk, calls, checkout / "func_source_code")
        if fault is None:
            assert found is None
        else:
            assert found is not None
            assert found[0] == fault[0]
            assert fault[1] in found[1]


@pytest.mark.parametrize("text", ["f(", "f(x=g())", "a.b()", "1 + 1", "__import__('os')()", "f(x=y)"])
def test_a_true_call_is_made_of_literals(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        true_call(text)


@pytest.mark.parametrize(
    ("name", "text", "fault"),
    [
        ("func_source_code/ticket_api.py", "1 / 0", r"ticket_api\.py, line 1: ZeroDivisionError"),
        ("func_source_code/ticket_api.py", "x = 1", r"ticket_api\.py: has no class TicketAPI"),
        ("func_source_code/math_api.py", None, "holds none of BFCL's classes"),
        ("data/multi_turn_func_doc/ticket_api.json", "{}", "line 1: not an object of BFCL: name is missing"),
        ("data/possible_answer/BFCL_v4_multi_turn_miss_func.json", "", "not an entry of BFCL"),
    ],
)
def test_a_checkout_with_something_wrong(
    rig: Callable[..., Any], checkout: Path, name: str, text: str | None, fault: str
) -> None:
    (checkout / name).unlink() if text is None else (checkout / name).write_text(text)
    asked = ("run", "oracle", "--suite", file(checkout), "--set", f"code={checkout}", "--display", "none")
    done = rig(*asked)
    assert (done.code, done.err.count("\n")) == (2, 1)
    with pytest.raises(RigError, match=fault):
        raise RigError(done.err)


PUBLIC, with_data = public("RIG_BFCL")


@with_data
def test_the_public_truths_replay_without_error() -> None:
    files = entry_files(PUBLIC / "data", data.CATEGORIES).values()
    talks = [talk for path in files for talk in data.load(path)]
    assert len(talks) >= 200
    faults = [
        fault_of(talk, [list(talk.calls(turn)) for turn in talk.known_turns], PUBLIC / "func_source_code")
        for talk in talks
    ]
    assert set(faults) == {None}
