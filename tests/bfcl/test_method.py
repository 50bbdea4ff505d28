"""BFCL as a method: data are read, played, scored from files and written as BFCL's files."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from public_data import public

from rig.core.calls import FaultKind
from rig.core.errors import RigError
from rig.core.models import ToolDoc
from rig.plugins.bfcl import data
from rig.plugins.bfcl.answers import Undecodable, decode
from rig.plugins.bfcl.data import BfclSettings, SingleTurnEntry, tools_of
from rig.plugins.bfcl.method import score_output
from rig.plugins.defects.defects import defects
from rig.plugins.llama.grammar.schema import narrow
from rig.plugins.papers.bfcl import answered

ADD = {
    "name": "math.add",
    "description": "Adds.",
    "parameters": {
        "type": "dict",
        "properties": {
            "a": {"type": "integer", "description": "first"},
            "b": {"type": "float", "description": "second"},
            "how": {"type": "dict", "description": "more"},
            "of": {"type": "tuple"},
        },
        "required": ["a"],
    },
}
ASK = [[{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Add 1 and 2."}]]
TRUTHS = {
    "simple_python": [{"math.add": {"a": [1], "b": [2.0, ""], "how": ["", {"x": [1]}]}}],
    "live_parallel": [{"math.add": {"a": [1]}}, {"math.add": {"a": [2]}}],
    "simple_java": [{"math.add": {"a": [5]}}],
}


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Data as they lie in a checkout, an entry of each of some categories."""
    place = tmp_path / "bfcl" / "data"
    (place / "possible_answer").mkdir(parents=True)
    for category in (*TRUTHS, "irrelevance", "live_relevance"):
        entry = {"id": f"{category}_0", "question": ASK, "function": [ADD]}
        if category == "simple_java":
            java = {**ADD["parameters"], "properties": {"a": {"type": "long", "description": "n."}}}  # type: ignore[dict-item]
            entry["function"] = [{**ADD, "parameters": java}]
        name = f"BFCL_v4_{category}.json"
        (place / name).write_text(f"{json.dumps(entry)}\n")
        if category in TRUTHS:
            answer = {"id": entry["id"], "ground_truth": TRUTHS[category]}
            (place / "possible_answer" / name).write_text(json.dumps(answer))
    return place


def test_truths_are_run_by_category_exported_and_scored_again(
    rig: Callable[..., Any], checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("RIG_BFCL", raising=False)
    done = rig("run", "oracle", "--suite", checkout, "--display", "none", "--json")
    assert done.code == 0, done.err
    [arm] = done.json["arms"]
    assert {name: arm[name] for name in (*TRUTHS, "irrelevance", "live_relevance")} == dict.fromkeys(
        (*TRUTHS, "irrelevance", "live_relevance"), 1.0
    )
    assert "overall" not in json.dumps(arm).lower()
    assert "live_simple" not in arm
    shown = rig("show", "latest")
    assert "live parallel" in shown.out
    assert "oracle simple python 100.0% · simple java 100.0% · irrelevance 100.0%" in rig("runs").out
    assert "multiple" not in shown.out
    out = tmp_path / "out"
    assert rig("export", "latest", "--format", "bfcl", "--output", out).code == 0
    lines = (out / "oracle" / "BFCL_v4_live_parallel_result.json").read_text().splitlines()
    assert json.loads(lines[0]) == {
        "id": "live_parallel_0",
        "result": [{"math_add": '{"a": 1}'}, {"math_add": '{"a": 2}'}],
    }
    missing = rig("score", "--format", "bfcl", out)
    assert (missing.code, "--set data=DIR" in missing.err) == (2, True)
    monkeypatch.setenv("RIG_BFCL", str(checkout.parent))
    scored = rig("score", "--format", "bfcl", out)
    assert scored.code == 0, scored.err
    assert "live parallel 100.0%" in scored.out
    wrong = out / "oracle" / "BFCL_v4_simple_python_result.json"
    wrong.write_text(json.dumps({"id": "simple_python_0", "result": "[math_add(a=7, b=2)]"}))
    scored = rig("score", "--format", "bfcl", out, "--json")
    assert scored.json["total"]["metrics"]["simple_python"] == 0.0


def _tools(entry: SingleTurnEntry, settings: BfclSettings) -> tuple[ToolDoc, ...]:
    return tools_of(entry.functions, entry.language, settings)


def test_functions_are_prepared_as_bfcl_prepares_them(checkout: Path) -> None:
    entries = {entry.suite: entry for entry in data.load(checkout)}
    [doc] = _tools(entries["simple_python"], BfclSettings())
    assert doc.name == "math_add"
    assert doc.description == "Adds. Note that the provided function is in Python 3 syntax."
    properties = doc.parameters["properties"]
    assert [properties[name]["type"] for name in ("a", "b", "how", "of")] == [
        "integer",
        "number",
        "string",
        "array",
    ]
    assert properties["b"]["description"] == "second This is a float type value."
    [java] = _tools(entries["simple_java"], BfclSettings("dots"))
    assert java.name == "math.add"
    assert java.parameters["properties"]["a"] == {
        "type": "string",
        "description": "n. This is Java long type parameter in string representation.",
    }
    for entry in entries.values():
        for each in _tools(entry, BfclSettings()):
            narrow(each.parameters, each.name, formats=True)


@pytest.mark.parametrize(
    ("result", "output"),
    [
        ("[f(a=1, b='x'), g.h()]", [{"f": {"a": 1, "b": "x"}}, {"g.h": {}}]),
        ("f(a=[1, -2.5], b={'k': (1, 2)}, c=True)", [{"f": {"a": [1, -2.5], "b": {"k": (1, 2)}, "c": True}}]),
        ("f(a=2*3, b=x, c=g(d=1))", [{"f": {"a": 6, "b": "x", "c": {"g": {"d": 1}}}}]),
        ([{"f": '{"a": 1}'}], [{"f": {"a": 1}}]),
        ([{"f": {"a": 1}}], [{"f": {"a": 1}}]),
        ("[f(a='x' + 'y', **more)]", [{"f": {"a": "xy", "None": "more"}}]),
        ('[f(a="a"*3, b=3*[0], c=(1,)+(2,))]', [{"f": {"a": "aaa", "b": [0, 0, 0], "c": (1, 2)}}]),
        ("[f(a=-1j, b=1+2j, c=-True, d=+5)]", [{"f": {"a": -1j, "b": 1 + 2j, "c": -1, "d": -5}}]),
        ("[f(a=1 - -2, b=7 % 4, c=1 << 3, d='%d!' % 5)]", [{"f": {"a": 3, "b": 3, "c": 8, "d": "5!"}}]),
        ("[]", []),
    ],
)
def test_results_of_every_kind_of_handler_are_read(result: Any, output: Any) -> None:
    assert decode(result) == output


@pytest.mark.parametrize(
    ("text", "language", "arguments"),
    [
        ("[a.f(n=5L, s=\"it, is\", c='x');]", "java", {"n": "5L", "s": "it, is", "c": "x"}),
        (
            'a.f(of=new ArrayList<>(Arrays.asList("a", "b")), n=-2)',
            "java",
            {"of": 'new ArrayList<>(Arrays.asList("a", "b"))', "n": "-2"},
        ),
        (
            'a.f(m=new HashMap<String, Integer>() {{ put("k", 1); }}, b=true)',
            "java",
            {"m": "new HashMap<String, Integer>()", "b": "true"},
        ),
        ("a.f(x=new int[]{1, 2}, y=x == 2)", "java", {"x": "new int[]{1, 2}", "y": "x == 2"}),
        ("a.f(word, 5)", "java", {"None": "word"}),
        (
            "a.f(o={a: 1, b: [2, 3]}, g=(x, y) => x + y, t=`a, b`)",
            "javascript",
            {"o": "{a: 1, b: [2, 3]}", "g": "(x, y) => x + y", "t": "`a, b`"},
        ),
        ("a.f(s='a' + 'b', n=5n)", "javascript", {"s": "a' + 'b", "n": "5n"}),
        ("a.f()", "javascript", {}),
        (
            "a.f(x=(String) y, z=new Point(1, 2).x, u=a[0]++, v=!b && c instanceof D, w=-1.5e3f)",
            "java",
            {
                "x": "(String) y",
                "z": "new Point(1, 2).x",
                "u": "a[0]++",
                "v": "!b && c instanceof D",
                "w": "-1.5e3f",
            },
        ),
        (
            "a.f(f=async (x) => { return x + 1 }, r=/a b/g, s=[...t, 1], u=x ? 'a' : b,"
            " n=function (a) { a; })",
            "javascript",
            {
                "f": "async (x) => { return x + 1 }",
                "r": "/a b/g",
                "s": "[...t, 1]",
                "u": "x ? 'a' : b",
                "n": "function (a) { a; }",
            },
        ),
        (
            "a.f(d=2024-01-02, e=a.b.C, g=List.of(1, 2), h=String[]::new)",
            "java",
            {"d": "2024-01-02", "e": "a.b.C", "g": "List.of(1, 2)", "h": "String[]::new"},
        ),
    ],
)
def test_texts_in_java_and_javascript_keep_their_values_as_texts(
    text: str, language: str, arguments: dict[str, str]
) -> None:
    assert decode(text, language) == [{"a.f": arguments}]


@pytest.mark.parametrize(
    "text",
    [
        "I cannot.",
        "f(a=1",
        "f(a=(1)",
        "f(a=1])",
        'f(a="x)',
        "f(a=1), g(b=2)",
        "f(a=1, a=2)",
        "f(value=John Doe)",
        "f(John Doe)",
        "f(a=1 2)",
        "f(a=)",
        "f(a=5 +)",
        "f(a=50%)",
        "f(a=12th)",
        "f(a=New York, b=1)",
        "f(a=a@b.com)",
        "f(a=#1)",
        "f(a='it''s')",
        "f(a=[1 2])",
        "f(a=* 2)",
        "f(a=1; b)",
        "f(a=[1, 2] [3] x)",
        "f(a=10:30)",
        "f(a=x ? y)",
        "f(a=[k: 1])",
        "f(a=g(x ? 1))",
        "(" * 9999,
        "f" * 300_000,
    ],
)
@pytest.mark.parametrize("language", ["java", "javascript"])
def test_what_is_no_call_of_java_or_javascript(text: str, language: str) -> None:
    with pytest.raises(Undecodable):
        decode(text, language)


@pytest.mark.parametrize("value", ["[1, 2]", "[]", "{1, 2}", "g([1])", "{k: 1}"])
def test_what_stands_for_a_list_in_javascript_alone(value: str) -> None:
    with pytest.raises(Undecodable):
        decode(f"f(a={value})", "java")
    assert decode("f(a=[1,,2], b=[,], c=0o17)", "javascript") == [
        {"f": {"a": "[1,,2]", "b": "[,]", "c": "0o17"}}
    ]
    assert decode("f(a=new int[][]{{1}, {2}})", "java") == [{"f": {"a": "new int[][]{{1}, {2}}"}}]


def test_a_result_written_in_java_is_graded(rig: Callable[..., Any], checkout: Path, tmp_path: Path) -> None:
    out = tmp_path / "BFCL_v4_simple_java_result.json"
    for text, rate in (("math.add(a=5L)", 1.0), ("math.add(a=5)", 0.0), ("math.add(a='5L')", 1.0)):
        out.write_text(json.dumps({"id": "simple_java_0", "result": text}))
        scored = rig("score", "--format", "bfcl", out, "--set", f"data={checkout}", "--json")
        assert scored.code == 0, scored.err
        assert scored.json["total"]["metrics"]["simple_java"] == rate, text


@pytest.mark.parametrize(
    "result",
    [
        "I cannot do that.",
        "f(",
        "[1, 2]",
        5,
        None,
        [3],
        [{"f": "{"}],
        "f(a=2**9**9**9)",
        "f(a='a' * 999999999)",
        "f(a=1 << 999999999)",
        "f(a='%999999999d' % 1)",
        "f(a='%*d' % (999999999, 1))",
        "f(a=x + 1)",
        "f(a=-'a')",
        "f(a=1 / 0)",
        "__import__('os').system('x')(a=lambda: 1)",
        "(" * 5000,
    ],
)
def test_what_holds_no_calls_is_never_executed(result: Any) -> None:
    with pytest.raises(Undecodable):
        decode(result)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("{", "line 1: not JSON"),
        ("[]", "line 1: not an object of BFCL"),
        ('{"id": "simple_python_9", "question": [[]], "function": []}', "has no answer to simple_python_9"),
    ],
)
def test_data_that_are_none(checkout: Path, text: str, fault: str) -> None:
    (checkout / "BFCL_v4_simple_python.json").write_text(text)
    with pytest.raises(RigError, match=fault):
        data.load(checkout)


@pytest.mark.parametrize(
    "declared",
    [
        {"type": {"a": 1}},
        {"description": ["x"]},
        {"type": "array", "items": [{"type": "string"}]},
        {"type": "array", "items": {"type": ["string"]}},
        {"type": "dict", "properties": {"b": {"type": {}}}},
        {"type": "dict", "properties": {"b": {"type": "string"}}, "required": [{}]},
    ],
)
def test_a_function_that_is_declared_wrongly_inside_is_no_entry(declared: Any) -> None:
    function = {"name": "f", "parameters": {"type": "dict", "properties": {"a": declared}, "required": []}}
    entry = {
        "id": "simple_python_0",
        "question": [[{"role": "user", "content": "x"}]],
        "function": [function],
    }
    with pytest.raises(RigError, match="here: not an entry of BFCL"):
        data.parse({"entry": entry, "truth": [{"f": {"a": [1]}}]}, "here", "simple_python")


def test_results_without_answers(checkout: Path, tmp_path: Path) -> None:
    with pytest.raises(RigError, match="holds no answer to these entries"):
        answered(tmp_path, data.load(checkout), of_turns=False)
    with pytest.raises(RigError, match=r"holds no BFCL_v4_CATEGORY\.json"):
        data.load(tmp_path)


PUBLIC, with_data = public("RIG_BFCL", "data")


@with_data
def test_truths_of_the_public_data_answered_with_themselves() -> None:
    """Those that no answer meets are known to be wrong."""
    from rig.plugins.bfcl.checker import Wrong, check

    missed = set()
    entries = [entry for entry in data.load(PUBLIC) if entry.truth and "java" not in entry.suite]
    for entry in entries:
        output = [{call.name: call.arguments} for call in entry.answer()]
        try:
            check(output, entry, underscores=False)
        except Wrong:
            missed.add(entry.name)
        for tool in _tools(entry, BfclSettings()):
            narrow(tool.parameters, tool.name, formats=True)
    assert len(entries) >= 1000
    assert missed <= defects().keys()


def test_results_with_dots_in_names_are_graded_as_they_are_written(
    rig: Callable[..., Any], checkout: Path, tmp_path: Path
) -> None:
    out = tmp_path / "result" / "model" / "non_live"
    out.mkdir(parents=True)
    lines = {
        "simple_python": "[math.add(a=1, b=2)]",
        "live_parallel": "[math.add(a=2), math_add(a=1)]",
        "irrelevance": "I cannot do that.",
    }
    for category, result in lines.items():
        line = json.dumps({"id": f"{category}_0", "result": result})
        (out / f"BFCL_v4_{category}_result.json").write_text(line)
    scored = rig("score", "--format", "bfcl", tmp_path / "result", "--set", f"data={checkout}", "--json")
    assert scored.code == 0, scored.err
    metrics = scored.json["total"]["metrics"]
    assert (metrics["simple_python"], metrics["live_parallel"], metrics["irrelevance"]) == (1.0, 0.0, 1.0)
    text = f"[math.add(a=1, how={json.dumps(json.dumps({'x': 1}))})]"
    wrong = json.dumps({"id": "simple_python_0", "result": text})
    (out / "BFCL_v4_simple_python_result.json").write_text(wrong)
    scored = rig("score", "--format", "bfcl", tmp_path / "result", "--set", f"data={checkout}", "--json")
    assert scored.json["total"]["metrics"]["simple_python"] == 0.0


@pytest.mark.parametrize(
    ("category", "calls", "failed", "kind"),
    [
        ("simple_python", [{"math_add": {"a": 7}}], False, FaultKind.WRONG_ARGUMENT),
        ("simple_python", [{"math_sub": {"a": 1}}], False, FaultKind.WRONG_TOOL),
        ("simple_python", [], False, FaultKind.MISSING_CALL),
        ("simple_python", [], True, FaultKind.GENERATION_FAILED),
        ("simple_python", [{"math_add": {"a": 1}}] * 2, False, FaultKind.UNNEEDED_ACTION),
        ("live_parallel", [{"math_add": {"a": 1}}], False, FaultKind.MISSING_CALL),
        ("live_parallel", [{"math_add": {"a": 1}}, {"math_add": {"a": 9}}], True, FaultKind.WRONG_ARGUMENT),
        ("irrelevance", [{"math_add": {"a": 1}}], False, FaultKind.UNNEEDED_ACTION),
        ("live_relevance", "Which numbers?", False, FaultKind.MISSING_CALL),
        ("irrelevance", "No.", True, None),
    ],
)
def test_what_goes_wrong_has_its_kind(
    checkout: Path, category: str, calls: Any, failed: bool, kind: FaultKind | None
) -> None:
    [entry] = data.load(checkout / f"BFCL_v4_{category}.json")
    score = score_output(entry, calls, BfclSettings(), failed=failed)
    assert [fault.kind for fault in score.faults] == ([] if kind is None else [kind])


def _category(checkout: Path, category: str, entries: dict[str, Any]) -> None:
    """Replace a category by entries of one tool, each with its truth."""
    name = f"BFCL_v4_{category}.json"
    rows = [{"id": key, "question": ASK, "function": [ADD]} for key in entries]
    answers = [{"id": key, "ground_truth": truth} for key, truth in entries.items()]
    (checkout / name).write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    (checkout / "possible_answer" / name).write_text("".join(f"{json.dumps(row)}\n" for row in answers))


@pytest.mark.parametrize(
    "how",
    [
        [{"x": [1]}],
        [{"x": [{"y": 1}]}],
        [{"x": [{"y": [1]}]}],
        [{"x": [{"y": {"z": None}}, {"y": 2}]}],
        [{"x": [[1, {"y": 2}]], "w": ["", 3]}],
        [{"x": [[]], "w": [{}]}],
        [{}],
    ],
    ids=repr,
)
def test_the_truth_of_nested_objects_is_right(rig: Callable[..., Any], checkout: Path, how: Any) -> None:
    _category(checkout, "live_parallel", {"live_parallel_0": [{"math.add": {"a": [1], "how": how}}]})
    done = rig("run", "oracle", "--suite", checkout, "--display", "none", "--json")
    assert (done.code, done.json["arms"][0]["live_parallel"]) == (0, 1.0)


def test_an_entry_that_cannot_be_played_is_named_and_the_others_are(
    rig: Callable[..., Any], checkout: Path
) -> None:
    right = [{"math.add": {"a": [1]}}]
    broken = {"live_parallel_1": None, "live_parallel_2": [{"math.add": 3}], "live_parallel_3": [{}]}
    _category(checkout, "live_parallel", {"live_parallel_0": right, **broken})
    found = data.load(checkout)
    assert [entry.name for entry in found if entry.suite == "live_parallel"] == ["live_parallel_0"]
    assert [fault.split(": ")[0].rpartition(", ")[2] for fault in found.faults] == [
        "line 2",
        "line 3",
        "line 4",
    ]
    done = rig("run", "oracle", "--suite", checkout, "--display", "none", "--json")
    assert (done.code, done.json["arms"][0]["live_parallel"]) == (0, 1.0)
    assert done.err.count("not an entry of BFCL") == 3


def test_a_truth_that_no_answer_meets_is_a_failure_and_ends_no_run(
    rig: Callable[..., Any], checkout: Path
) -> None:
    _category(
        checkout, "live_parallel", {"live_parallel_0": [{"math.add": {"a": [1], "how": [{"x": {"y": 1}}]}}]}
    )
    done = rig("run", "oracle", "--suite", checkout, "--display", "none", "--json")
    assert (done.code, done.json["arms"][0]["live_parallel"]) == (0, 0.0)
    checked = rig("check", checkout)
    assert checked.code == 1
    assert checked.out.splitlines() == [
        "live_parallel_0: checker:exception: cannot be checked: KeyError: 0",
        f"{checkout}: 5 tasks, 1 fault",
    ]


def test_the_truth_names_what_is_required_where_it_might_also_be_left_out(
    rig: Callable[..., Any], checkout: Path
) -> None:
    truth = {"math.add": {"a": ["", 5], "b": ["", 2.0]}}
    _category(checkout, "live_parallel", {"live_parallel_0": [truth]})
    [entry] = [entry for entry in data.load(checkout) if entry.suite == "live_parallel"]
    assert [call.arguments for call in entry.answer()] == [{"a": 5}]
    assert rig("check", checkout).code == 0


def test_an_entry_without_functions_counts_where_nothing_is_to_be_called(
    rig: Callable[..., Any], tmp_path: Path
) -> None:
    file = tmp_path / "BFCL_v4_live_irrelevance.json"
    entries = [{"id": f"live_irrelevance_{n}", "question": ASK, "function": [ADD] * n} for n in range(2)]
    file.write_text("\n".join(map(json.dumps, entries)))
    loaded = data.load(file)
    assert (len(loaded), loaded.faults) == (2, ())
    assert tools_of(loaded[0].functions, "python", BfclSettings()) == ()
    assert score_output(loaded[0], [], BfclSettings()).counts["correct"] == 1
    assert score_output(loaded[0], [{"math.add": {"a": 1}}], BfclSettings()).counts["correct"] == 0
    done = rig("run", "oracle", "--suite", file, "--display", "none", "--json")
    assert (done.code, done.json["arms"][0]["live_irrelevance"]) == (0, 1.0)


@pytest.mark.parametrize(
    ("values", "fits"), [([1], True), ([1, "1"], True), (["1", 1], True), (["1"], False), ([[1]], False)]
)
def test_a_truth_of_another_type_than_its_schema_is_a_fault(
    rig: Callable[..., Any], checkout: Path, values: list[Any], fits: bool
) -> None:
    answers = checkout / "possible_answer" / "BFCL_v4_simple_python.json"
    answers.write_text(
        json.dumps(
            {"id": "simple_python_0", "ground_truth": [{"math.add": {"a": values, "b": [""], "how": [""]}}]}
        )
    )
    done = rig("check", checkout / "BFCL_v4_simple_python.json")
    told = "simple_python_0: math.add: a: no allowed value is of the declared type integer" in done.out
    assert told == (not fits)
    assert done.code == (not fits)


def test_a_thousand_calls_in_any_order_are_the_most() -> None:
    function = {"name": "f", "parameters": {"type": "dict", "properties": {"a": {"type": "integer"}}}}
    entry = {"id": "parallel_0", "question": [[{"role": "user", "content": "x"}]], "function": [function]}
    truth = [{"f": {"a": [number]}} for number in range(1_001)]
    assert data.parse({"entry": entry, "truth": truth[1:]}, "here", "parallel").truth == truth[1:]
    with pytest.raises(RigError, match="here: not an entry of BFCL"):
        data.parse({"entry": entry, "truth": truth}, "here", "parallel")
