import json
from pathlib import Path

import pytest

from rig.core.errors import RigError
from rig.core.paths import CONVERSATIONS
from rig.plugins.tooltalk.check import check_directory, record_directory
from rig.plugins.tooltalk.method import METHOD
from rig.plugins.tooltalk_tools import TOOLTALK
from rig.plugins.tooltalk_tools.world import ToolTalkWorld


@pytest.mark.parametrize("suite", METHOD.suites())
def test_what_can_be_derived_is_filled_in(suite: str, tmp_path: Path, world: ToolTalkWorld) -> None:
    """Everything but what a writer has to give is taken away, and comes back as it was."""
    for path in (CONVERSATIONS / suite).glob("*.json"):
        source = json.loads(path.read_text("utf-8"))
        for part in ("name", "apis_used", "suites_used"):
            del source[part]
        if world.accounts.find(source["user"]["username"]) is not None:
            code = source["user"].get("verification_code")
            source["user"] = {"username": source["user"]["username"]}
            source["user"] |= {"verification_code": code} if code else {}
        source["metadata"].pop("session_token", None)
        for turn in source["conversation"]:
            del turn["index"]
            for call in turn.get("apis", []):
                del call["response"], call["exception"]
                call["request"]["parameters"].pop("session_token", None)
        (tmp_path / path.name).write_text(json.dumps(source), "utf-8")
    written = record_directory(tmp_path, world, TOOLTALK)
    assert len(written) == len(list((CONVERSATIONS / suite).glob("*.json")))
    for path in written:
        assert json.loads(path.read_text("utf-8")) == json.loads(
            (CONVERSATIONS / suite / path.name).read_text("utf-8")
        )
    assert record_directory(tmp_path, world, TOOLTALK) == []
    assert check_directory(tmp_path, world, TOOLTALK).faults == ()


@pytest.mark.parametrize("suite", METHOD.suites())
def test_the_shipped_suites_are_recorded(suite: str, tmp_path: Path, world: ToolTalkWorld) -> None:
    for path in (CONVERSATIONS / suite).glob("*.json"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    assert record_directory(tmp_path, world, TOOLTALK) == []


@pytest.mark.parametrize(
    "text",
    [
        "no json",
        "[]",
        "{}",
        '{"user": {}, "metadata": {}, "conversation": []}',
        '{"user": {"username": 1}, "metadata": {}, "conversation": [5]}',
    ],
)
def test_what_cannot_be_recorded_is_left_alone(text: str, tmp_path: Path, world: ToolTalkWorld) -> None:
    path = tmp_path / "x.json"
    path.write_text(text, "utf-8")
    with pytest.raises(RigError, match=r"x\.json|x: "):
        record_directory(tmp_path, world, TOOLTALK)
    assert path.read_text("utf-8") == text


def test_an_unknown_tool_is_named(tmp_path: Path, world: ToolTalkWorld) -> None:
    source = json.loads((CONVERSATIONS / "easy" / "AddAlarm-easy.json").read_text("utf-8"))
    source["conversation"][3]["apis"][0]["request"]["api_name"] = "Snooze"
    (tmp_path / "AddAlarm-easy.json").write_text(json.dumps(source), "utf-8")
    with pytest.raises(RigError, match="Snooze"):
        record_directory(tmp_path, world, TOOLTALK)


def test_an_empty_directory(tmp_path: Path, world: ToolTalkWorld) -> None:
    with pytest.raises(RigError, match="holds no conversation"):
        record_directory(tmp_path, world, TOOLTALK)
