"""What a run stores and says of a served arm beside its file, and what happened to calls on their way."""

import json
from types import SimpleNamespace
from typing import Any

import pytest

from rig.core.calls import Call
from rig.plugins.llama.formats.base import Reading
from rig.plugins.served.attribution import _changed, _Evidence, _lost, _Message
from rig.plugins.twins.notes import as_note, in_short
from rig.show.summary import note_lines

TOLD: dict[str, Any] = {
    "reference": "a",
    "alike": 20,
    "follows": 1,
    "others": 0,
    "causes": [
        {"cause": "prompt", "detail": "the tools are missing", "conversation": "c", "repeat": 0, "turn": 3},
        {"cause": "prompt", "detail": "the tools are missing", "conversation": "d", "repeat": 0, "turn": 1},
        {"cause": "chance", "detail": "a tie", "conversation": "d", "repeat": 0, "turn": 3},
    ],
    "counts": {"tp": 8, "fp": 1, "fn": 1, "tn": 14, "calling": 9, "valid": 9},
    "trigger_f1": [0.889, 0.7, 1.0],
    "schema_accuracy": [1.0, None, None],
    "noise_band": None,
}


def test_causes_are_a_table_by_turns() -> None:
    lines = list(note_lines([("http://127.0.0.1:80", {"attribution": as_note(TOLD)}), ("a", {})]))
    assert lines[0] == (
        "http://127.0.0.1:80: not faithful to a: 20 of 24 turns alike;"
        " differing: prompt 2, chance 1, 1 follow"
    )
    assert lines[1].split() == ["differing", "all", "turn", "1", "turn", "3"]
    assert lines[2].split()[:6] == ["prompt", "2", "1", "1", "c,", "turn"]
    assert lines[2].endswith("turn 3: the tools are missing")
    assert lines[3].split()[:4] == ["chance", "1", "-", "1"]
    assert "trigger F1 88.9% (70.0 to 100.0), schema accuracy 100.0%" in lines[4]
    assert len(lines) == 5


def test_ties_and_the_servers_grammar_are_no_faults() -> None:
    faithful = {
        **TOLD,
        "causes": [{**TOLD["causes"][2]}, {**TOLD["causes"][2], "cause": "grammar"}],
        "follows": 0,
    }
    assert in_short(faithful).startswith("faithful to a: 20 of 22 turns alike")


@pytest.mark.parametrize(
    ("name", "arguments", "what"),
    [
        ("AddAlarm", '{"time": "é"}', None),
        ("AddAlarm", '{ "time":"é" }', None),
        ("add_alarm", '{"time": "é"}', "called add_alarm"),
        ("SendMail", '{"time": "é"}', None),
        ("AddAlarm", json.dumps('{"time": "é"}'), "encoded twice"),
        ("AddAlarm", '{"time": "é"', "cut or changed"),
        ("AddAlarm", '{"Time": "é"}', "renamed"),
        ("AddAlarm", '{"time": "\ufffd"}', "characters are changed"),
        ("AddAlarm", '{"time": "10:00"}', None),
    ],
)
def test_a_call_that_was_changed_on_its_way_is_told_from_another_call(
    name: str, arguments: str, what: str | None
) -> None:
    changed = _changed("AddAlarm", {"time": "é"}, name, arguments, is_same=False)
    assert changed is None if what is None else what in str(changed)


@pytest.mark.parametrize(
    ("theirs", "what"),
    [
        ('{"n": 3, "b": true}', None),
        ('{"b": true, "n": 3}', "in another order"),
        ('{"n": "3", "b": "True"}', "other types"),
        ({"n": 3, "b": True}, "an object, not text"),
        ('{"n": 4, "b": true}', "changed on the way"),
    ],
)
def test_of_one_text_every_other_call_was_changed(theirs: Any, what: str | None) -> None:
    changed = _changed("f", {"n": 3, "b": True}, "f", theirs, is_same=True)
    assert changed is None if what is None else what in str(changed)


TWO = '{"name": "f", "arguments": {"n": 1}}{"name": "f", "arguments": {"n": 2}}'
ONE, OTHER = ("f", '{"n": 1}'), ("f", '{"n": 2}')


@pytest.mark.parametrize(
    ("calls", "content", "what"),
    [
        ((ONE, OTHER), "so", None),
        ((ONE,), "so", "1 of 2 calls are lost"),
        ((), "", "2 of 2 calls are lost"),
        ((), TWO, "a call is left in the text"),
        ((("f", '{"n": 1} {"n": 2}'),), "so", "several calls are merged into one"),
        ((OTHER, ONE), "so", "arguments are changed on the way"),
        ((ONE, OTHER, OTHER), "so", "calls are added: 3 instead of 2"),
        ((ONE, OTHER), "", "words beside calls are lost"),
        ((ONE, OTHER), "so<|im_end|>", "the special token <|im_end|> is in the text"),
    ],
)
def test_what_became_of_two_calls(calls: Any, content: str, what: str | None) -> None:
    reading = Reading((Call("f", {"n": 1}), Call("f", {"n": 2})), "so")
    reference = SimpleNamespace(read=lambda *_: reading, tokenizer=SimpleNamespace(specials=["<|im_end|>"]))
    evidence: Any = SimpleNamespace(
        reference=reference, served=SimpleNamespace(takes_tools=True), request=None
    )
    assert _Evidence._mangling(evidence, TWO, _Message(calls, content), is_same=True) == what


@pytest.mark.parametrize(("content", "what"), [(f" {TWO}", None), ("so", "the text is changed")])
def test_calls_in_words_are_no_fault_where_a_server_takes_no_tools(content: str, what: str | None) -> None:
    reading = Reading((Call("f", {"n": 1}),), "")
    reference = SimpleNamespace(read=lambda *_: reading, tokenizer=SimpleNamespace(specials=()))
    evidence: Any = SimpleNamespace(
        reference=reference, served=SimpleNamespace(takes_tools=False), request=None
    )
    assert _Evidence._mangling(evidence, TWO, _Message((), content), is_same=True) == what


TALK = (
    (1, "user", "Wake me at half past six, please."),
    (2, "assistant", '{"time": "06:30:00"}'),
    (3, "tool", '{"alarm_id": "1234-5678", "state": "set"}'),
    (4, "assistant", "It rings at half past six."),
    (5, "user", "Thanks. Delete it again."),
    (6, "assistant", '{"alarm_id": "1234-5678"}'),
)


@pytest.mark.parametrize(
    ("numbers", "kind", "what"),
    [
        ((1,), "context", "the oldest messages are cut"),
        ((1, 2, 3), "context", "the oldest messages are cut"),
        ((2, 3, 4), "context", "messages in the middle are cut"),
        ((5,), "prompt", "a message is missing"),
        ((3,), "prompt", "a result of a tool is missing"),
        ((2, 4), "prompt", "an earlier message is missing"),
        ((1, 5), "prompt", "a message is missing"),
        ((4, 5, 6), "prompt", "an earlier message is missing"),
    ],
)
def test_what_a_cut_leaves_out_is_in_one_piece(numbers: tuple[int, ...], kind: str, what: str) -> None:
    lost = [message for message in TALK if message[0] in numbers]
    theirs = " ".join(text for number, _, text in TALK if number not in numbers)
    told, detail = _lost(lost, TALK, theirs)
    assert (told, detail[: len(what)]) == (kind, what)


@pytest.mark.parametrize(("theirs", "kind"), [('{"alarm_id": "1234-', "context"), ("ok", "prompt")])
def test_a_message_is_cut_where_one_end_is_left(theirs: str, kind: str) -> None:
    assert _lost([TALK[2]], TALK, theirs)[0] == kind


def test_a_message_is_what_the_server_sent() -> None:
    raw = '{"content": "hm", "tool_calls": [{"name": "a", "arguments": "{"}]}'
    assert _Message.of(raw) == _Message((("a", "{"),), "hm")
    assert _Message.of("hm") == _Message((), "hm")
