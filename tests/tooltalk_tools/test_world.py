import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import small_world

from rig.core.paths import WORLD_DATABASE


def test_build_writes_a_file_that_check_finds_up_to_date(rig: Callable[..., Any], tmp_path: Path) -> None:
    seed, output = small_world.write(tmp_path / "seed"), tmp_path / "world.sqlite"
    built = rig("world", "build", "--seed", seed, "--output", output)
    assert (built.code, built.out) == (0, f"built {output}\n")

    checked = rig("world", "check", "--seed", seed, "--world", output, "--json")
    assert (checked.code, checked.json) == (
        1,
        ["users: 'ines': email 'theo@post.example' is also that of 'theo'"],
    )


def test_check_tells_when_the_seeds_have_changed(rig: Callable[..., Any], tmp_path: Path) -> None:
    seed, output = small_world.write(tmp_path / "seed"), tmp_path / "world.sqlite"
    rig("world", "build", "--seed", seed, "--output", output)
    alarms = {"mara": {"0001-0001": {"alarm_id": "0001-0001", "time": "05:00:00"}}}
    (seed / "Alarm.json").write_text(json.dumps(alarms))
    checked = rig("world", "check", "--seed", seed, "--world", output)
    assert checked.code == 1
    assert "is not what" in checked.out
    assert checked.out.endswith("2 faults\n")


def test_check_of_the_world_that_ships(rig: Callable[..., Any]) -> None:
    checked = rig("world", "check")
    assert (checked.code, checked.err) == (0, "")
    assert checked.out.endswith(": sound\n")


def test_no_seeds_is_one_line_and_exit_code_2(rig: Callable[..., Any], tmp_path: Path) -> None:
    built = rig("world", "build", "--seed", tmp_path, "--output", tmp_path / "world.sqlite")
    assert (built.code, built.out) == (2, "")
    assert built.err.count("\n") == 1
    assert "Account.json is missing" in built.err
    assert not (tmp_path / "world.sqlite").exists()


def test_a_damaged_world_is_one_line(rig: Callable[..., Any], tmp_path: Path) -> None:
    whole = WORLD_DATABASE.read_bytes()
    damaged = whole.replace(b"2025-08", b"2025\xff08"), whole[:4096] + b"\xff" * 2000 + whole[6096:]
    for number, data in enumerate(damaged):
        file = tmp_path / f"{number}.sqlite"
        file.write_bytes(data)
        checked = rig("world", "check", "--world", file)
        assert (checked.code, checked.err.count("\n")) == (2, 1)
        assert checked.err.startswith(f"rig: {file}: ")
