"""What an assistant's words are, where rig reads them otherwise than upstream, and when slots are right."""

import json
from typing import Any

from rig.methods.autode import judgement as slots
from rig.methods.autode import talk as answers

GOLD = {"deviceType": "mobile phone", "appName": "Maps", "estimateTime": True}
NAMED = {"functionName": "Navigate"}


def tagged(**arguments: Any) -> str:
    return f"<func>{json.dumps(NAMED | arguments)}</func>"


PERFECT = tagged(**GOLD)


def test_an_end_is_no_part_of_what_was_said() -> None:
    assert answers.parse_reply("I cannot do that. [DONE]") == answers.ParsedReply(
        "done", "I cannot do that. "
    )


def test_what_upstream_lets_pass_is_named_otherwise() -> None:
    assert answers.parse_reply('<func>{"appName": "Maps"}').kind == "malformed"
    assert answers.parse_reply('<func>```json\n{"appName": "Maps"}\n```</func>').slots == {"appName": "Maps"}
    assert answers.parse_reply(tagged(stops=2, note=None)).slots == {"stops": 2}
    assert answers.parse_reply(PERFECT).function == "Navigate"


def test_tolerance_is_of_case_blanks_punctuation_and_truth_values() -> None:
    near = {"deviceType": " Mobile  Phone", "appName": "maps!", "estimateTime": "True"}
    assert slots.count(GOLD, near).correct == 0
    assert slots.count(GOLD, near, slots.tolerant).correct == 3
    assert not slots.tolerant("Room 12", "Room 21")
    assert not slots.tolerant(True, "yes")
