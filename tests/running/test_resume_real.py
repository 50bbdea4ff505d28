"""Killing and resuming a run of the real model: what is stored must not show that it happened."""

import random
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

_MEASURES = ("prefill_s", "decode_s", "mask_s", "first_token_s", "cached_tokens")


def _command(store: Path, *arguments: str) -> list[str]:
    return [sys.executable, "-m", "rig", "run", *arguments, "--display", "none", "--runs", str(store)]


def _start(model: Path, store: Path) -> subprocess.Popen[bytes]:
    options = "--limit 4 --tools exact --max-calls 2 --max-tokens 24 --threads 1 --similarity exact --exact"
    return subprocess.Popen(_command(store, str(model), *options.split()))


def _resume(store: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(_command(store, "--resume", "latest"))


def _rows(store: Path) -> list[tuple[object, ...]]:
    """Every prediction of the newest run, without what was measured of it."""
    with sqlite3.connect(store) as database:
        names = [row[1] for row in database.execute("pragma table_info(predictions)")]
        wanted = ", ".join(f"p.{name}" for name in names if name not in (*_MEASURES, "id", "turn"))
        return database.execute(
            f"select c.name, t.turn, {wanted} from predictions p join turns t on t.id = p.turn"
            " join conversations c on c.id = t.conversation order by c.position, t.turn, p.step"
        ).fetchall()


def _turns(store: Path) -> int:
    try:
        with sqlite3.connect(f"file:{store}?mode=ro", uri=True) as database:
            return int(database.execute("select count(*) from turns").fetchone()[0])
    except sqlite3.Error:
        return 0


@pytest.mark.slow
@pytest.mark.model
def test_killed_and_resumed_the_real_model_predicts_the_same(smollm2: Path, tmp_path: Path) -> None:
    whole = tmp_path / "whole.sqlite"
    assert _start(smollm2, whole).wait(300) == 0
    expected = _rows(whole)
    assert len(expected) >= 8

    chance = random.Random(20)
    killed = tmp_path / "killed.sqlite"
    child = _start(smollm2, killed)
    for turns in (1, 3, 5):
        deadline = time.monotonic() + 200
        while _turns(killed) < turns and child.poll() is None:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        time.sleep(chance.random() * 0.5)
        child.send_signal(signal.SIGKILL)
        assert child.wait() == -signal.SIGKILL
        child = _resume(killed)
    assert child.wait(300) == 0
    assert _rows(killed) == expected
