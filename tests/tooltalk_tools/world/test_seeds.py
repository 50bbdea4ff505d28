import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import small_world

from rig.core.errors import RigError
from rig.plugins.tooltalk_tools.seeds import world_from


def _set(*path: str, value: Any) -> Callable[[dict[str, Any]], None]:
    def change(seeds: dict[str, Any]) -> None:
        place = seeds
        for part in path[:-1]:
            place = place[part]
        place[path[-1]] = value

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_set("Account", "mara", "password", value=5), r"Account.json.*mara.password"),
        (_set("Account", "mara", "username", value="tara"), r"mara: the record's username is 'tara'"),
        (_set("Account", "mara", "shoe_size", value=5), r"mara.shoe_size is not known here"),
        (_set("Alarm", "mara", "0001-0001", "time", value="7 o'clock"), r"0001-0001.time"),
        (_set("Alarm", "mara", "0001-0001", "alarm_id", value="x"), r"mara.0001-0001: the record's alarm_id"),
        (_set("Calendar", "mara", "00000001-0001", "end_time", value="2024-02-30 10:00:00"), r"end_time"),
        (_set("Calendar", "mara", "00000001-0001", "attendees", value="theo"), r"attendees"),
        (_set("Email", "mara", value=[]), r"Email.json.*mara"),
        (_set("Reminder", value=[]), r"Reminder.json.*top level|Reminder.json"),
        (_set("Weather", "springfield", "2024-03-05", "high", value="hot"), r"high"),
        (_set("Weather", "springfield", "2024-03-05", "high", value=float("nan")), r"high"),
        (_set("Weather", "springfield", "2024-03-05", "date", value="2024-3-5"), r"date"),
        (_set("HistoricWeather", "springfield", "march", value={}), r"min_temp"),
    ],
)
def test_bad_seeds_are_refused_with_file_and_place(
    tmp_path: Path, change: Callable[[dict[str, Any]], None], message: str
) -> None:
    seeds = copy.deepcopy(small_world.SEEDS)
    change(seeds)
    with pytest.raises(RigError, match=message):
        world_from(small_world.write(tmp_path, seeds))


@pytest.mark.parametrize("text", ["", "{", "\ufeff{}", "[" * 100_000])
def test_what_is_not_json_is_refused(tmp_path: Path, text: str) -> None:
    small_world.write(tmp_path)
    (tmp_path / "Alarm.json").write_text(text, encoding="utf-8")
    with pytest.raises(RigError, match=r"Alarm.json: not JSON"):
        world_from(tmp_path)


def test_an_id_given_twice_is_refused(tmp_path: Path) -> None:
    small_world.write(tmp_path)
    alarm = json.dumps(small_world.ALARMS[0])
    (tmp_path / "Alarm.json").write_text(f'{{"mara": {{"0001-0001": {alarm}, "0001-0001": {alarm}}}}}')
    with pytest.raises(RigError, match="'0001-0001' occurs twice"):
        world_from(tmp_path)


def test_only_the_accounts_are_needed(tmp_path: Path) -> None:
    accounts = {"Account": small_world.SEEDS["Account"]}
    world = world_from(small_world.write(tmp_path, accounts))
    assert len(world.accounts.all()) == 4
    assert not world.alarms.knows("mara")


@pytest.mark.parametrize(("name", "fault"), [("", "Account.json is missing"), ("none", "no such world")])
def test_a_directory_without_accounts_is_no_world(tmp_path: Path, name: str, fault: str) -> None:
    with pytest.raises(RigError, match=fault):
        world_from(tmp_path / name)
