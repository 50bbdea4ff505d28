"""Calls of one's own tools that say the same as the true ones, however their arguments are written."""

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from time import process_time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rig.core.calls import Call, Outcome
from rig.plugins.matching.agreement import agrees, example_of, nested, parse
from rig.plugins.matching.parts import SchemaPart
from rig.plugins.matching.rules import Rules
from rig.plugins.matching.values import alike, filled, read_number, typed
from rig.plugins.own_tools.folder import load_folder
from rig.scoring import Exact
from rig.world.rules import Rule, TrueCall
from rig.world.toolbox import Simulator, Toolbox

TOOLS = """
{"tools": [{"name": "delete_files", "description": "Deletes.", "action": true, "match": {"memo": "any"},
  "parameters": {"type": "object", "properties": {
    "path": {"type": "string"},
    "force": {"type": "boolean", "default": false}, "recursive": {"type": "boolean"},
    "depth": {"type": "integer", "default": 1}, "keep": {"type": "array", "items": {"type": "string"}},
    "at": {"type": "string", "format": "time"}, "when": {"type": "string", "format": "date-time"},
    "limit": {"type": "number"}, "sizes": {"type": "array", "items": {"type": "number"}},
    "memo": {"type": "string"}, "note": {"type": "string"},
    "filter": {"type": "object", "properties": {"kind": {"type": "string", "default": "any"},
      "tags": {"type": "array", "items": {"type": "string"}}, "min": {"type": "number"}}},
    "hours": {"type": "array", "items": {"type": "string", "format": "time"}},
    "span": {"type": "object", "properties": {"at": {"type": "string", "format": "time"},
      "days": {"type": "array", "items": {"type": "string", "format": "date"}}}},
    "since": {"anyOf": [{"type": "string", "format": "date-time"}, {"type": "null"}], "default": null},
    "owner": {"$ref": "#/$defs/Owner"},
    "kinds": {"type": "array", "items": {"type": "string"}, "default": ["all"]}},
    "$defs": {"Owner": {"type": "object", "properties": {"name": {"type": "string"},
      "level": {"type": "integer", "default": 5}, "from": {"type": "string", "format": "date"}}}}}},
 {"name": "find_files", "description": "Finds.", "action": false,
  "parameters": {"type": "object", "properties": {
    "path": {"type": "string"}, "depth": {"type": "integer", "default": 1}}}}]}
"""
NFD = "Cafe\N{COMBINING ACUTE ACCENT}"

SAME: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"path": "a"}, {"path": "a", "force": False}),
    ({"path": "a", "force": False}, {"path": "a"}),
    ({"path": "a"}, {"path": "a", "depth": 1, "recursive": None}),
    ({"path": "a", "depth": 1}, {"path": "a", "depth": None}),
    ({"path": "a"}, {"path": "a", "memo": "by a rule of the tool, anything"}),
    ({"path": "a", "recursive": {"$any": True}}, {"path": "a", "recursive": True}),
    ({"path": "a", "recursive": {"$any": True}}, {"path": "a"}),
    ({"path": "a", "depth": {"$one_of": [3, None]}}, {"path": "a"}),
    ({"path": "a", "keep": []}, {"path": "a"}),
    ({"path": "a"}, {"path": "a", "keep": [], "filter": {}}),
    ({"filter": {"min": 2}}, {"filter": {"min": 2.0, "kind": "any", "tags": []}}),
    ({"filter": {"min": 2, "kind": "any"}}, {"filter": {"min": 2}}),
    ({"filter": {"min": {"$number": 2}, "kind": "any"}}, {"filter": {"min": 2}}),
    ({"path": "Café"}, {"path": NFD}),
    ({"path": "Jo's"}, {"path": "Jo\N{RIGHT SINGLE QUOTATION MARK}s"}),
    ({"path": "\"Ja\" 'a'"}, {"path": "\N{DOUBLE LOW-9 QUOTATION MARK}Ja\u201c \u201aa\u2018"}),
    ({"path": "e\u2011mail to Jo"}, {"path": "e-mail to\N{NO-BREAK SPACE}Jo "}),
    ({"path": "a\nb"}, {"path": "a \r\nb\r\n"}),
    ({"keep": [NFD, "b"]}, {"keep": ["Café", "b\u200b"]}),
    ({"keep": {"$set": ["Café", "b"]}}, {"keep": ["b", NFD]}),
    ({"path": {"$one_of": ["Café"]}}, {"path": NFD}),
    ({"path": {"$regex": "Caf.", "example": "Café"}}, {"path": NFD}),
    ({"path": {"$text": "It's at the Café."}}, {"path": f"It\N{RIGHT SINGLE QUOTATION MARK}s at the {NFD}."}),
    ({"sizes": [0.3, 0]}, {"sizes": [0.1 + 0.2, 0.1 + 0.2 - 0.3]}),
    ({"sizes": {"$set": [0.3, 7]}}, {"sizes": [7, 0.1 + 0.2]}),
    ({"filter": {"min": 0.3}}, {"filter": {"min": 0.1 + 0.2}}),
    ({"at": "23:30:00Z"}, {"at": "00:30:00+01:00"}),
    ({"at": "00:15:00+05:30"}, {"at": "18:45 UTC"}),
    ({"at": "18:30"}, {"at": "6.30 p.m."}),
    ({"when": "2025-03-06T23:30:00Z"}, {"when": "2025-03-07 00:30+01:00"}),
    ({"when": "2025-03-06T18:30:00Z"}, {"when": "2025-03-06t18:30:00z"}),
    ({"hours": ["18:30", "06:00"]}, {"hours": ["6:30 pm", "6 AM"]}),
    ({"hours": {"$set": ["18:30", "06:00"]}}, {"hours": ["6 AM", "6:30 pm"]}),
    ({"at": {"$one_of": ["18:30", "06:00"]}}, {"at": "6 AM"}),
    ({"span": {"at": "18:30", "days": ["2025-03-06"]}}, {"span": {"at": "6:30 PM", "days": ["2025/3/6"]}}),
    ({"span": {"at": {"$one_of": ["18:30"]}}}, {"span": {"at": "6:30 PM"}}),
    ({"since": "2025-03-06T23:30:00Z"}, {"since": "2025-03-07T00:30:00+01:00"}),
    ({"owner": {"name": "Jo"}}, {"owner": {"name": "Jo", "level": 5, "from": None}}),
    ({"owner": {"name": "Jo", "from": "2025-03-06"}}, {"owner": {"name": "Jo", "from": "2025-03-06T00:00"}}),
    ({"filter": {"min": 2}}, {"filter": {"min": 2, "kind": None}}),
    ({"path": "a"}, {"path": "a", "kinds": ["all"]}),
]
OTHER: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"path": "a"}, {"path": "a", "force": True}),
    ({"path": "a"}, {"path": "a", "recursive": False}),
    ({"path": "a"}, {"path": "a", "recursive": True, "force": True}),
    ({"path": "a"}, {"path": "a", "depth": 2}),
    ({"path": "a", "depth": 2}, {"path": "a"}),
    ({"path": "a"}, {"path": "a", "note": "in other words"}),
    ({"path": "a"}, {"path": "a", "keep": ["b"]}),
    ({"filter": {"min": 2}}, {"filter": {"min": 2, "kind": "all"}}),
    ({"path": "a\n  b"}, {"path": "a\nb"}),
    ({"path": "Café"}, {"path": "Cafe"}),
    ({"path": "02139"}, {"path": "2139"}),
    ({"limit": 9007199254740993}, {"limit": 9007199254740992}),
    ({"sizes": [9007199254740993]}, {"sizes": [9007199254740992]}),
    ({"sizes": [0.3]}, {"sizes": [0.3001]}),
    ({"at": "23:30:00Z"}, {"at": "23:30:00+01:00"}),
    ({"at": "18:30"}, {"at": "6:30"}),
    ({"when": "2025-03-06T18:30:00Z"}, {"when": "2025-03-06T18:30:00+01:00"}),
    ({"hours": ["18:30"]}, {"hours": ["6:30"]}),
    ({"hours": ["18:30", "06:00"]}, {"hours": ["6:00", "18:30"]}),
    ({"span": {"at": "18:30"}}, {"span": {"at": "6:30 am"}}),
    ({"keep": ["18:30"]}, {"keep": ["6:30 pm"]}),
    ({"owner": {"name": "Jo"}}, {"owner": {"name": "Jo", "level": 6}}),
    ({"path": "a"}, {"path": "a", "kinds": []}),
    ({"path": "a", "kinds": []}, {"path": "a"}),
]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Toolbox:
    folder = tmp_path_factory.mktemp("files")
    (folder / "tools.json").write_text(TOOLS)
    toolbox = load_folder(Path(folder))
    assert toolbox is not None
    return toolbox


def is_match(toolbox: Toolbox, name: str, truth: Mapping[str, Any], got: Mapping[str, Any]) -> bool:
    """Whether a call of a tool matches the true one, made in a world that has recorded that."""
    ruled = {argument: parse(value) or nested(value) for argument, value in truth.items()}
    rules = {argument: rule for argument, rule in ruled.items() if rule is not None}
    plain = {argument: value for argument, value in truth.items() if argument not in rules}
    examples = {name: example_of(rule) for name, rule in rules.items() if rule.name not in ("any",)}
    true = TrueCall(Call(name, {**plain, **examples}), Outcome({"ok": True}), rules=rules)
    simulator = Simulator(toolbox.world(), toolbox)
    simulator.start(datetime.fromisoformat("2025-03-06"), recorded=[true])
    executed = simulator.execute(Call(name, dict(got)))
    return not Rules(Exact(), toolbox).compare(toolbox.tools[true.name], executed, true)


@pytest.mark.parametrize(("truth", "got"), SAME)
def test_what_is_the_same_in_other_writing(files: Toolbox, truth: Any, got: Any) -> None:
    assert is_match(files, "delete_files", truth, got)


@pytest.mark.parametrize(("truth", "got"), OTHER)
def test_what_is_another_thing(files: Toolbox, truth: Any, got: Any) -> None:
    assert not is_match(files, "delete_files", truth, got)


def test_a_lookup_may_name_more_than_the_truth_does(files: Toolbox) -> None:
    assert is_match(files, "find_files", {"path": "a"}, {"path": "a", "depth": 3})
    assert not is_match(files, "find_files", {"path": "a", "depth": 3}, {"path": "a"})


def test_names_of_members_are_read_like_texts() -> None:
    assert alike({"Café": [{"a": 1}]}, {NFD: [{"a": 1.0, "b": None}]})
    assert not alike({"Café": 1}, {"Cafe": 1})


@given(st.text())
def test_typing_a_text_again_changes_nothing(text: str) -> None:
    assert typed(typed(text)) == typed(text)
    assert alike(text, typed(text))


@pytest.mark.parametrize(
    ("text", "number"),
    [("1,234.5", 1234.5), ("1 234", 1234), ("\N{MINUS SIGN}5", -5), ("12,34,567", 1234567), ("1e3", 1000)],
)
def test_numbers_in_texts(text: str, number: float) -> None:
    assert read_number(text) == number


@pytest.mark.parametrize("blank", [" ", "\t", "\N{NO-BREAK SPACE}", "\n"])
def test_many_blanks_within_a_text_are_read_at_once(blank: str) -> None:
    text = f"10{blank * 200_000}pm"
    began = process_time()
    assert alike(text, text + blank)
    for rule in ("time", "date", "datetime", "number"):
        assert not agrees(Rule(rule), text, f"11{blank * 200_000}pm")
    assert process_time() - began < 5


@pytest.mark.parametrize("text", ["1,5", "12 34", "five", "", "nan"])
def test_what_is_no_number(text: str) -> None:
    with pytest.raises(ValueError, match=r"number|float|literal"):
        read_number(text)


def test_defaults_are_filled_in_at_any_depth() -> None:
    item = {"type": "object", "properties": {"n": {"default": 1}, "m": {"default": None}}}
    schema = {"properties": {"all": {"type": "array", "items": item}}}
    assert filled(SchemaPart(schema, schema), {"all": [{}, {"n": 2}], "more": 3}) == {
        "all": [{"n": 1}, {"n": 2}],
        "more": 3,
    }
