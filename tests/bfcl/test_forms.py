"""BFCL's format sensitivity: prompts that ask for calls as text in many forms, and how the texts are read."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from public_data import public

from rig.core.errors import ErrorKind, RigError
from rig.core.events import Where
from rig.core.metrics import Score
from rig.core.models import Prediction
from rig.methods.scripted import failed
from rig.plugins.bfcl import data
from rig.plugins.bfcl.answers import LONGEST, decode_form
from rig.plugins.bfcl.data import BfclSettings, SingleTurnEntry
from rig.plugins.bfcl.forms import FORMS, PromptForm
from rig.plugins.bfcl.method import METHOD, true_answer

BOOK = {
    "name": "trip.book",
    "description": "Books <seats> & rooms.",
    "parameters": {
        "type": "dict",
        "properties": {
            "city": {"type": "string", "description": 'Where to, such as "Oslo".', "enum": ["Oslo", "Rome"]},
            "seats": {"type": "array", "items": {"type": "integer"}, "description": "which"},
            "price": {"type": "float", "default": 1.5},
            "with_meal": {"type": "boolean"},
            "guest": {"type": "dict", "properties": {"name": {"type": "string", "description": "whole"}}},
        },
        "required": ["city", "seats"],
    },
}
ASK = [[{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Book it."}]]
ONE = {
    "city": ["Oslo"],
    "seats": [[1, 2]],
    "price": [2.0, ""],
    "with_meal": [True],
    "guest": [{"name": ["Ann O'Hara"]}],
}
TRUTHS = {
    "simple_python": [{"trip.book": ONE}],
    "live_parallel": [
        {"trip.book": ONE},
        {"trip.book": {**ONE, "city": ["Rome"], "guest": ["", {"name": ["B"]}]}},
    ],
}


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Data of two categories, and the list of those that are asked in several forms."""
    place = tmp_path / "data"
    (place / "possible_answer").mkdir(parents=True)
    for category, truth in TRUTHS.items():
        rows = [{"id": f"{category}_{n}-0-0", "question": ASK, "function": [BOOK]} for n in range(3)]
        answers = [{"id": row["id"], "ground_truth": truth} for row in rows]
        for file, lines in ((place, rows), (place / "possible_answer", answers)):
            (file / f"BFCL_v4_{category}.json").write_text("\n".join(map(json.dumps, lines)))
    ids = {
        "simple_python": ["simple_python_2-0-0", "simple_python_0-0-0"],
        "live_parallel": ["live_parallel_1-0-0"],
    }
    (place / "BFCL_v4_format_sensitivity.json").write_text(json.dumps(ids, indent=1))
    return place


def entries(checkout: Path) -> list[SingleTurnEntry]:
    return list(data.load(checkout / "BFCL_v4_format_sensitivity.json"))


def played(entry: SingleTurnEntry, form: str, prediction: Prediction) -> tuple[Any, Score]:
    """The steps of an answer, and its score."""
    values = {"names": "dots", "form": form, "data": ""}
    setup = METHOD.ready(values)
    episode = setup.start(entry, setup.settings, Where(0, entry.name), lambda _event: None, 0)
    playing = episode.play()
    next(playing)
    with pytest.raises(StopIteration):
        playing.send(prediction)
    again = setup.score(entry, episode.played, setup.settings)
    assert again == episode.score()
    return episode.played[0].steps, again


def said(entry: SingleTurnEntry, form: str, text: str) -> bool:
    """Whether a text is right."""
    return bool(played(entry, form, Prediction(raw=text, reply=text))[1].counts["correct"])


def test_the_entries_of_the_list_are_loaded_with_the_rules_of_their_categories(checkout: Path) -> None:
    loaded = entries(checkout)
    assert [(entry.name, entry.category) for entry in loaded] == [
        ("simple_python_2-0-0", "simple_python"),
        ("simple_python_0-0-0", "simple_python"),
        ("live_parallel_1-0-0", "live_parallel"),
    ]
    assert {entry.suite for entry in loaded} == {"format_sensitivity"}
    stored = [METHOD.parse(entry.source, "x", entry.suite) for entry in loaded]
    assert [entry.category for entry in stored] == [entry.category for entry in loaded]
    assert {entry.suite for entry in data.load(checkout)} == set(TRUTHS)  # a folder has no entry twice
    place = checkout / "BFCL_v4_format_sensitivity.json"
    place.write_text(json.dumps({"simple_python": ["simple_python_2-0-0", "no"], "multiple": ["multiple_1"]}))
    assert data.load(place).faults == (f"{place}: the files beside it lack 2 entries of it",)
    for text, fault in (
        ('{"multiple": ["multiple_1"]}', "none of its entries"),
        ("[]", "lists of BFCL's ids"),
        ("{", "not JSON"),
    ):
        place.write_text(text)
        with pytest.raises(RigError, match=fault):
            data.load(place)


def test_the_26_forms_of_the_category() -> None:
    assert (len(FORMS), len(set(FORMS))) == (26, 26)
    forms = [PromptForm.parse(name) for name in FORMS]
    assert tuple(map(str, forms)) == FORMS
    assert (FORMS[0], FORMS[5], FORMS[23]) == ("python:tag:python", "python", "concise_xml")
    assert str(PromptForm.parse("json:experimental:xml:tag")) == "json:tag:xml:experimental"
    prompts = {(form.instructions, form.documentation([BOOK])) for form in forms if form is not None}
    assert len(prompts) == 26
    for name in ("", "yaml", "json:yaml", "json:python:xml", "json:", "none:tag", "all:tag"):
        with pytest.raises(RigError, match=f"{name!r} is not a form: none, all, or python, json"):
            PromptForm.parse(name)


@pytest.mark.parametrize("names", ["dots", "underscores"])
def test_truths_are_right_in_every_form(checkout: Path, names: str) -> None:
    for form in (*FORMS, "json:tag:xml:markdown:experimental"):
        settings = BfclSettings(names, form)
        for entry in entries(checkout):
            request = METHOD.opening(entry, settings, "assistant")
            assert request.in_words
            answer = true_answer(entry, request).reply
            assert answer is not None
            assert ("<TOOLCALL>" in answer) is ("tag" in form.split(":"))
            assert request.instructions.count("<TOOLCALL>") == ("tag" in form.split(":"))
            assert "Be brief." in request.context
            assert "Where to" in request.context
            if names == "dots":
                assert said(entry, form, answer)
                assert not said(entry, form, answer.replace("Oslo", "Bergen"))


def test_functions_are_shown_whole_in_each_way() -> None:
    forms = filter(None, map(PromptForm.parse, ("json:python", "json:xml")))
    python, xml = (form.documentation([BOOK]) for form in forms)
    assert "def trip.book(city: str, seats: list[int], price: float = 1.5, with_meal: bool = None," in python
    assert "\n    guest (dict): \n        name (str): whole\n" in python
    assert "city (str): Where to, such as \"Oslo\". One of ['Oslo', 'Rome'].\n" in python
    assert "<description>Books &lt;seats&gt; &amp; rooms.</description>" in xml
    assert '<parameter name="price" type="float" required="no" default="1.5" />' in xml
    assert '<parameter name="seats" type="array[integer]" required="yes">which</parameter>' in xml


CALL = [{"f": {"a": 1, "b": "x"}}]


@pytest.mark.parametrize(
    ("form", "text", "output"),
    [
        ("python", "[f(a=1, b='x')]", CALL),
        ("python:tag", "Sure: <TOOLCALL>[f(a=1, b='x')]</TOOLCALL> <TOOLCALL>g()</TOOLCALL>", CALL),
        ("json", '```json\n[{"function": "f", "parameters": {"a": 1, "b": "x"}}]\n```', CALL),
        ("json", 'I call [{"function": "f", "parameters": {"a": 1, "b": "x"}}] for you.', CALL),
        ("json:tag", '<TOOLCALL>[{"function": "f", "parameters": {"a": 1, "b": "x"}}, 5]</TOOLCALL>', CALL),
        ("json", "No function does that.", []),
        ("json", '[{"function": "f", "parameters": {"a": [{"b": 1}]}}]', []),  # as upstream
        (
            "verbose_xml",
            '```xml\n<functions><function name="f"><params><param name="a" value="1" type="integer"/>'
            '<param name="b" value="x"/></params></function></functions>```',
            CALL,
        ),
        (
            "verbose_xml",
            '<functions><function name="f"><param name="a" value="1" type="integer"/><param name="b"'
            ' value="x" type="string"/></function></functions>',
            CALL,
        ),
        (
            "concise_xml",
            'x <functions><function name="f"><param name="a" type="integer"> 1 </param><param name="b">x'
            "</param></function></functions> y",
            CALL,
        ),
        (
            "concise_xml",
            '<functions><function name="f"><param name="a" type="array">[1, (2, 3)]</param><param name="b"'
            ' type="boolean">yes</param><param name="c" type="null">0</param><param name="d" type="float">1'
            '</param><param name="e" type="date">2</param><param name="g" type="dict">{"k": None}</param>'
            "</function></functions>",
            [{"f": {"a": [1, (2, 3)], "b": False, "c": None, "d": 1.0, "e": "2", "g": {"k": None}}}],
        ),
        ("concise_xml", "<functions></functions>", []),
    ],
)
def test_answers_are_read_in_their_form(form: str, text: str, output: Any) -> None:
    parsed = PromptForm.parse(form)
    assert parsed is not None
    assert decode_form(text, parsed) == output


HOSTILE = [
    "",
    "(" * 9000,
    "[" * 90_000,
    "[{" * 90_000,
    "<functions>" * 18_000,
    "<TOOLCALL>" * 18_000,
    "x" * (LONGEST + 1),
    "[f(a=__import__('os').system('true'), b=2**9**9**9)]",
    "<functions><function name='f'><param name='a' type='array'>open('x')</param></function></functions>",
    "<functions>" + "<a>" * 40_000 + "</functions>",
    '[{"function": ["f"], "parameters": {}}]',
    '[{"function": "f"}]',
    "<functions><function/></functions>",
    "<functions><function name='f'><param name='a' type='integer'>one</param></function></functions>",
    "<functions>&bomb;</functions>",
    "[f(a=\ud800)]",
]


@pytest.mark.slow
@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_answers_are_wrong_and_nothing_worse(checkout: Path, text: str) -> None:
    entry = entries(checkout)[0]
    for form in ("python", "json:tag", "json", "verbose_xml", "concise_xml", "concise_xml:tag"):
        for answer in (text, f"<TOOLCALL>{text}</TOOLCALL>"):
            assert not said(entry, form, answer)


def test_an_answer_is_judged_as_it_was_written_and_shown_as_calls(checkout: Path) -> None:
    entry = entries(checkout)[0]
    right = "[trip.book(city='Oslo', seats=[1, 2], with_meal=True, guest={'name': \"Ann O'Hara\"})]"
    steps, score = played(entry, "python", Prediction(raw=right, reply=right))
    [step] = steps
    assert step.prediction.content == right
    assert step.executed.call.arguments["seats"] == [1, 2]
    assert [verdict.match for verdict in score.verdicts] == [True]
    # A tuple is no list, though both are the same in the store.
    wrong = right.replace("[1, 2]", "(1, 2)")
    [step], score = played(entry, "python", Prediction(raw=wrong, reply=wrong))
    assert step.executed.call.arguments["seats"] == [1, 2]
    assert not score.counts["correct"]
    odd = right.replace("'Oslo'", "1j")
    [step], score = played(entry, "python", Prediction(raw=odd, reply=odd))
    assert step.executed.call.arguments["city"] == "1j"
    for strange in ("1e999", "'\\ud800'"):
        text = right.replace("'Oslo'", strange)
        [step], _ = played(entry, "python", Prediction(raw=text, reply=text))
        assert (step.prediction.reply, step.executed) == (text, None)
    many = f"[{'f(), ' * 300}f()]"
    [step], score = played(entry, "python", Prediction(raw=many, reply=many))
    assert (step.prediction.reply, step.executed, score.verdicts) == (many, None, ())
    assert not played(entry, "python", failed(ErrorKind.TRUNCATED, raw=right))[1].counts["correct"]


@pytest.mark.slow
def test_forms_are_arms_whose_success_spreads(rig: Callable[..., Any], checkout: Path) -> None:
    suite = checkout / "BFCL_v4_format_sensitivity.json"
    done = rig(
        *("run", "oracle", "--suite", suite, "--set", "form=none,python,json:xml:tag,verbose_xml"),
        *("--set", "form=python:python,concise_xml:markdown", "--display", "none", "--json"),
    )
    assert done.code == 0, done.err
    arms = done.json["arms"]
    forms = ["none", "python", "json:tag:xml", "verbose_xml", "python:python", "concise_xml:markdown"]
    assert [arm["arm"] for arm in arms] == [f"oracle form={form}" for form in forms]
    assert {arm["format_sensitivity"] for arm in arms} == {1.0}
    compared = rig("compare", "latest", "--json").json
    [spread] = compared["spreads"]
    assert (spread["name"], spread["option"], spread["variants"], spread["value"]) == (
        "oracle",
        "form",
        6,
        0.0,
    )
    assert "between 6 forms of prompt and answer" in spread["text"]
    assert "5 arms differ from the baseline in form" in rig("compare", "latest").out
    assert rig("score", "latest").code == 0


def test_answers_in_forms_are_exported_under_upstreams_ids(
    rig: Callable[..., Any], checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    suite, out = checkout / "BFCL_v4_format_sensitivity.json", tmp_path / "results"
    forms = ("--set", "form=none,json,python:markdown", "--display", "none")
    assert rig("run", "oracle", "--suite", suite, *forms).code == 0
    monkeypatch.delenv("RIG_BFCL", raising=False)
    refused = rig("export", "latest", "--format", "bfcl", "--output", out)
    assert (refused.code, "where is BFCL's data?" in refused.err, out.exists()) == (2, True, False)
    monkeypatch.setenv("RIG_BFCL", str(checkout))
    assert rig("export", "latest", "--format", "bfcl", "--output", out).code == 0
    assert sorted(path.relative_to(out).as_posix() for path in out.rglob("*.json")) == [
        "oracle form=none/BFCL_v4_live_parallel_result.json",
        "oracle form=none/BFCL_v4_simple_python_result.json",
        "oracle/BFCL_v4_format_sensitivity_result.json",
    ]
    lines = (out / "oracle/BFCL_v4_format_sensitivity_result.json").read_text().splitlines()
    results = {row["id"]: row["result"] for row in map(json.loads, lines)}
    json_, markdown = (
        f"ret_fmt={returns}&tool_call_tag=False&func_doc_fmt=json&prompt_fmt={prompt}&style=classic"
        for returns, prompt in (("json", "plaintext"), ("python", "markdown"))
    )
    # Entries in the order of their files, 26 forms each; upstream's ids number them.
    names = ("simple_python_0-0-0", "simple_python_2-0-0", "live_parallel_1-0-0")
    assert set(results) == {
        f"format_sensitivity_{place * 26 + number}:{config}:{name}"
        for place, name in enumerate(names)
        for number, config in ((11, json_), (24, markdown))
    }
    assert results[f"format_sensitivity_11:{json_}:{names[0]}"].startswith("```json\n[{")
    suite.write_text(json.dumps({"simple_python": ["simple_python_1-0-0"]}))
    again = rig("export", "latest", "--format", "bfcl", "--output", tmp_path / "again")
    assert (again.code, "not among the ids" in again.err) == (2, True)


def test_fingerprints_without_a_form_stay_what_they_were() -> None:
    assert BfclSettings().fingerprint == {
        "protocol": "bfcl",
        "names": "underscores",
        "prompt_sha256": "d6ffa763ecd266d7d3da8cde2b9196f3fe8a03a12a0b070b86f4a3840c8f7780",
    }
    prints = [json.dumps(BfclSettings(form=form).fingerprint) for form in (*FORMS, "none")]
    assert len(set(prints)) == 27


def test_forms_are_for_functions_in_python(rig: Callable[..., Any], checkout: Path) -> None:
    (checkout / "BFCL_v4_live_parallel.json").rename(checkout / "BFCL_v4_simple_java.json")
    answers = checkout / "possible_answer"
    (answers / "BFCL_v4_live_parallel.json").rename(answers / "BFCL_v4_simple_java.json")
    done = rig("run", "oracle", "--suite", checkout, "--set", "form=json", "--display", "none")
    assert (done.code, "form=json is for functions in Python" in done.err) == (2, True)


PUBLIC, with_data = public("RIG_BFCL", "data")


@pytest.mark.slow
@with_data
def test_truths_of_the_public_data_in_each_form() -> None:
    ids = PUBLIC / "BFCL_v4_format_sensitivity.json"
    loaded = [
        entry
        for entry in data.load(ids if ids.is_file() else PUBLIC)
        if entry.truth and entry.language == "python"
    ]
    plain = {entry.name for entry in loaded if _is_right(entry, "python")}
    assert len(plain) >= 0.9 * len(loaded)
    for form in ("python:tag", "json", "verbose_xml", "concise_xml:tag"):
        # A list of objects cannot be read in JSON, as upstream.
        missed = [entry.name for entry in loaded if entry.name in plain and not _is_right(entry, form)]
        has_objects = [
            name for name in missed if "[{" in str(next(e for e in loaded if e.name == name).truth)
        ]
        assert missed == has_objects, form
        assert form == "json" or not missed


def _is_right(entry: SingleTurnEntry, form: str) -> bool:
    settings = BfclSettings("dots", form)
    return said(entry, form, true_answer(entry, METHOD.opening(entry, settings, "assistant")).reply or "")
