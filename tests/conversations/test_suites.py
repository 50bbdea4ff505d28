import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from conversations.reading import Feature
from conversations.rules import RULES
from conversations.suites import check_suite

from rig.core.paths import CONVERSATIONS
from rig.plugins.tooltalk.check import check_directory
from rig.plugins.tooltalk.method import METHOD
from rig.plugins.tooltalk_tools import TOOLTALK
from rig.plugins.tooltalk_tools.world import ToolTalkWorld


@pytest.mark.parametrize("suite", METHOD.suites())
def test_the_shipped_suites_keep_their_promises(suite: str, world: ToolTalkWorld) -> None:
    report = check_suite(CONVERSATIONS / suite, world, suite, RULES[suite])
    assert [str(fault) for fault in report.faults] == []
    assert report.sound.reproduced == len(report.sound.calls)
    assert report.sound.tasks == RULES[suite].conversations
    assert {each.executed.name for each in report.sound.calls} == set(TOOLTALK.tools)


@pytest.mark.parametrize("suite", METHOD.suites())
def test_the_ground_truth_fails_only_where_it_should(suite: str, world: ToolTalkWorld) -> None:
    report = check_directory(CONVERSATIONS / suite, world, TOOLTALK)
    failing = {each.executed.exception for each in report.calls if each.executed.exception}
    assert suite != "easy" or not failing


def test_every_shipped_suite_has_rules() -> None:
    assert set(METHOD.suites()) <= set(RULES)


def copy(tmp_path: Path, *without: str) -> Path:
    directory = tmp_path / "easy"
    shutil.copytree(CONVERSATIONS / "easy", directory)
    for name in without:
        (directory / f"{name}.json").unlink()
    return directory


def test_a_missing_conversation_is_missed(tmp_path: Path, world: ToolTalkWorld) -> None:
    report = check_suite(copy(tmp_path, "HistoricWeather-easy"), world, "easy", RULES["easy"])
    assert [str(fault) for fault in report.faults] == [
        "easy: quota: conversations: 27 of 28",
        "easy: coverage: no conversation HistoricWeather-easy calls HistoricWeather",
        "easy: coverage: HistoricWeather is called 0 of 1 times",
    ]


@pytest.mark.parametrize("feature", Feature)
def test_every_feature_is_counted(feature: Feature, world: ToolTalkWorld) -> None:
    rules = replace(RULES["easy"], features={feature: 1000})
    report = check_suite(CONVERSATIONS / "easy", world, "easy", rules)
    assert [fault.kind for fault in report.faults] == ["quota"]
    assert report.faults[0].text.startswith(f"{feature}: ")


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"calls": (2, 9)}, "1 calls, the suite has 2 to 9"),
        ({"exchanges": (1, 1)}, "exchanges, the suite has 1 to 1"),
        ({"plugins": (3, 3)}, "1 plugins, the suite has 3 to 3"),
        ({"longest_request": 3}, "words in the longest request, the suite has 1 to 3"),
        ({"every_triple_of_plugins": True}, "sets of three plugins: 0 of 35"),
        ({"timestamps": 1000}, "days: "),
        ({"locations": 1000}, "locations: "),
        ({"users": 1000}, "users: "),
        ({"tool_uses": 1000}, "of 1000 times"),
    ],
)
def test_every_bound_is_held(change: dict[str, Any], text: str, world: ToolTalkWorld) -> None:
    report = check_suite(CONVERSATIONS / "easy", world, "easy", replace(RULES["easy"], **change))
    assert any(text in fault.text for fault in report.faults)


def test_nothing_is_taken_from_the_public_dataset(tooltalk: Path, world: ToolTalkWorld) -> None:
    """Our own invention: no sentence, name, password or id of theirs."""
    files = (tooltalk / "data").rglob("*.json")
    theirs = {text for path in files for text in _texts(json.loads(path.read_text("utf-8")))}
    ours = {
        text
        for suite in METHOD.suites()
        for path in (CONVERSATIONS / suite).glob("*.json")
        for turn in json.loads(path.read_text("utf-8"))["conversation"]
        for text in [turn["text"]]
    }
    accounts = {
        value
        for account in world.accounts.all()
        for value in (account.username, account.email, account.phone, account.name, account.password)
    }
    records = {
        text
        for records in world.records
        for account in world.accounts.all()
        for record in records.all(account.username)
        for name, text in record.items()
        if name.endswith("_id") or name in ("subject", "body", "message")
    }
    assert (ours | accounts | records) & theirs <= {"Thanks!", "thanks!"}


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [text for each in value.values() for text in _texts(each)]
    return [text for each in value for text in _texts(each)] if isinstance(value, list) else []
