"""What an assistant's words are, by upstream's rules: the vectors were executed in its code."""

import json
from typing import Any

import pytest

from rig.methods.autode import answers
from rig.methods.autode.scoring import slots

GOLD = {"deviceType": "mobile phone", "appName": "Maps", "estimateTime": True}
NAMED = {"functionName": "Navigate"}


def tagged(**arguments: Any) -> str:
    return f"<func>{json.dumps(NAMED | arguments)}</func>"


PERFECT = tagged(**GOLD)

SCORED = {
    "all right, another function": (tagged(**GOLD).replace("Navigate", "WRONG"), GOLD, (1, 1, 1)),
    "a truth value as text": (tagged(**GOLD | {"estimateTime": "True"}), None, (2 / 3, 2 / 3, 2 / 3)),
    "case and blanks": (
        tagged(**GOLD | {"deviceType": "Mobile phone", "appName": "Maps "}),
        None,
        (1 / 3,) * 3,
    ),
    "a number": (
        tagged(deviceType="mobile phone", estimateTime=1),
        {"deviceType": "mobile phone"},
        (1, 1 / 3, 0.5),
    ),
    "two calls": (tagged(deviceType="TV") + PERFECT, {"deviceType": "TV"}, (0, 0, 0)),
    "a call and an end": (
        f"Sure. {tagged(deviceType='mobile phone')} [DONE]",
        {"deviceType": "mobile phone"},
        (1, 1 / 3, 0.5),
    ),
    "a placeholder copied": (tagged(**GOLD, **{"given parameter name": "x"}), None, (0.75, 1, 6 / 7)),
    "nested under parameters": (tagged(parameters=GOLD), {}, (0, 0, 0)),
    "null and blank": (tagged(appName="NULL", deviceType="  ", estimateTime=None), {}, (0, 0, 0)),
    "never closed": ('<func>{"appName": "Maps"}', {}, (0, 0, 0)),
}


@pytest.mark.parametrize("name", SCORED)
def test_calls_hold_and_score_as_upstream_has_them(name: str) -> None:
    text, stored, scores = SCORED[name]
    answer = answers.read(text, compat=True)
    assert answer.kind == "call"
    if stored is not None:
        assert answer.slots == stored
    counted = slots.count(GOLD, answer.slots)
    assert (counted.precision, counted.recall, counted.f1) == pytest.approx(scores)


def test_unicode_escapes_are_the_letters_they_stand_for() -> None:
    answer = answers.read(r'<func>{"city": "S\u00e3o Paulo"}</func>', compat=True)
    assert slots.count({"city": "São Paulo"}, answer.slots).f1 == 1


@pytest.mark.parametrize(
    "inside",
    [
        '"estimateTime":True',
        '{"estimateTime":True}',
        '```json\n{"appName": "Maps"}\n```',
        '<func>{"appName": "Maps"}',
        "null",
        "3",
        '"abc"',
        '[{"appName": "Maps"}]',
        "",
    ],
)
def test_what_is_no_object_is_a_malformed_call(inside: str) -> None:
    answer = answers.read(f"<func>{inside}</func>", compat=True)
    assert (answer.kind, dict(answer.slots)) == ("malformed", {})
    assert answer.fault


@pytest.mark.parametrize("text", [json.dumps(GOLD), f"<FUNC>{json.dumps(GOLD)}</FUNC>", "Which app?", ""])
@pytest.mark.parametrize("compat", [True, False])
def test_without_the_tag_it_is_talk(text: str, compat: bool) -> None:
    assert answers.read(text, compat=compat) == answers.Answer("talk", text)


def test_an_end_is_no_part_of_what_was_said() -> None:
    assert answers.read("I cannot do that. [DONE]") == answers.Answer("done", "I cannot do that. ")


def test_what_upstream_lets_pass_is_named_otherwise() -> None:
    assert answers.read('<func>{"appName": "Maps"}').kind == "malformed"
    assert answers.read('<func>```json\n{"appName": "Maps"}\n```</func>').slots == {"appName": "Maps"}
    assert answers.read(tagged(stops=2, note=None)).slots == {"stops": 2}
    assert answers.read(PERFECT).function == "Navigate"


@pytest.mark.parametrize(
    ("true", "predicted", "scores"),
    [
        ({}, {}, (1, 1, 1)),
        ({}, {"a": 1}, (0, 0, 0)),
        ({"a": True}, {"a": 1}, (1, 1, 1)),
        ({"a": "b"}, {}, (0, 0, 0)),
    ],
)
def test_scores_of_slots(true: dict[str, Any], predicted: dict[str, Any], scores: tuple[float, ...]) -> None:
    counted = slots.count(true, predicted)
    assert (counted.precision, counted.recall, counted.f1) == scores


def test_tolerance_is_of_case_blanks_punctuation_and_truth_values() -> None:
    near = {"deviceType": " Mobile  Phone", "appName": "maps!", "estimateTime": "True"}
    assert slots.count(GOLD, near).correct == 0
    assert slots.count(GOLD, near, slots.tolerant).correct == 3
    assert not slots.tolerant("Room 12", "Room 21")
    assert not slots.tolerant(True, "yes")
