"""Foreign files with something wrong at any place: read, or refused in one line, soon and cheaply."""

import copy
import json
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from time import process_time
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest
import yaml
from autode.test_checkout import LAMP, ROW
from bfcl.test_method import ADD, ASK
from documents.test_logs import ANSWER, THEN, TOOL
from hypothesis import given
from hypothesis import strategies as st
from rescore.test_files import CALL, REPLY
from small_talks import sources
from tool_answers import solution

from rig.core.errors import RigError
from rig.plugins.autode import checkout
from rig.plugins.bfcl import data
from rig.plugins.bfcl.turn_entries import parse as parse_talk
from rig.plugins.documents.documents import json_of, lines_of
from rig.plugins.judging import evaluators
from rig.plugins.judging.calibration import load_labels
from rig.plugins.papers import autode as records
from rig.plugins.papers import bfcl
from rig.plugins.papers.autode import turns as played
from rig.plugins.papers.openai_chat import PAPER as LOGS
from rig.plugins.papers.toolbench import method as answers
from rig.plugins.papers.toolbench import results
from rig.plugins.papers.toolbench.raw import raw_of
from rig.plugins.papers.tooltalk import load_predictions
from rig.plugins.tooltalk_tools import TOOLTALK

WHOLE = solution()
CONVERTED = {"1": WHOLE.as_json()}
RATED = {
    "query": "q",
    "tool_names": ["clock"],
    "answer_steps": "",
    "final_step": "",
    "passed": 2,
    "failed": 1,
}
RATED |= {"task_solvable": "", "reason": "", "not_hallucinate": True, "is_solved": "AnswerStatus.Solved"}
CONVERSATION = sources()[0]
CONVERSATION["conversation"][1]["predictions"] = [CALL, REPLY]
CONFIG = {
    "registered_cls_name": "ReinforceToolLearningEvaluator",
    "prompt_template": "template.txt",
    "completions_kwargs": {
        "temperature": 0,
        "max_tokens": 20,
        "functions": [
            {
                "name": "check_answer_status",
                "description": "Say.",
                "parameters": {"type": "object", "properties": {"answer_status": {"enum": ["Solved"]}}},
            }
        ],
    },
}
TEMPLATE = "<function><name>check_answer_status</name><description>{query} {answer}</description></function>"
RESULT = {**ROW, "state": "failure", "reason": "", "trial_uuid": "t"}
TALK = {
    "entry": {
        "id": "multi_turn_base_0",
        "question": [[{"role": "user", "content": "Go."}]],
        "involved_classes": ["MathAPI"],
        "initial_config": {"MathAPI": {}},
        "missed_function": {"0": ["add"]},
    },
    "functions": [{"name": "add", "parameters": {"properties": {"a": {"type": "integer"}}}}],
    "truth": [["add(a=1)"]],
}


class Kind(NamedTuple):
    """A kind of file: its name, what a right one holds, and how it is read in a folder of its own."""

    name: str
    value: Any
    read: Callable[[Path], object]


def read_autode(file: Path) -> object:
    scenarios = {each.id: each for each in checkout.read_rows(file, {"SwitchLamp": LAMP})}
    rows = records.read(file)
    if rows.faults:
        raise RigError(rows.faults[0])
    if not rows:
        raise RigError(f"{file}: is empty")
    return [played(row, scenarios[row.uuid], "dynamic") for row in rows if row.uuid in scenarios]


def read_rows(file: Path) -> object:
    rows = checkout.read_rows(file, {"SwitchLamp": LAMP})
    if rows.faults:
        raise RigError(rows.faults[0])
    if not rows:
        raise RigError(f"{file}: is empty")
    return rows


def read_bfcl(file: Path) -> object:
    """A file with an entry and its true answer, taken apart into the two files that BFCL has."""
    content = file.read_bytes()
    try:
        both = json.loads(content)
    except (ValueError, RecursionError):
        both = None
    if isinstance(both, list) and len(both) == 2:
        content, answer = (json.dumps(each).encode() for each in both)
    else:
        answer = content
    (file.parent / "possible_answer").mkdir()
    (file.parent / "possible_answer" / file.name).write_bytes(answer)
    file.write_bytes(content)
    return data.load(file.parent)


def read_talk(file: Path) -> object:
    rows = [parse_talk(json_of(line.text, line.where), line.where, "x") for line in lines_of(file)]
    if not rows:
        raise RigError(f"{file}: is empty")
    return rows


def read_bfcl_results(file: Path) -> object:
    entry = data.parse({"entry": {"id": "a_0", "question": ASK, "function": [ADD]}, "truth": []}, "", "a")
    return bfcl.PAPER.predictions(SimpleNamespace(data=lambda: [entry]), file, "bfcl")


def read_evaluator(file: Path) -> object:
    (file.parent / "template.txt").write_text(TEMPLATE)
    return evaluators.load(file.parent)


def read_table(file: Path) -> object:
    found = results.read_results(file)
    pair = answers.ModelAnswers("a", "", {"1": WHOLE}), answers.ModelAnswers("b", "", {"1": WHOLE})
    return found.table(pair, False)


KINDS = (
    Kind(
        "log.jsonl",
        {"request": {"messages": THEN, "tools": [TOOL]}, "response": ANSWER},
        lambda file: LOGS.convert([file], file.parent / "out", None),
    ),
    Kind("a_x.jsonl", RESULT, read_autode),
    Kind("data.jsonl", ROW, read_rows),
    Kind(
        "BFCL_v4_multiple.json",
        [
            {"id": "multiple_0", "question": ASK, "function": [ADD]},
            {"id": "multiple_0", "ground_truth": [{"math.add": {"a": [1], "how": ["", {"x": [1]}]}}]},
        ],
        read_bfcl,
    ),
    Kind("talk.json", TALK, read_talk),
    Kind("BFCL_v4_a_result.json", {"id": "a_0", "result": [{"math.add": '{"a": 1}'}]}, read_bfcl_results),
    Kind("1_CoT@1.json", raw_of(WHOLE)[1], lambda file: answers.load(file)),
    Kind("1_DFS_w2.json", raw_of(WHOLE, WHOLE.details)[1], lambda file: answers.load(file, "tree")),
    Kind("G1_tool.json", CONVERTED, lambda file: answers.load(file)),
    Kind("ids.json", {"1": 0}, lambda file: answers.query_ids(file)),
    Kind("G1_tool_m.json", {"1": RATED}, read_table),
    Kind("G1_tool_n.json", {"1": {**RATED, "is_solved": {"0": "AnswerStatus.Solved"}}}, read_table),
    Kind("x.json", {"1": {"a": 1, "b": 2, "round_0": "complete"}}, read_table),
    Kind(
        "labels.json",
        [{"query": "q", "available_tools": [], "answers": [WHOLE.as_json()["answer"]], "solved": True}],
        lambda file: load_labels(file, 1, 1),
    ),
    Kind("config.yaml", CONFIG, read_evaluator),
    Kind("alarms.json", CONVERSATION, lambda file: load_predictions(file, TOOLTALK)),
)

JUNK: tuple[Any, ...] = (
    *(None, True, -1, 0.5, 2**70, float("inf"), float("nan"), "", "x", "\ud800", [], {}),
    *([[]], [None], ["x"], {"": None}, {"a": {"b": []}}),
)


def deep(levels: int) -> Any:
    value: Any = 0
    for _ in range(levels):
        value = [value]
    return value


def paths_of(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to every value in a value."""
    yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in inner:
        yield from paths_of(each, (*path, key))


def damaged(value: Any, path: tuple[Any, ...], junk: Any, *, is_gone: bool = False) -> Any:
    """A copy of a value with something else at a place, or with nothing there."""
    if not path:
        return junk
    value = copy.deepcopy(value)
    inner = value
    for key in path[:-1]:
        inner = inner[key]
    if is_gone:
        del inner[path[-1]]
    else:
        inner[path[-1]] = junk
    return value


def check(kind: Kind, folder: Path, content: bytes, most_s: float = 5) -> str:
    """Read a file; the fault, which is one line."""
    folder.mkdir()
    file = folder / kind.name
    file.write_bytes(content)
    began = process_time()
    try:
        kind.read(file)
        fault = ""
    except RigError as error:
        fault = str(error)
        assert fault
        assert "\n" not in fault
        assert len(fault) < 1000, fault
    assert process_time() - began < most_s
    return fault


def text_of(kind: Kind, value: Any) -> bytes:
    text = yaml.safe_dump(value) if kind.name.endswith(".yaml") else json.dumps(value)
    return text.encode("utf-8", "surrogatepass")


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_a_right_file_is_read(kind: Kind, tmp_path: Path) -> None:
    assert check(kind, tmp_path / "a", text_of(kind, kind.value)) == ""


def damages(kind: Kind) -> Iterator[Any]:
    """The file's value with every junk at every place, and with each thing left out."""
    for path in paths_of(kind.value):
        for junk in (*JUNK, deep(80), deep(300)):
            yield damaged(kind.value, path, junk)
        if path:
            yield damaged(kind.value, path, None, is_gone=True)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
@given(st.data())
def test_damage_at_a_place_is_one_line(
    tmp_path_factory: pytest.TempPathFactory, kind: Kind, draws: st.DataObject
) -> None:
    path = draws.draw(st.sampled_from(list(paths_of(kind.value))))
    junk = draws.draw(st.sampled_from([*JUNK, deep(80), deep(300)]))
    is_gone = bool(path) and draws.draw(st.booleans())
    value = damaged(kind.value, path, junk, is_gone=is_gone)
    check(kind, tmp_path_factory.mktemp("damaged") / "a", text_of(kind, value))


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_damage_at_every_place_is_one_line(kind: Kind, tmp_path: Path) -> None:
    for number, value in enumerate(damages(kind)):
        check(kind, tmp_path / str(number), text_of(kind, value))


CONTENTS = {
    "empty": b"",
    "blank": b"\n \n\t\n",
    "binary": bytes(range(256)) * 64,
    "null bytes": b"\0" * 4096,
    "not UTF-8": b'{"a": "\xff"}',
    "open": b"[" * 200_000,
    "open objects": b'{"a":' * 200_000,
    "closed": b"[" * 100_000 + b"]" * 100_000,
    "a number of many digits": b'{"a": ' + b"9" * 100_000 + b"}",
    "a large exponent": b"[1e999, -1e999]",
    "constants": b"[NaN, Infinity, -Infinity]",
    "a text": b'"' + b"x" * 1_000_000 + b'"',
    "many values": b"[" + b"0," * 300_000 + b"0]",
    "many objects": b"[" + b"{}," * 100_000 + b"{}]",
    "many names": b"{" + b",".join(b'"%d":{}' % n for n in range(50_000)) + b"}",
}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
@pytest.mark.parametrize("content", CONTENTS)
def test_a_file_of_something_else_is_one_line(kind: Kind, content: str, tmp_path: Path) -> None:
    assert check(kind, tmp_path / "a", CONTENTS[content]) or content in ("many names", "blank")


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
@pytest.mark.parametrize("content", ["many values", "many objects", "many names"])
def test_damage_takes_little_memory(kind: Kind, content: str, tmp_path: Path) -> None:
    tracemalloc.start()
    try:
        check(kind, tmp_path / "a", CONTENTS[content], most_s=60)
        assert tracemalloc.get_traced_memory()[1] < 200e6
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("kind", "arguments"),
    [
        ("log.jsonl", ("import", "FILE", "--format", "openai-chat", "--output", "out")),
        ("G1_tool.json", ("import", "FILE", "--format", "toolbench")),
        ("1_CoT@1.json", ("import", "FILE", "--format", "toolbench")),
        ("G1_tool.json", ("judge", "FILE", "--evaluator", "keyword")),
        ("G1_tool_m.json", ("judge", "rates", "FILE")),
        ("labels.json", ("judge", "calibrate", "FILE", "--judge", "x")),
        ("alarms.json", ("score", "FILE")),
    ],
)
@pytest.mark.parametrize("content", ["empty", "binary", "open", "many objects", "constants"])
def test_verbs_refuse_a_damaged_file_in_one_line(
    rig: Callable[..., Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
    arguments: tuple[str, ...],
    content: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / kind).write_bytes(CONTENTS[content])
    done = rig(*(tmp_path / kind if argument == "FILE" else argument for argument in arguments))
    assert (done.code, len(done.err.splitlines())) == (2, 1), done.err


@pytest.mark.slow
@pytest.mark.parametrize("place", ["/", "/proc", "/dev"])
def test_a_file_system_is_no_folder_of_predictions(rig: Callable[..., Any], place: str) -> None:
    verbs = ("score", place), ("score", place, "--format", "bfcl"), ("judge", place, "--judge", "x")
    for arguments in verbs:
        done = rig(*arguments)
        assert (done.code, len(done.err.splitlines())) == (2, 1), done.err
