"""Who is writing a run, and when a claim has run out."""

import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import small_talks

from rig.core.errors import RigError
from rig.store import RunWriter, delete_run
from rig.store.holder import ELSEWHERE, Holder, RunLock, is_locked

NOW = datetime.now(UTC)


def test_this_process_is_alive() -> None:
    assert Holder.current().is_alive(NOW - timedelta(days=1))
    assert Holder.from_text(Holder.current().as_text()) == Holder.current()


def test_a_process_of_the_same_number_that_started_later_is_another() -> None:
    own = Holder.current()
    for other in (1000000000.0, own.started - 120):
        assert not replace(own, started=other).is_alive(NOW)


def test_a_clock_that_was_set_makes_no_other_process() -> None:
    own = Holder.current()
    assert replace(own, started=own.started - 20).is_alive(NOW)


def test_a_killed_process_is_gone_even_before_its_parent_looks() -> None:
    child = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "from rig.store.holder import Holder; print(Holder.current().as_text(), flush=True); input()",
        ],
        stdout=subprocess.PIPE,
        stdin=subprocess.PIPE,
        text=True,
    )
    with child:
        assert child.stdout is not None
        holder = Holder.from_text(child.stdout.readline())
        assert holder.is_alive(NOW)
        child.send_signal(signal.SIGKILL)
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert not holder.is_alive(NOW)
    assert not holder.is_alive(NOW)


def test_a_process_elsewhere_counts_as_gone_when_it_has_been_silent_for_long() -> None:
    elsewhere = replace(Holder.current(), host="elsewhere")
    # Not NOW: that is when the tests began to be collected.
    now = datetime.now(UTC)
    assert elsewhere.is_alive(now)
    assert not elsewhere.is_alive(now - ELSEWHERE - timedelta(seconds=1))


def test_a_run_that_is_being_written_cannot_be_claimed(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    with RunWriter.create(path, small_talks.plan(path, small_talks.oracle()).as_new_run()):
        assert small_talks.stored(path).state == "running"
        with pytest.raises(RigError, match=f"being written by process {os.getpid()}"):
            RunWriter.claim(path, "abcde")
    assert small_talks.stored(path).state == "interrupted"
    RunWriter.claim(path, "abcde").close()


def test_a_lock_is_held_by_one_at_a_time_and_leaves_nothing_behind(tmp_path: Path) -> None:
    store = tmp_path / "runs.sqlite"
    assert is_locked(store, "abcde") is None
    first = RunLock(store, "abcde")
    assert is_locked(store, "abcde") is True
    assert is_locked(store, "other") is None
    with pytest.raises(RigError, match="locked by another process"):
        RunLock(store, "abcde")
    first.release()
    first.release()
    assert list(tmp_path.iterdir()) == []
    RunLock(store, "abcde").release()


def test_a_pipe_or_a_link_in_the_place_of_a_lock_does_no_harm(tmp_path: Path) -> None:
    store, victim = tmp_path / "runs.sqlite", tmp_path / "victim"
    os.mkfifo(tmp_path / "runs.sqlite-pipes.lock")
    (tmp_path / "runs.sqlite-links.lock").symlink_to(victim)
    assert not is_locked(store, "pipes")
    for run in ("pipes", "links"):
        RunLock(store, run).release()
    assert not victim.exists()


def test_a_lock_is_found_by_whatever_path_the_store_has(tmp_path: Path) -> None:
    (tmp_path / "link.sqlite").symlink_to(tmp_path / "runs.sqlite")
    lock = RunLock(tmp_path / "runs.sqlite", "abcde")
    assert is_locked(tmp_path / "link.sqlite", "abcde") is True
    lock.release()


def test_a_killed_process_holds_no_lock(tmp_path: Path) -> None:
    store = tmp_path / "runs.sqlite"
    code = (
        "from pathlib import Path; from rig.store.holder import RunLock;"
        f"kept = RunLock(Path({str(store)!r}), 'abcde'); print('held', flush=True); input()"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True
    )
    with child:
        assert child.stdout is not None
        assert child.stdout.readline() == "held\n"
        assert is_locked(store, "abcde") is True
        child.kill()
        child.wait()
    assert is_locked(store, "abcde") is False
    RunLock(store, "abcde").release()
    assert is_locked(store, "abcde") is None


def test_a_writer_whose_process_cannot_be_seen_keeps_its_run(tmp_path: Path) -> None:
    """As in another container: numbers of processes say nothing there, and names of hosts differ."""
    path = tmp_path / "runs.sqlite"
    with RunWriter.create(path, small_talks.plan(path, small_talks.oracle()).as_new_run()):
        unseen = replace(Holder.current(), pid=2**22, started="1.0", host="elsewhere")
        long_ago = (NOW - timedelta(days=1)).isoformat()
        with closing(sqlite3.connect(path)) as database:
            database.execute("UPDATE runs SET writer = ?, heartbeat = ?", [unseen.as_text(), long_ago])
            database.commit()
        assert small_talks.stored(path).state == "running"
        with pytest.raises(RigError, match="on elsewhere; stop it first"):
            RunWriter.claim(path, "abcde")
        with pytest.raises(RigError, match="on elsewhere; stop it first"):
            delete_run(path, "abcde")
