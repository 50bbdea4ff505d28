"""What an assistant's words are, where rig reads them otherwise than upstream, and when slots are right."""

import json
from typing import Any

import pytest

from rig.core.calls import Call
from rig.plugins.autode import judgement as slots
from rig.plugins.autode.talk import tagged_call

GOLD = {"deviceType": "mobile phone", "appName": "Maps", "estimateTime": True}
NAMED = {"functionName": "Navigate"}


def tagged(**arguments: Any) -> str:
    return f"<func>{json.dumps(NAMED | arguments)}</func>"


def test_an_end_is_no_call() -> None:
    assert tagged_call("I cannot do that. [DONE]") is None


def test_what_upstream_lets_pass_is_named_otherwise() -> None:
    with pytest.raises(ValueError, match="never closed"):
        tagged_call('<func>{"appName": "Maps"}')
    assert tagged_call('<func>```json\n{"appName": "Maps"}\n```</func>') == Call("", {"appName": "Maps"})
    assert tagged_call(tagged(stops=2, note=None)) == Call("Navigate", {"stops": 2})


def test_tolerance_is_of_case_blanks_punctuation_and_truth_values() -> None:
    near = {"deviceType": " Mobile  Phone", "appName": "maps!", "estimateTime": "True"}
    assert slots.count(GOLD, near).correct == 0
    assert slots.count(GOLD, near, slots.tolerant).correct == 3
    assert not slots.tolerant("Room 12", "Room 21")
    assert not slots.tolerant(True, "yes")
