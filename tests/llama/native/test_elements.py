"""Arguments as elements within elements: values are told apart by their declared types."""

from typing import Any

import pytest
from native_known import known

from rig.core.calls import Call
from rig.core.models import ToolDoc
from rig.plugins.llama.formats.salvage import AnswerError

OBJECT: dict[str, Any] = {"type": "object", "properties": {"a": {"type": "integer"}}}
PARAMETERS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "text": {"type": "string"},
        "count": {"type": "integer"},
        "maybe": {"type": ["string", "null"]},
        "list": {"type": "array", "items": {"type": "array", "items": {"type": "integer"}}},
        "inner": OBJECT,
        "either": {"anyOf": [{"type": "string"}, OBJECT, {"type": "integer"}]},
        "any": {},
        "hollow": {"type": "object", "properties": {"b": {"type": ["string", "null"]}}, "required": ["b"]},
    },
    "required": ["maybe"],
}
VALUES: list[dict[str, Any]] = [
    {"maybe": "x", "text": ""},
    {"maybe": "x", "text": " 7\n"},
    {"maybe": None},
    {"maybe": "x", "list": []},
    {"maybe": "x", "list": [[], [1, 2]]},
    {"maybe": "x", "inner": {}},
    {"maybe": "x", "inner": {"a": 3}},
    *({"maybe": "x", "hollow": {"b": value}} for value in ("y", None)),
    *({"maybe": "x", "either": value} for value in ("7 ", "b", 7, {"a": 1}, "")),
    *({"maybe": "x", "any": value} for value in ("b", 7, True, [1, "x"], {"z": [{"y": "x"}]})),
]


@pytest.mark.parametrize("arguments", VALUES)
def test_a_value_is_read_as_its_type_says(arguments: dict[str, Any]) -> None:
    each = known("elements")
    form = each.form((ToolDoc("look", "", PARAMETERS),))
    text = each.native.shape.write((Call("look", arguments),))
    assert "null" not in text
    assert repr(form.read(text).calls) == repr((Call("look", {**arguments}),))


def test_what_a_form_loses_is_said() -> None:
    assert any("leaves null out" in fault for fault in known("elements").native.faults)


@pytest.mark.parametrize(("old", "new"), [("</count>", "</text>"), ("<count>", "<text>"), ("7", "seven")])
def test_elements_that_do_not_match_are_no_call(old: str, new: str) -> None:
    each = known("elements")
    form = each.form((ToolDoc("look", "", {"type": "object", "properties": {"count": {"type": "integer"}}}),))
    text = each.native.shape.write((Call("look", {"count": 7}),))
    with pytest.raises(AnswerError):
        form.read(text.replace(old, new, 1))
