"""Runs on a cluster of two nodes of this machine: the same predictions, whatever is lost meanwhile."""

import importlib.util
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import small_talks

from rig.store import Runs

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not importlib.util.find_spec("ray"), reason="Ray is not installed"),
]

SCRIPT = Path(__file__).with_name("on_ray.py")
CHOICES = ("--limit", "8", "--similarity", "exact")
LOST = ("worker", "node", "driver")
PATIENCE_S = 300


class Played(NamedTuple):
    """What was printed by a cluster that played several times, and the folder of its stores."""

    said: str
    folder: Path

    def store(self, lost: str) -> Path:
        return self.folder / f"{lost}.sqlite"


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Played:
    """A run for each thing that can be lost, all on one cluster, which takes seconds to begin."""
    folder = tmp_path_factory.mktemp("on-ray")
    command = [sys.executable, SCRIPT, folder, ",".join(LOST), "run", "oracle", *CHOICES]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
    assert not done.returncode, done.stderr
    return Played(done.stdout, folder)


@pytest.fixture(scope="module")
def without(tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    """The predictions of the same run without Ray."""
    store = tmp_path_factory.mktemp("without") / "runs.sqlite"
    rig("run", "oracle", *CHOICES, store=store)
    return predictions(store)


def rig(*arguments: str, store: Path) -> None:
    command = [sys.executable, "-m", "rig", *arguments, "--runs", str(store), "--display", "none"]
    subprocess.run(command, check=True, timeout=PATIENCE_S)


def predictions(store: Path) -> list[Any]:
    """All predictions with their places, in an order of their own."""
    rows = small_talks.content(store, ("turns", "predictions"))
    places = {
        row["id"]: (row["arm"], row["conversation"], row["repeat"], row["turn"]) for row in rows["turns"]
    }
    return sorted(
        (*places[row["turn"]], row["step"], row["raw"], row["response"] or "") for row in rows["predictions"]
    )


@pytest.mark.parametrize("lost", ["worker", "node"])
def test_whatever_is_lost_the_predictions_are_the_same(played: Played, without: list[Any], lost: str) -> None:
    assert f"{lost} actors 2\n" in played.said
    assert f"{lost} notice oracle: an actor was lost; others take over 1 step\n" in played.said
    assert f"{lost} code 0\n" in played.said
    assert predictions(played.store(lost)) == without
    assert small_talks.stored(played.store(lost), "latest").state == "finished"


def test_a_run_whose_driver_was_killed_goes_on_without_ray(played: Played, without: list[Any]) -> None:
    store = played.store("driver")
    assert "driver code -9\n" in played.said
    with Runs.open(store) as runs:
        assert runs.get("latest").turns_done == 2
    rig("run", "--resume", "latest", store=store)
    assert predictions(store) == without


def test_nothing_of_ray_is_said_among_what_rig_says(played: Played) -> None:
    assert "raylet" not in played.said
