"""Mistakes in conversations that people write by hand: each is named with what to write instead."""

import json
from pathlib import Path

import pytest

from rig.core.errors import RigError
from rig.plugins.documents.formats import misformed
from rig.plugins.own_tools.folder import load_folder
from rig.plugins.tooltalk.check_written import check_own

PROPERTIES = {
    "until": {"type": "string", "format": "date"},
    "at": {"type": "string", "format": "date-time"},
    "isbn": {"type": "string"},
}
TOOLS = [
    {"name": "renew", "description": "Renew.", "inputSchema": {"type": "object", "properties": PROPERTIES}}
]


def faults(place: Path, text: str) -> tuple[str, ...]:
    (place / "tools.json").write_text(json.dumps({"tools": TOOLS}))
    (place / "conversations").mkdir()
    (place / "conversations" / "a.yaml").write_text(text)
    toolbox = load_folder(place)
    assert toolbox is not None
    return check_own(place / "conversations", toolbox).faults


@pytest.mark.parametrize(
    ("turn", "fault"),
    [
        ("user: Hi\n  calls: [{renew: {until: 2025-02-30}}]", "which is not a date as in 2025-03-09"),
        ("user: Hi\n  calls: [{renew: {until: 09.03.2025}}]", "until is '09.03.2025', which is not a date"),
        ("user: Hi\n  calls: [{renew: {at: 2025-03-09T25:00}}]", "which is not a date and time as in"),
        ("user: Hi\n  calls: [{renew: {isbn: 9780141439518}}]", "not a number. Put quotes around it."),
        ("user: 4.20", "line 1: 1.user: needs a text, not a number; put quotes around it"),
        ("user: true", "needs a text, not true or false; put quotes around it"),
        (
            "user: Renew this: Emma",
            "line 1: not YAML: mapping values are not allowed in this context; if a text",
        ),
        ("user: @anna", "; put a text that begins with @, `, % or a tab in quotes"),
        (
            'user: "Hi\n  reply: Hello',
            "line 1: not YAML: found unexpected end of stream; a quote that opens here",
        ),
        ("user: Hi\n  reply: [Hello", "a [ that opens here is not closed, or needs quotes"),
        ("user: Hi\n  calls: [renew]\n  must_not_call: [renew]", "renew is due in this turn"),
    ],
)
def test_a_mistake_is_named_with_what_to_write(tmp_path: Path, turn: str, fault: str) -> None:
    [line] = faults(tmp_path, f"- {turn}\n")
    assert fault in line


def test_a_conversation_that_calls_what_it_forbids_is_a_fault(tmp_path: Path) -> None:
    text = "must_not_call: renew\nturns:\n  - user: Hi\n  - user: Renew it.\n    calls: [renew]\n"
    [line] = faults(tmp_path, text)
    assert "line 1: must_not_call: renew is called in this conversation" in line


def test_half_a_character_in_a_name_is_a_fault(tmp_path: Path) -> None:
    assert faults(tmp_path, "") == ()
    (tmp_path / "conversations" / "b.json").write_text('[{"name": "a\\ud800", "turns": [{"user": "Hi"}]}]')
    toolbox = load_folder(tmp_path)
    assert toolbox is not None
    [line] = check_own(tmp_path / "conversations", toolbox).faults
    assert "its name holds half of a surrogate pair" in line


def test_a_whole_number_is_a_text(tmp_path: Path) -> None:
    assert faults(tmp_path, "- user: 42\n") == ()


@pytest.mark.parametrize(
    ("form", "good", "bad"),
    [
        ("date", "2024-02-29", "2025-02-29"),
        ("date", "2024-02-29", "20240229"),
        ("date-time", "2025-03-09T14:30:00Z", "today"),
        ("time", "14:30:00", "24:30"),
        ("email", "a@b.org", "a at b.org"),
        ("uuid", "12345678-1234-5678-1234-567812345678", "1234"),
    ],
)
def test_formats_are_checked_at_any_depth(form: str, good: str, bad: str) -> None:
    inner = {
        "type": "array",
        "items": {"type": "object", "properties": {"x": {"type": "string", "format": form}}},
    }
    schema = {"type": "object", "properties": {"list": inner}}
    assert list(misformed(schema, {"list": [{"x": good}, {}, {"y": bad}]})) == []
    [fault] = misformed(schema, {"list": [{"x": good}, {"x": bad}]})
    assert fault.startswith(f"x is {bad!r}, which is not a")


def test_files_without_a_conversation_are_a_fault(tmp_path: Path) -> None:
    from rig.plugins.tools.suites_verb import check_place

    assert faults(tmp_path, "") == ()
    toolbox = load_folder(tmp_path)
    with pytest.raises(RigError, match="its files hold no conversation"):
        check_place(tmp_path / "conversations", None, toolbox, record=False, as_json=False)
