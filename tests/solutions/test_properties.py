"""What holds of any solution and of any raw answer, whatever a model or a file made of it."""

import json
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tool_answers import finish, raw, solution

from rig.core.errors import RigError
from rig.plugins.papers.toolbench import method as answers
from rig.plugins.papers.toolbench.method import file_name, holds_answers, load, write
from rig.plugins.papers.toolbench.raw import checked_shape, convert, method_of, query_id, raw_of
from rig.plugins.solutions.judgements import ModelAnswers, parse
from rig.plugins.solutions.rules import Shape
from rig.plugins.solutions.solution import (
    APOLOGIES,
    FINISH,
    Message,
    Node,
    Searched,
    Solution,
    begun,
    chain_of,
    counted,
    detail_score,
    is_success,
    keyword_pass,
    tool_node,
)

TEXTS = st.text(st.characters(exclude_categories=("Cs",)), max_size=12)
CALLS = st.builds(tool_node, st.sampled_from(["clock", "map", "clock_of"]), TEXTS, TEXTS)
THOUGHTS = st.builds(Node, st.just("assistant"), TEXTS)
STEPS = st.lists(CALLS | THOUGHTS, max_size=5)
JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.floats(allow_nan=False) | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)
FINAL = tool_node(FINISH, finish(), "")


def made(nodes: list[Node], final: str = "") -> Solution:
    """A solution of these steps."""
    details = begun(chain_of(nodes))
    return Solution("q", ({"name": "clock"}, {"name": FINISH}), "CoT@1", counted(details), final, details)


def leafed(children: list[Node], node: Node) -> Node:
    return Node(node.role, node.message, tuple(children))


TREES = st.recursive(
    CALLS | THOUGHTS,
    lambda inner: st.builds(leafed, st.lists(inner, max_size=3), CALLS | THOUGHTS),
    max_leaves=8,
)


def leaves(node: Node) -> list[tuple[Any, ...]]:
    """The paths from a node down, as messages."""
    if not node.next:
        return [(node.message,)]
    return [(node.message, *path) for each in node.next for path in leaves(each)]


def messages(found: Solution) -> tuple[Any, ...]:
    """The path that is read, without its empty beginning."""
    return tuple(node.message for node in found.chain[2:])


@given(st.lists(TREES, max_size=3), TEXTS, TEXTS)
def test_a_file_of_a_solution_is_the_solution(roots: list[Node], query: str, final: str) -> None:
    whole = Solution(query, ({"name": "clock"},), "DFS_w2", 3, final, begun(tuple(roots)))
    text = json.dumps(whole.as_json(), ensure_ascii=False)
    assert parse(json.loads(text), "here") == whole


@given(STEPS)
def test_a_chain_that_ended_is_converted_to_itself(steps: list[Node]) -> None:
    whole = made([*steps, FINAL], finish())
    name, written = raw_of(whole)
    assert convert(json.loads(json.dumps(written)), name, "here") == whole


@given(STEPS)
def test_a_chain_without_an_end_keeps_its_steps_and_has_no_answer(steps: list[Node]) -> None:
    whole = made(steps)
    name, written = raw_of(whole)
    found = convert(written, name, "here")
    assert (found.details, found.final_answer, found.is_finished) == (whole.details, "", False)
    assert (written["win"], written["answer_generation"]["valid_data"]) == (False, False)


@pytest.mark.parametrize(
    ("method", "way"),
    [
        ("DFS_woFilter_w2", "DFS_woFilter_w2"),
        ("ToolLLaMA_DFS_woFilter_w2", "DFS_woFilter_w2"),
        ("virtual_chatgpt_dfs", "DFS"),
        ("ChatGPT_CoT@3", "CoT@3"),
        ("chatgpt_cot", "CoT@1"),
        ("", "CoT@1"),
    ],
)
def test_a_converted_answer_is_written_as_the_way_of_search_that_its_method_ends_with(
    method: str, way: str
) -> None:
    assert raw_of(replace(made([FINAL], finish()), method=method))[0] == way


@given(st.lists(TREES, min_size=1, max_size=3))
def test_a_tree_is_written_and_read_whole_and_its_numbers_are_its_own(roots: list[Node]) -> None:
    whole = made([])
    search = Searched("DFS_woFilter_w3", range(99), 7, 3, budget=50)
    name, written = raw_of(whole, begun(tuple(roots)), search)
    assert convert(written, name, "here", "tree").details == begun(tuple(roots))
    nodes, waiting = [], [(written["tree"]["tree"], 0)]
    while waiting:
        node, depth = waiting.pop()
        nodes.append(node)
        assert node["depth"] == depth
        assert node["child_count"] == len(node["children"]) or depth == 0
        waiting += [(each, depth + 1) for each in node["children"]]
    assert written["tree"]["size"] == len(nodes)
    assert written["tree"]["max_length"] == 1 + max(node["depth"] for node in nodes)


@given(st.lists(TREES, min_size=1, max_size=3), st.sampled_from(get_args(Shape)), st.integers(0, 9))
def test_what_stands_for_a_tree_without_an_end_is_one_of_its_paths(
    roots: list[Node], shape: Shape, seed: int
) -> None:
    search = Searched("DFS_w2", (), 0, 2)
    name, written = raw_of(made([]), begun(tuple(roots)), search)
    found = convert(written, name, "here", shape, seed)
    assert convert(written, name, "there", shape, seed) == found
    paths = [path for root in roots for path in leaves(root)]
    assert found.total_steps == counted(found.details)
    assert found.final_answer == ""
    if shape == "tree":
        assert found.details == begun(tuple(roots))
    else:
        assert messages(found) in paths
    if shape == "longest":
        assert len(messages(found)) == max(map(len, paths))


@given(st.lists(st.lists(CALLS | THOUGHTS, min_size=1, max_size=4), min_size=1, max_size=3))
def test_chains_are_written_one_by_one_and_one_of_them_is_read(chains: list[list[Node]]) -> None:
    roots = tuple(root for chain in chains for root in chain_of(chain))
    name, written = raw_of(made([]), begun(roots), Searched("CoT@3", range(99), 9))
    assert (name, written["try_count"]) == ("CoT@3", len(chains))
    paths = [tuple(node.message for node in chain) for chain in chains]
    assert messages(convert(written, name, "here")) in paths
    assert messages(convert(written, name, "here", "longest")) == max(paths, key=len)
    again = Random(7).choice(paths)
    assert messages(convert(written, name, "here", "seeded", 7)) == again


@given(TEXTS, TEXTS, TEXTS)
def test_both_spellings_of_a_message_are_one_call(name: str, arguments: str, response: str) -> None:
    message = {"name": name, "arguments": arguments, "response": response}
    as_object, as_text = Node("tool", message), Node("tool", str(message))
    assert as_object.call == as_text.call == Message(name, arguments, response)
    assert as_object.text == as_text.text
    assert Node("assistant", message).call is None


@given(TEXTS, TEXTS, TEXTS, st.integers(0, 80))
def test_a_message_that_was_cut_off_says_nothing_that_it_did_not(
    name: str, arguments: str, response: str, length: int
) -> None:
    text = str({"name": name, "arguments": arguments, "response": response})[:length]
    found = Node("tool", text).call
    if found is not None:
        assert found.name == name
        assert found.arguments in (arguments, "")
        assert found.response in (response, "")


@given(JSON)
def test_any_json_is_a_raw_answer_or_a_fault_in_one_line(data: Any) -> None:
    whole = {"answer_generation": data, "trys": [], "tree": data}
    for given_ in (data, whole, {"answer_generation": {"valid_data": data, "function": [], **_some(data)}}):
        for shape in get_args(Shape):
            fault_or(lambda given_=given_, shape=shape: convert(given_, "CoT@1", "here", shape))


@given(JSON, JSON)
def test_any_json_is_a_converted_answer_or_a_fault_in_one_line(data: Any, other: Any) -> None:
    answer = {"total_steps": 3, "final_answer": other, "answer_details": data}
    for given_ in (data, {"query": other, "available_tools": data, "answer": answer}):
        found = fault_or(lambda given_=given_: parse(given_, "here"))
        if found is not None:
            assert parse(found.as_json(), "here") == found
            _ = (found.final, found.final_words, found.is_finished, found.invented, found.step_text)


@given(JSON)
def test_any_json_among_messages_is_read_or_a_fault_in_one_line(data: Any) -> None:
    for message in (data, {"role": "assistant", "content": data}, {"role": "assistant", "tool_calls": data}):
        fault_or(lambda message=message: convert(raw([{}, {}, message]), "CoT@1", "here"))
    call = {"role": "assistant", "function_call": {"name": "clock", "arguments": data}}
    found = fault_or(lambda: convert(raw([{}, {}, call, {"role": "function", "content": data}]), "x", "here"))
    if found is not None:
        assert all(isinstance(part, str) for step in found.steps if step.call for part in step.call)


def _some(data: Any) -> dict[str, Any]:
    return data if isinstance(data, dict) else {"train_messages": data}


def fault_or(ask: Any) -> Any:
    """What is found; None for a fault, which must be one that is known and fit in a line."""
    try:
        return ask()
    except RigError as error:
        fault = str(error)
    assert "\n" not in fault
    assert fault.startswith("here: ")
    return None


@pytest.mark.parametrize(
    ("stem", "query", "method"),
    [
        ("10_CoT@1", "10", "CoT@1"),
        ("10_cot@12", "10", "cot@12"),
        ("10_ChatGPT_DFS_woFilter_w2", "10", "DFS_woFilter_w2"),
        ("10_DFS_w3", "10", "DFS_w3"),
        ("10_some_model_DFS", "10", "DFS"),
        ("a-b_CoT@1", "a-b", "CoT@1"),
        ("10", "10", ""),
        ("10_chain", "10", "chain"),
        ("10_CoT@x", "10", "CoT@x"),
        ("_CoT@1", "", "CoT@1"),
    ],
)
def test_what_files_are_named_after(stem: str, query: str, method: str) -> None:
    assert (query_id(stem), method_of(stem)) == (query, method)


@pytest.mark.parametrize("text", ["", "Seeded", "shortest", "tree "])
def test_shapes_that_there_are_not(text: str) -> None:
    with pytest.raises(RigError, match="choose from: seeded, longest, tree"):
        checked_shape(text)


@pytest.mark.parametrize("word", APOLOGIES)
@pytest.mark.parametrize("frame", ["{}", "I am {} for that.", "UN{}ED", "x{}y"])
def test_a_word_of_apology_fails_wherever_it_stands(word: str, frame: str) -> None:
    text = frame.format(word)
    assert not keyword_pass(solution(text))
    assert not keyword_pass(solution(text.upper()))


def test_the_keyword_rule_takes_curly_marks() -> None:
    assert keyword_pass(solution("It is noon."))
    curly = '{"final_answer": "I couldn\N{RIGHT SINGLE QUOTATION MARK}t find it."}'
    assert not keyword_pass(made([tool_node(FINISH, curly, "")], curly))
    assert not keyword_pass(solution(None))


@pytest.mark.parametrize(
    ("response", "success"),
    [
        ('{"error": "", "response": "12"}', True),
        ('{"error": "no such key", "response": ""}', False),
        ('{"error": null}', True),
        ('{"error": {"code": 1}}', False),
        ('{"response": "12"}', True),
        ("[]", True),
        ("12", True),
        ("plain words", True),
        ("", False),
        ("[" * 100_000, True),
    ],
)
def test_whether_a_call_succeeded(response: str, success: bool) -> None:
    assert is_success(response) is success


def test_the_detail_score_counts_success_tools_and_steps() -> None:
    one, two = solution(calls=1), solution(calls=2)
    other = made([tool_node("clock", "", "1"), tool_node("map", "", "2"), FINAL], finish())
    assert detail_score(one) == pytest.approx(10 + 5 - 5 * 1.3862943611198906)
    assert detail_score(two) == pytest.approx(20 + 5 - 5 * 1.6094379124341003)
    assert detail_score(other) == pytest.approx(20 + 10 - 5 * 1.6094379124341003)
    assert detail_score(solution(response="")) == detail_score(one)
    empty = Solution("q", (), "", 0, "", ())
    assert detail_score(empty) == -100000.0


@pytest.mark.parametrize(
    ("final", "kind", "words"),
    [
        (finish("Noon."), "answer", "Noon."),
        (finish("", "give_up_and_restart"), "give_up", ""),
        ("give_up_and_restart", "give_up", "give_up_and_restart"),
        ("", "none", ""),
        ("plain words", "answer", "plain words"),
        ("[1]", "answer", "[1]"),
        ('{"final_answer": 3}', "answer", '{"final_answer": 3}'),
        ('{"final_answer": "x", "return_type": "give_answer"', "answer", None),
        ("[" * 100_000, "answer", None),
    ],
)
def test_what_finish_was_called_with(final: str, kind: str, words: str | None) -> None:
    found = made([tool_node(FINISH, final, "")], final)
    assert (found.final, found.final_words) == (kind, final if words is None else words)


def test_invented_names_are_found_wherever_in_the_tree() -> None:
    branch = Node("assistant", "hm", (tool_node("oracle", "", ""), tool_node("clock", "", "")))
    found = Solution("q", ({"name": "clock"},), "", 0, "", begun((tool_node("clock", "", ""), branch)))
    assert found.invented == ("oracle",)
    assert made([FINAL]).invented == ()


def test_two_answers_of_one_model_to_one_query_are_refused(tmp_path: Path) -> None:
    """Upstream reads one method at a time; two methods in one folder would stand for one another."""
    place = tmp_path / "model" / "G1_tool"
    place.mkdir(parents=True)
    (place / "7_CoT@1.json").write_text(json.dumps(raw_of(solution("One."))[1]))
    (place / "7_DFS_w2.json").write_text(json.dumps(raw_of(solution("Two."))[1]))
    with pytest.raises(RigError, match=r"7_DFS_w2\.json: model has another answer to query 7 of G1_tool"):
        load(tmp_path)
    faults: list[str] = []
    [found] = load(tmp_path, faults=faults)
    assert found.solutions["7"].final_words == "One."
    assert len(faults) == 1
    [one] = load(place / "7_DFS_w2.json")
    assert one.solutions["7"].final_words == "Two."


def test_the_same_answer_at_two_places_is_one(tmp_path: Path) -> None:
    whole = ModelAnswers("model", "G1_tool", {"7": solution("One.")})
    write([whole], tmp_path / "converted")
    place = tmp_path / "answer" / "model" / "G1_tool"
    place.mkdir(parents=True)
    (place / "7_CoT@1.json").write_text(json.dumps(raw_of(solution("One."))[1]))
    assert load(tmp_path) == [whole]


@given(st.text(max_size=20))
def test_any_name_can_be_a_files(name: str) -> None:
    safe = file_name(name)
    assert safe
    assert safe not in (".", "..")
    assert Path(safe).name == safe or set(safe) <= {".", "-"}
    assert not set("/\0:") & set(safe)


@pytest.mark.parametrize("text", ["", "[]", "{}", "3", '{"a": 1}', "{", '{"1": {"query": 1}}'])
def test_what_holds_no_answers(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.json").write_text(text)
    assert not holds_answers(tmp_path)
    with pytest.raises(RigError):
        load(tmp_path)


def test_places_that_hold_nothing(tmp_path: Path) -> None:
    assert not holds_answers(tmp_path)
    assert not holds_answers(tmp_path / "missing")
    with pytest.raises(RigError, match="no such folder"):
        load(tmp_path / "missing")
    with pytest.raises(RigError, match="holds no test sets"):
        answers.query_ids(tmp_path)
    (tmp_path / "G1_tool.json").write_text('["1"]')
    with pytest.raises(RigError, match="no object whose keys are ids"):
        answers.query_ids(tmp_path)
    (tmp_path / "G1_tool.json").write_text('{"2": 0, "1": null}')
    assert {name: list(ids) for name, ids in answers.query_ids(tmp_path).items()} == {"G1_tool": ["2", "1"]}
