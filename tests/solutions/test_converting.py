"""Raw answers are converted as ToolBench converts them, and what it cannot read is read."""

import hashlib
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tool_answers import BEGINNING, PUBLIC, finish, needs_public_data, raw

from rig.core.errors import RigError
from rig.plugins.papers.toolbench import method as answers
from rig.plugins.papers.toolbench.raw import convert, method_of, query_id
from rig.plugins.solutions.judgements import ModelAnswers
from rig.plugins.solutions.solution import Node, Solution

ANSWERS = PUBLIC / "toolbench" / "answer"
STABLE = PUBLIC / "stabletoolbench" / "data_example"

VECTORS = {
    "G1_answer/10": (5, 3, 1937, 330, "757c979c5974", "answer"),
    "G1_answer/11": (6, 4, 3369, 773, "ae65063306d7", "answer"),
    "G1_answer/59": (7, 5, 1861, 349, "dd178cc46a14", "answer"),
    "G2_answer/10": (6, 4, 748, 107, "7ec6950e6272", "give_up"),
    "G2_answer/102": (6, 4, 3206, 904, "595f30ab8a47", "answer"),
    "G2_answer/119": (5, 3, 677, 107, "bc718ec4ced2", "give_up"),
    "G3_answer/13": (7, 5, 1021, 107, "9a69b885bc58", "give_up"),
}


def read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def walk(given: dict[str, Any], **settings: Any) -> list[str]:
    """What was asked of tools, along the path that is kept."""
    found = convert(given, "DFS_woFilter_w2", "here", **settings)
    return [node.call.arguments if node.call else node.text for node in found.chain[2:]]


@needs_public_data
@pytest.mark.parametrize("name", VECTORS)
def test_public_answers_have_the_steps_that_upstream_gives_them(name: str) -> None:
    folder, number = name.split("/")
    path = ANSWERS / folder / f"{number}_ChatGPT_DFS_woFilter_w2.json"
    found = convert(read(path), method_of(path.stem), name)
    digest = hashlib.sha256(found.step_text.encode()).hexdigest()[:12]
    told = (found.total_steps, len(found.steps), len(found.step_text), len(found.final_step), digest)
    assert (*told, found.final) == VECTORS[name]
    assert not found.invented
    assert found.method == "DFS_woFilter_w2"


@needs_public_data
def test_an_answer_without_an_end_is_one_walk_by_chance_and_the_same_each_time() -> None:
    given = read(ANSWERS / "G1_answer" / "69_ChatGPT_DFS_woFilter_w2.json")
    found = convert(given, "DFS_woFilter_w2", "69")
    assert (found.total_steps, found.final_answer, found.is_finished) == (7, "", True)
    counts = Counter(convert(given, "DFS", "69", seed=seed).total_steps for seed in range(60))
    assert set(counts) <= {7, 8, 9, 10, 11}
    assert len(counts) > 2
    assert convert(given, "DFS", "69", shape="longest").total_steps == 11
    assert convert(given, "DFS", "69", shape="tree").total_steps > 11


@needs_public_data
@pytest.mark.parametrize(("model", "method"), [("cot", "CoT@1"), ("dfs", "DFS_woFilter_w2")])
def test_recorded_conversions_are_reproduced(model: str, method: str) -> None:
    name = f"virtual_chatgpt_{model}"
    recorded = read(STABLE / "model_predictions_converted" / name / "G1_instruction.json")
    passed = read(STABLE / "pass_rate_results" / name / f"G1_instruction_{name}.json")
    [found] = answers.load(STABLE / "answer" / name)
    assert (found.model, found.test_set) == (name, "G1_instruction")
    for query, made in found.solutions.items():
        assert json.dumps(made.as_json()) == json.dumps({**recorded[query]}), query
        assert made.method == method
        shown = made.step_text, made.final_step, list(made.tool_names)
        expected = tuple(passed[query][key] for key in ("answer_steps", "final_step", "tool_names"))
        assert shown == expected


@needs_public_data
@pytest.mark.parametrize(
    ("name", "steps", "numbers"),
    [("G1_instruction", 697, (33, 34, 2, 3, 1)), ("G2_category", 706, (40, 42, 32, 34, 16))],
)
def test_published_answers_whose_messages_are_text_are_counted_as_upstream_counts_them(
    name: str, steps: int, numbers: tuple[int, ...]
) -> None:
    path = PUBLIC / "toolbench" / "results" / f"{name}.json"
    [found] = answers.load(path)
    each = list(found.solutions.values())
    counted = (
        sum(not one.is_finished for one in each),
        sum(one.final == "none" for one in each),
        sum(one.final == "give_up" for one in each),
        sum(one.is_finished and one.final != "answer" for one in each),
        sum(bool(one.invented) for one in each),
    )
    assert (sum(one.total_steps for one in each), counted) == (steps, numbers)
    assert found.as_json() == read(path)


def test_a_thought_beside_a_call_is_lost_and_one_alone_is_kept() -> None:
    called = {"role": "assistant", "content": "lost", "function_call": {"name": "f", "arguments": "{}"}}
    ended = {"role": "assistant", "function_call": {"name": "Finish", "arguments": finish()}}
    talk = [
        *BEGINNING,
        called,
        {"role": "function", "name": "f", "content": "R"},
        {"role": "user", "content": "again", "valid": False},
        {"role": "assistant", "content": "kept"},
        ended,
    ]
    found = convert(raw(talk), "CoT@1", "here")
    assert [node.role for node in found.chain] == ["system", "user", "tool", "assistant", "tool"]
    calls = [tuple(node.call) for node in found.chain if node.call]
    assert calls == [("f", "{}", "R"), ("Finish", finish(), "")]
    assert found.total_steps == 5


def test_several_calls_of_one_message_find_their_results_by_id() -> None:
    calls = [
        {"id": "b", "function": {"name": "g", "arguments": "{2}"}},
        {"id": "a", "function": {"name": "f", "arguments": "{1}"}},
        {"id": "c", "function": {"name": "Finish", "arguments": finish()}},
        {"id": "d", "function": {"name": "f", "arguments": "{3}"}},
    ]
    talk = [
        *BEGINNING,
        {"role": "assistant", "content": None, "tool_calls": calls},
        {"role": "tool", "tool_call_id": "a", "content": "A"},
        {"role": "tool", "tool_call_id": "b", "content": "B"},
    ]
    found = convert(raw(talk), "CoT@1", "here")
    assert [node.call.response for node in found.steps if node.call] == ["B", "A", ""]
    assert found.is_finished
    for message in talk[3:]:
        del message["tool_call_id"]
    in_order = convert(raw(talk), "CoT@1", "here")
    assert [node.call.response for node in in_order.steps if node.call] == ["A", "B", ""]


def test_a_call_that_nobody_answered_and_no_messages_at_all_are_read() -> None:
    talk = [*BEGINNING, {"role": "assistant", "function_call": {"name": "f", "arguments": "{}"}}]
    assert convert(raw(talk), "CoT@1", "here").steps[0].call == ("f", "{}", "")
    empty = convert(raw([], train_messages=[]), "CoT@1", "here")
    assert (empty.total_steps, empty.final_answer) == (2, "")


def node(kind: str, text: str, *children: dict[str, Any], observation: str = "") -> dict[str, Any]:
    made = {"node_type": kind, "description": text, "children": list(children)}
    return {**made, "observation": observation} if observation else made


def tree(*children: dict[str, Any]) -> dict[str, Any]:
    """A raw answer of DFS that has no end."""
    root = {"tree": node("Action Input", "", *children), "size": 1, "max_length": 1}
    return {**raw([], valid_data=False, train_messages=[]), "tree": root}


def called(name: str, text: str, *children: dict[str, Any], observation: str = "O") -> dict[str, Any]:
    return node("Action", name, node("Action Input", text, *children, observation=observation))


BRANCHED = tree(
    node("Thought", "T1", called("f", "{1}", called("f", "{2}"), called("f", "{3}"))),
    called("Finish", "GU", observation="given up"),
)


def test_the_walk_is_uniform_at_every_branch() -> None:
    assert walk(BRANCHED) == ["T1", "{1}", "{2}"]
    seen = Counter(tuple(walk(BRANCHED, seed=seed)) for seed in range(2000))
    assert set(seen) == {("GU",), ("T1", "{1}", "{2}"), ("T1", "{1}", "{3}")}
    assert abs(seen[("GU",)] - 1000) < 110
    assert abs(seen[("T1", "{1}", "{2}")] - 500) < 90
    assert walk(BRANCHED, shape="longest") == ["T1", "{1}", "{2}"]
    assert convert(BRANCHED, "DFS", "here", shape="tree").total_steps == 7
    assert walk(tree()) == []


def test_an_observation_that_was_left_out_is_empty() -> None:
    found = convert(tree(called("f", "{}", observation="")), "DFS", "here")
    assert found.steps[0].call == ("f", "{}", "")
    given = raw([], valid_data=False, train_messages=[])
    given["trys"] = [{"chain": [node("Thought", "T"), node("Action", "f"), node("Action Input", "{}")]}]
    assert convert(given, "CoT@1", "here").total_steps == 4


def test_both_spellings_of_a_tools_message_are_read() -> None:
    made = convert(BRANCHED, "DFS", "here").steps[0]
    quoted = {**made.message, "response": "it's"}
    for message in (made.message, str(made.message), str(quoted), str(quoted)[:-4]):
        call = Node("tool", message).call
        assert call is not None
        assert (call.name, call.arguments) == ("f", "{1}")


@pytest.mark.parametrize(
    ("given", "fault"),
    [
        ({"answer_generation": {}}, "valid_data is missing"),
        (raw(BEGINNING, function=3), "not a raw answer"),
        (tree(node("Action Input", "x")), "Action Input follows on no Action"),
        (raw([*BEGINNING, {"content": "no role"}]), "role is missing"),
    ],
)
def test_what_is_no_raw_answer_is_one_line(given: dict[str, Any], fault: str) -> None:
    with pytest.raises(RigError, match=fault):
        convert(given, "CoT@1", "here")


def test_hostile_text_is_bounded_and_never_run(tmp_path: Path) -> None:
    for text in ("__import__('os')", "(" * 5000, "{'name': " * 3000, "{'name': 'f'" + ", 'a': 1" * 9):
        call = Node("tool", text).call
        assert call is None or call.name == "f"
    deep = '{"answer_generation": ' + "[" * 100_000
    (tmp_path / "1_CoT@1.json").write_text(deep)
    with pytest.raises(RigError, match="nested too deeply"):
        answers.load(tmp_path)


def test_file_names_say_query_and_method() -> None:
    assert (query_id("10_ChatGPT_DFS_woFilter_w2"), method_of("10_ChatGPT_DFS_woFilter_w2")) == (
        "10",
        "DFS_woFilter_w2",
    )
    assert method_of("1073_CoT@1") == "CoT@1"
    assert method_of("7_other") == "other"


def test_files_are_written_as_they_were_read(tmp_path: Path) -> None:
    made = convert(raw([*BEGINNING, {"role": "assistant", "content": "héllo"}]), "CoT@1", "here")
    assert isinstance(made, Solution)
    [path] = answers.write([ModelAnswers("a/b", "G1", {"1": made})], tmp_path)
    assert path == tmp_path / "a-b" / "G1.json"
    assert "h\\u00e9llo" in path.read_text(encoding="ascii")
    [again] = answers.load(path)
    assert again.solutions["1"] == made
