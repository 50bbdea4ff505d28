"""The public data is read whole, and what is wrong with a row is said in one line."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from rig.core.errors import RigError
from rig.methods.base import Loaded
from rig.plugins.autode import checkout
from rig.plugins.autode.scenarios import ApiDocument, parse

LAMP = ApiDocument.from_row(
    "Home",
    "SwitchLamp",
    "Switch a lamp.",
    "deviceType: Which device\nroom: The room (required slot)\ncolour: The colour (optional slot)\n\n"
    "brightness: How bright (optional slot)",
)
ROW = {
    "uuid": "11111111-aaaa",
    "background": "Character: Ann, a nurse\nBackground: She is tired.\nPurpose: Ann wants light.",
    "content": [{"role": "User", "message": "Light, please."}],
    "api": "SwitchLamp",
    "slots": {"deviceType": "TV", "room": "hall"},
}


def rows(tmp_path: Path, *lines: object) -> Loaded:
    path = tmp_path / "rows.jsonl"
    path.write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines))
    return checkout.read_rows(path, {"SwitchLamp": LAMP})


def test_required_parameters_are_those_marked_or_as_upstream_has_them_all() -> None:
    assert LAMP.tool("fixed").parameters["required"] == ["room"]
    assert LAMP.tool("compat").parameters["required"] == ["deviceType", "room", "colour", "brightness"]
    assert LAMP.flat("fixed")["requiredParameters"] == ["room"]


def test_marks_are_told_in_words_and_not_in_descriptions() -> None:
    tool = LAMP.tool("fixed")
    assert tool.description == "Switch a lamp. A call must have at least one of colour, brightness."
    assert tool.parameters["properties"]["room"] == {"type": "string", "description": "The room"}
    assert tool.parameters["properties"]["deviceType"]["enum"][0] == "mobile phone"


def test_a_document_is_what_its_json_says() -> None:
    assert ApiDocument.parse(LAMP.as_json(), "here") == LAMP


def test_a_row_is_a_scenario_and_comes_back_from_its_source(tmp_path: Path) -> None:
    (scenario,) = rows(tmp_path, ROW)
    assert (scenario.name, scenario.query) == ("SwitchLamp-11111111", "Light, please.")
    assert scenario.topic == ROW["background"]
    assert parse(json.loads(json.dumps(scenario.source)), "here") == scenario


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ("no json", "line 2: not "),
        ({"api": "Unknown"}, "line 2: Unknown is not a documented API"),
        ({"background": "Character: Ann"}, "line 2: not a dialogue: background is not the three lines"),
        ({"slots": {"size": "big"}}, "line 2: SwitchLamp has no parameter size"),
        ({"slots": {"deviceType": "toaster"}}, "line 2: 'toaster' cannot be deviceType"),
        ({"slots": {}}, "line 2: the call has no arguments"),
        ({"content": []}, "line 2: the two must speak in turns"),
        ({"content": 3}, "line 2: not "),
        ({"uuid": ROW["uuid"]}, "line 2: the uuid 11111111-aaaa appears twice"),
    ],
)
def test_a_bad_row_costs_one_line_and_no_other_row(tmp_path: Path, change: object, fault: str) -> None:
    bad = {**ROW, "uuid": "2", **change} if isinstance(change, dict) else change
    read = rows(tmp_path, ROW, bad, {**ROW, "uuid": "33333333-aaaa"})
    assert [each.id for each in read] == ["11111111-aaaa", "33333333-aaaa"]
    (line,) = read.faults
    assert fault in line
    assert "\n" not in line


def test_the_missing_library_is_named_with_what_installs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(RigError, match="pip install openpyxl"):
        checkout.read_documents(tmp_path / checkout.WORKBOOK)


def test_a_place_without_data_is_refused(tmp_path: Path) -> None:
    (tmp_path / "data_v1_2.jsonl").write_text(json.dumps(ROW))
    for place in (tmp_path, tmp_path / "data_v1_2.jsonl", tmp_path / "none"):
        with pytest.raises(RigError, match="no AutoDE data"):
            checkout.load(place)
    (tmp_path / checkout.WORKBOOK).write_text("no workbook")
    with pytest.raises(RigError, match="not AutoDE's list of APIs"):
        checkout.load(tmp_path)


def test_bad_rows_cost_a_line_each_and_the_others_are_played(
    rig: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkout, "read_documents", lambda _: {"SwitchLamp": LAMP})
    (tmp_path / checkout.WORKBOOK).touch()
    data = tmp_path / checkout.DATASET
    data.write_text("\n".join([json.dumps(ROW), "{", "[]"]))
    done = rig("run", "oracle", "--suite", tmp_path, "--display", "none", "--json")
    assert (done.code, done.json["arms"][0]["conversations"]) == (0, 1)
    lines = done.err.splitlines()
    assert [line.split(":")[1].rpartition(", ")[2] for line in lines] == ["line 2", "line 3"]
    checked = rig("check", tmp_path)
    assert (checked.code, len(checked.out.splitlines())) == (1, 3)
    data.write_text("{")
    alone = rig("run", "oracle", "--suite", tmp_path, "--display", "none")
    assert (alone.code, "line 1: not JSON" in alone.err) == (2, True)


def test_the_public_data(autode: Path) -> None:
    scenarios = checkout.load(autode)
    assert len(scenarios) == 276
    assert len({each.name for each in scenarios}) == 276
    assert sum(len(each.slots) for each in scenarios) == 859
    assert sum(len(each.history) for each in scenarios) == 886
    assert len({each.call.name for each in scenarios}) == 61
    documents = checkout.read_documents(autode / checkout.WORKBOOK)
    newer = [each for each in documents.values() if each.domain]
    assert len(newer) == 66
    assert sum(len(each.parameters) for each in newer) == 217
    assert sum(len(each.required("fixed")) for each in newer) == 62
    assert sum(len(each.required("compat")) for each in newer) == 217


def test_the_older_dialogues_too(autode: Path) -> None:
    assert len(checkout.load(autode / "datasets" / "data_v1.jsonl")) == 281
