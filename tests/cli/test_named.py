"""What names a run, and an arm: a name that was given twice, and the labels of tables."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from graded_talks import model, play

from rig.compare.arms import choose
from rig.core.errors import RigError, RigWarning
from rig.store import Runs
from rig.store.records import fits_label

Rig = Callable[..., Any]
NAMES = ("smollm2-135m-tools-Q8_0", "smollm2-135m-tools-Q4_K_M", "smollm2-135m-tools-Q2_K")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with two runs of the same name, and three arms in the newest."""
    path = tmp_path_factory.mktemp("named") / "runs.sqlite"
    play(path, model(2), number=2, run="older", name="quants")
    files = [model(2, fingerprint={"file_sha256": name}) for name in NAMES]
    play(path, *files, number=2, run="newer", name="quants", names=NAMES)
    return path


def test_a_name_given_twice_means_the_newest_run_and_says_which(store: Path, rig: Rig) -> None:
    with Runs.open(store) as runs:
        with pytest.warns(RigWarning, match="another, too; this is the newest, run newer"):
            assert runs.get("quants").id == "newer"
        assert runs.get("older").id == "older"
    for command in (("show", "quants"), ("compare", "quants"), ("report", "quants", "--format", "md")):
        done = rig(*command, "--runs", store)
        assert done.code == 0
        assert "newer" in done.err
        assert done.err.count("this is the newest") == 1


@pytest.mark.parametrize("label", ["…Q4_K_M", "...Q4_K_M", "Q4_K_M", "smollm2…Q4_K_M", NAMES[1], "…-Q4_K_M"])
def test_labels_of_tables_name_an_arm_wherever_one_is_named(store: Path, rig: Rig, label: str) -> None:
    with Runs.open(store) as runs:
        (chosen,) = choose(runs, [f"newer/{label}"])
    assert chosen.arm.name == NAMES[1]
    compared = rig("compare", "newer", "--baseline", label, "--runs", store, "--json")
    assert compared.json["baseline"] == NAMES[1]
    told = rig("show", "newer", "talk00", "--arm", label, "--runs", store, "--json")
    assert [one["arm"] for one in told.json["transcripts"]] == [NAMES[1]]


def test_a_label_of_several_arms_or_of_none_is_refused(store: Path) -> None:
    with Runs.open(store) as runs:
        for label, fault in (("smollm2", "could be any of"), ("…Q9", "is not one of its arms")):
            with pytest.raises(RigError, match=fault):
                choose(runs, [f"newer/{label}"])


def test_a_label_has_less_than_the_name() -> None:
    assert not fits_label("a", "…a…a")
    assert not fits_label("abc", "")
    assert fits_label("abc", "a…")
