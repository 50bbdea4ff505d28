"""What an assistant wrote, what upstream records of it and scores: vectors that were executed in its code.

Each goes the whole way: a dialogue in compat, its record as it is exported, its score. A number is that of
the vector in upstream's list; those without one follow from the same rules.
"""

import json
from typing import Any, NamedTuple

import pytest
from small_scenarios import Heard, scenario

from rig.methods.scripted import replied
from rig.plugins.autode import judgement as slots
from rig.plugins.autode.scenarios import Utterance
from rig.plugins.autode.talk import AutoDeSettings
from rig.plugins.papers.autode import record_of

GOLD = {"deviceType": "mobile phone", "appName": "Maps", "estimateTime": True}
CITY = {"city": "São Paulo"}
ONE = {"deviceType": "mobile phone"}


class Vector(NamedTuple):
    """The text, what is stored of its call, and precision, recall and F1."""

    text: str
    stored: dict[str, Any]
    scores: tuple[float, float, float]
    gold: dict[str, Any] = GOLD


def func(name: str = "Navigate", **arguments: Any) -> str:
    return f"<func>{json.dumps({'functionName': name, **arguments})}</func>"


RIGHT, NOTHING, THIRD = (1, 1, 1), (0, 0, 0), (1, 1 / 3, 0.5)
PERFECT = func(**GOLD)
AS_TEXT = GOLD | {"estimateTime": "True"}
SLOPPY = GOLD | {"deviceType": "Mobile phone", "appName": "Maps "}
COPIED = GOLD | {"given parameter name": "x"}

CALLS = {
    "1 the function's name is not looked at": Vector(func("WRONG", **GOLD), GOLD, RIGHT),
    "2 all right": Vector(PERFECT, GOLD, RIGHT),
    "3 a truth value as text": Vector(func(**AS_TEXT), AS_TEXT, (2 / 3, 2 / 3, 2 / 3)),
    "5 case and blanks": Vector(func(**SLOPPY), SLOPPY, (1 / 3, 1 / 3, 1 / 3)),
    "7 a number is dropped": Vector(func(**ONE, estimateTime=1), ONE, THIRD),
    "9 the first of two calls": Vector(func(deviceType="TV") + PERFECT, {"deviceType": "TV"}, NOTHING),
    "11 a call goes before an end": Vector(f"{func(**ONE)} [DONE]", ONE, THIRD),
    "11 and before an end ahead of it": Vector(f"[DONE] {func(**ONE)}", ONE, THIRD),
    "12 a placeholder is a slot": Vector(func(**COPIED), COPIED, (0.75, 1, 6 / 7)),
    "14 arguments in an object of their own": Vector(func(parameters=GOLD), {}, NOTHING),
    "19 escapes are letters": Vector(r'<func>{"city": "S\u00e3o Paulo"}</func>', CITY, RIGHT, CITY),
    "19 letters are letters": Vector('<func>{"city": "São Paulo"}</func>', CITY, RIGHT, CITY),
    "prose around is ignored": Vector(f"Sure!\n{PERFECT}\nDone.", GOLD, RIGHT),
    "several lines": Vector(f"<func>\n{json.dumps(GOLD, indent=2)}\n</func>", GOLD, RIGHT),
    "never closed is an empty call": Vector(f"<func>{json.dumps(GOLD)}", {}, NOTHING),
    "closed by a misspelt tag": Vector(f"<func>{json.dumps(GOLD)}<func/>", {}, NOTHING),
    "no arguments": Vector("<func>{}</func>", {}, NOTHING),
    "the name alone": Vector(func(), {}, NOTHING),
    "nulls, blanks, lists, numbers": Vector(
        func(**ONE, a=None, b=" ", c="NULL", d=[1], e={}, f=1.5, g=0), ONE, THIRD
    ),
    "no number": Vector('<func>{"deviceType": "mobile phone", "a": NaN, "b": -Infinity}</func>', ONE, THIRD),
    "false is a value": Vector(func(estimateTime=False), {"estimateTime": False}, NOTHING),
    "the last of a name's values": Vector(
        '<func>{"appName": "x", "appName": "Maps"}</func>', {"appName": "Maps"}, THIRD
    ),
    "another spelling of the name is a slot": Vector(
        func(**GOLD, funcName="Navigate"), GOLD | {"funcName": "Navigate"}, (0.75, 1, 6 / 7)
    ),
}

MALFORMED = {
    "4 a value of Python's": '<func>{"estimateTime":True}</func>',
    "4 no object around": '<func>"estimateTime":True</func>',
    "15 a fence inside": f"<func>```json\n{json.dumps(GOLD)}\n```</func>",
    "15 a tag inside": f"<func>{PERFECT}</func>",
    "15 a misspelt tag inside": f"<func><func/>{json.dumps(GOLD)}</func>",
    "17 null": "<func>null</func>",
    "17 a number": "<func>3</func>",
    "17 a text": '<func>"abc"</func>',
    "17 a list, at which upstream crashes": f"<func>[{json.dumps(GOLD)}]</func>",
    "nothing": "<func></func>",
    "single quotes": "<func>{'appName': 'Maps'}</func>",
    "two objects": "<func>{} {}</func>",
    "too deep": f"<func>{'[' * 100_000}</func>",
    "a number without end": f'<func>{{"a": {"9" * 5_000}}}</func>',
}

TALK = {
    "16 no tag": json.dumps(GOLD),
    "16 capitals": f"<FUNC>{json.dumps(GOLD)}</FUNC>",
    "only the end of a tag": f"{json.dumps(GOLD)}</func>",
    "a misspelt tag": f"<func/>{json.dumps(GOLD)}</func>",
    "another end": "I am [done].",
    "nothing": "",
}


def played(text: str, gold: dict[str, Any] = GOLD) -> tuple[Heard, dict[str, Any]]:
    """A dialogue in compat whose assistant begins with this text, and its record in a result file."""
    heard = Heard(scenario(gold), [replied(text)], settings=AutoDeSettings(compat=True))
    heard.turn()
    return heard, json.loads(record_of(scenario(gold), heard.episode.talk, compat=True).line())


@pytest.mark.parametrize("name", CALLS)
def test_calls_are_stored_and_scored_as_upstream_has_them(name: str) -> None:
    vector = CALLS[name]
    heard, record = played(vector.text, vector.gold)
    assert (heard.end, record["state"], record["reason"]) == ("called", "success", "")
    assert record["slots"] == vector.stored
    assert [turn["role"] for turn in record["content"]] == ["User"]
    found = [heard.counts[part] for part in ("precision", "recall", "f1")]
    assert found == pytest.approx(vector.scores, abs=1e-4)


@pytest.mark.parametrize("name", MALFORMED)
def test_what_is_no_object_ends_it_with_a_failure(name: str) -> None:
    heard, record = played(MALFORMED[name])
    assert (heard.end, record["state"], record["slots"]) == ("malformed", "failure", {})
    assert record["reason"].startswith("Arguments parse failed: ")
    assert heard.turns[0].steps[0].prediction.error_detail
    assert [heard.counts[part] for part in ("precision", "recall", "f1")] == [0, 0, 0]


@pytest.mark.parametrize("name", TALK)
def test_without_the_tag_the_conversation_goes_on(name: str) -> None:
    heard, _ = played(TALK[name])
    assert (heard.end, heard.said[-1]) == (None, ("Assistant", TALK[name]))


@pytest.mark.parametrize(
    ("true", "predicted", "scores"),
    [
        ({}, {}, (1, 1, 1)),
        ({}, {"a": 1}, (0, 0, 0)),
        ({"a": True}, {"a": 1}, (1, 1, 1)),
        ({"a": "b"}, {}, (0, 0, 0)),
    ],
)
def test_vector_20_of_the_scorer_alone(
    true: dict[str, Any], predicted: dict[str, Any], scores: tuple[float, ...]
) -> None:
    counted = slots.count(true, predicted)
    assert (counted.precision, counted.recall, counted.f1) == scores


@pytest.mark.parametrize(
    ("replies", "mode", "messages", "asked", "last", "reason"),
    [
        (["Hm?"] * 9, "dynamic", 17, 16, "User", "Round limit reached"),
        (["Hm?", "Hm?", PERFECT], "dynamic", 5, 5, "User", ""),
        (["No. [DONE]"], "dynamic", 2, 1, "Assistant", ""),
        (["Hm?"], "static", 4, 1, "Assistant", "Round limit reached"),
        ([PERFECT], "static", 3, 1, "User", ""),
        (["No. [DONE]"], "static", 4, 1, "Assistant", ""),
    ],
)
def test_the_protocol_and_what_is_recorded_of_it(
    replies: list[str], mode: Any, messages: int, asked: int, last: str, reason: str
) -> None:
    history = [("User", "Light."), ("Assistant", "Where?"), ("User", "In the hall.")]
    task = scenario(GOLD, history=[Utterance(*each) for each in history])
    settings = AutoDeSettings(mode=mode, compat=True)
    heard = Heard(task, [replied(text) for text in replies], [replied("Hm.")] * 9, settings).all()
    record = record_of(task, heard.episode.talk, compat=True)
    assert (len(record.said), len(heard.asked), record.said[-1].role) == (messages, asked, last)
    assert (record.reason, record.success) == (reason, PERFECT in replies)


def test_what_no_file_could_hold_is_written_as_text() -> None:
    text = func("SwitchLamp", room="\ud800").replace("}<", ', "startTime": NaN}<')
    heard = Heard(scenario(), [replied(text)], settings=AutoDeSettings(form="func")).all()
    line = record_of(scenario(), heard.episode.talk, compat=False).line()
    assert line.isascii()
    assert json.loads(line, parse_constant=pytest.fail)["slots"] == {"room": "\ud800", "startTime": "nan"}
