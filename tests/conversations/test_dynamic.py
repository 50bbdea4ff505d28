"""Our own scenarios: how many there are, how they differ, and that each can be played to its call."""

import json
from collections import Counter
from pathlib import Path

import pytest

from rig.core.events import Where
from rig.core.paths import CONVERSATIONS
from rig.methods.base import Checked
from rig.methods.episode import course
from rig.methods.scripted import Oracle
from rig.plugins.autode.method import METHOD, AutoDE, faults
from rig.plugins.autode.scenarios import load_directory
from rig.plugins.autode.scripted_user import ScriptedUser, obedient_step

DYNAMIC = CONVERSATIONS / "dynamic"
SCENARIOS = load_directory(DYNAMIC)
SETUP = METHOD.ready({option.name: option.default for option in METHOD.options})


def test_there_are_enough_of_every_kind() -> None:
    domains = Counter(each.api.domain for each in SCENARIOS)
    assert len(SCENARIOS) >= 60
    assert len(domains) >= 12
    assert min(domains.values()) >= 4
    assert len({each.call.name for each in SCENARIOS}) >= 45


def test_there_is_something_to_ask_for_and_something_to_choose() -> None:
    slots = Counter(len(each.slots) for each in SCENARIOS)
    assert min(slots) >= 2
    assert sum(count for number, count in slots.items() if number >= 3) >= 40
    assert {len(each.apis) for each in SCENARIOS} == {4, 5}
    assert sum(isinstance(value, bool) for each in SCENARIOS for value in each.slots.values()) >= 6


def test_the_call_is_not_always_the_first_on_offer_of_its_file() -> None:
    first = {path: json.loads(path.read_text())["apis"][0]["name"] for path in DYNAMIC.glob("*.json")}
    assert sum(each.call.name in first.values() for each in SCENARIOS) < len(SCENARIOS) / 2


def test_scenarios_of_a_domain_offer_the_same_in_the_same_order_so_that_prompts_begin_alike() -> None:
    offered = {(each.api.domain, each.apis) for each in SCENARIOS}
    assert len(offered) == len({domain for domain, _ in offered})


def test_those_that_are_named_are_offered_in_the_order_of_the_file(tmp_path: Path) -> None:
    data = json.loads((DYNAMIC / "home.json").read_text(encoding="utf-8"))
    rows = [{**data["scenarios"][0], "offered": ["MoveBlinds", "SwitchLight"]}]
    (tmp_path / "home.json").write_text(json.dumps({**data, "scenarios": rows}), encoding="utf-8")
    (scenario,) = load_directory(tmp_path)
    assert [api.name for api in scenario.apis] == ["SwitchLight", "MoveBlinds"]


def test_nobody_is_twice_there() -> None:
    for part in ("character", "background", "purpose", "query"):
        texts = [getattr(each, part) for each in SCENARIOS]
        assert len(set(texts)) == len(texts), part


def test_every_scenario_can_be_played_to_its_call() -> None:
    assert AutoDE().check(DYNAMIC) == Checked(DYNAMIC, len(SCENARIOS), ())


def test_what_is_wrong_is_said(tmp_path: Path) -> None:
    data = json.loads((DYNAMIC / "home.json").read_text(encoding="utf-8"))
    row = data["scenarios"][0]
    row["query"] = "Put the bedroom light on at 20 percent, warm white."
    row["offered"] = ["SwitchLight"]
    del row["call"]["arguments"]["state"]
    (tmp_path / "home.json").write_text(json.dumps({**data, "scenarios": [row]}), encoding="utf-8")
    found = list(faults(load_directory(tmp_path), SETUP))
    assert [each.partition(": ")[2].split(";")[0] for each in found] == [
        "the first query gives away 3 values",
        "1 APIs are on offer",
        "the call has no state, which SwitchLight requires",
    ]


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"query": None}, "the two must"),
        ({"call": {"name": "Nothing", "arguments": {"room": "x"}}}, "Nothing is none of the APIs on offer"),
        ({"offered": ["Nothing"]}, "it has no Nothing"),
        ({"character": None}, ""),
    ],
)
def test_what_is_no_scenario_is_one_fault(tmp_path: Path, change: dict[str, object], fault: str) -> None:
    data = json.loads((DYNAMIC / "home.json").read_text(encoding="utf-8"))
    row = {name: value for name, value in {**data["scenarios"][0], **change}.items() if value is not None}
    (tmp_path / "home.json").write_text(json.dumps({**data, "scenarios": [row]}), encoding="utf-8")
    report = AutoDE().check(tmp_path)
    assert report.tasks == 0
    assert len(report.faults) == 1
    assert (fault if change.get("query", 1) else "it has no query") in report.faults[0]


def test_whoever_asks_only_for_what_is_required_can_make_every_call() -> None:
    players = {"assistant": Oracle(SCENARIOS, obedient_step), "user": ScriptedUser(SCENARIOS)}
    for scenario in SCENARIOS:
        dialogue = SETUP.start(scenario, SETUP.settings, Where(0, scenario.name), lambda _: None, 0)
        assert list(course(dialogue, players))
        assert dialogue.score().counts["successes"] == 1, scenario.name


def test_what_is_needed_and_neither_required_nor_said_is_a_fault(tmp_path: Path) -> None:
    data = json.loads((DYNAMIC / "home.json").read_text(encoding="utf-8"))
    del data["apis"][0]["parameters"]["colour"]["mark"]
    (tmp_path / "home.json").write_text(json.dumps(data), encoding="utf-8")
    fault = "who asks only for what is required never learns colour: mark it, or say it at first"
    assert AutoDE().check(tmp_path).faults == (f"{tmp_path}: light-for-reading: {fault}",)
