"""Runs on a cluster of two nodes of this machine: the same predictions, whatever is lost meanwhile."""

import importlib.util
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import small_talks

from rig.store import Runs

pytestmark = pytest.mark.skipif(not importlib.util.find_spec("ray"), reason="Ray is not installed")

SCRIPT = Path(__file__).with_name("on_ray.py")
RUN = ("run", "oracle", "--limit", "4", "--similarity", "exact")
PATIENCE_S = 300


def on_ray(store: Path, lost: str, *arguments: str) -> str:
    """Run on two nodes, and lose this; what was printed."""
    command = [sys.executable, str(SCRIPT), str(store), lost, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
    return done.stdout


def predictions(store: Path) -> list[Any]:
    """All predictions with their places, in an order of their own."""
    rows = small_talks.content(store, ("turns", "predictions"))
    places = {
        row["id"]: (row["arm"], row["conversation"], row["repeat"], row["turn"]) for row in rows["turns"]
    }
    return sorted(
        (*places[row["turn"]], row["step"], row["raw"], row["response"] or "") for row in rows["predictions"]
    )


@pytest.fixture(scope="module")
def without(tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    """The predictions of the same run without Ray."""
    store = tmp_path_factory.mktemp("without") / "runs.sqlite"
    command = [sys.executable, "-m", "rig", *RUN, "--runs", str(store), "--display", "none"]
    subprocess.run(command, check=True)
    return predictions(store)


@pytest.mark.parametrize("lost", ["worker", "node"])
def test_whatever_is_lost_the_predictions_are_the_same(tmp_path: Path, without: list[Any], lost: str) -> None:
    store = tmp_path / "runs.sqlite"
    said = on_ray(store, lost, *RUN)
    assert "actors 2\n" in said
    assert "an actor was lost" in said or lost == "node"  # a node may be missed only after the end
    assert "code 0\n" in said
    assert predictions(store) == without
    assert small_talks.stored(store, "latest").state == "finished"


def test_a_run_whose_driver_was_killed_goes_on_without_ray(tmp_path: Path, without: list[Any]) -> None:
    store = tmp_path / "runs.sqlite"
    assert "code" not in on_ray(store, "driver", *RUN)
    with Runs.open(store) as runs:
        assert runs.get("latest").turns_done == 2
    command = [
        sys.executable,
        "-m",
        "rig",
        "run",
        "--resume",
        "latest",
        "--runs",
        str(store),
        "--display",
        "none",
    ]
    subprocess.run(command, check=True)
    assert predictions(store) == without
