"""A store that an older rig wrote, whose scores had a column for each count."""

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from rig import __version__
from rig.methods.tooltalk.scoring import DECLARATION
from rig.scoring import GRADER_VERSION
from rig.store import Runs

SQL = Path(__file__).with_name("before_counts.sql")
"""Two runs: `abcde` of two arms over four conversations, and the oracle's, stopped before its last turn."""

SHOWN = """\
conversations                   4        4
success                     50.0%    75.0%
soft success                75.0%    81.2%
recall                      75.0%    87.5%
precision                  100.0%    87.5%
incorrect actions            0.0%    12.5%
calls predicted                 6        8
calls wanted                    8        8
"""
"""What the older rig showed of it."""

RATES = {
    "success_rate": (0.5, 0.75, -0.8333333333333335, 1.0),
    "soft_success": (0.75, 0.8125, -0.42581435238720344, 0.48699240762154805),
    "recall": (0.75, 0.875, -0.41666666666666663, 0.5000000000000001),
    "precision": (1.0, 0.875, -0.5076109282215766, 0.3849605812782545),
    "incorrect_action_rate": (0.0, 0.125, -0.38496058127825455, 0.5076109282215767),
}
"""The rates of both arms and the bounds of their difference, as the older rig computed them."""

Rig = Callable[..., Any]


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "runs.sqlite"
    with closing(sqlite3.connect(path)) as database:
        database.executescript(SQL.read_text())
    return path


def test_it_shows_the_same_numbers(store: Path, rig: Rig) -> None:
    assert SHOWN in rig("show", "abcde", "--runs", store).out
    [first, second] = json.loads(rig("show", "abcde", "--json", "--runs", store).out)["arms"]
    for name, (before, after, *_) in RATES.items():
        assert (first[name], second[name]) == (before, after), name


def test_it_compares_as_before(store: Path, rig: Rig) -> None:
    found = json.loads(rig("compare", "abcde", "--json", "--runs", store).out)
    differences = found["pairs"][0]["differences"]
    assert list(differences) == list(RATES)
    for name, (before, after, low, high) in RATES.items():
        assert [arm["rates"][name]["value"] for arm in found["arms"]] == [before, after], name
        assert (differences[name]["low"], differences[name]["high"]) == pytest.approx((low, high)), name


def test_it_is_resumed(store: Path, rig: Rig) -> None:
    with closing(sqlite3.connect(store)) as database, database:
        # Another version of rig may not go on with a run; what is tested here is the store.
        database.execute(
            "UPDATE arms SET fingerprint = json_set(fingerprint, '$.rig', ?) WHERE run = 'q385d'",
            [__version__],
        )
        database.execute("UPDATE runs SET settings = json_set(settings, '$.threads', 2)")
    done = rig("run", "--resume", "q385d", "--display", "none", "--json", "--runs", store)
    assert done.code == 0, done.err
    [arm] = json.loads(done.out.splitlines()[-1])["arms"]
    assert (arm["conversations"], arm["success_rate"], arm["recall"]) == (2, 1.0, 1.0)
    assert arm["grader"]["grader_version"] == GRADER_VERSION
    scores = json.loads(rig("show", "q385d", "--json", "--runs", store).out)["scores"]
    told = [(each["grader_version"], each["metrics"]["conversations"]) for each in scores]
    assert told == [(GRADER_VERSION, 2), ("4", 1)]


def test_its_runs_are_declared_as_they_were_counted(store: Path) -> None:
    with Runs.open(store) as runs:
        assert {run.declaration for run in runs.all()} == {DECLARATION}


def test_a_view_of_its_owner_is_kept(store: Path) -> None:
    with Runs.open(store) as runs:
        assert "mine" in runs._database.view_names()
        assert {"summary", "rates", "conversation_scores", "flips"} <= set(runs._database.view_names())
        [row] = runs._database.query("SELECT recall FROM summary WHERE run = 'abcde' AND arm = 'arm0'")
    assert row["recall"] == 0.75
