"""The arms of --grammar in the whole engine: random weights, and answers put into the model's mouth."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from rig_form import rig_format
from spoken import speak

from rig.core.calls import Call
from rig.core.errors import ErrorKind
from rig.core.models import Piece, Prediction, Request
from rig.plugins.llama.core.settings import EngineSettings
from rig.plugins.llama.engine import LlamaCppModel
from rig.plugins.llama.loading import load

Open = Callable[..., LlamaCppModel]
Ask = Callable[..., Request]
Write = Callable[..., Path]

ARMS = [{"grammar": "json"}, {"grammar": "strict"}]


def ignore(_piece: Piece) -> None:
    pass


def name(arm: dict[str, Any]) -> str:
    return "-".join(arm.values())


@pytest.mark.parametrize("arm", ARMS, ids=name)
@pytest.mark.parametrize("fast_forward", [True, False])
def test_every_finished_answer_is_valid_in_every_arm(
    open_model: Open, tiny_path: Write, ask: Ask, arm: dict[str, Any], fast_forward: bool
) -> None:
    model = open_model(
        tiny_path(tokenizer="merged"), temperature=1.0, max_tokens=80, fast_forward=fast_forward, **arm
    )
    schema = rig_format(ask("x").tools, arm["grammar"]).language().schema
    kinds = set()
    for step in range(12):
        prediction = model.predict(ask("hello", step=step), ignore)
        kinds.add(prediction.kind)
        assert prediction.error in (None, ErrorKind.TRUNCATED), prediction.error_detail
        assert prediction.salvage == ""
        if prediction.error is None:
            jsonschema.validate(json.loads(prediction.raw), schema)
    assert kinds > {"error"}


@pytest.mark.parametrize("arm", ARMS, ids=name)
def test_each_slot_has_a_constraint_of_its_own(
    open_model: Open, tiny_path: Write, ask: Ask, arm: dict[str, Any]
) -> None:
    model = open_model(tiny_path(), temperature=1.0, max_tokens=80, parallel=3, **arm)
    schema = rig_format(ask("x").tools, arm["grammar"]).language().schema
    waiting = [ask("hello", conversation=f"c{number}") for number in range(9)]
    for slot in range(3):
        model.begin(slot, waiting.pop(), ignore)
    done: list[Prediction] = []
    while len(done) < 9:
        for slot, prediction in model.advance():
            done.append(prediction)
            if waiting:
                model.begin(slot, waiting.pop(), ignore)
    for prediction in done:
        assert prediction.error in (None, ErrorKind.TRUNCATED), prediction.error_detail
        if prediction.error is None:
            jsonschema.validate(json.loads(prediction.raw), schema)
    assert len({prediction.raw for prediction in done}) > 1


def test_settings_of_the_grammar_are_in_the_fingerprint(open_model: Open, tiny_path: Write) -> None:
    prints = [open_model(tiny_path(), **arm).fingerprint for arm in [*ARMS, {"grammar": "none"}]]
    assert len({json.dumps(dict(each), sort_keys=True) for each in prints}) == len(prints)
    default, *_, free = prints
    assert default["grammar"] == "json"
    assert str(default["grammar_engine"]).startswith("llguidance 1.")
    assert (free["grammar"], "grammar_engine" in free, "salvage_rules" in free) == ("none", False, True)


def test_a_grammar_is_remarked_on_where_it_is_not_the_default(tiny_path: Write) -> None:
    remarks = []
    for arm in [*ARMS, {"grammar": "none"}]:
        notices: list[str] = []
        load(tiny_path(), EngineSettings(n_threads=1, **arm), "tiny", notices.append).close()
        remarks += [notice for notice in notices if "grammar" in notice]
    assert remarks == [
        "tiny: grammar strict: formats are enforced",
        "tiny: no grammar; answers are salvaged",
    ]


@pytest.mark.parametrize(
    ("text", "kind", "salvage"),
    [
        ('{"tool": "AddAlarm", "arguments": {"time": "7"}}', "call", ""),
        (
            '<tool_call>\n{"name": "AddAlarm", "arguments": {"time": "7"}}\n</tool_call>',
            "call",
            "<tool_call>, name/arguments",
        ),
        ("Good morning.", "reply", "words"),
        ('{"name": "AddAlarm", "arguments": {"time": 7}}', "error", "name/arguments"),
        ('{"name": "AddAlarm", "arguments": {"hour": "7"}}', "error", "name/arguments"),
        ('{"name": "SetAlarm", "arguments": {}}', "error", "name/arguments"),
        ('<tool_call>{"name": "AddAlarm"', "error", "<tool_call>"),
    ],
)
def test_without_a_grammar_answers_are_salvaged_and_judged(
    open_model: Open,
    tiny_path: Write,
    ask: Ask,
    monkeypatch: pytest.MonkeyPatch,
    text: str,
    kind: str,
    salvage: str,
) -> None:
    model = open_model(tiny_path(tokenizer="marks"), grammar="none")
    speak(monkeypatch, model, lambda _: text)
    prediction = model.predict(ask("hello"), ignore)
    assert (prediction.raw, prediction.kind, prediction.salvage) == (text, kind, salvage)
    if kind == "call":
        assert prediction.call == Call("AddAlarm", {"time": "7"})
    if kind == "error":
        assert prediction.error is ErrorKind.INVALID
    assert prediction.usage.forced_tokens == 0


def test_only_marks_of_calls_are_special_tokens_that_a_free_answer_may_hold(
    open_model: Open, tiny_path: Write, ask: Ask
) -> None:
    model = open_model(tiny_path(tokenizer="marks"), grammar="none")
    tokenizer = model.tokenizer
    allowed = model.grammar.start(rig_format().language()).allowed()
    special = [token for token in range(tokenizer.n_vocab) if tokenizer.is_control(token)]
    shown = {tokenizer.special_text(token) for token in special if allowed[token]}
    assert shown == {"<tool_call>", "</tool_call>", "<|im_end|>", "<|endoftext|>"}
    assert not allowed[tokenizer.template("<|im_start|>")].any()
    [mark] = tokenizer.template("<tool_call>")
    assert tokenizer.shown(mark) == b"<tool_call>"


def test_free_answers_without_an_end_are_truncated(
    open_model: Open, tiny_path: Write, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = open_model(tiny_path(), grammar="none", max_tokens=9)
    speak(monkeypatch, model, lambda _: "x" * 20)
    prediction = model.predict(ask("hello"), ignore)
    assert (prediction.raw, prediction.error, prediction.salvage) == ("x" * 9, ErrorKind.TRUNCATED, "")
    assert prediction.logprobs == (-1.0,) * 9
