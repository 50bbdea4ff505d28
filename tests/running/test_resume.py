"""However a run is cut short, going on with it gives what an uninterrupted one gives."""

import itertools
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import small_talks
import small_world
from hypothesis import given, settings
from hypothesis import strategies as st

from rig.core.errors import RigError
from rig.core.events import (
    ArmFinished,
    ConversationStarted,
    Event,
    Notice,
    PieceGenerated,
    RunStarted,
    TurnFinished,
)
from rig.methods.scripted import Scripted
from rig.plugins.matching.matching import GRADER_VERSION
from rig.plugins.tooltalk.prompt import ToolTalkSettings
from rig.running.control import Control
from rig.running.runner import run
from rig.store import Runs
from rig.world.world import World


def _models() -> tuple[Scripted, Scripted]:
    return Scripted(small_talks.erratic, chunk=9), Scripted(small_talks.erratic, fingerprint={"other": True})


class Killed(BaseException):
    """Stands in for a kill: nothing in the runner may catch it to do more work."""


def _until(path: Path, count: int, *, resume: bool) -> bool:
    """Run until this many turns are finished, then die in the midst of the next event. True when finished."""
    turns = itertools.count(1)
    reached = False

    def emit(event: Event) -> None:
        nonlocal reached
        if reached and isinstance(event, PieceGenerated | ArmFinished | TurnFinished):
            raise Killed
        if isinstance(event, TurnFinished) and next(turns) == count:
            reached = True

    try:
        run(small_talks.plan(path, *_models(), resume=resume), emit, Control())
    except Killed:
        return False
    return True


@cache
def _uninterrupted() -> Any:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "runs.sqlite"
        small_talks.play(small_talks.plan(path, *_models()))
        return small_talks.content(path)


@pytest.mark.slow
@pytest.mark.parametrize("count", range(1, 16))
def test_killed_after_any_turn_a_run_goes_on_as_if_it_had_not_been(tmp_path: Path, count: int) -> None:
    path = tmp_path / "runs.sqlite"
    assert not _until(path, count, resume=False)
    assert small_talks.stored(path).turns_done in (count, count + 1)
    events = small_talks.play(small_talks.plan(path, *_models(), resume=True))
    assert isinstance(events[0], RunStarted)
    assert events[0].finished_turns in (count, count + 1)
    assert _without_ids(small_talks.content(path)) == _without_ids(_uninterrupted())
    assert small_talks.stored(path).state == "finished"


@pytest.mark.slow
@settings(deadline=None, max_examples=12)
@given(st.lists(st.integers(1, 6), min_size=1, max_size=8))
def test_killed_any_number_of_times_it_comes_to_the_same(counts: list[int]) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "runs.sqlite"
        resume = False
        for count in counts:
            if _until(path, count, resume=resume):
                break
            resume = True
        else:
            small_talks.play(small_talks.plan(path, *_models(), resume=True))
        assert _without_ids(small_talks.content(path)) == _without_ids(_uninterrupted())


def _without_ids(content: Any) -> Any:
    """Row numbers may have gaps where a turn was rolled back; all else must be equal."""
    return {
        table: [{k: v for k, v in row.items() if k != "id"} for row in rows]
        for table, rows in content.items()
    }


def test_numbers_so_far_go_on_where_they_were(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    whole = [
        e
        for e in small_talks.play(small_talks.plan(tmp_path / "whole.sqlite", *_models()))
        if isinstance(e, ArmFinished)
    ]
    assert not _until(path, 5, resume=False)
    events = small_talks.play(small_talks.plan(path, *_models(), resume=True))
    resumed = [event for event in events if isinstance(event, ArmFinished)]
    for one, other in zip(whole, resumed, strict=True):
        assert (one.counts, one.errors) == (other.counts, other.errors)
        assert one.speed.prompt_tokens == other.speed.prompt_tokens
        assert one.speed.steps == other.speed.steps
    started = next(event for event in events if isinstance(event, ConversationStarted))
    assert (started.where.conversation, started.first_turn) == ("reminders", 5)


def _of_an_earlier_version(path: Path, version: str) -> None:
    """Make a store that another version of the grader scored, whose verdicts were others, too."""
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("UPDATE scores SET grader_version = ?", [version])
        database.execute("UPDATE counts SET value = 0 WHERE name = 'matches'")
        database.execute("UPDATE predictions SET reason = 'as it was' WHERE kind = 'call'")
        name = '$."grader.grader_version"'
        database.execute("UPDATE arms SET fingerprint = json_set(fingerprint, ?, ?)", [name, version])


def test_what_an_earlier_version_of_the_grader_scored_is_scored_again_and_the_run_goes_on(
    tmp_path: Path,
) -> None:
    path = tmp_path / "runs.sqlite"
    assert not _until(path, 9, resume=False)
    _of_an_earlier_version(path, "0")
    old = small_talks.stored(path)
    events = small_talks.play(small_talks.plan(path, *_models(), resume=True))
    told = [event.text for event in events if isinstance(event, Notice)]
    assert len(told) == sum(arm.grader is not None for arm in old.arms) > 0
    assert "scored again by version" in told[0]
    run, whole = small_talks.stored(path), _uninterrupted()
    assert {arm.grader and arm.grader.grader_version for arm in run.arms} == {GRADER_VERSION}
    content = _without_ids(small_talks.content(path))
    same = _without_ids(whole)
    assert content["predictions"] == same["predictions"]
    assert [row for row in content["scores"] if row["own"]] == same["scores"]
    kept = [row for row in content["scores"] if not row["own"]]
    assert {row["grader_version"] for row in kept} == {"0"}
    with Runs.open(path) as runs:
        earlier = [each for each in runs.scores(run) if each.grader.grader_version == "0"]
        assert sum(each.counts["tasks"] for each in earlier) == len(kept)
        assert all(each.counts["matches"] == 0 for each in earlier)
        reasons = runs._database.query("SELECT DISTINCT reason FROM verdicts")
        assert [row["reason"] for row in reasons] == ["as it was"]


def test_a_grader_that_scores_otherwise_under_the_same_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    assert not _until(path, 9, resume=False)
    with closing(sqlite3.connect(path)) as database, database:
        database.execute(
            "UPDATE arms SET fingerprint = json_set(fingerprint, '$.\"grader.similarity\"', 'x')"
        )
    with pytest.raises(RigError, match=r"grader\.similarity was 'x'"):
        small_talks.play(small_talks.plan(path, *_models(), resume=True))


def test_a_finished_run_is_left_as_it_is_and_loads_nothing(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    small_talks.play(small_talks.plan(path, *_models()))
    before = small_talks.content(path)
    small_talks.play(small_talks.plan(path, small_talks.unloadable, small_talks.unloadable, resume=True))
    assert small_talks.content(path) == before


def _other_world() -> World:
    world = small_world.new_world()
    world.database.execute("UPDATE users SET phone = '555-000-1111'")
    return world


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (
            {"model": Scripted(small_talks.erratic, fingerprint={"threads": 4})},
            "model.threads was None, is 4",
        ),
        ({"settings": ToolTalkSettings(max_calls=5)}, "protocol.max_calls was 3, is 5"),
        ({"world": _other_world()}, "world_sha256 was '[0-9a-f]{64}', is '[0-9a-f]{64}'"),
    ],
)
def test_what_differs_from_the_start_is_named_and_nothing_is_stored(
    tmp_path: Path, change: dict[str, Any], named: str
) -> None:
    path = tmp_path / "runs.sqlite"
    model, other = _models()
    assert not _until(path, 2, resume=False)
    before = small_talks.content(path)
    todo = small_talks.plan(path, change.pop("model", model), other, resume=True, **change)
    with pytest.raises(RigError, match=f"cannot resume arm0: {named}"):
        small_talks.play(todo)
    assert small_talks.content(path) == before


def test_a_failed_arm_is_tried_again(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    small_talks.play(small_talks.plan(path, small_talks.oracle(), small_talks.unloadable))
    assert small_talks.stored(path).arms[1].failure
    small_talks.play(small_talks.plan(path, small_talks.oracle(), small_talks.oracle(), resume=True))
    run = small_talks.stored(path)
    assert [arm.failure for arm in run.arms] == [None, None]
    assert run.state == "finished"


_SLOW = """
import sys, small_talks
from pathlib import Path
from rig.methods.scripted import Scripted
path, resume, delay = Path(sys.argv[1]), sys.argv[2] == "resume", float(sys.argv[3])
model = Scripted(small_talks.erratic, chunk=20, delay_s=delay)
other = Scripted(small_talks.erratic, fingerprint={"other": True}, chunk=20, delay_s=delay)
small_talks.play(small_talks.plan(path, model, other, resume=resume))
"""


def _process(path: Path, how: str, delay: float) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "PYTHONPATH": str(Path(small_talks.__file__).parent)}
    return subprocess.Popen([sys.executable, "-c", _SLOW, str(path), how, str(delay)], env=environment)


@pytest.mark.slow
def test_killed_for_real_at_any_moment_a_run_goes_on_as_if_it_had_not_been(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    how, kills = "start", 0
    for wait in (0.0, 0.05, 0.11, 0.17, 0.02):
        with _process(path, how, delay=0.004) as child:
            _until_true(lambda: child.poll() is not None or _writes(path, child.pid))
            time.sleep(wait)
            child.send_signal(signal.SIGKILL)
        kills += child.returncode == -signal.SIGKILL
        how = "resume"
    with _process(path, how, delay=0) as child:
        assert child.wait(60) == 0
    assert kills >= 3
    assert _without_ids(small_talks.content(path)) == _without_ids(_uninterrupted())
    assert small_talks.stored(path).state == "finished"


def _writes(path: Path, pid: int) -> bool:
    """Whether this process has begun to write the run."""
    try:
        [row] = small_talks.content(path, ["runs"])["runs"]
    except (RigError, ValueError):
        return False
    return bool(row) and small_talks.stored(path).is_running


def _until_true(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.slow
def test_two_processes_do_not_write_one_run_but_may_share_a_store(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    with _process(path, "start", delay=0.02) as child:
        _until_true(lambda: path.is_file() and _writes(path, child.pid))
        with pytest.raises(RigError, match=f"being written by process {child.pid}"):
            small_talks.play(small_talks.plan(path, *_models(), resume=True))
        small_talks.play(small_talks.plan(path, *_models(), run="other"))
        assert child.wait(60) == 0
    runs = [small_talks.stored(path, run) for run in ("abcde", "other")]
    assert [run.state for run in runs] == ["finished", "finished"]
    assert runs[0].arms[0].counts == runs[1].arms[0].counts
