"""One model file over time: by its content, with versions marked, and never across graders."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from conftest import Finished
from graded_talks import model, play

from rig.core.errors import RigError
from rig.plugins.exports.merging import merge
from rig.plugins.ranking.history import history, is_hash
from rig.store import Runs

SHA = "ab" * 32
OTHER = "ac" * 32
N = 4


def _fingerprint(sha: str = SHA, **settings: Any) -> dict[str, Any]:
    return {"file_sha256": sha, **settings}


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Two runs of the file, the second by another rig at another temperature, and a run of another file."""
    path = tmp_path / "runs.sqlite"
    play(path, model(N, fingerprint=_fingerprint()), model(N, fingerprint=_fingerprint(OTHER)), number=N)
    later = tmp_path / "later.sqlite"
    changed = _fingerprint(temperature=0.7)
    play(later, model(N, {0}, fingerprint=changed), number=N)
    with closing(sqlite3.connect(later)) as database:
        database.execute("UPDATE runs SET rig = '9.9', created = '2999-01-01T00:00:00+00:00'")
        database.commit()
    merge(path, later)
    return path


def _grade(store: Path, run: str, version: str) -> None:
    with closing(sqlite3.connect(store)) as database:
        database.execute(
            "UPDATE scores SET grader_version = ? WHERE arm IN (SELECT id FROM arms WHERE run = ?)",
            [version, run],
        )
        database.commit()


def test_runs_of_the_file_are_told_from_the_oldest_on(store: Path) -> None:
    with Runs.open(store) as runs:
        hashes, (line,) = history(runs, SHA)
    assert hashes == [SHA]
    first, second = line
    assert (first.run.id, first.changed) == ("abcde", ())
    assert (second.run.rig, second.changed) == ("9.9", ("model.temperature",))
    assert [past.score.counts["successes"] for past in line] == [N, N - 1]
    assert first.suites == ("hard", "easy")


def test_scores_of_other_versions_of_the_grader_stand_apart(
    store: Path, rig: Callable[..., Finished]
) -> None:
    _grade(store, "abcde", "3")
    done = rig("history", SHA, "--runs", store)
    assert done.code == 0
    assert done.out.count("graded by default") == 2
    assert "version 3," in done.out
    assert "Numbers of different tables are not comparable" in done.out


def test_the_table_marks_what_changed(store: Path, rig: Callable[..., Finished]) -> None:
    lines = rig("history", SHA[:10], "--runs", store).out.splitlines()
    assert lines[0].startswith(SHA[:10])
    assert lines[0].endswith(": 2 scores")
    assert lines[-1].split()[-4:] == ["9.9,", "temperature"] or lines[-1].endswith("to 9.9, temperature")
    assert "not comparable" not in "".join(lines)


def test_json_has_every_score(store: Path, rig: Callable[..., Finished]) -> None:
    told = rig("history", SHA, "--runs", store, "--json").json
    assert told["model.file_sha256"] == SHA
    assert [each["changed"] for each in told["scores"]] == [[], ["model.temperature"]]
    assert [each["conversations"] for each in told["scores"]] == [N, N]


@pytest.mark.parametrize(
    ("text", "fault"),
    [("f" * 16, "is of the file with the SHA-256 ffff"), ("a", "several files"), ("abab", None)],
)
def test_a_beginning_has_to_mean_one_file(text: str, fault: str | None, store: Path) -> None:
    with Runs.open(store) as runs:
        if fault is None:
            assert history(runs, text)[0] == [SHA]
            return
        with pytest.raises(RigError, match=fault):
            history(runs, text)


@pytest.mark.parametrize(
    ("text", "can_be"),
    [(SHA, True), ("abcdef12", True), ("abcdef1", False), ("smollm2", False), (SHA + "a", False)],
)
def test_what_can_be_a_hash(text: str, can_be: bool) -> None:
    assert is_hash(text) == can_be


def test_an_unknown_model_is_one_line(store: Path, rig: Callable[..., Finished]) -> None:
    done = rig("history", "smolm2-135m", "--runs", store)
    assert done.code == 2
    assert "(did you mean 'smollm2-135m'?)" in done.err
